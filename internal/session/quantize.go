package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/regular"
	"github.com/mlperf-go/mlperf/internal/workload"
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
	Method      string // min-max, entropy, percentile, percentile:P or dynamic; of models with several files dynamic
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
		return field.Missing("model", "want a model of the catalogue")
	}
	model, err := models.Lookup(q.Model)
	if err != nil {
		return field.Wrap("model", err)
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

// request checks what can be checked without a model.
func (q *QuantizeRequest) request(model workload.Model) (r convert.Request, err error) {
	several := model.Several()
	if err := q.suits(several); err != nil {
		return r, err
	}
	q.defaults(several, model.Attends)
	r = convert.Request{Precision: q.Precision, Options: q.Quantize, Target: q.Target, ScoreCount: q.Count, RankByNoise: q.Rank == rankByNoise}
	r.Options.Activations = quantize.Activations(q.Activations)
	if r.Method, err = quantize.ParseMethod(q.Method); err != nil {
		return r, field.Wrap("method", err)
	}
	for _, err := range []error{
		oneOf("precision", q.Precision, convert.INT8, convert.FP16),
		oneOf("activations", q.Activations, string(quantize.U8), string(quantize.S8)),
		oneOf("rank", q.Rank, rankByScore, rankByNoise),
		notNegative("samples", q.Samples), notNegative("count", q.Count), notNegative("intra_threads", q.Threads),
	} {
		if err != nil {
			return r, err
		}
	}
	if !(q.Target >= 0 && q.Target <= 1) {
		return r, field.Invalid("target", q.Target, "a part of the FP32 accuracy, 0 to 1")
	}
	if q.Calibration != "" {
		if q.Samples > 0 {
			return r, field.Errorf("samples", "excludes a calibration list")
		}
		return r, readable("calibration", q.Calibration)
	}
	return r, nil
}

// suits refuses what has no meaning for models with several files, whose files are converted one by one.
func (q *QuantizeRequest) suits(several bool) error {
	if !several {
		return nil
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"calibration", q.Calibration != ""}, {"samples", q.Samples > 0}, {"target", q.Target > 0},
		{"method", q.Method != "" && q.Method != string(quantize.AtRunTime)},
	} {
		if f.given {
			return field.Errorf(f.name, "%s has several files, which are quantised without calibration (%s) and without a target", q.Model, quantize.AtRunTime)
		}
	}
	return nil
}

func (q *QuantizeRequest) defaults(several, attends bool) {
	method, extension := quantize.MinMax, ".onnx"
	if several || attends {
		method = quantize.AtRunTime
	}
	if several {
		extension = ""
	}
	for _, d := range []struct {
		to    *string
		value string
	}{
		{&q.Precision, convert.INT8}, {&q.Method, string(method)}, {&q.Activations, string(quantize.U8)}, {&q.Rank, rankByScore},
	} {
		if *d.to == "" {
			*d.to = d.value
		}
	}
	if q.Output == "" {
		q.Output = fmt.Sprintf("%s-%s%s", q.Model, q.Precision, extension)
	}
}

func notNegative(name string, n int) error {
	if n < 0 {
		return field.Invalid(name, n, "a positive number, or 0 for the default")
	}
	return nil
}

// readable finds files that are none, before anything that takes long.
func readable(name, path string) error {
	_, err := regular.Stat(path)
	return field.Wrap(name, err)
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

// knownLayers finds names of layers and operators that the model does not have.
func (q *QuantizeRequest) knownLayers(c convert.Converter) error {
	if len(q.Quantize.Exclude)+len(q.Quantize.ExcludeOps) == 0 {
		return nil
	}
	files, err := c.Model.FilesOf(c.Source)
	if err != nil {
		return err
	}
	names, ops, err := layersOf(files)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		field, what string
		given       []string
		having      map[string]bool
	}{{"exclude", "layer", q.Quantize.Exclude, names}, {"exclude_op", "operator", q.Quantize.ExcludeOps, ops}} {
		for _, name := range f.given {
			if name == "" || !f.having[name] {
				return field.Errorf(f.field, "the model has no %s %q", f.what, name)
			}
		}
	}
	return nil
}

// layersOf are the names of the layers of model files, and their operators. A layer without a name is called by
// its output.
func layersOf(files []workload.File) (names, ops map[string]bool, err error) {
	names, ops = map[string]bool{}, map[string]bool{}
	for _, file := range files {
		m, err := onnx.ReadFile(file.Path)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range m.Graph.Nodes {
			ops[n.Op], names[n.Name] = true, true
			if n.Name == "" && len(n.Outputs) > 0 {
				names[n.Outputs[0]] = true
			}
		}
	}
	return names, ops, nil
}

func (q *QuantizeRequest) indices(c convert.Converter) ([]int, error) {
	if q.Calibration == "" {
		var first []int
		for i := range q.Samples {
			first = append(first, i)
		}
		return first, nil
	}
	f, err := regular.Open(q.Calibration)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.Indices(f, q.Calibration)
}

func (q *QuantizeRequest) make(ctx context.Context, c convert.Converter, r convert.Request) (*Quantized, error) {
	if c.Several() {
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
