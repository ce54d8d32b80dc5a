package run

import (
	"context"
	"errors"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A QuantizeRequest asks for a model of lower precision.
type QuantizeRequest struct {
	Program     string
	Model       string // of the catalogue; needed
	ModelPath   string // FP32 ONNX file; empty: the built-in model
	DatasetPath string // empty: the built-in data
	Options     map[string]string
	Engine      Engine
	Threads     int // inside an operator; 0: all cores

	Precision   string // int8 or fp16
	Calibration string // file that lists the samples to calibrate with
	Samples     int    // calibrate with the first ones instead; 0: 64
	Method      string // min-max or dynamic; of models with several files dynamic
	Activations string // u8 or s8
	Quantize    quantize.Options
	Target      float64 // part of the FP32 accuracy to reach by leaving layers in FP32; 0: none
	Count       int     // with Target: score the first samples only; 0: all
	Rank        string  // score or noise
	Output      string  // file; empty: MODEL-PRECISION.onnx; of models with several files a folder, MODEL-PRECISION
}

// A Quantized model lies in a file, with its description.
type Quantized struct {
	Model, Description string           // files
	Report             *quantize.Report // nil: not 8-bit integers
	Missed             bool             // the target: it is the best model that was found
}

// A LayerNoise is what a layer costs if it alone is quantised.
type LayerNoise = quantize.LayerScore

// The ways to rank layers.
const (
	rankByScore = "score"
	rankByNoise = "noise"
)

// SevenBitWeights reports whether the processor wants weights within ±63.
func SevenBitWeights() bool { return !machine.FastInt8() }

// Quantize makes a model of lower precision.
func Quantize(ctx context.Context, q QuantizeRequest, o Observer) (*Quantized, error) {
	var out *Quantized
	err := q.with(ctx, o, func(c convert.Converter, r convert.Request) (err error) {
		out, err = q.make(ctx, c, r)
		return err
	})
	return out, err
}

// Sensitivity says what each layer costs alone. It makes nothing.
func Sensitivity(ctx context.Context, q QuantizeRequest, o Observer) (scores []LayerNoise, err error) {
	err = q.with(ctx, o, func(c convert.Converter, r convert.Request) (err error) {
		scores, err = c.Sensitivity(ctx, r)
		return err
	})
	return scores, err
}

// with checks the request and calls f with what it comes to.
func (q *QuantizeRequest) with(ctx context.Context, o Observer, f func(convert.Converter, convert.Request) error) error {
	if q.Model == "" {
		return userinput.Missing("model", "want a model of the catalogue")
	}
	model, err := models.Lookup(q.Model)
	if err != nil {
		return userinput.Wrap("model", err)
	}
	r, err := q.request(model)
	if err != nil {
		return err
	}
	if err := model.CheckOptions(q.Options); err != nil {
		return err
	}
	return withMaker(q.Program, q.Engine, o, func(maker builtin.Maker) error {
		c := convert.Converter{
			Model: model, Source: q.ModelPath, DatasetDir: q.DatasetPath, Options: q.Options,
			Engine: maker.Engine, Threads: q.Threads, Program: q.Program, Observer: o,
		}
		if err := q.files(ctx, maker, &c); err != nil {
			return err
		}
		if err := q.knownLayers(c); err != nil {
			return err
		}
		if r.Samples, err = q.indices(c); err != nil {
			return err
		}
		return f(c, r)
	})
}

// files finds or makes the data and the model.
func (q *QuantizeRequest) files(ctx context.Context, maker builtin.Maker, c *convert.Converter) (err error) {
	if c.DatasetDir == "" {
		if c.DatasetDir, err = maker.Dataset(ctx, c.Model); err != nil {
			return err
		}
	}
	if c.Source == "" {
		c.Source, err = maker.Model(ctx, c.Model)
	}
	return err
}

func (q *QuantizeRequest) indices(c convert.Converter) ([]int, error) {
	if q.Calibration == "" {
		var first []int
		for i := range q.Samples {
			first = append(first, i)
		}
		return first, nil
	}
	f, err := fileio.Open(q.Calibration)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.Indices(f, q.Calibration)
}

func (q *QuantizeRequest) make(ctx context.Context, c convert.Converter, r convert.Request) (*Quantized, error) {
	if c.Model.Several() {
		return q.makeFolder(ctx, c, r)
	}
	m, description, err := c.Make(ctx, r)
	missed := errors.Is(err, quantize.ErrTargetMissed)
	if err != nil && !missed {
		return nil, err
	}
	if err := c.Write(ctx, q.Output, r.Precision, m, description); err != nil {
		return nil, err
	}
	out := &Quantized{Model: q.Output, Description: convert.DescriptionFile(q.Output), Missed: missed}
	if report, ok := description.(quantize.Report); ok {
		out.Report = &report
	}
	return out, nil
}

func (q *QuantizeRequest) makeFolder(ctx context.Context, c convert.Converter, r convert.Request) (*Quantized, error) {
	descriptions, err := c.WriteFolder(ctx, r, q.Output)
	if err != nil {
		return nil, err
	}
	out := &Quantized{Model: q.Output, Description: convert.DescriptionFile(q.Output)}
	for _, d := range descriptions {
		part, ok := d.(quantize.Report)
		if !ok {
			continue
		}
		if out.Report == nil {
			out.Report = &quantize.Report{}
		}
		out.Report.Layers, out.Report.Excluded = append(out.Report.Layers, part.Layers...), append(out.Report.Excluded, part.Excluded...)
		out.Report.BytesBefore += part.BytesBefore
		out.Report.BytesAfter += part.BytesAfter
	}
	return out, nil
}
