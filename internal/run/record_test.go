package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// kinds are requests for one run, several runs, and a search, which write into the folder out.
var kinds = map[string]func(*run.Request){
	"one":     func(q *run.Request) { server(q, "v6.1") },
	"several": func(q *run.Request) { server(q, "v0.7") },
	"search":  func(q *run.Request) { server(q, "v6.1"); q.Mode = run.FindPeak },
}

// server makes a request one of Server, of six seconds.
func server(q *run.Request, rules string) {
	q.Scenario, q.Rules, q.Instances, q.MaxBatch = "server", rules, 1, 1
	q.Settings = append(q.Settings,
		config.Override{Key: "min_duration", Value: "6s"}, config.Override{Key: "target_qps", Value: "100"}, config.Override{Key: "target_latency", Value: "20ms"})
}

// The record is made once, also of several tests, and lies in the folder as it is returned.
func TestRecordIsWrittenWhole(t *testing.T) {
	for name, change := range kinds {
		t.Run(name, func(t *testing.T) {
			q := runtest.Request(t)
			q.Output = "out"
			change(&q)
			r, err := inFakeTime(t, q, &observer{})
			testenv.Must(t, err)
			back, err := report.Read("out")
			testenv.Must(t, err)
			if diff := cmp.Diff(r, back, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(report.Results{}, "System")); diff != "" {
				t.Errorf("(-returned +written):\n%s", diff)
			}
			if r.Result != report.Valid || r.Fingerprint == "" || r.Input.ModelSHA256 == "" || !r.Input.BuiltInData || r.Limitations[len(r.Limitations)-1].ID != limitation.Unofficial {
				t.Errorf("%s %q, fingerprint %q, input %+v, limitations %v", r.Result, r.Problems, r.Fingerprint, r.Input, r.Limitations)
			}
			if (name == "search") != (r.Peak != nil && r.Peak.Best > 0) || (name == "several") != (len(r.Runs) == 5) {
				t.Errorf("search %+v, runs %+v", r.Peak, r.Runs)
			}
			for _, one := range r.Runs {
				if single, err := report.Read(filepath.Join("out", one.Folder)); err != nil || *single.Metric != *one.Metric || one.Metric.Value < r.Metric.Value || len(single.Limitations) != len(r.Limitations) || single.Warnings == nil {
					t.Errorf("%s: %+v, %v; the result is %+v", one.Folder, single, err, r.Metric)
				}
			}
			if _, err := os.Stat(filepath.Join("out", charts.FileName)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Folders are where files should be. A result is complete without charts and the trace.
func TestUnwrittenRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("for the race detector TestRecordIsWrittenWhole has the same runs")
	}
	for file, problem := range map[string]string{report.FileName: "the results were not written: ", charts.FileName: "", mlperflog.TraceFile: ""} {
		for name, change := range kinds {
			t.Run(name+" without "+file, func(t *testing.T) {
				q := runtest.Request(t)
				q.Output, q.Trace = "out", true
				change(&q)
				if name == "several" && file == mlperflog.TraceFile {
					t.Skip("the folder of all runs has no trace")
				}
				r, err := inFakeTime(t, q, inTheWay{observer: &observer{}, path: filepath.Join("out", file, "folder")})
				if err == nil || !strings.Contains(err.Error(), file) || r == nil {
					t.Fatalf("%v, error %v, want results, and an error that names %s", r, err, file)
				}
				if problem != "" && name != "search" && (r.Result != report.Invalid || !strings.Contains(strings.Join(r.Problems, "\n"), problem)) {
					t.Errorf("%s, problems %q, want INVALID: %s", r.Result, r.Problems, problem)
				}
				if problem == "" && r.Result != report.Valid {
					t.Errorf("%s, problems %q, want VALID", r.Result, r.Problems)
				}
				if back, err := report.Read("out"); problem == "" && (err != nil || back.Result != r.Result || (r.Peak != nil) != (back.Peak != nil)) {
					t.Errorf("the file says %+v, %v", back, err)
				}
			})
		}
	}
}

// A program that is killed leaves a record of what it had.
func TestRecordOfATestUnderWay(t *testing.T) {
	q := runtest.Request(t)
	q.Output = "out"
	server(&q, "v6.1")
	o := &reading{observer: &observer{}}
	r, err := inFakeTime(t, q, o)
	testenv.Must(t, err)
	early := o.record
	if early == nil || early.Result != report.Interrupted || len(early.Problems) != 1 || early.Fingerprint != r.Fingerprint || len(early.Settings) != len(r.Settings) || len(early.Limitations) != len(r.Limitations) {
		t.Errorf("%+v, want the beginning of %+v", early, r)
	}
}

// reading reads the record while the test runs.
type reading struct {
	*observer
	record *report.Results
}

func (o *reading) Traffic(loadgen.Progress) {
	if o.record == nil {
		o.record, _ = report.Read("out")
	}
}

func TestInterruptedRuns(t *testing.T) {
	q := runtest.Request(t)
	q.Output = "out"
	server(&q, "v0.7")
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("that is enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		time.AfterFunc(15*time.Second, func() { cancel(stopped) })
		r, err := run.Do(ctx, q, &observer{})
		if !errors.Is(err, stopped) || r == nil || r.Result != report.Interrupted || len(r.Runs) < 2 || len(r.Runs) == 5 {
			t.Fatalf("%v, %+v", err, r)
		}
		if text := strings.Join(r.Problems, "; "); !strings.Contains(text, "stopped early") {
			t.Errorf("problems: %s", text)
		}
	})
}
