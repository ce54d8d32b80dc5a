package quantize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Score rates a quantised model, by its accuracy or anything else; more is better.
type Score func(ctx context.Context, m *onnx.Model) (float64, error)

// A LayerScore is the score of a model in which only one layer is quantised.
type LayerScore struct {
	Layer string  `json:"layer"`
	Op    string  `json:"op"`
	Score float64 `json:"score"`
}

// sensitivity scores models in which one layer with weights is quantised and all others stay in FP32. The
// layers that cost most come first. It calls progress after each layer.
func sensitivity(ctx context.Context, m calibratedModel, o Options, score Score, progress func(done, total int)) ([]LayerScore, error) {
	layers, err := candidates(m, o)
	if err != nil {
		return nil, fmt.Errorf("finding sensitive layers: %w", err)
	}
	all := layerNames(layers)
	for i := range layers {
		alone := o
		alone.Exclude = slices.Concat(o.Exclude, all[:i], all[i+1:])
		q, _, err := quantize(m.model, m.ranges, alone)
		if err == nil {
			layers[i].Score, err = score(ctx, q)
		}
		if err != nil {
			return nil, fmt.Errorf("finding sensitive layers: only %q: %w", all[i], err)
		}
		progress(i+1, len(layers))
	}
	slices.SortStableFunc(layers, func(a, b LayerScore) int { return cmp.Compare(a.Score, b.Score) })
	return layers, nil
}

// candidates lists the layers with weights of a model that options quantise, without scores.
func candidates(m calibratedModel, o Options) (layers []LayerScore, err error) {
	if m.ranges.Method == AtRunTime {
		_, report, err := Dynamic(m.model, o)
		for _, l := range report.Layers {
			layers = append(layers, LayerScore{Layer: l.Layer, Op: l.Op})
		}
		return layers, err
	}
	if err := o.validate(m.model); err != nil {
		return nil, err
	}
	plan := newPlan(m.model, o)
	for _, l := range plan.layers {
		if l.kind == weighted {
			layers = append(layers, LayerScore{Layer: layerName(l.node), Op: l.node.Op})
		}
	}
	if len(layers) == 0 {
		return nil, plan.errEmpty()
	}
	return layers, nil
}

func layerNames(layers []LayerScore) []string {
	list := make([]string, len(layers))
	for i, l := range layers {
		list[i] = l.Layer
	}
	return list
}

// ErrTargetMissed says that no choice of layers reaches a target.
var ErrTargetMissed = errors.New("the target is missed")

// A Search finds the layers that have to stay in FP32 for a model to be good enough.
type Search struct {
	Score  Score
	Target float64 // the least score that is enough
	// Rank orders the layers by their cost. It runs once for each layer, so a cheap one saves time.
	Rank Score
	// Progress is called after Rank of each layer.
	Progress func(done, total int)
}

// A Step is one try of a search.
type Step struct {
	Excluded int     `json:"excluded"` // how many of the most sensitive layers were left out
	Score    float64 `json:"score"`
}

// A SearchRecord is the course of a search, for the report.
type SearchRecord struct {
	Target      float64      `json:"target"`
	Score       float64      `json:"score"`    // of the model that was chosen
	Excluded    []string     `json:"excluded"` // layers that it leaves in FP32 for it
	Steps       []Step       `json:"steps"`
	Sensitivity []LayerScore `json:"sensitivity,omitempty"` // the most sensitive first
}

