package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A ServiceLevel tells how a run kept service level objectives, which are the user's and no rule's.
type ServiceLevel struct {
	Objectives []Objective `json:"objectives"`
	Met        bool        `json:"met"` // all of them
	// GoodPerSecond is the goodput: answers that kept all bounds, each by itself, by the time until the last answer.
	GoodPerSecond float64 `json:"goodput_answers_per_second"`
	Good          uint64  `json:"good_answers"`
	Of            uint64  `json:"of_samples"`
	// Parts are equal parts of a Server test, in the order in which queries were due.
	Parts []SLOPart `json:"parts,omitempty"`
}

// A SLOPart is a part of a test.
type SLOPart struct {
	Samples int   `json:"samples"`
	Missed  []int `json:"missed"` // of these, those that missed a bound, were not answered or failed: by objective
}

// sloParts is how many parts a test has.
const sloParts = 20

// An Objective is a bound on a percentile of the latency, of the time to the first token (TTFT) or of the time per further
// token (TPOT).
type Objective struct {
	Of         string `json:"of"`         // latency, ttft or tpot
	Percentile string `json:"percentile"` // p50, p90, p95, p97, p99 or p99.9
	BoundNS    int64  `json:"bound_ns"`
	ObservedNS int64  `json:"observed_ns,omitempty"` // absent: nothing was measured
	Met        bool   `json:"met"`
}

// The values of Objective.Of.
const (
	OfLatency    = "latency"
	OfFirstToken = "ttft"
	OfPerToken   = "tpot"
)

// ParseObjective reads an objective: "p99<50ms", "ttft<500ms" or "tpot p90<40ms". Without a percentile it is p99.
func ParseObjective(text string) (o Objective, err error) {
	metric, bound, found := strings.Cut(strings.ReplaceAll(text, "≤", "<"), "<")
	d, wrong := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(bound, "=")))
	o = Objective{OfLatency, "p99", int64(d), 0, false}
	for i, word := range strings.Fields(metric) {
		switch _, isPercentile := new(Latencies).percentile(word); {
		case isPercentile:
			o.Percentile = word
		case i == 0 && (word == OfLatency || word == OfFirstToken || word == OfPerToken):
			o.Of = word
		default:
			found = false
		}
	}
	if !found || strings.TrimSpace(metric) == "" || wrong != nil || d <= 0 {
		return o, fmt.Errorf("%q: must be a percentile (p50, p90, p95, p97, p99, p99.9) of latency, ttft or tpot, "+
			"< and a time with its unit, as in p99<50ms or ttft p90<500ms", text)
	}
	return o, nil
}

// percentile is that of a name, if there is one.
func (l *Latencies) percentile(name string) (int64, bool) {
	ns, ok := map[string]int64{"p50": l.P50, "p90": l.P90, "p95": l.P95, "p97": l.P97, "p99": l.P99, "p99.9": l.P999}[name]
	return ns, ok
}

// String is the objective as ParseObjective reads it.
func (o Objective) String() string {
	text := o.Percentile + "<" + time.Duration(o.BoundNS).String()
	if o.Of != OfLatency {
		text = o.Of + " " + text
	}
	return text
}

// JudgeObjectives compares the measurements of a run with objectives, and counts the answers that kept all of them. Fill, and Cut, come
// before it.
func (r *Results) JudgeObjectives(objectives []Objective, p *loadgen.Performance) {
	if len(objectives) == 0 || p == nil {
		return
	}
	s := &ServiceLevel{Met: true, Of: p.SampleCount}
	latency, firstToken, perToken := time.Duration(-1), time.Duration(-1), time.Duration(-1) // bounds of each answer: the widest; -1: none
	for _, o := range objectives {
		var l *Latencies
		var bound *time.Duration
		switch o.Of {
		case OfLatency:
			l, bound = cmp.Or(r.Performance.QueryLatencyNS, r.Performance.LatencyNS), &latency
			if r.Steady != nil {
				l = r.Steady.LatencyNS
			}
		case OfFirstToken:
			l, bound = r.Performance.FirstTokenNS, &firstToken
			if r.Steady != nil {
				l = r.Steady.FirstTokenNS
			}
		case OfPerToken:
			l, bound = r.Performance.TimePerOutputTokenNS, &perToken
			if r.Steady != nil {
				l = r.Steady.TimePerOutputTokenNS
			}
		}
		if l != nil {
			o.ObservedNS, _ = l.percentile(o.Percentile)
			o.Met = o.ObservedNS <= o.BoundNS
		}
		*bound = max(*bound, time.Duration(o.BoundNS))
		s.Met = s.Met && o.Met
		s.Objectives = append(s.Objectives, o)
	}
	if r.Scenario == loadgen.Server.String() && p.SampleCount >= sloParts {
		s.Parts = objectiveParts(s.Objectives, p)
	}
	p.EachSample(func(a loadgen.SampleRecord) {
		streamed := a.FirstToken >= 0 && a.Tokens > 0
		if a.Completed >= 0 && r.Steady.has(a) &&
			(latency < 0 || a.Completed-a.Start <= latency) &&
			(firstToken < 0 || streamed && a.FirstToken-a.Start <= firstToken) &&
			(perToken < 0 || streamed && a.PerToken() <= perToken) {
			s.Good++
		}
	})
	s.GoodPerSecond = perSecond(int64(s.Good), p.LastCompletion)
	if r.Steady != nil {
		s.Of, s.GoodPerSecond = r.Steady.Samples, perSecond(int64(s.Good), r.Steady.to-r.Steady.from)
	}
	r.SLO = s
}

// objectiveParts counts in parts of a test which samples missed which objective.
func objectiveParts(objectives []Objective, p *loadgen.Performance) []SLOPart {
	parts := make([]SLOPart, sloParts)
	for i := range parts {
		parts[i].Missed = make([]int, len(objectives))
	}
	n := uint64(0)
	p.EachSample(func(a loadgen.SampleRecord) {
		part := &parts[min(n*sloParts/p.SampleCount, sloParts-1)]
		n++
		part.Samples++
		for i, o := range objectives {
			took := a.Completed - a.Start
			switch o.Of {
			case OfFirstToken:
				took = a.FirstToken - a.Start
			case OfPerToken:
				took = a.PerToken()
			}
			if a.Completed < 0 || o.Of != OfLatency && a.FirstToken < 0 || took > time.Duration(o.BoundNS) {
				part.Missed[i]++
			}
		}
	})
	return parts
}

// sloLines are the objectives of a run, and its goodput.
func sloLines(s *ServiceLevel) []string {
	if s == nil {
		return nil
	}
	var lines []string
	for _, o := range s.Objectives {
		observed, verdict := "not measured", "NOT MET"
		if o.ObservedNS > 0 {
			observed = nanoseconds(o.ObservedNS)
		}
		if o.Met {
			verdict = "met"
		}
		lines = append(lines, fmt.Sprintf("SLO %v: %s, %s", o, observed, verdict))
	}
	return append(lines, fmt.Sprintf("goodput: %s, %d of %d answers kept all SLOs", units.Text(s.GoodPerSecond, "answers/s"), s.Good, s.Of))
}
