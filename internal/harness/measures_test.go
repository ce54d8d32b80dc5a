package harness

import (
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestAMeasureIsTakenOfTheResultThatItNames(t *testing.T) {
	r := &SelfTestResult{
		Queries: 1000, DurationNS: 2e9, PostRunNS: 5e8, IssuedQPS: 500,
		LatencyMeanNS: 30, LatencyP50NS: 20, LatencyP99NS: 90, PeakRSSBytes: 64000,
	}
	want := map[string]float64{
		"SingleStream, queries per second":                              500,
		"SingleStream, peak memory per query":                           64,
		"SingleStream, until the logs of a million queries are written": 500,
		"Server at 1,000 QPS, latency p50":                              20,
		"Server at 1,000 QPS, latency p99":                              90,
		"Server at 400,000 QPS, mean latency":                           30,
		"Offline, 256 responses in a call: until the last call":         500,
		"Offline, 256 responses in a call: until the logs are written":  400,
		"Server at 500 QPS while all cores compute, latency p99":        90,
	}
	for _, m := range Measures() {
		if w, ok := want[m.Name]; ok {
			if got := m.Of(r); got != w {
				t.Errorf("%s: %g %s, want %g", m.Name, got, m.Unit, w)
			}
			delete(want, m.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no measure %v", want)
	}
}

func TestEveryMeasureHasATestThatItsNameTells(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Measures() {
		s := m.Test.settings()
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if names[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		names[m.Name] = true
		if rate := m.Unit == "/s"; rate == m.Least {
			t.Errorf("%s in %s: less is better is %t", m.Name, m.Unit, m.Least)
		}
		if m.Busy && (m.Test.Scenario != loadgen.Server || m.Test.Duration != time.Second) {
			t.Errorf("%s is %v for %v", m.Name, m.Test.Scenario, m.Test.Duration)
		}
		if (s.Mode == loadgen.AccuracyOnly) != (m.Name == "accuracy mode, responses of 4 bytes, until they are written") {
			t.Errorf("%s is in %v", m.Name, s.Mode)
		}
	}
}

func TestTheMedianOfSeveralTestsCounts(t *testing.T) {
	m := Measure{Of: (*SelfTestResult).p99}
	for _, c := range []struct {
		values []int64
		want   float64
	}{{[]int64{7}, 7}, {[]int64{90, 10, 20}, 20}, {[]int64{4, 1, 3, 2}, 3}} {
		var results []*SelfTestResult
		for _, v := range c.values {
			results = append(results, &SelfTestResult{LatencyP99NS: v})
		}
		if got := m.Median(results); got != c.want {
			t.Errorf("the median of %v is %g, want %g", c.values, got, c.want)
		}
	}
}
