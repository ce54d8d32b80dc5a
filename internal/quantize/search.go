package quantize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A LayerScore is the score of a model of which only one layer is quantised.
type LayerScore struct {
	Layer string  `json:"layer"`
	Op    string  `json:"op"`
	Score float64 `json:"score"`
}

// Sensitivity quantises one layer with weights at a time, leaves all others in FP32, and
// scores what comes of it. The layers that cost most come first. Progress, if it is not
// nil, is called after each layer.
func Sensitivity(ctx context.Context, m *onnx.Model, ranges Ranges, o Options, score Score, progress func(done, total int)) ([]LayerScore, error) {
	p, layers, err := candidates(m, ranges, o)
	if err != nil {
		return nil, fmt.Errorf("finding sensitive layers: %w", err)
	}
	scores := make([]LayerScore, len(layers))
	for i, l := range layers {
		others := slices.Delete(slices.Clone(layers), i, i+1)
		alone := o
		alone.Exclude = slices.Concat(o.Exclude, names(others))
		q, _, err := Quantize(p, ranges, alone)
		if err != nil {
			return nil, fmt.Errorf("finding sensitive layers: only %q: %w", l.Layer, err)
		}
		if l.Score, err = score(ctx, q); err != nil {
			return nil, fmt.Errorf("finding sensitive layers: only %q: %w", l.Layer, err)
		}
		scores[i] = l
		if progress != nil {
			progress(i+1, len(layers))
		}
	}
	slices.SortStableFunc(scores, func(a, b LayerScore) int { return cmp.Compare(a.Score, b.Score) })
	return scores, nil
}

// candidates prepares a model and lists the layers with weights that options quantise.
func candidates(m *onnx.Model, ranges Ranges, o Options) (*onnx.Model, []LayerScore, error) {
	if ranges.Method.Name == AtRunTime {
		_, report, err := Dynamic(m, o)
		return m, report.layers(), err
	}
	p, err := prepare(m)
	if err != nil {
		return nil, nil, err
	}
	if err := o.validate(p); err != nil {
		return nil, nil, err
	}
	plan := newPlan(p, o)
	var layers []LayerScore
	for _, l := range plan.layers {
		if l.kind == weighted {
			layers = append(layers, LayerScore{Layer: layerName(l.node), Op: l.node.Op})
		}
	}
	if len(layers) == 0 {
		return nil, nil, plan.errEmpty()
	}
	return p, layers, nil
}

// layers are those with integer weights.
func (r Report) layers() []LayerScore {
	var layers []LayerScore
	for _, l := range r.Layers {
		layers = append(layers, LayerScore{Layer: l.Layer, Op: l.Op})
	}
	return layers
}

func names(layers []LayerScore) []string {
	list := make([]string, len(layers))
	for i, l := range layers {
		list[i] = l.Layer
	}
	return list
}

// ErrTargetMissed is the cause when no choice of layers reaches a target.
var ErrTargetMissed = errors.New("the target is missed")

// A Search finds the layers that have to stay in FP32 for a model to be good enough.
type Search struct {
	Score  Score
	Target float64 // the least score that is enough
	// Rank orders the layers by what they cost; nil: Score. It runs once for each layer, so a
	// cheap one such as SignalToNoise saves time.
	Rank Score
	// Most bounds how many layers may be left out; 0: all but one.
	Most int
	// Progress, if it is set, is called after each model that was scored.
	Progress func(what string, done, total int)
}

// A Step is one try of a search.
type Step struct {
	Excluded int     `json:"excluded"` // how many of the most sensitive layers were left out
	Score    float64 `json:"score"`
}

// Found is what a search came to, and how.
type Found struct {
	Model  *onnx.Model `json:"-"`
	Report Report      `json:"-"` // with the search in it
	SearchRecord
}

// A SearchRecord is what a report says of a search.
type SearchRecord struct {
	Target      float64      `json:"target"`
	Score       float64      `json:"score"`    // of the model that was chosen
	Excluded    []string     `json:"excluded"` // layers that it leaves in FP32 for it
	Steps       []Step       `json:"steps"`
	Sensitivity []LayerScore `json:"sensitivity,omitempty"` // the most sensitive first
}

