package quantize

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Recipe says all of how to make an INT8 model of an FP32 one. The zero Recipe is the
// recommended one.
type Recipe struct {
	Method  Method // zero: MinMax; AtRunTime needs no samples
	Options Options
	// NoEqualization leaves Equalize out, and the time that it takes to find out whether it helps.
	NoEqualization bool
	// Search, if it is set, leaves layers in FP32 until its target is reached. Without a
	// Rank of its own, layers are ranked by SignalToNoise over the first 8 batches of samples.
	Search *Search
}

// JudgedBatches is over how many batches signal to noise is measured: noise is alike in all
// samples, and there are many models to measure.
const JudgedBatches = 8

// Make equalises, calibrates and quantises a model, and searches if it should. The
// calibration's Options are those of the recipe. If the target of the search cannot be
// reached, Make returns the best model there is with an error that is ErrTargetMissed.
//
// Equalisation is not good for every model. It is used if it raises SignalToNoise over the first
// 8 batches of samples.
func (r Recipe) Make(ctx context.Context, m *onnx.Model, c Calibration) (*onnx.Model, Report, error) {
	r.Method = r.Method.OrDefault()
	c.Options = r.Options
	if r.Method.Name == AtRunTime {
		return r.quantize(ctx, calibratedModel{m, Ranges{Method: r.Method}}, c)
	}
	made, err := r.calibrate(ctx, m, c)
	if err != nil {
		return nil, Report{}, err
	}
	if !r.NoEqualization && !r.Options.PerTensor {
		if made, err = r.equalize(ctx, made, c); err != nil {
			return nil, Report{}, err
		}
	}
	q, report, err := r.quantize(ctx, made, c)
	if q != nil {
		report.BytesBefore = weightBytes(m.Graph)
	}
	return q, report, err
}

// A calibrated model is prepared, and has ranges.
type calibratedModel struct {
	model  *onnx.Model
	ranges Ranges
}

func (r Recipe) calibrate(ctx context.Context, m *onnx.Model, c Calibration) (calibratedModel, error) {
	p, err := Prepare(m)
	if err != nil {
		return calibratedModel{}, err
	}
	ranges, err := Calibrate(ctx, p, c, r.Method)
	return calibratedModel{p, ranges}, err
}

// equalize returns the equalised model, or the one it is given if that is better.
func (r Recipe) equalize(ctx context.Context, as calibratedModel, c Calibration) (calibratedModel, error) {
	e, layers, err := equalize(ctx, as.model, c)
	if layers == 0 || err != nil {
		return as, err
	}
	equalized, err := r.calibrate(ctx, e, c)
	if err != nil {
		return as, err
	}
	score, err := judge(ctx, as.model, c)
	if err != nil {
		return as, err
	}
	before, err := r.score(ctx, as, score)
	if err != nil {
		return as, err
	}
	after, err := r.score(ctx, equalized, score)
	if err == nil && after > before {
		return equalized, nil
	}
	return as, err
}

func (r Recipe) score(ctx context.Context, x calibratedModel, score Score) (float64, error) {
	q, _, err := Quantize(x.model, x.ranges, r.Options)
	if err != nil {
		return 0, err
	}
	return score(ctx, q)
}

func (r Recipe) quantize(ctx context.Context, as calibratedModel, c Calibration) (*onnx.Model, Report, error) {
	if r.Search == nil {
		return Quantize(as.model, as.ranges, r.Options)
	}
	s := *r.Search
	if s.Rank == nil {
		var err error
		if s.Rank, err = judge(ctx, as.model, c); err != nil {
			return nil, Report{}, err
		}
	}
	found, err := s.Run(ctx, as.model, as.ranges, r.Options)
	return found.Model, found.Report, err
}

// judge returns signal to noise over a few samples.
func judge(ctx context.Context, m *onnx.Model, c Calibration) (Score, error) {
	c.Samples = FirstBatches(c.Samples, JudgedBatches)
	return SignalToNoise(ctx, m, c)
}

// FirstBatches returns the first n batches of samples.
func FirstBatches(s Samples, n int) Samples {
	return func(yield func([]tensor.Tensor, error) bool) {
		seen := 0
		for inputs, err := range s {
			if seen++; !yield(inputs, err) || seen == n {
				return
			}
		}
	}
}
