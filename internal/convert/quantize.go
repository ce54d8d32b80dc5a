package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/convert/quantize"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A QuantizeRequest asks for a model of lower precision.
type QuantizeRequest struct {
	Program     string
	Model       string // of the catalogue; empty: the file of ModelPath by itself
	ModelPath   string // FP32 ONNX file; empty: the built-in model
	DatasetPath string // empty: the built-in data
	Options     map[string]string
	Library     string // file of ONNX Runtime; empty: the installed one
	Threads     int    // inside an operator; 0: all cores

	Precision   string // int8, fp16 or int4
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
	Model, Description string             // files
	Report             *quantize.Report   // nil: no integers
	Conversion         *report.Conversion // how much of it was converted, and how its answers compare
	Missed             bool               // the target: it is the best model that was found
}

// A LayerNoise is the cost of a layer if it alone is quantised.
type LayerNoise = quantize.LayerScore

// The ways to rank layers.
const (
	rankByScore = "score"
	rankByNoise = "noise"
)

// SevenBitWeights reports whether the processor wants weights within ±63.
func SevenBitWeights() bool { return !machine.FastInt8() }

// Default is the request of a run that wants a precision.
func (c Converter) Default(precision string) Request {
	r := Request{Precision: precision}
	r.Options.SevenBitWeights = SevenBitWeights()
	if c.Model.Attends && precision == INT8 {
		r.Method = quantize.AtRunTime
	}
	return r
}

