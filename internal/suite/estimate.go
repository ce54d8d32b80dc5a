package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// An Estimate says how long the steps take that are still to run. What models and data take
// to be made, which happens once, is not in it.
type Estimate struct {
	Steps    int           `json:"steps"`
	Traffic  time.Duration `json:"traffic_ns"`
	Cooldown time.Duration `json:"cooldown_ns"`
	Guessed  int           `json:"guessed"` // steps that may take longer: nobody knows yet how fast their models are
}

// Total is all of the time.
func (e Estimate) Total() time.Duration { return max(e.Traffic, e.Traffic+e.Cooldown) } // or the sum is negative

// String says it in words.
func (e Estimate) String() string {
	least := ""
	if e.Guessed > 0 {
		least = "at least "
	}
	text := fmt.Sprintf("%s, %s%v", runs(e.Steps), least, coarse(e.Total()))
	if e.Cooldown > 0 {
		text += fmt.Sprintf(", of which %v to cool down", coarse(e.Cooldown))
	}
	if e.Guessed > 0 {
		text += fmt.Sprintf(" (of %d it is not known yet how fast their models are here)", e.Guessed)
	}
	return text
}

// coarse rounds a time to what matters: 2h5m, 3m20s.
func coarse(d time.Duration) string {
	if d >= time.Hour {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}

// Estimate adds up what is still to run.
func (p *Plan) Estimate() Estimate {
	var e Estimate
	for _, s := range p.Steps {
		if s.State != Planned {
			continue
		}
		e.Steps++
		e.Traffic = max(e.Traffic, e.Traffic+s.Estimate) // a sum beyond the longest time is negative
		if s.Guessed {
			e.Guessed++
		}
		if p.coolsBefore(s) {
			e.Cooldown += p.cooldown
		}
	}
	return e
}

// overhead is what a run takes beside its traffic: opening, warming up, writing.
const overhead = 3 * time.Second

// estimate says how long a step will take.
func (p *Plan) estimate(s *Step, r *run.Resolved) (err error) {
	speed, samples := p.speedOf(s)
	s.Guessed = speed == 0 || s.Mode == run.FindPeak
	s.Estimate, err = r.Estimate(speed, samples)
	s.Estimate += overhead
	return err
}

// speedOf is how many samples per second the newest run of the same model on the same kind of
// engine answered, and how many there were; 0: there is none.
func (p *Plan) speedOf(s *Step) (speed float64, samples int) {
	var known []*report.Results
	for _, run := range p.request.Earlier {
		known = append(known, run.Results)
	}
	for _, other := range p.Steps {
		known = append(known, other.Results)
	}
	known = slices.DeleteFunc(known, func(r *report.Results) bool { return r == nil || !s.tells(r) })
	if len(known) == 0 {
		return 0, 0
	}
	// Of those that are as new, the last.
	slices.Reverse(known)
	newest := slices.MaxFunc(known, func(a, b *report.Results) int { return a.Created.Compare(b.Created) })
	b := newest.Backend
	return float64(max(1, b.Instances)) / time.Duration(b.WarmUp.LatencyNS).Seconds(), newest.Input.Samples
}

// tells reports whether results say how fast the model of a step is on its engine.
func (s *Step) tells(r *report.Results) bool {
	b := r.Backend
	return r.Model == s.Model && (s.Precision == "" || r.Input.Precision == s.Precision) &&
		strings.HasPrefix(b.Engine, s.request.Engine.Name) && b.WarmUp.LatencyNS > 0
}

// learn estimates again what is to run of the model that has just been measured.
func (p *Plan) learn(from *Step) {
	for _, s := range p.Steps {
		if s.State != Planned || s.Model != from.Model || s.Precision != from.Precision {
			continue
		}
		if r, err := run.Resolve(s.request); err == nil {
			_ = p.estimate(s, r) // it worked before
		}
	}
}
