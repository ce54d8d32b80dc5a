package tune

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// knownServer answers 4 requests at a time, each in 100 ms: 40/s.
func knownServer(t *testing.T, bound string) run.Request {
	t.Helper()
	q := textServer(t)
	q.Engine.Remote.Endpoints = []string{"http://server"}
	q.Engine.Remote.Dial = tokentest.Serve(t, tokenserver.New(tokenserver.Options{Prefill: 30 * time.Millisecond, PerToken: 10 * time.Millisecond, Slots: 4})).Dial
	q.Prompts.Answer, q.Program, q.NoReport = "8", "mlperf test", true
	q.NewPacer = func() loadgen.Pacer { return loadgen.TimerPacer{} }
	if bound != "" {
		o, err := report.ParseObjective(bound)
		testenv.Must(t, err)
		q.SLO = []report.Objective{o}
	}
	return q
}

func TestSearchOfASweep(t *testing.T) {
	for i, c := range []struct {
		bound       string
		least, most float64 // of the highest rate
		sentence    string
	}{
		{"ttft<200ms", 25, 39, "highest rate that keeps ttft p99 < 200 ms: "},
		{"ttft<10s", 34, 42, "highest rate that keeps ttft p99 < 10 s: "},
		{"ttft<20ms", 0, 0, "no rate that was tried keeps ttft p99 < 20 ms, the lowest was "},
	} {
		t.Run(c.bound, func(t *testing.T) {
			if i > 0 {
				testenv.SkipLong(t, "much traffic in fake time")
			}
			synctest.Test(t, func(t *testing.T) {
				q := knownServer(t, c.bound)
				began := time.Now()
				doc, err := Sweep{Search: true}.Run(t.Context(), q, harness.Silent{})
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				if !strings.HasPrefix(doc.Sentence, c.sentence) || took > 10*time.Minute {
					t.Errorf("after %v: %s", took, doc.Sentence)
				}
				if doc.Points[0].Unit != "requests under way" || doc.Points[0].Load != 1 || *doc.Points[0].FirstTokenP50 != 30 || doc.Points[1].RequestsPerSecond < 36 || doc.Points[1].RequestsPerSecond > 40 {
					t.Errorf("one at a time: %+v, as many as it takes: %+v", doc.Points[0], doc.Points[1])
				}
				one, err := report.Read(filepath.Join(q.Output, doc.Points[1].Folder))
				if i := slices.IndexFunc(one.ServerMetrics, func(m report.ServerMetric) bool { return m.Name == "running" }); err != nil || i < 0 || one.ServerMetrics[i].Max != 4 || one.ServerMetrics[i].Server != "server" {
					t.Errorf("%v, what the server tells: %+v", err, one.ServerMetrics)
				}
				h := doc.Highest
				if c.most == 0 {
					if h != nil {
						t.Errorf("%+v", h)
					}
					return
				}
				if h == nil || h.Rate < c.least || h.Rate > c.most || h.Low == nil || h.High == nil || *h.Low > h.Rate || *h.High < h.Rate || *h.High > 1.35**h.Low {
					t.Errorf("%+v of %+v", h, doc.Points)
				}
			})
		})
	}
}

// A sweep that is interrupted goes on with what is there.
func TestSearchOfASweepGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := knownServer(t, "ttft<200ms")
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		go func() {
			time.Sleep(2 * time.Minute)
			cancel(enough)
		}()
		part, err := Sweep{Search: true}.Run(ctx, q, harness.Silent{})
		if !errors.Is(err, enough) || len(part.Points) < 3 || part.Sentence != "" {
			t.Fatalf("%v, %+v", err, part)
		}
		began := time.Now()
		doc, err := Sweep{Search: true}.Run(t.Context(), q, harness.Silent{})
		if err != nil || doc.Sentence == "" {
			t.Fatalf("%v, %+v", err, doc)
		}
		for i, p := range part.Points {
			if got := doc.Points[i]; got.RequestsPerSecond != p.RequestsPerSecond || got.Folder != p.Folder {
				t.Errorf("point %d was %+v and is %+v", i, p, got)
			}
		}
		first := time.Since(began)
		began = time.Now()
		if again, err := (Sweep{Search: true}).Run(t.Context(), q, harness.Silent{}); err != nil || again.Sentence != doc.Sentence || time.Since(began) > time.Second {
			t.Errorf("again, in %v after %v: %v, %+v", time.Since(began), first, err, again)
		}
		q.Prompts.Answer = "9"
		if _, err := (Sweep{Search: true}).Run(t.Context(), q, harness.Silent{}); !testenv.Names(err, "results … already") {
			t.Errorf("another search in the folder: %v", err)
		}
		testenv.Must(t, os.WriteFile(filepath.Join(q.Output, SweepJSON), []byte("[]"), 0o644))
		if _, err := (Sweep{Search: true}).Run(t.Context(), q, harness.Silent{}); err == nil || !strings.Contains(err.Error(), SweepJSON) {
			t.Errorf("beside a file of another form: %v", err)
		}
	})
}

// Of requests whose odds of missing a bound are a line over the rate, which passes 1 % at 50/s, the interval has 50 in about 95 of 100
// cases.
func TestIntervalOfTheHighestRate(t *testing.T) {
	o := []report.Objective{{Of: report.OfFirstToken, Percentile: "p99", BoundNS: 1}}
	random := rand.New(rand.NewPCG(3, 4))
	covers, wide := 0, 0.0
	const cases = 200
	for range cases {
		var tests []rateTest
		for _, rate := range []float64{30, 40, 45, 48, 50, 52, 55} {
			miss := 0.01 * math.Pow(1.25, rate-50)
			one := rateTest{rate: rate}
			for range 20 {
				part := report.SLOPart{Samples: 50, Missed: []int{0}}
				for range 50 {
					if random.Float64() < miss {
						part.Missed[0]++
					}
				}
				one.parts = append(one.parts, part)
			}
			tests = append(tests, one)
		}
		h := highest(o, tests)
		if h == nil {
			continue
		}
		if *h.Low <= 50 && 50 <= *h.High {
			covers++
		}
		wide += (*h.High - *h.Low) / cases
	}
	if covers < 88*cases/100 || wide > 8 {
		t.Errorf("%d of %d intervals have the rate, and are %.3g/s wide", covers, cases, wide)
	}
}