// Run quantises the model with as few layers as it takes left in FP32, beyond those that
// the options exclude. If it is good enough as it is, layers are not even ranked. Else
// the most sensitive 1, 2, 4, … are left out until the target is reached, and the least
// number that does is found by bisection. A score need not rise with every layer that is left
// out: the result has reached the target in any case, but fewer layers might.
//
// If the target cannot be reached, Run returns the best that it found, with an error
// that is ErrTargetMissed.
func (s Search) Run(ctx context.Context, m *onnx.Model, ranges Ranges, o Options) (Found, error) {
	p, layers, err := candidates(m, ranges, o)
	if err != nil {
		return Found{}, fmt.Errorf("searching: %w", err)
	}
	r := &search{Search: s, model: p, ranges: ranges, options: o}
	r.best.Target = s.Target
	if err := r.run(ctx, layers); err != nil {
		return Found{}, fmt.Errorf("searching: %w", err)
	}
	r.best.Report.Model = m.Graph.Name
	r.best.Report.BytesBefore = weightBytes(m.Graph)
	record := r.best.SearchRecord
	r.best.Report.Search = &record
	if !(r.best.Score >= s.Target) { // nor if it is no number
		return r.best, fmt.Errorf("searching: %w: the best score is %v with %d layers in FP32, not %v",
			ErrTargetMissed, r.best.Score, len(r.best.Excluded), s.Target)
	}
	return r.best, nil
}

// A search under way.
type search struct {
	Search
	model   *onnx.Model
	ranges  Ranges
	options Options
	order   []string // layers, the most sensitive first
	best    Found
}

func (s *search) run(ctx context.Context, layers []LayerScore) error {
	enough, err := s.try(ctx, 0)
	if enough || err != nil || len(layers) == 1 {
		return err
	}
	rank := s.Rank
	if rank == nil {
		rank = s.Score
	}
	ranked, err := Sensitivity(ctx, s.model, s.ranges, s.options, rank, func(done, total int) { s.progress("layers", done, total) })
	if err != nil {
		return err
	}
	s.best.Sensitivity, s.order = ranked, names(ranked)
	most := len(layers) - 1 // without any layer there is nothing to quantise
	if s.Most > 0 {
		most = min(most, s.Most)
	}
	return s.bisect(ctx, most)
}

// bisect looks for the least number of layers, up to most, that is enough.
func (s *search) bisect(ctx context.Context, most int) error {
	tooFew, enough, err := s.bracket(ctx, most)
	for err == nil && tooFew+1 < enough {
		middle := (tooFew + enough) / 2
		var reached bool
		if reached, err = s.try(ctx, middle); reached {
			enough = middle
		} else {
			tooFew = middle
		}
	}
	return err
}

// bracket doubles the number of layers until it is enough. Where not even most are, both numbers are most.
func (s *search) bracket(ctx context.Context, most int) (tooFew, enough int, err error) {
	for k := 1; ; k = min(2*k, most) {
		reached, err := s.try(ctx, k)
		if err != nil || reached {
			return tooFew, k, err
		}
		if tooFew = k; k == most {
			return most, most, nil
		}
	}
}

// try leaves the k most sensitive layers out, and keeps the result if it is better: one
// that is enough is better than one that is not, or has more layers left out.
func (s *search) try(ctx context.Context, k int) (enough bool, err error) {
	o := s.options
	o.Exclude = slices.Concat(o.Exclude, s.order[:k])
	m, report, err := Quantize(s.model, s.ranges, o)
	if err != nil {
		return false, err
	}
	score, err := s.Score(ctx, m)
	if err != nil {
		return false, fmt.Errorf("with %d layers in FP32: %w", k, err)
	}
	enough = score >= s.Target
	first := len(s.best.Steps) == 0
	s.best.Steps = append(s.best.Steps, Step{k, score})
	s.progress("search", len(s.best.Steps), 0)
	if first || enough || !(s.best.Score >= s.Target) && cmp.Less(s.best.Score, score) { // no number is less than all
		s.best.Model, s.best.Report, s.best.Score = m, report, score
		s.best.Excluded = slices.Clone(s.order[:k])
	}
	return enough, nil
}

func (s *search) progress(what string, done, total int) {
	if s.Progress != nil {
		s.Progress(what, done, total)
	}
}
