package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/convert/quantize"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The precisions that a model can have.
const (
	FP32 = "fp32"
	FP16 = "fp16"
	INT8 = "int8"
	INT4 = "int4" // of the weights of matrix products
)

// Precisions returns all of them.
func Precisions() []string { return []string{FP32, FP16, INT8, INT4} }

// CheckPrecision says why a model cannot be had in a precision, if it is none of the choices.
func CheckPrecision(precision string, choices ...string) error {
	if p := strings.ToLower(precision); p == "bf16" || p == "bfloat16" {
		return userinput.Errorf("precision",
			"%s: ONNX Runtime's CPU has no kernels for matrix products and convolutions in bfloat16: must be one of %s", precision,
			strings.Join(choices, ", "))
	}
	return userinput.OneOf("precision", precision, choices...)
}

// A Converter makes models of lower precision from the FP32 model of a benchmark.
type Converter struct {
	Model      workload.Model
	Source     string // ONNX file of the FP32 model
	DatasetDir string
	Data       string          // fingerprint of the data set, for the names of kept models; empty: its folder names it
	Options    workload.Values // of the benchmark

	Engine   backend.Engine
	Threads  int    // of the engine; 0: it decides
	CacheDir string // for pre-processed samples; empty: they are not kept
	Program  string // name and version, for the records of accuracy runs
	Observer harness.Observer
}

// A Request describes the wanted model. The fields behind Precision are for INT8.
type Request struct {
	Precision string
	// Samples to calibrate with, as indices of the data set; nil: the first 64. MLPerf's
	// rules want those of its calibration lists.
	Samples []int

	Method     quantize.Method // empty: min-max
	Options    quantize.Options
	Target     float64 // part of the FP32 score to reach by leaving layers in FP32; 0: all are quantised
	ScoreCount int     // samples to score; 0: all
	// RankByNoise finds the layers that cost most by signal to noise at the last layers, which is
	// quick but misjudges detectors, instead of by the score, one run for each layer.
	RankByNoise bool
}

// A Description says what a conversion did, layer by layer.
type Description interface {
	WriteMarkdown(w io.Writer) error
	// Part is how many nodes compute in the new precision, and of how many.
	Part() (n, of int)
}

// A Made describes a model that was made.
type Made struct {
	Description
	report.Conversion
}

