package power

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/machine/power/ptdtest"
)

// analyserOf measures 100 W with a clock that is two hours ahead.
func analyserOf(samples int) *ptdtest.Daemon {
	d := ptdtest.New()
	at := time.Now().Add(2*time.Hour + time.Second)
	d.Samples = []string{}
	for i := range samples {
		d.Samples = append(d.Samples, ptdtest.Sample(at.Add(time.Duration(i)*time.Second), ptdMark))
	}
	return d
}

func TestPTDaemonMeasures(t *testing.T) {
	f := analyserOf(60)
	source, err := Parse("ptd:" + f.Serve(t))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r, err := Start(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	record, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Hello", "Identify", "Stop", "Go,1000,0,mlperf_testing", "Stop", "RL,*,*"}, f.Said()); diff != "" {
		t.Error(diff)
	}
	if d := record.Offset + 2*time.Hour; d < -time.Second || d > time.Second || !record.Marked {
		t.Errorf("the clocks are %v apart, want about -2h; marked %v", record.Offset, record.Marked)
	}
	e, err := record.Between(began.Add(2*time.Second), began.Add(50*time.Second))
	if err != nil || !near(e.Joules, 4800) {
		t.Errorf("%+v, %v, want 4800 J", e, err)
	}
	if n := len(record.Samples); n != 60 || !strings.HasSuffix(record.Samples[0], ",Watts,100.0,Volts,230.1,Amps,0.5,PF,0.95,Mark,mlperf_testing") ||
		!strings.HasPrefix(record.Samples[0], "Time,"+began.Add(time.Second).UTC().Format("01-02-2006 15")) {
		t.Errorf("%d lines, the first %q", n, record.Samples[0])
	}
}

func TestWhatIsNotPTDaemonIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*ptdtest.Daemon)
		want   string
	}{
		{"another server", func(f *ptdtest.Daemon) { f.Answers["Hello"] = "HTTP/1.1 400 Bad Request" }, "which is not PTDaemon"},
		{"busy", func(f *ptdtest.Daemon) { f.Answers["Go"] = "Error: already running" }, "it answers Go,1000,0,mlperf_testing with"},
		{"no number", func(f *ptdtest.Daemon) { f.Answers["RL"] = "Last" }, "want a number of samples"},
		{"a number that cannot be", func(f *ptdtest.Daemon) { f.Answers["RL"] = "Last 99999999999 samples" }, "want a number of samples"},
		{"no samples", func(f *ptdtest.Daemon) { f.Answers["RL"] = "Last 0 samples" }, "there are no samples"},
		{"fewer than no samples", func(f *ptdtest.Daemon) { f.Answers["RL"] = "Last -1 samples" }, `the answer to RL is "Last -1 samples", want a number of samples`},
		{"nothing in the place of a number", func(f *ptdtest.Daemon) { f.Answers["RL"] = "" }, `the answer to RL is "", want a number`},
		{"damaged samples", func(f *ptdtest.Daemon) { f.Samples[1] = "Time,noon,Watts,5" }, "sample 2"},
		{"an endless line", func(f *ptdtest.Daemon) { f.Answers["Identify"] = strings.Repeat("x", 2*maxAnswer) }, "longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := analyserOf(3)
			c.change(f)
			r, err := Start(t.Context(), Source{Kind: PTD, Address: f.Serve(t)})
			if err == nil {
				_, err = r.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestASampleNeedsItsTimeAndWattsAndNothingElse(t *testing.T) {
	record, err := recordOf([]string{"Time,01-31-2026 12:00:01.000,Watts,5"}, begin())
	if err != nil || len(record.Series[0].Points) != 1 {
		t.Errorf("%+v, %v, want one sample", record, err)
	}
	for _, line := range []string{"Time,01-31-2026 12:00:01.000,Watts", "Date,01-31-2026 12:00:01.000,Watts,5", "Time,01-31-2026 12:00:01.000,Volts,5"} {
		if _, err := recordOf([]string{line}, begin()); err == nil || !strings.Contains(err.Error(), "want Time,…,Watts,…") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestAPTDaemonThatIsNotThereIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	if _, err := Start(t.Context(), Source{Kind: PTD, Address: address}); err == nil || !strings.Contains(err.Error(), "PTDaemon") {
		t.Errorf("%v", err)
	}
}

// measure measures a run of no length.
func measure(t *testing.T, p *Pair) *Record {
	t.Helper()
	if err := p.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	record, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestASecondRunIsMeasuredInTheRangesOfTheFirst(t *testing.T) {
	d := ptdtest.New()
	p, err := StartPair(t.Context(), Source{Kind: PTD, Address: d.Serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	ranging, testing := measure(t, p), measure(t, p)
	if err := p.Begin(t.Context()); err == nil {
		t.Error("there is a third run")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	label := p.label()
	want := []string{
		"Hello", "Identify", "RR", "SR,A,Auto", "SR,V,Auto", "Go,1000,0," + label + "_ranging", "Stop", "RL,*,*",
		"SR,A,0.5", "SR,V,230.1", "Go,1000,0," + label + "_testing", "Stop", "RL,*,*", "SR,A,Auto", "SR,V,300.0",
	}
	if diff := cmp.Diff(want, d.Said()); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(ranging.Samples[0], label+"_ranging") || !strings.HasSuffix(testing.Samples[0], label+"_testing") || !testing.Marked {
		t.Errorf("samples %q and %q", ranging.Samples, testing.Samples)
	}
}

func TestAPairThatCannotBeMeasuredIsAnError(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer [2]string
		want   string
	}{
		{"another server", [2]string{"Hello", "HTTP/1.1 400"}, "which is not PTDaemon"},
		{"no ranges", [2]string{"RR", "Error"}, `its ranges are "Error"`},
		{"ranges that cannot be set", [2]string{"SR", "Error: busy"}, `ranging: it answers SR,A,Auto with "Error: busy", want Range A changed`},
		{"busy", [2]string{"Go", "Error: already running"}, "it answers Go,1000,0,"},
		{"no samples", [2]string{"RL", "Last 0 samples"}, "there are no samples"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := ptdtest.New()
			d.Answers[c.answer[0]] = c.answer[1]
			p, err := StartPair(t.Context(), Source{Kind: PTD, Address: d.Serve(t)})
			if err == nil {
				if err = p.Begin(t.Context()); err == nil {
					_, err = p.Stop()
				}
				_ = p.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := StartPair(t.Context(), Source{Kind: RAPL}); err == nil || !strings.Contains(err.Error(), "rapl has no ranges") {
		t.Errorf("of a counter: %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := StartPair(ctx, Source{Kind: PTD, Address: ptdtest.New().Serve(t), Settle: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	cancel(gone)
	if err := p.Begin(ctx); !errors.Is(err, gone) {
		t.Errorf("an end while ranges settle: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// measuredPair is one whose two runs are over.
func measuredPair(t *testing.T) *Pair {
	t.Helper()
	p, err := StartPair(t.Context(), Source{Kind: PTD, Address: ptdtest.New().Serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	measure(t, p)
	measure(t, p)
	return p
}

// runFolders makes the folders of both runs, and returns the checksum of a file by its name.
func runFolders(t *testing.T, root string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for _, run := range []string{Ranging, Testing} {
		if err := os.Mkdir(filepath.Join(root, run), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt", SamplesFile} {
			name := run + "/" + file
			if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
			sum := sha1.Sum([]byte(name))
			sums[name] = hex.EncodeToString(sum[:])
		}
	}
	return sums
}

func TestTheFolderOfAMeasurementSaysWhoseItIs(t *testing.T) {
	root := t.TempDir()
	sums := runFolders(t, root)
	p := measuredPair(t)
	if err := p.Write(root, "mlperf test"); err != nil {
		t.Fatal(err)
	}
	var server struct {
		descriptor
		Daemon []message `json:"ptd_messages"`
	}
	for _, name := range []string{"client.json", "server.json"} {
		text, err := os.ReadFile(filepath.Join(root, about, name))
		if err == nil {
			err = json.Unmarshal(text, &server)
		}
		if err != nil {
			t.Fatal(err)
		}
		if server.Note != unofficial || server.Version != "mlperf test" || len(server.Sources) != 0 || len(server.Phases) != 2 {
			t.Errorf("%s: %+v", name, server)
		}
		for file, sum := range sums {
			if server.Results[file] != sum {
				t.Errorf("%s has %q of %s, want %s", name, server.Results[file], file, sum)
			}
		}
	}
	if len(server.Daemon) < 10 || server.Daemon[0].Command != "Hello" {
		t.Errorf("the daemon was told %v", server.Daemon)
	}
	log, err := os.ReadFile(filepath.Join(root, about, "client.log"))
	if err != nil || !strings.Contains(string(log), unofficial) || !strings.Contains(string(log), "said Stop, answered ") {
		t.Errorf("client.log: %v\n%s", err, log)
	}
	if !strings.HasPrefix(p.String(), "PTDaemon ") {
		t.Errorf("it is called %q", p)
	}
}

func TestAMeasurementWithoutItsRunsIsNotWritten(t *testing.T) {
	err := measuredPair(t).Write(t.TempDir(), "mlperf test")
	if err == nil || !strings.Contains(err.Error(), "mlperf_log_detail.txt") {
		t.Errorf("Write = %v, want an error that names the file", err)
	}
}
