package run

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// request checks what can be checked without a model.
func (q *QuantizeRequest) request(model workload.Model) (r convert.Request, err error) {
	several := model.Several()
	if err := q.suits(several); err != nil {
		return r, err
	}
	q.defaults(several, model.Attends)
	r = convert.Request{Precision: q.Precision, Options: q.Quantize, Target: q.Target, ScoreCount: q.Count, RankByNoise: q.Rank == rankByNoise, Method: quantize.Method(q.Method)}
	r.Options.Activations = quantize.Activations(q.Activations)
	for _, err := range []error{
		oneOf("precision", q.Precision, convert.INT8, convert.FP16),
		oneOf("method", q.Method, string(quantize.MinMax), string(quantize.AtRunTime)),
		oneOf("activations", q.Activations, string(quantize.U8), string(quantize.S8)),
		oneOf("rank", q.Rank, rankByScore, rankByNoise),
		notNegative("samples", q.Samples), notNegative("count", q.Count), notNegative("intra_threads", q.Threads),
		hasFolder("output", q.Output),
	} {
		if err != nil {
			return r, err
		}
	}
	if !(q.Target >= 0 && q.Target <= 1) {
		return r, userinput.Invalid("target", q.Target, "a part of the FP32 accuracy, 0 to 1")
	}
	if q.Calibration != "" {
		if q.Samples > 0 {
			return r, userinput.Errorf("samples", "excludes a calibration list")
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
			return userinput.Errorf(f.name, "%s has several files, which are quantised without calibration (%s) and without a target", q.Model, quantize.AtRunTime)
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
		return userinput.Invalid(name, n, "a positive number, or 0 for the default")
	}
	return nil
}

// hasFolder finds files to write that are in no folder, before anything that takes long.
func hasFolder(name, path string) error {
	folder := filepath.Dir(path)
	switch info, err := os.Stat(folder); {
	case err != nil:
		return userinput.Errorf(name, "the folder of %s: %w", path, err)
	case !info.IsDir():
		return userinput.Errorf(name, "the folder of %s: %s is no folder", path, folder)
	}
	return nil
}

// readable finds files that are none, before anything that takes long.
func readable(name, path string) error {
	_, err := fileio.Stat(path)
	return userinput.Wrap(name, err)
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
				return userinput.Errorf(f.field, "the model has no %s %q", f.what, name)
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