// Make makes a model. If a target was given and cannot be reached, it returns the best model that
// it found with an error that is quantize.ErrTargetMissed.
func (c Converter) Make(ctx context.Context, r Request) (*onnx.Model, *Made, error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	m, err := c.read(ctx, c.Source)
	if err != nil {
		return nil, nil, err
	}
	var s *samples // nil: nothing has asked for them
	var q *onnx.Model
	var d Description
	var missed error
	switch {
	case r.Precision == FP16:
		c.Observer.Phase("converting to float16")
		q, d, err = half(m, c.Source)
	case r.Precision == INT4:
		c.Observer.Phase("quantising weights to 4-bit integers")
		q, d, err = fourBits(m, r.Options, c.Source)
	default:
		c.Observer.Phase("quantising to 8-bit integers")
		recipe, calibration := quantize.Recipe{Method: r.Method, Options: r.Options}, quantize.Calibration{}
		if r.Method != quantize.AtRunTime || r.Target > 0 && r.RankByNoise { // else nothing reads samples
			if s, err = c.prepare(ctx, r.Samples, r.mostSamples()); err != nil {
				return nil, nil, orDynamic(ctx, m, r, err)
			}
			defer s.Close()
			calibration = c.calibration(ctx, s)
		}
		if r.Target > 0 {
			if recipe.Search, err = c.search(ctx, r); err != nil {
				return nil, nil, err
			}
		}
		if q, d, err = recipe.Make(ctx, m, calibration); err != nil {
			err = fmt.Errorf("quantising %s: %w", c.Source, err)
		}
		if errors.Is(err, quantize.ErrTargetMissed) {
			missed, err = err, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	made := madeOf(r.Precision, d)
	if made.Agreement, made.NotCompared, err = c.compare(ctx, m, q, s, r.Samples); err != nil {
		return nil, nil, err
	}
	return q, made, missed
}

// read reads a model. The engine puts the nodes of local functions in their places.
func (c Converter) read(ctx context.Context, path string) (*onnx.Model, error) {
	m, err := onnx.ReadWhole(path)
	if err != nil || !m.HasFunctions() || c.Engine == nil {
		return m, err
	}
	folder, err := os.MkdirTemp("", "mlperf-convert-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	flat := filepath.Join(folder, "flat.onnx")
	session, err := c.Engine.Open(ctx, backend.Options{ModelPath: path, OptimizedModel: flat, OptimizeLevel: "none"})
	if err != nil {
		return nil, fmt.Errorf("the local functions of the model: %w", err)
	}
	if err := session.Close(); err != nil {
		return nil, err
	}
	m, err = onnx.ReadWhole(flat)
	if err != nil {
		return nil, fmt.Errorf("the local functions of the model: %w", err)
	}
	used := map[string]bool{"": true, "ai.onnx": true}
	for n := range m.Graph.AllNodes() {
		used[n.Domain] = true
	}
	m.Opsets = slices.DeleteFunc(m.Opsets, func(o onnx.Opset) bool { return !used[o.Domain] }) // the engine names all that it has
	return m, nil
}

func madeOf(precision string, d Description) *Made {
	m := &Made{Description: d, Conversion: report.Conversion{Precision: precision}}
	m.Nodes, m.Of = d.Part()
	return m
}

// WriteMarkdown writes the description, and how answers compare.
func (m *Made) WriteMarkdown(w io.Writer) error {
	if err := m.Description.WriteMarkdown(w); err != nil {
		return err
	}
	text := "\n## Agreement with FP32\n\n"
	if a := m.Agreement; a != nil {
		text += fmt.Sprintf("The same inputs went through the FP32 model and this one: %v.\n", a)
	} else {
		text += fmt.Sprintf("Answers were not compared: %s.\n", m.NotCompared)
	}
	for _, l := range m.Limitations().Sentences() {
		text += fmt.Sprintf("\n**%s.**\n", l)
	}
	_, err := io.WriteString(w, text)
	return err
}

// mostSamples is how many samples a calibration takes: all that are given, or the default.
func (r Request) mostSamples() int { return max(len(r.Samples), defaultSamples) }

// orDynamic adds to an error of samples that there is a method without, where it has something to do.
func orDynamic(ctx context.Context, m *onnx.Model, r Request, err error) error {
	if ctx.Err() == nil && r.Target == 0 {
		if _, _, none := quantize.Dynamic(m, r.Options); none == nil {
			return fmt.Errorf("%w; the method %s needs no samples", err, quantize.AtRunTime)
		}
	}
	return err
}

func (r Request) check() error {
	if r.Precision == FP32 || !slices.Contains(Precisions(), r.Precision) {
		return fmt.Errorf("models cannot be converted to %q, only to %s, %s or %s", r.Precision, FP16, INT8, INT4)
	}
	return nil
}

func half(m *onnx.Model, path string) (*onnx.Model, Description, error) {
	h, report, err := quantize.ToFloat16(m)
	if err != nil {
		return nil, nil, fmt.Errorf("converting %s: %w", path, err)
	}
	return h, report, nil
}

func fourBits(m *onnx.Model, o quantize.Options, path string) (*onnx.Model, Description, error) {
	q, report, err := quantize.FourBit(m, quantize.Options{Exclude: o.Exclude, ExcludeOps: o.ExcludeOps})
	if err != nil {
		return nil, nil, fmt.Errorf("quantising %s: %w", path, err)
	}
	return q, report, nil
}

// search scores models by accuracy runs, against the score of the FP32 model.
func (c Converter) search(ctx context.Context, r Request) (*quantize.Search, error) {
	reference, err := c.score(ctx, c.Source, r.ScoreCount)
	if err != nil {
		return nil, fmt.Errorf("scoring the FP32 model: %w", err)
	}
	c.Observer.Note(fmt.Sprintf("the FP32 model scores %s, the target is %s", units.Score(reference), units.Score(r.Target*reference)))
	score := func(ctx context.Context, m *onnx.Model) (float64, error) {
		folder, err := os.MkdirTemp("", "mlperf-convert-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(folder)
		path := filepath.Join(folder, "candidate.onnx")
		if err := m.WriteFile(ctx, path); err != nil {
			return 0, err
		}
		score, err := c.score(ctx, path, r.ScoreCount)
		if err == nil {
			c.Observer.Note("a candidate scores " + units.Score(score))
		}
		return score, err
	}
	s := &quantize.Search{
		Target:   r.Target * reference,
		Score:    score,
		Rank:     score,
		Progress: c.Observer.Items,
	}
	if r.RankByNoise {
		s.Rank = nil
	}
	return s, nil
}

// Sensitivity returns what each layer costs if it alone is quantised: signal to noise at the
// model's last weighted layers in dB, the worst first.
func (c Converter) Sensitivity(ctx context.Context, r Request) ([]quantize.LayerScore, error) {
	m, err := c.read(ctx, c.Source)
	if err != nil {
		return nil, err
	}
	store, err := c.prepare(ctx, r.Samples, r.mostSamples())
	if err != nil {
		return nil, err
	}
	defer store.Close()
	c.Observer.Phase("calibrating, and quantising one layer at a time")
	return quantize.Recipe{Method: r.Method, Options: r.Options}.Sensitivity(ctx, m, c.calibration(ctx, store), c.Observer.Items)
}

// Descriptions are those of a model's files.
type Descriptions []*Made

// WriteMarkdown writes all of them.
func (d Descriptions) WriteMarkdown(w io.Writer) error {
	for i, one := range d {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := one.WriteMarkdown(w); err != nil {
			return err
		}
	}
	return nil
}

// errSeveral says that the samples of a model of several files are not the inputs of each, so that
// they cannot be calibrated.
var errSeveral = errors.New("the model has several files, which are not calibrated and take no target")

// MakeFolder converts all files of a model that has several into a folder, which must exist, to
// integers without calibration, unless the model says that it is recorded. Each keeps its path below the source: a pipeline has several files of
// one name.
func (c Converter) MakeFolder(ctx context.Context, r Request, folder string) (Descriptions, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Target > 0 || len(r.Samples) > 0 {
		return nil, errSeveral
	}
	files, err := c.Model.FilesOf(c.Source)
	if err != nil {
		return nil, err
	}
	missing := slices.Clone(r.Options.Exclude)
	for i := 0; i < len(files) && len(missing) > 0; i++ {
		m, err := onnx.ReadFile(files[i].Path)
		if err != nil {
			return nil, err
		}
		missing = slices.DeleteFunc(missing, func(layer string) bool { return hasLayer(m, layer) })
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no file of the model has a layer %q to exclude", missing[0])
	}
	var recorded map[string][][]tensor.Tensor
	if c.Model.Recorded > 0 && r.Precision == INT8 && r.Method != quantize.AtRunTime {
		if recorded, err = c.record(ctx, files); err != nil {
			return nil, fmt.Errorf("recording what the files of the model are given: %w", err)
		}
	}
	c.Observer.Phase("converting to " + r.Precision)
	var all Descriptions
	for i, f := range files {
		m, d, err := c.makeFile(ctx, f.Path, r, recorded[f.Role])
		if err != nil {
			return nil, err
		}
		made := madeOf(r.Precision, d)
		if made.NotCompared = errSeveral.Error(); recorded != nil {
			made.NotCompared = "the model has several files"
		}
		if err := c.addOrigin(ctx, m, f.Path, made.Conversion); err != nil {
			return nil, err
		}
		to := filepath.Join(folder, c.nameOf(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, err
		}
		if err := m.WriteFile(ctx, to); err != nil {
			return nil, err
		}
		all = append(all, made)
		c.Observer.Items(i+1, len(files))
	}
	return all, nil
}

// nameOf is the path of a model's file below the source, where that is a folder, else its name.
func (c Converter) nameOf(path string) string {
	if below, err := filepath.Rel(c.Source, path); err == nil && below != "." && filepath.IsLocal(below) {
		return below
	}
	return filepath.Base(path)
}

// makeFile converts one file of several. Recorded are inputs to calibrate it with; nil: it is not calibrated.
func (c Converter) makeFile(ctx context.Context, path string, r Request, recorded [][]tensor.Tensor) (*onnx.Model, Description, error) {
	m, err := c.read(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if r.Precision == FP16 {
		return half(m, path)
	}
	o := r.Options
	o.Exclude = slices.DeleteFunc(slices.Clone(o.Exclude), func(layer string) bool { return !hasLayer(m, layer) }) // those of other files
	if r.Precision == INT4 {
		return fourBits(m, o, path)
	}
	var q *onnx.Model
	var report quantize.Report
	if recorded == nil {
		q, report, err = quantize.Dynamic(m, o)
	} else {
		q, report, err = quantize.Recipe{Options: o}.Make(ctx, m, quantize.Calibration{
			Engine: c.Engine, Backend: backend.Options{IntraThreads: c.Threads}, Batch: 1,
			Samples: func(yield func([]tensor.Tensor, error) bool) {
				for _, inputs := range recorded {
					if !yield(inputs, context.Cause(ctx)) {
						return
					}
				}
			},
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("quantising %s: %w", path, err)
	}
	return q, report, nil
}

// hasLayer reports whether a file has a layer of that name.
func hasLayer(m *onnx.Model, name string) bool {
	return slices.ContainsFunc(m.Graph.Nodes, func(n *onnx.Node) bool {
		return n.Name == name || n.Name == "" && slices.Contains(n.Outputs, name)
	})
}

// PrecisionOf returns the precision in which a model of files computes: int4 or int8 if an operator has
// integer weights, fp16 or bf16 if most bytes of its floating-point constants have 16 bits, else fp32.
func PrecisionOf(paths ...string) (string, error) {
	var integers []int64 // bits
	bytes := map[onnx.ElemType]int64{}
	for _, path := range paths {
		m, err := onnx.ReadFile(path)
		if err != nil {
			return "", err
		}
		if bits := quantize.FewBits(m); bits > 0 {
			integers = append(integers, bits)
		}
		for t := range m.Tensors() {
			n, _ := t.Len() // no elements where the shape is impossible
			bytes[t.Type] += n * int64(t.Type.Bits()) / 8
		}
	}
	switch {
	case len(integers) > 0:
		return fmt.Sprintf("int%d", slices.Min(integers)), nil
	case bytes[onnx.Float16]+bytes[onnx.BFloat16] <= bytes[onnx.Float32]:
		return FP32, nil
	case bytes[onnx.BFloat16] > bytes[onnx.Float16]:
		return "bf16", nil
	}
	return FP16, nil
}
