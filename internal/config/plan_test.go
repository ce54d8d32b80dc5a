package config

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestTable4OfThePaper(t *testing.T) {
	want := []QueryCount{
		{0.90, 0.0050, 23886, 24576},
		{0.95, 0.0025, 50425, 57344},
		{0.97, 0.0015, 85811, 90112},
		{0.99, 0.0005, 262742, 270336},
	}
	got := QueryCounts()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if math.Abs(g.Margin-w.Margin) > 1e-15 {
			t.Errorf("margin at %g = %g, want %g", w.Percentile, g.Margin, w.Margin)
		}
		if g.Percentile != w.Percentile || g.Inferences != w.Inferences || g.Rounded != w.Rounded {
			t.Errorf("row %d = %v, want %v", i, g, w)
		}
	}
}

func TestNumQueriesOfWrongFractions(t *testing.T) {
	for _, c := range [][3]float64{{0, .99, .01}, {1, .99, .01}, {.9, 0, .01}, {.9, 1, .01}, {.9, .99, 0}, {.9, .99, 1}, {math.NaN(), .99, .01}, {.9, .99, 1e-300}} {
		if n, err := NumQueries(c[0], c[1], c[2]); err == nil {
			t.Errorf("NumQueries(%g, %g, %g) = %d, want an error", c[0], c[1], c[2], n)
		}
	}
}

func TestPlans(t *testing.T) {
	option := func(key, value string) Override { return Override{Key: key, Value: value, Origin: "flag"} }
	for _, c := range []struct {
		name      string
		version   string
		model     string
		scenario  loadgen.Scenario
		options   []Override
		perSecond float64
		want      Plan
	}{
		{"Server lasts as long as the rules ask", "v6.1", "resnet50", loadgen.Server, []Override{option("target_qps", "100")}, 200,
			Plan{Queries: 60000, Samples: 60000, EarlyStopping: 459, Runs: 1, Duration: 600 * time.Second}},
		{"Server of v0.5 runs five times until it has its queries", "v0.5", "resnet50", loadgen.Server, []Override{option("target_qps", "1000")}, 2000,
			Plan{Queries: 270336, Samples: 270336, Runs: 5, Duration: 5 * 270336 * time.Millisecond}},
		{"a slow SingleStream needs queries for early stopping", "v6.1", "resnet50", loadgen.SingleStream, nil, 0.1,
			Plan{Queries: 100, Samples: 100, EarlyStopping: 64, Runs: 1, Duration: 1000 * time.Second}},
		{"a fast SingleStream lasts ten minutes", "v6.1", "resnet50", loadgen.SingleStream, nil, 50,
			Plan{Queries: 30000, Samples: 30000, EarlyStopping: 64, Runs: 1, Duration: 600 * time.Second}},
		{"MultiStream has eight samples a query", "v6.1", "resnet50", loadgen.MultiStream, nil, 8,
			Plan{Queries: 662, Samples: 8 * 662, EarlyStopping: 662, Runs: 1, Duration: 662 * time.Second}},
		{"MultiStream of v0.5 keeps its interval", "v0.5", "resnet50", loadgen.MultiStream, nil, 1000,
			Plan{Queries: 270336, Samples: 4 * 270336, Runs: 1, Duration: 270336 * 50 * time.Millisecond}},
		{"a slow Offline has its least samples", "v6.1", "resnet50", loadgen.Offline, []Override{option("target_qps", "10")}, 10,
			Plan{Queries: 1, Samples: 24576, Runs: 1, Duration: 2457600 * time.Millisecond}},
		{"a fast Offline lasts a tenth longer than asked", "v6.1", "resnet50", loadgen.Offline, []Override{option("target_qps", "1000")}, 1000,
			Plan{Queries: 1, Samples: 660000, Runs: 1, Duration: 660 * time.Second}},
		{"Offline before v2.0 has its least samples, which no conf says", "v0.5", "gnmt", loadgen.Offline, nil, 100,
			Plan{Queries: 1, Samples: 24576, Runs: 1, Duration: 245760 * time.Millisecond}},
		{"a quick Offline has the samples that its user asked for", "v6.1", "resnet50", loadgen.Offline, []Override{option("target_qps", "50"), option("min_duration", "10s"), option("min_query_count", "1")}, 50,
			Plan{Queries: 1, Samples: 550, Runs: 1, Duration: 11 * time.Second}},
		{"max_query_count ends a run", "v6.1", "resnet50", loadgen.Server, []Override{option("target_qps", "100"), option("max_query_count", "500")}, 200,
			Plan{Queries: 500, Samples: 500, EarlyStopping: 459, Runs: 1, Duration: 5 * time.Second}},
		{"a run of more than three centuries", "v6.1", "resnet50", loadgen.SingleStream, nil, 1e-12,
			Plan{Queries: 100, Samples: 100, EarlyStopping: 64, Runs: 1, Duration: math.MaxInt64}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustResolve(t, Request{Model: Model{Name: c.model}, Scenario: c.scenario, Rules: mustRules(t, c.version), Options: c.options})
			got, err := NewPlan(r, c.perSecond, 1024, 50000)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanWithoutSpeedOrRate(t *testing.T) {
	r := mustResolve(t, Request{Scenario: loadgen.Server})
	for _, speed := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := NewPlan(r, speed, 1, 1); err == nil || !strings.Contains(err.Error(), "speed") {
			t.Errorf("NewPlan at %g samples per second = %v", speed, err)
		}
	}
	r.Settings.ServerTargetQPS = 0
	if _, err := NewPlan(r, 1, 1, 1); err == nil || !strings.Contains(err.Error(), "target_qps") {
		t.Errorf("NewPlan without target_qps = %v", err)
	}
}

func TestMinBandwidth(t *testing.T) {
	for _, c := range []struct {
		sample    SampleSize
		perSecond float64
		bytes     int
		want      Bandwidth
	}{
		{SampleSize{InValues: 150528}, 1000, 1, Bandwidth{Ingress: 150528e3}},
		{SampleSize{InValues: 1152}, 10, 8, Bandwidth{Ingress: 10 * 1152 * 8}},
		{SampleSize{InBytes: 480000}, 1, 4, Bandwidth{Ingress: 480000}},
		{SampleSize{InValues: 1024, OutValues: 1024}, 1, 4, Bandwidth{4096, 4096}},
		{SampleSize{}, 1, 4, Bandwidth{}},
	} {
		got, err := MinBandwidth(Newest, Model{Sample: &c.sample}, c.perSecond, c.bytes)
		if err != nil || got != c.want {
			t.Errorf("MinBandwidth(%+v, %g, %d) = %v, %v, want %v", c.sample, c.perSecond, c.bytes, got, err, c.want)
		}
	}
	if _, err := MinBandwidth(Newest, Model{Name: "mobilenet"}, 1, 1); err == nil || !strings.Contains(err.Error(), "mobilenet") {
		t.Errorf("MinBandwidth(mobilenet) = %v", err)
	}
	for _, c := range []struct {
		speed float64
		bytes int
	}{{-1, 1}, {1, 0}} {
		if _, err := MinBandwidth(Newest, Model{Sample: &SampleSize{}}, c.speed, c.bytes); err == nil {
			t.Errorf("a speed of %g and values of %d bytes give no error", c.speed, c.bytes)
		}
	}
}
