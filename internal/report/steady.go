package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Steady has the figures of a test without its beginning and its end, which the user cut off, and without requests that were given up on
// purpose. Latencies are those of the samples that were due in between, in Offline of those that were answered then. Rates count the answers
// of that time.
type Steady struct {
	WarmUpNS   int64  `json:"warm_up_ns"`   // cut off at the beginning
	CoolDownNS int64  `json:"cool_down_ns"` // before the last query was due, in Offline before the last answer
	Samples    uint64 `json:"samples"`
	LeftOut    uint64 `json:"left_out_samples"`

	SamplesPerSecond float64 `json:"samples_per_second"`
	TokensPerSecond  float64 `json:"tokens_per_second,omitempty"`

	LatencyNS            *Latencies `json:"latency_ns,omitempty"` // absent in Offline, where they are instants
	FirstTokenNS         *Latencies `json:"first_token_latency_ns,omitempty"`
	TimePerOutputTokenNS *Latencies `json:"time_per_output_token_ns,omitempty"`

	from, to time.Duration
	offline  bool
	without  func(loadgen.ResponseID) bool
}

// Cut adds the figures without the beginning and the end of a test, and without some of its samples. Fill comes before it. An error says
// that nothing is left.
func (r *Results) Cut(warmUp, coolDown time.Duration, without func(loadgen.ResponseID) bool, p *loadgen.Performance) error {
	gaveUp := r.Generation != nil && r.Generation.Cancelled != nil
	if warmUp == 0 && coolDown == 0 && !gaveUp || p == nil {
		return nil
	}
	s := &Steady{WarmUpNS: int64(warmUp), CoolDownNS: int64(coolDown), from: warmUp, offline: r.Scenario == loadgen.Offline.String(), without: without}
	if s.to = p.LastCompletion - coolDown; !s.offline && coolDown > 0 {
		last := time.Duration(0)
		p.EachSample(func(a loadgen.SampleRecord) { last = max(last, a.Start) })
		s.to = last - coolDown
	}
	var latency, first, per []time.Duration
	answered, tokens := int64(0), int64(0)
	p.EachSample(func(a loadgen.SampleRecord) {
		if a.Completed >= s.from && (a.Completed < s.to || coolDown == 0) && !without(a.ID) {
			answered, tokens = answered+1, tokens+int64(a.Tokens)
		}
		if !s.has(a) {
			s.LeftOut++
			return
		}
		s.Samples++
		if a.Completed < 0 || s.offline {
			return
		}
		latency = append(latency, a.Completed-a.Start)
		if a.FirstToken >= 0 {
			first = append(first, a.FirstToken-a.Start)
		}
		if a.FirstToken >= 0 && a.Tokens > 1 {
			per = append(per, a.PerToken())
		}
	})
	if s.to <= s.from || s.Samples == 0 {
		return fmt.Errorf("without the first %s and the last %s nothing is left of the test", units.ExactDuration(warmUp), units.ExactDuration(coolDown))
	}
	s.SamplesPerSecond, s.TokensPerSecond = perSecond(answered, s.to-s.from), perSecond(tokens, s.to-s.from)
	s.LatencyNS, s.FirstTokenNS, s.TimePerOutputTokenNS = latenciesOf(latency), latenciesOf(first), latenciesOf(per)
	r.Steady = s
	return nil
}

// has reports whether a sample belongs to what is left. Nil has all.
func (s *Steady) has(a loadgen.SampleRecord) bool {
	switch {
	case s == nil:
		return true
	case s.without(a.ID):
		return false
	case s.offline:
		return a.Completed >= s.from && a.Completed <= s.to
	}
	return a.Start >= s.from && a.Start <= s.to
}

// latenciesOf are the percentiles of times as LoadGen reads them; nil: there are none.
func latenciesOf(list []time.Duration) *Latencies {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	sum := time.Duration(0)
	for _, d := range list {
		sum += d
	}
	at := func(p float64) int64 { return int64(list[int(p*float64(len(list)))]) }
	return &Latencies{
		Min: int64(list[0]), Mean: int64(sum) / int64(len(list)), Max: int64(list[len(list)-1]),
		P50: at(0.5), P90: at(0.9), P95: at(0.95), P97: at(0.97), P99: at(0.99), P999: at(0.999),
	}
}

// Window says what was cut off.
func (s *Steady) Window() string {
	if s.WarmUpNS == 0 && s.CoolDownNS == 0 {
		return fmt.Sprintf("without what was given up on purpose (%s)", units.Count(s.LeftOut, "sample"))
	}
	return fmt.Sprintf("without the first %s and the last %s (%s)",
		units.ExactDuration(time.Duration(s.WarmUpNS)), units.ExactDuration(time.Duration(s.CoolDownNS)), units.Count(s.LeftOut, "sample"))
}
