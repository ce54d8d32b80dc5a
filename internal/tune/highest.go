package tune

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A rateTest is what a test at a rate says of the highest rate.
type rateTest struct {
	rate  float64
	grew  bool // the queue did
	kept  bool // the bounds, and the queue did not grow
	parts []report.SLOPart
}

// highest is the highest rate that keeps the objectives: where the share of the requests that miss one passes what its percentile
// allows. Between two rates the logarithm of the odds of missing is a straight line; over all of them misses do not fall with the rate
// (they are pooled where they do). Its interval is that of tests whose parts, of 20 each, are drawn anew with replacement. Where the queue
// grows the latency is that of the length of the test, so that the rate lies between two tests. Nil: no rate keeps the objectives.
func highest(objectives []report.Objective, tests []rateTest) *report.HighestRate {
	tests = slices.SortedFunc(slices.Values(tests), func(a, b rateTest) int { return cmp.Compare(a.rate, b.rate) })
	steady := 0
	for steady < len(tests) && !tests[steady].grew {
		steady++
	}
	if steady == 0 {
		return nil
	}
	best := &report.HighestRate{Rate: tests[steady-1].rate, Low: new(tests[steady-1].rate)}
	if steady < len(tests) {
		best.High = new(tests[steady].rate)
	}
	const resamples = 1000
	for i, o := range objectives {
		allowed := 1 - percentileOf(o)
		all := make([][]report.SLOPart, steady)
		for k := range all {
			all[k] = tests[k].parts
		}
		rate, crossed := crossing(tests[:steady], all, i, allowed)
		if rate == 0 {
			return nil
		}
		if !crossed || rate >= best.Rate {
			continue
		}
		random := rand.New(rand.NewPCG(1, uint64(i)))
		var rates []float64
		for range resamples {
			drawn := make([][]report.SLOPart, steady)
			for k, parts := range all {
				for range parts {
					drawn[k] = append(drawn[k], parts[random.IntN(len(parts))])
				}
			}
			r, _ := crossing(tests[:steady], drawn, i, allowed)
			rates = append(rates, r)
		}
		slices.Sort(rates)
		best = &report.HighestRate{Bound: o.String(), Rate: rate, Low: new(min(rates[resamples/40], rate)),
			High: new(max(rates[resamples-1-resamples/40], rate))}
	}
	return best
}

// percentileOf is the share of requests that have to keep an objective.
func percentileOf(o report.Objective) float64 {
	v, err := strconv.ParseFloat(strings.TrimPrefix(o.Percentile, "p"), 64)
	if err != nil {
		return 0.99
	}
	return v / 100
}

// crossing is the rate from which on more than the allowed share of requests miss an objective; false: none of the rates, and then the
// highest of them is returned. 0: already the lowest rate misses it.
func crossing(tests []rateTest, parts [][]report.SLOPart, objective int, allowed float64) (rate float64, crossed bool) {
	type pool struct{ rate, missed, of, tests float64 }
	var pools []pool
	for i, t := range tests {
		p := pool{rate: t.rate, tests: 1}
		for _, part := range parts[i] {
			if objective < len(part.Missed) {
				p.missed, p.of = p.missed+float64(part.Missed[objective]), p.of+float64(part.Samples)
			}
		}
		if p.of == 0 {
			continue
		}
		pools = append(pools, p)
		for n := len(pools); n > 1 && pools[n-1].missed*pools[n-2].of < pools[n-2].missed*pools[n-1].of; n-- { // misses would fall
			a, b := pools[n-2], pools[n-1]
			pools = append(pools[:n-2], pool{(a.rate*a.tests + b.rate*b.tests) / (a.tests + b.tests), a.missed + b.missed, a.of + b.of, a.tests + b.tests})
		}
	}
	odds := func(p pool) float64 { return math.Log((p.missed + 0.5) / (p.of - p.missed + 0.5)) }
	goal := math.Log(allowed / (1 - allowed))
	misses := func(p pool) bool { return p.missed > allowed*p.of }
	for i, p := range pools {
		switch {
		case !misses(p):
		case i == 0:
			return 0, true
		default:
			low, high := odds(pools[i-1]), odds(p)
			share := (goal - low) / (high - low)
			if !(share > 0) { // few requests: the half that is added to both counts is more than allowed
				share = 0
			}
			return pools[i-1].rate + min(share, 1)*(p.rate-pools[i-1].rate), true
		}
	}
	if len(pools) == 0 {
		return 0, false
	}
	return pools[len(pools)-1].rate, false
}

// sentence is the outcome of a search in words. Idle is what one request at a time had of the first objective; 0: not known.
func sentence(h *report.HighestRate, objectives []report.Objective, tests []rateTest) string {
	var bounds []string
	for _, o := range objectives {
		bounds = append(bounds, spelled(o))
	}
	rate := func(v float64) string { return units.Text(units.Rounded(v, 3), "") }
	switch {
	case h == nil && len(bounds) == 0:
		return "the queue grows at the lowest rate that was tried"
	case h == nil:
		lowest := math.Inf(1)
		for _, t := range tests {
			lowest = min(lowest, t.rate)
		}
		return fmt.Sprintf("no rate that was tried keeps %s, the lowest was %s/s", strings.Join(bounds, " and "), rate(lowest))
	case h.Bound == "":
		text := "highest rate at which the queue does not grow"
		if len(bounds) > 0 {
			text = "highest rate that keeps " + strings.Join(bounds, " and ")
		}
		text += ": " + rate(h.Rate) + "/s"
		if h.High != nil {
			return text + " (at " + rate(*h.High) + "/s the queue grows)"
		}
		return strings.Replace(text, ": ", ": at least ", 1)
	}
	decides := h.Bound
	for _, o := range objectives {
		if o.String() == h.Bound {
			decides = spelled(o)
		}
	}
	return fmt.Sprintf("highest rate that keeps %s: %s/s (95 %% interval %s–%s)", decides, rate(h.Rate), rate(*h.Low), rate(*h.High))
}

// spelled is an objective in a sentence: ttft p99 < 200 ms.
func spelled(o report.Objective) string {
	return fmt.Sprintf("%s %s < %s", o.Of, o.Percentile, units.Duration(time.Duration(o.BoundNS)))
}
