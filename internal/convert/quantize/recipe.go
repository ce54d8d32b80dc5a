package quantize

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A Recipe makes INT8 models of FP32 models. The zero Recipe is the recommended one.
type Recipe struct {
	Method  Method // empty: MinMax; AtRunTime needs no samples
	Options Options
	// Search leaves layers in FP32 until its target is reached; nil: all are quantised. Without a Rank of
	// its own, it ranks layers by signal to noise over the first 8 batches of samples.
	Search *Search
}

// Make equalises, calibrates and quantises a model, and searches if Search is set. If that does not reach
// its target, Make returns the best model that it found with ErrTargetMissed.
//
// Equalisation is not good for every model: Make keeps it if, made with the ranges of all other samples, it raises signal to noise
// over the first 8 batches.
func (r Recipe) Make(ctx context.Context, m *onnx.Model, c Calibration) (*onnx.Model, Report, error) {
	made, err := r.calibrate(ctx, m, c)
	if err != nil {
		return nil, Report{}, err
	}
	if r.Method != AtRunTime && !r.Options.PerTensor {
		if made, err = r.equalize(ctx, made, c); err != nil {
			return nil, Report{}, err
		}
	}
	var q *onnx.Model
	var report Report
	if r.Search == nil {
		q, report, err = quantize(made.model, made.ranges, r.Options)
	} else {
		s := *r.Search
		if s.Rank == nil {
			if s.Rank, err = judge(ctx, made.model, c); err != nil {
				return nil, Report{}, err
			}
		}
		q, report, err = s.run(ctx, made, r.Options)
	}
	if q != nil {
		report.BytesBefore = weightBytes(m)
	}
	return q, report, err
}

// Sensitivity returns what each layer costs if it alone is quantised: signal to noise at the model's last
// layers with weights in dB over the first 8 batches of samples, the worst first. It calls progress after
// each layer.
func (r Recipe) Sensitivity(ctx context.Context, m *onnx.Model, c Calibration, progress func(done, total int)) ([]LayerScore, error) {
	made, err := r.calibrate(ctx, m, c)
	if err != nil {
		return nil, err
	}
	score, err := judge(ctx, made.model, c)
	if err != nil {
		return nil, err
	}
	return sensitivity(ctx, made, r.Options, score, progress)
}

// A calibratedModel is a prepared model with its ranges, or a model for AtRunTime.
type calibratedModel struct {
	model  *onnx.Model
	ranges ranges
}

func (r Recipe) calibrate(ctx context.Context, m *onnx.Model, c Calibration) (calibratedModel, error) {
	if r.Method == AtRunTime {
		return calibratedModel{m, ranges{Method: AtRunTime}}, nil
	}
	p, err := prepare(m)
	if err != nil {
		return calibratedModel{}, fmt.Errorf("preparing the model: %w", err)
	}
	found, err := calibrate(ctx, p, c, r.Options)
	return calibratedModel{p, found}, err
}

// equalize returns the equalised model, or the given one if that is better on samples that neither has seen.
func (r Recipe) equalize(ctx context.Context, as calibratedModel, c Calibration) (calibratedModel, error) {
	rest := c.Batches(judged, math.MaxInt)
	e, layers, err := equalize(ctx, as.model, rest, r.Options)
	if errors.Is(err, errNoSamples) || err == nil && layers == 0 {
		return as, nil
	}
	if err != nil {
		return as, err
	}
	score, err := judge(ctx, as.model, c)
	if err != nil {
		return as, err
	}
	var scores [2]float64
	for i, m := range []*onnx.Model{as.model, e} {
		x, err := r.calibrate(ctx, m, rest)
		if err != nil {
			return as, err
		}
		q, _, err := quantize(x.model, x.ranges, r.Options)
		if err == nil {
			scores[i], err = score(ctx, q)
		}
		if err != nil {
			return as, err
		}
	}
	if scores[1] > scores[0] {
		return r.calibrate(ctx, e, c)
	}
	return as, nil
}

// judged is how many batches of samples judge: noise is alike in all, and many models are measured.
const judged = 8

// judge returns signal to noise over the first batches of samples.
func judge(ctx context.Context, m *onnx.Model, c Calibration) (Score, error) {
	p, err := prepare(m)
	if err != nil {
		return nil, fmt.Errorf("measuring signal to noise: %w", err)
	}
	return signalToNoise(ctx, p, c.Batches(0, judged))
}