// run quantises the model with few layers left in FP32, beyond those that the options exclude. If all
// layers as integers are good enough, it does not rank them. Else it leaves the most sensitive 1, 2, 4, …
// out until the target is reached, and then bisects. A score need not rise with every layer that is left
// out: the result has reached the target, but fewer layers might do.
//
// If it does not reach the target, run returns the best that it found with ErrTargetMissed.
func (s Search) run(ctx context.Context, m calibratedModel, o Options) (best *onnx.Model, report Report, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("searching: %w", err)
		}
	}()
	layers, err := candidates(m, o)
	if err != nil {
		return nil, Report{}, err
	}
	var order []string // layers, the most sensitive first
	record := &SearchRecord{Target: s.Target}
	// try leaves the k most sensitive layers out, and keeps the result if it is better: one
	// that is enough is better than one that is not, or has more layers left out.
	try := func(k int) (enough bool, err error) {
		without := o
		without.Exclude = slices.Concat(o.Exclude, order[:k])
		tried, of, err := quantize(m.model, m.ranges, without)
		if err != nil {
			return false, err
		}
		score, err := s.Score(ctx, tried)
		if err != nil {
			return false, fmt.Errorf("with %d layers in FP32: %w", k, err)
		}
		enough = score >= s.Target
		record.Steps = append(record.Steps, Step{k, score})
		if best == nil || enough || !(record.Score >= s.Target) && cmp.Less(record.Score, score) { // NaN is less than all
			best, report = tried, of
			record.Score, record.Excluded = score, slices.Clone(order[:k])
		}
		return enough, nil
	}
	enough, err := try(0)
	if err != nil {
		return nil, Report{}, err
	}
	if most := len(layers) - 1; !enough && most > 0 { // without any layer there is nothing to quantise
		if record.Sensitivity, err = sensitivity(ctx, m, o, s.Rank, s.Progress); err != nil {
			return nil, Report{}, err
		}
		order = layerNames(record.Sensitivity)
		tooFew, first := 0, most
		for k := 1; ; k = min(2*k, most) {
			if enough, err = try(k); err != nil {
				return nil, Report{}, err
			}
			if enough {
				first = k
				break
			}
			if tooFew = k; k == most {
				break
			}
		}
		for tooFew+1 < first {
			middle := (tooFew + first) / 2
			if enough, err = try(middle); err != nil {
				return nil, Report{}, err
			}
			if enough {
				first = middle
			} else {
				tooFew = middle
			}
		}
	}
	report.Search = record
	if !(record.Score >= s.Target) { // nor NaN
		err = fmt.Errorf("%w: the best score is %v with %d layers in FP32, not %v", ErrTargetMissed, record.Score, len(record.Excluded), s.Target)
	}
	return best, report, err
}

// mostDecibels is the score of an equal model. Rounding to FP32 alone leaves about 144 dB.
const mostDecibels = 200

// signalToNoise returns a score that needs no labels: the ratio in decibels of the results of the prepared
// FP32 model's last layers on samples to the differences of another model's. Last layers are those with
// weights on which no other such layer depends: Softmax or non-maximum suppression behind them would hide
// or magnify differences. With several last layers it averages the ratios of noise to signal.
//
// It keeps the results of the FP32 model in memory, so samples should be few. The score is for results of
// quantize, which have the FP32 model's names.
func signalToNoise(ctx context.Context, p *onnx.Model, c Calibration) (Score, error) {
	plan := newPlan(p, Options{})
	heads := plan.heads()
	if len(heads) == 0 {
		return nil, errors.New("measuring signal to noise: the model has no layers with weights")
	}
	var signals [][][]float32 // by batch and head
	err := c.Pass(ctx, valuesModel(p, heads), func(outputs []tensor.Tensor, _ int) error {
		batch := make([][]float32, len(heads))
		for i := range batch {
			batch[i] = slices.Clone(tensor.Data[float32](outputs[i]))
		}
		signals = append(signals, batch)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("measuring signal to noise: %w", err)
	}
	return func(ctx context.Context, m *onnx.Model) (float64, error) {
		powers, noises, seen := make([]float64, len(heads)), make([]float64, len(heads)), 0
		err := c.Pass(ctx, valuesModel(m, heads), func(outputs []tensor.Tensor, _ int) error {
			for i, want := range signals[seen] {
				got := tensor.Data[float32](outputs[i])
				if len(got) != len(want) {
					return fmt.Errorf("%q has %d elements, in FP32 %d", heads[i], len(got), len(want))
				}
				cut := plan.onlySigmoid(heads[i]) // as quantize does
				for k, w := range want {
					g := got[k]
					if cut {
						g, w = withinSigmoid(g), withinSigmoid(w)
					}
					d := float64(g) - float64(w)
					powers[i] += float64(w) * float64(w)
					noises[i] += d * d
				}
			}
			seen++
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("measuring signal to noise: %w", err)
		}
		return decibels(powers, noises), nil
	}, nil
}

// heads returns the results of the weighted nodes on which no other such node depends.
func (p *plan) heads() []string {
	last := p.endsOf(Options{SkipLast: true})
	var names []string
	for _, n := range p.model.Graph.Nodes {
		if last[n] == "" || !onlyOutput(n) {
			continue
		}
		if act := p.activationBehind(n); act != nil {
			n = act
		}
		names = append(names, n.Outputs[0])
	}
	return names
}

// decibels returns the mean ratio of noise to signal as decibels of signal to noise.
func decibels(powers, noises []float64) float64 {
	ratio := 0.0
	for i, noise := range noises {
		if noise != 0 {
			ratio += noise / powers[i] / float64(len(noises))
		}
	}
	if !units.Finite(ratio) { // a signal of zeros, or no numbers at all
		return -mostDecibels
	}
	return max(-mostDecibels, min(mostDecibels, -10*math.Log10(ratio)))
}
