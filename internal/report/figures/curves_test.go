package figures

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

func TestThroughputAndLatencyOverBatchAndConcurrency(t *testing.T) {
	run := func(batch, concurrency int, precision string, speed, p95 float64, result string) report.Line {
		return report.Line{Model: "m", Scenario: "SingleStream", Result: result, Precision: precision, Batch: batch, Concurrency: concurrency, SamplesPerSecond: speed, LatencyP95MS: p95}
	}
	list := Many([]report.Line{
		run(1, 1, "fp32", 10, 5, report.Valid), run(4, 1, "fp32", 30, 15, report.Valid), run(4, 1, "fp32", 999, 1, report.Invalid),
		run(1, 2, "fp32", 20, 6, report.Valid), run(4, 2, "fp32", 50, 0, report.Valid),
		run(1, 1, "int8", 40, 2, report.Valid), // alone: no curve
	})
	var got []string
	for _, f := range list {
		check(t, f)
		for _, s := range f.Series {
			got = append(got, f.ID+" "+s.Label+" "+strings.Trim(strings.Join(strings.Fields(texts(s.Values)), " "), " "))
		}
	}
	want := []string{
		"batch-speed-0 fp32, concurrency 2 20 50", // the faster of the two; its p95 is known at one batch only
		"concurrency-speed-0 fp32, batch 4 30 50",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("curves\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	list = Many([]report.Line{run(1, 1, "fp32", 10, 5, report.Valid), run(4, 1, "fp32", 30, 15, report.Valid)})
	if len(list) != 2 || list[1].ID != "batch-p95-0" || list[1].Series[0].Values[1] != 15e6 || list[1].Sentence != "fp32, concurrency 1: 5 ms at 1, 15 ms at 4." {
		t.Errorf("p95 over batch: %+v", list)
	}
}

func texts(values Values) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, units.Text(v, ""))
	}
	return strings.Join(parts, " ")
}

func TestComparedDrawsTheShareAnsweredWithinATime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	runOf := func(median float64) *charts.Charts {
		c := &charts.Charts{Latency: backend.NewTimes(), Timeline: &charts.Timeline{P50: charts.Column{1}}}
		for range 4000 {
			c.Latency.Add(time.Duration(median * math.Exp(random.NormFloat64()/4)))
		}
		return c
	}
	base, new := []*charts.Charts{runOf(1e6), runOf(1e6)}, []*charts.Charts{runOf(2e6)}
	f, ok := Compared("x", "y", base, new)
	if !ok {
		t.Fatal("no figure")
	}
	check(t, f)
	for i, median := range []float64{1e6, 2e6} {
		before := 0.0
		for k, v := range f.Series[i].Values {
			if v < before || v > 100.001 {
				t.Fatalf("series %d falls from %v to %v", i, before, v)
			}
			if before < 50 && v >= 50 && math.Abs(f.At[k]/median-1) > 0.05 {
				t.Errorf("series %d: half are answered within %v, want %v", i, f.At[k], median)
			}
			before = v
		}
		if before < 99.9 {
			t.Errorf("series %d ends at %v %%", i, before)
		}
	}
	base[0].Timeline = &charts.Timeline{} // Offline
	for _, none := range [][]*charts.Charts{base, {nil}, nil} {
		if _, ok := Compared("x", "y", none, new); ok {
			t.Errorf("a figure of %v", none)
		}
	}
}
