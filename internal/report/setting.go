package report

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Setting is one of the test's settings and where it comes from.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // with its unit
	Origin string `json:"origin"`
}

// Quantity is the value as a number with its unit; nil if it is none.
func (s Setting) Quantity() *loadgen.Quantity {
	number, unit, _ := strings.Cut(s.Value, " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Contains(unit, " ") || finite(v) != v {
		return nil
	}
	return &loadgen.Quantity{Value: v, Unit: unit}
}

// MarshalJSON writes the setting, and the number that it is, if it is one.
func (s Setting) MarshalJSON() ([]byte, error) {
	type plain Setting // has no MarshalJSON
	return json.Marshal(struct {
		plain
		Quantity *loadgen.Quantity `json:"quantity,omitempty"`
	}{plain(s), s.Quantity()})
}

// A Test is the settings that a test really had, which follow from those that were made and from
// the number of samples. Times are nanoseconds, shares fractions.
type Test struct {
	TargetQPS               float64 `json:"target_qps,omitempty"`
	TargetLatencyNS         int64   `json:"target_latency_ns,omitempty"`
	TargetLatencyPercentile float64 `json:"target_latency_percentile,omitempty"`
	FirstTokenLatencyNS     int64   `json:"ttft_latency_ns,omitempty"` // bounds of token latencies
	PerTokenLatencyNS       int64   `json:"tpot_latency_ns,omitempty"`
	MinDurationNS           int64   `json:"min_duration_ns"`
	MaxDurationNS           int64   `json:"max_duration_ns,omitempty"`
	MinQueryCount           uint64  `json:"min_query_count"`
	MaxQueryCount           uint64  `json:"max_query_count,omitempty"`
	MinSampleCount          uint64  `json:"min_sample_count"`
	SamplesPerQuery         uint64  `json:"samples_per_query"`
	PerformanceSampleCount  uint64  `json:"performance_sample_count"`
	// The seeds, as text: they have 64 bits, of which many readers of JSON keep 53.
	QSLSeed      uint64 `json:"qsl_rng_seed,string"`
	SampleSeed   uint64 `json:"sample_index_rng_seed,string"`
	ScheduleSeed uint64 `json:"schedule_rng_seed,string"`
}

func newTest(e loadgen.EffectiveSettings) *Test {
	t := &Test{
		TargetQPS: finite(e.TargetQPS), TargetLatencyNS: int64(e.TargetLatency), TargetLatencyPercentile: finite(e.TargetLatencyPercentile),
		MinDurationNS: int64(e.MinDuration), MaxDurationNS: int64(e.MaxDuration),
		MinQueryCount: e.MinQueryCount, MaxQueryCount: e.MaxQueryCount, MinSampleCount: e.MinSampleCount,
		SamplesPerQuery: e.SamplesPerQuery, PerformanceSampleCount: e.PerformanceSampleCount,
		QSLSeed: e.QSLRNGSeed, SampleSeed: e.SampleIndexRNGSeed, ScheduleSeed: e.ScheduleRNGSeed,
	}
	if e.UseTokenLatencies && e.Scenario == loadgen.Server {
		t.FirstTokenLatencyNS, t.PerTokenLatencyNS = int64(e.ServerTTFTLatency), int64(e.ServerTPOTLatency)
	}
	return t
}

// SameTraffic reports whether two tests draw the same samples at the same instants.
func (t *Test) SameTraffic(o *Test) bool {
	return t != nil && o != nil && t.traffic() == o.traffic()
}

// traffic are the settings that samples and instants follow from.
func (t *Test) traffic() Test {
	return Test{
		TargetQPS: t.TargetQPS, SamplesPerQuery: t.SamplesPerQuery, PerformanceSampleCount: t.PerformanceSampleCount,
		QSLSeed: t.QSLSeed, SampleSeed: t.SampleSeed, ScheduleSeed: t.ScheduleSeed,
	}
}
