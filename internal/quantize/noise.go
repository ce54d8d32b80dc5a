package quantize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Score says how good a quantised model is: an accuracy, or anything else of which
// more is better.
type Score func(ctx context.Context, m *onnx.Model) (float64, error)

// mostDecibels is the score of a model that differs in nothing. Rounding to FP32 alone
// leaves about 144 dB.
const mostDecibels = 200

// SignalToNoise returns a score that needs no labels: how many decibels are between what
// the last layers of the FP32 model make of samples, and what another model makes
// otherwise. Last layers are those with weights that no other such layer depends on: what
// comes after them, like Softmax or non-maximum suppression, would hide differences or
// blow them up. With several of them, their ratios of noise to signal are averaged.
//
// It runs the FP32 model, and keeps what that makes in memory, so samples should be few. The
// score is for results of Quantize, which have the FP32 model's names.
func SignalToNoise(ctx context.Context, m *onnx.Model, c Calibration) (Score, error) {
	p, err := prepare(m)
	if err != nil {
		return nil, fmt.Errorf("measuring signal to noise: %w", err)
	}
	s := &signal{calibration: c, heads: newPlan(p, Options{}).heads()}
	if len(s.heads) == 0 {
		return nil, errors.New("measuring signal to noise: the model has no layers with weights")
	}
	if err := s.record(ctx, p); err != nil {
		return nil, fmt.Errorf("measuring signal to noise: %w", err)
	}
	return s.score, nil
}

// heads returns the results of the weighted nodes that no other such node depends on.
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

// A signal is what an FP32 model makes of samples.
type signal struct {
	calibration Calibration
	heads       []string
	batches     [][][]float32 // by batch and head
}

func (s *signal) record(ctx context.Context, m *onnx.Model) error {
	return s.calibration.pass(ctx, "signal", valuesModel(m, s.heads), func(outputs []tensor.Tensor, _ int) error {
		batch := make([][]float32, len(s.heads))
		for i := range batch {
			batch[i] = slices.Clone(tensor.Data[float32](outputs[i]))
		}
		s.batches = append(s.batches, batch)
		return nil
	})
}

// score is the Score.
func (s *signal) score(ctx context.Context, m *onnx.Model) (float64, error) {
	index := m.Graph.Index()
	for _, name := range s.heads {
		if index.Producer(name) == nil {
			return 0, fmt.Errorf("measuring signal to noise: the model does not make %q", name)
		}
	}
	n := &noiseSums{signal: s, powers: make([]float64, len(s.heads)), noises: make([]float64, len(s.heads))}
	err := s.calibration.pass(ctx, "noise", valuesModel(m, s.heads), n.add)
	if err == nil && n.seen < len(s.batches) {
		err = errors.New("there are fewer samples than before")
	}
	if err != nil {
		return 0, fmt.Errorf("measuring signal to noise: %w", err)
	}
	return decibels(n.powers, n.noises), nil
}

// noiseSums adds up how much another model makes otherwise.
type noiseSums struct {
	*signal
	seen           int       // batches
	powers, noises []float64 // by head
}

func (n *noiseSums) add(outputs []tensor.Tensor, _ int) error {
	if n.seen == len(n.batches) {
		return errors.New("there are more samples than before")
	}
	for i, want := range n.batches[n.seen] {
		got := tensor.Data[float32](outputs[i])
		if len(got) != len(want) {
			return fmt.Errorf("%q has %d elements, in FP32 %d", n.heads[i], len(got), len(want))
		}
		power, noise := compare(want, got)
		n.powers[i], n.noises[i] = n.powers[i]+power, n.noises[i]+noise
	}
	n.seen++
	return nil
}

// compare returns the sums of the squares of a signal and of the difference to it.
func compare(want, got []float32) (power, noise float64) {
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		power += float64(w) * float64(w)
		noise += d * d
	}
	return power, noise
}

// decibels returns the mean ratio of noise to signal as decibels of signal to noise.
func decibels(powers, noises []float64) float64 {
	ratio := 0.0
	for i, noise := range noises {
		if noise != 0 {
			ratio += noise / powers[i] / float64(len(noises))
		}
	}
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) { // a signal of zeros, or no numbers at all
		return -mostDecibels
	}
	return max(-mostDecibels, min(mostDecibels, -10*math.Log10(ratio)))
}