// Quantize makes a model of lower precision.
func Quantize(ctx context.Context, q QuantizeRequest, o harness.Observer) (out *Quantized, err error) {
	err = q.withConverter(ctx, o, func(c Converter, r Request) error {
		out = &Quantized{Model: q.Output, Description: DescriptionFile(q.Output)}
		if c.Model.Several() {
			descriptions, err := c.WriteFolder(ctx, r, q.Output)
			for _, d := range descriptions {
				if out.Conversion == nil {
					out.Conversion = &report.Conversion{Precision: d.Precision, NotCompared: d.NotCompared}
				}
				out.Conversion.Nodes += d.Nodes
				out.Conversion.Of += d.Of
				if part, ok := d.Description.(quantize.Report); ok {
					if out.Report == nil {
						out.Report = &quantize.Report{Bits: part.Bits}
					}
					out.Report.Layers, out.Report.Excluded = append(out.Report.Layers, part.Layers...), append(out.Report.Excluded, part.Excluded...)
					out.Report.BytesBefore += part.BytesBefore
					out.Report.BytesAfter += part.BytesAfter
				}
			}
			return err
		}
		m, made, err := c.Make(ctx, r)
		if out.Missed = errors.Is(err, quantize.ErrTargetMissed); err != nil && !out.Missed {
			return err
		}
		out.Conversion = &made.Conversion
		if report, ok := made.Description.(quantize.Report); ok {
			out.Report = &report
		}
		return c.Write(ctx, q.Output, m, made)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Sensitivity says what each layer costs alone. It makes nothing.
func Sensitivity(ctx context.Context, q QuantizeRequest, o harness.Observer) (scores []LayerNoise, err error) {
	if cmp.Or(q.Precision, INT8) != INT8 {
		return nil, userinput.Errorf("precision", "what a layer costs is known of %s only, not of %s", INT8, q.Precision)
	}
	err = q.withConverter(ctx, o, func(c Converter, r Request) (err error) {
		scores, err = c.Sensitivity(ctx, r)
		return err
	})
	return scores, err
}

// withConverter checks the request, fills in its defaults, finds or makes the model and the data, and calls f.
func (q *QuantizeRequest) withConverter(ctx context.Context, o harness.Observer, f func(Converter, Request) error) error {
	if q.Model == "" && q.ModelPath == "" {
		return userinput.Missing("model", "give a model of the catalogue, or a model file")
	}
	model, err := models.Find(q.Model, q.ModelPath)
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
	return builtin.WithMaker(q.Program, q.Library, o, func(maker builtin.Maker) (err error) {
		c := Converter{
			Model: model, Source: q.ModelPath, DatasetDir: q.DatasetPath, Options: q.Options,
			Engine: maker.Engine, Threads: q.Threads, Program: q.Program, Observer: o,
		}
		if c.DatasetDir == "" && q.Model != "" {
			if c.DatasetDir, err = maker.Dataset(ctx, model); err != nil {
				return err
			}
		}
		if c.Source == "" {
			c.Source, err = maker.Model(ctx, model)
		} else if c.Source, err = CachedFile(ctx, c.Source, maker.Dir); err != nil {
			err = userinput.Wrap("model_path", err)
		}
		if err != nil {
			return err
		}
		if err := q.checkLayers(c); err != nil {
			return err
		}
		for i := range q.Samples {
			r.Samples = append(r.Samples, i)
		}
		if q.Calibration != "" {
			list, err := fileio.Open(q.Calibration)
			if err != nil {
				return err
			}
			defer list.Close()
			if r.Samples, err = c.Indices(list, q.Calibration); err != nil {
				return err
			}
		}
		return f(c, r)
	})
}

// request fills in the defaults and checks what can be checked without the files.
func (q *QuantizeRequest) request(model workload.Model) (r Request, err error) {
	method, output := quantize.MinMax, ".onnx"
	if q.Precision == INT4 {
		if field := userinput.FirstSet([]string{"calibration", "samples", "target", "method", "activations", "per_tensor"}, q.Calibration != "",
			q.Samples > 0, q.Target > 0,
			q.Method != "", q.Activations != "" && q.Activations != string(quantize.U8), q.Quantize.PerTensor); field != "" {
			return r, userinput.Errorf(field,
				"%s has 4-bit weights with a scale for each block of them and FP32 activations: nothing is calibrated, and there is no target", INT4)
		}
	}
	if model.Several() {
		if field := userinput.FirstSet([]string{"calibration", "samples", "target", "method"},
			q.Calibration != "", q.Samples > 0, q.Target > 0, q.Method != "" && q.Method != string(quantize.AtRunTime) && model.Recorded == 0); field != "" {
			if model.Recorded > 0 {
				return r, userinput.Errorf(field, "%s has several files, which are calibrated by the first %d samples, and without a target",
					q.Model, model.Recorded)
			}
			return r, userinput.Errorf(field, "%s has several files, which are quantised without calibration (%s) and without a target", q.Model,
				quantize.AtRunTime)
		}
		output = ""
	}
	if model.Attends || model.Several() && model.Recorded == 0 {
		method = quantize.AtRunTime
	}
	q.Precision, q.Method = cmp.Or(q.Precision, INT8), cmp.Or(q.Method, string(method))
	q.Activations, q.Rank = cmp.Or(q.Activations, string(quantize.U8)), cmp.Or(q.Rank, rankByScore)
	named := q.Output != ""
	q.Output = cmp.Or(q.Output, fmt.Sprintf("%s-%s%s", cmp.Or(q.Model, strings.TrimSuffix(model.Name, filepath.Ext(model.Name))), q.Precision, output))
	r = Request{Precision: q.Precision, Options: q.Quantize, Target: q.Target, ScoreCount: q.Count, RankByNoise: q.Rank == rankByNoise,
		Method: quantize.Method(q.Method)}
	r.Options.Activations = quantize.Activations(q.Activations)
	for _, err := range []error{
		CheckPrecision(q.Precision, INT8, FP16, INT4),
		userinput.OneOf("method", q.Method, string(quantize.MinMax), string(quantize.AtRunTime)),
		userinput.OneOf("activations", q.Activations, string(quantize.U8), string(quantize.S8)),
		userinput.OneOf("rank", q.Rank, rankByScore, rankByNoise),
	} {
		if err != nil {
			return r, err
		}
	}
	for field, n := range map[string]int{"samples": q.Samples, "count": q.Count, "intra_threads": q.Threads} {
		if n < 0 {
			return r, userinput.Invalid(field, n, "a positive number, or 0 for the default")
		}
	}
	if !(q.Target >= 0 && q.Target <= 1) {
		return r, userinput.Invalid("target", q.Target, "a part of the FP32 accuracy, 0 to 1")
	}
	folder := filepath.Dir(q.Output)
	if info, err := os.Stat(folder); err != nil {
		return r, userinput.Errorf("output", "the folder of %s: %w", q.Output, err)
	} else if !info.IsDir() {
		return r, userinput.Errorf("output", "the folder of %s: %s is not a folder", q.Output, folder)
	}
	if err := checkOutput(q.Output, named); err != nil {
		return r, userinput.Wrap("output", err)
	}
	if q.Calibration != "" {
		if q.Samples > 0 {
			return r, userinput.Errorf("samples", "excludes a calibration list")
		}
		_, err := fileio.Stat(q.Calibration)
		return r, userinput.Wrap("calibration", err)
	}
	return r, nil
}

// checkLayers finds names of layers and operators that the model does not have. A layer without a name is called by its
// output.
func (q *QuantizeRequest) checkLayers(c Converter) error {
	if len(q.Quantize.Exclude)+len(q.Quantize.ExcludeOps) == 0 {
		return nil
	}
	files, err := c.Model.FilesOf(c.Source)
	if err != nil {
		return err
	}
	layers, operators := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		m, err := onnx.ReadFile(file.Path)
		if err != nil {
			return err
		}
		for _, n := range m.Graph.Nodes {
			operators[n.Op], layers[n.Name] = true, true
			if n.Name == "" && len(n.Outputs) > 0 {
				layers[n.Outputs[0]] = true
			}
		}
	}
	for _, f := range []struct {
		field, what string
		given       []string
		having      map[string]bool
	}{{"exclude", "layer", q.Quantize.Exclude, layers}, {"exclude_op", "operator", q.Quantize.ExcludeOps, operators}} {
		for _, name := range f.given {
			if name == "" || !f.having[name] {
				return userinput.Errorf(f.field, "the model has no %s %q", f.what, name)
			}
		}
	}
	return nil
}

// checkOutput refuses to replace a description that this program did not write, and, unless the user named it, a model without
// one of this program's.
func checkOutput(path string, named bool) error {
	about := DescriptionFile(path)
	text, err := fileio.ReadFile(about, maxDescription)
	ours := err == nil && strings.Contains(string(text), originOfModel)
	switch _, errModel := os.Lstat(path); {
	case !ours && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is there already, and is not of this program: choose another name", about)
	case !ours && !named && errModel == nil:
		return fmt.Errorf("%s is there already, and is not of this program: choose another name", path)
	}
	return nil
}
