package own

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The options of own models.
const (
	inputOption   = "input"
	shapeOption   = "shape"
	layoutOption  = "layout"
	processOption = "preprocess"
	pixelsOption  = "max-image-pixels"
	outputOption  = workload.OutputOption
	offsetOption  = "label-offset"
)

// maxLoaded is the number of samples that a test draws from: that of the rules for ImageNet.
const maxLoaded = 1024

// Name is the name of a file as a model. It ends as no name of a benchmark does, and can be a key of conf files.
func Name(path string) string {
	name := keyName(filepath.Base(path))
	if !IsFileName(name) {
		name += ".onnx"
	}
	return name
}

// keyName is a name without the characters that keys of conf files do not have.
func keyName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("*=#", r) {
			return '_'
		}
		return r
	}, name)
}

// IsFileName reports whether a name ends as those of model files do.
func IsFileName(name string) bool {
	switch filepath.Ext(name) {
	case ".onnx", ".ort", ".tflite", ".pb":
		return true
	}
	return false
}

// Model is the workload of a model file.
func Model(path string) workload.Model {
	return named(Name(path), func(s workload.Setup) (*workload.Workload, error) { return open(s, false) })
}

// Served is the workload of a model of a server, by its name there. The file, if there is one here, says more about its inputs than the
// server does. The name of the workload is none of a benchmark.
func Served(name, file string) workload.Model {
	return named(keyName(name)+"@server", func(s workload.Setup) (*workload.Workload, error) {
		s.ModelPath = file
		return open(s, true)
	})
}

func named(name string, open func(workload.Setup) (*workload.Workload, error)) workload.Model {
	return workload.Model{
		Name: name, Title: name, Task: "own model", Dataset: "own data",
		Rules:                  config.Model{Name: name},
		PerformanceSampleCount: maxLoaded,
		Quality:                workload.Quality{Fraction: 1},
		Options:                append(Options(), offset()),
		ScoreOptions:           []workload.Option{offset()},
		Open:                   open, Score: score,
	}
}

// Options say how own models are fed and read.
func Options() []workload.Option {
	return []workload.Option{
		{Name: inputOption, Kind: workload.List, Help: "own models: content of an input, as NAME=normal, uniform, zeros, ones, ids, a number or FILE.npy (texts of servers' models: FILE.txt too; repeatable; default: by type and name)"},
		{Name: shapeOption, Kind: workload.List, Help: "own models: shape of an input with free axes, as NAME=1x3x640x640 (repeatable; default: a guess, which is printed)"},
		{Name: layoutOption, Help: "order of the image axes, NCHW or NHWC (default: the model's own)", Choices: []string{nchw, nhwc}},
		{Name: processOption, Help: "name of the pre-processing, perhaps with changes: NAME,KEY=VALUE,… (default: the model's own)"},
		{Name: pixelsOption, Kind: workload.Integer, Help: "largest image that is decoded, in pixels (default 67108864)"},
		workload.ChooseOutput(),
	}
}

func offset() workload.Option {
	return workload.Option{Name: offsetOption, Kind: workload.Integer, Help: "what to add to the model's class to get the label (default: inferred)"}
}

// open opens a model whose inputs may be texts, where the engine takes them.
func open(s workload.Setup, texts bool) (*workload.Workload, error) {
	ports := s.Ports[workload.Only]
	outputs, names, err := chosen(ports.Outputs, s.Options[outputOption])
	if err != nil {
		return nil, err
	}
	if s.DatasetDir != "" && dataset.HasCOCO(s.DatasetDir) && slices.ContainsFunc(outputs, vision.IsYOLO) {
		return vision.OpenYOLO(s)
	}
	in, err := openInputs(s, ports.Inputs, outputs, texts)
	if err != nil {
		return nil, err
	}
	w := &workload.Workload{
		Samples: in.samples, Row: func(int) []workload.Slot { return in.row }, Prepare: in.prepare, Batch: in.batch,
		Outputs: func(string) []string { return names },
		Notes:   in.notes, Limitations: in.limitations,
	}
	if in.images != nil {
		w.Path, w.CacheKey = in.images.Path, in.cacheKey
	}
	respond := func(dst []byte, _ []tensor.Tensor, _, _ int) ([]byte, error) { return dst, nil }
	if s.Scored && in.labels == nil && in.expected == nil {
		return nil, userinput.Errorf("mode",
			"accuracy needs labels, and %s: give a folder per class, val_map.txt beside the images, labels.npy or %sOUTPUT.npy beside the "+
				"arrays, or COCO for a YOLO of Ultralytics", in.unlabelled(), expectedPrefix)
	}
	switch {
	case in.expected != nil && s.Scored:
		respond = in.answer
	case in.expected != nil:
	case in.labels != nil:
		c, err := bindClasses(outputs, s.Options, in)
		if err != nil && s.Scored {
			return nil, err
		}
		if err == nil {
			respond = c.append
			w.Notes = append(w.Notes, c.String())
		}
	}
	look := &finite{ports: outputs}
	w.Answers = look.limitations
	w.NewPredictor = func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
		if in.batch > 0 && maxBatch > in.batch {
			return nil, userinput.Errorf("max_batchsize", "%d: must be at most %d; %s", maxBatch, in.batch, in.perRun)
		}
		p := &predictor{batch: maxBatch, fixed: in.batch, made: len(in.limitations) > 0}
		var err error
		p.Predictor, err = singlepass.New(sessions[workload.Only], in.row, maxBatch,
			func(dst []byte, outputs []tensor.Tensor, k int, _ workload.Item) ([]byte, error) {
				look.at(outputs)
				return respond(dst, outputs, k, p.samples)
			})
		return p, err
	}
	return w, nil
}

// A finite looks for values that are not numbers in the first answers of a model, those of the warm-up.
type finite struct {
	ports  []backend.Port
	looked atomic.Int64
	found  atomic.Pointer[string] // the name of an output
}

func (f *finite) at(outputs []tensor.Tensor) {
	const first = 8 // answers
	if f.looked.Load() >= first || f.looked.Add(1) > first {
		return
	}
	for i, t := range outputs {
		if t.Type == tensor.Float32 && slices.ContainsFunc(tensor.Data[float32](t), func(v float32) bool { return v != v }) {
			f.found.CompareAndSwap(nil, &f.ports[i].Name)
		}
	}
}

func (f *finite) limitations() []limitation.Limitation {
	if name := f.found.Load(); name != nil {
		return []limitation.Limitation{{ID: limitation.NotNumbers, Key: *name}}
	}
	return nil
}

// A predictor adds to the error of a run what a user can change.
type predictor struct {
	*singlepass.Predictor
	batch   int
	fixed   int  // samples in each run; 0: as many as there are
	made    bool // inputs are made
	samples int  // in the run under way
}

// Predict implements workload.Predictor.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	p.samples = cmp.Or(p.fixed, len(items))
	err := p.Predictor.Predict(ctx, items, reply)
	if err == nil || ctx.Err() != nil {
		return err
	}
	var remedies []string
	if p.batch > 1 {
		remedies = append(remedies, "--max-batchsize 1, if it takes one sample at a time")
	}
	if p.made {
		remedies = append(remedies, "--"+inputOption+" and --"+shapeOption+", if made inputs do not suit it")
	}
	if len(remedies) == 0 {
		return err
	}
	return errors.Join(err, errors.New("The model refused its inputs; what may help: "+strings.Join(remedies, "; ")))
}

// chosen are the outputs that an option names, or all that are tensors; names is nil for all.
func chosen(ports []backend.Port, option string) (outputs []backend.Port, names []string, err error) {
	if option == "" {
		outputs = slices.DeleteFunc(slices.Clone(ports), func(p backend.Port) bool { return p.Other != "" })
		if len(outputs) == 0 {
			return nil, nil, fmt.Errorf("no output of the model can be read (%s): use a model with an output of a common type", described(ports))
		}
		return outputs, nil, nil
	}
	names = strings.Split(option, ",")
	for _, name := range names {
		p, ok := workload.PortNamed(ports, name)
		if !ok || p.Other != "" {
			return nil, nil, userinput.Errorf(outputOption, "the model has no tensor %q among its outputs; it has %s", name, described(ports))
		}
		outputs = append(outputs, p)
	}
	return outputs, names, nil
}

// described lists ports, also those that are not tensors.
func described(ports []backend.Port) string {
	var list []string
	for _, p := range ports {
		text := workload.DescribePorts([]backend.Port{p})
		if p.Other != "" {
			text = p.Name + " (a " + p.Other + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// best is the number of classes of a response: Top-5 needs as many.
const best = 5

// A classes reads the classes of a sample from an output.
type classes struct {
	output int // among those that are computed
	port   backend.Port
	argmax bool // the output is the class itself
	offset int  // label = class + offset
}

// bindClasses finds the first output with a row of scores for each sample, or else with a whole number.
func bindClasses(outputs []backend.Port, v workload.Values, in *inputs) (*classes, error) {
	c := &classes{output: -1}
	for i, p := range outputs {
		shape := p.Shape
		if in.split(p) && len(shape) > 0 {
			shape = shape[1:]
		}
		for len(shape) > 1 && (shape[len(shape)-1] == 1 || shape[0] == 1) { // [N 1000 1 1]
			if shape[0] == 1 {
				shape = shape[1:]
			} else {
				shape = shape[:len(shape)-1]
			}
		}
		float := singlepass.IsFloat(p.Type)
		if row := len(shape) == 1 && shape[0] != 1 || p.AnyShape; float && row {
			c.output, c.port, c.argmax = i, p, false
			break
		}
		if number := len(shape) == 0 || len(shape) == 1 && shape[0] == 1; c.output < 0 && number && (p.Type == tensor.Int64 || p.Type == tensor.Int32) {
			c.output, c.port, c.argmax = i, p, true
		}
	}
	if c.output < 0 {
		return nil, userinput.Errorf(outputOption,
			"no output is a class or a row of scores for each sample, and so accuracy is undefined; the model has %s", described(outputs))
	}
	n, err := v.Integer(offsetOption)
	if err != nil {
		return nil, err
	}
	scores := int64(-1)
	if k := len(c.port.Shape); k > 0 && !c.argmax {
		scores = slices.Max(c.port.Shape)
	}
	switch most := slices.Max(in.labels); {
	case n != nil:
		c.offset = *n
	case scores > 1 && scores == most+2 && slices.Min(in.labels) == 0: // one more than there are classes
		c.offset = -1
	case scores > 1 && most >= scores:
		return nil, userinput.Errorf(offsetOption, "the data have labels up to %d, and output %s has %d scores", most, c.port.Name, scores)
	}
	return c, nil
}

// append appends the labels of the highest scores, the best first, as int32 each.
func (c *classes) append(dst []byte, outputs []tensor.Tensor, k, batch int) ([]byte, error) {
	t := outputs[c.output]
	n, err := ofSample(c.port, t, batch)
	if err == nil && n == 0 {
		err = fmt.Errorf("the model's output %s is %v, without a score", c.port.Name, t)
	}
	if err != nil {
		return dst, err
	}
	put := func(class int) { dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(class+c.offset))) }
	switch {
	case c.argmax && t.Type == tensor.Int64:
		put(int(tensor.Data[int64](t)[k*n]))
		return dst, nil
	case c.argmax:
		put(int(tensor.Data[int32](t)[k*n]))
		return dst, nil
	}
	scores := tensor.Data[float32](t)[k*n:][:n]
	var top [best]int
	found, err := accuracy.TopK(top[:], scores)
	if err != nil {
		return dst, err
	}
	for _, class := range top[:found] {
		put(class)
	}
	return dst, nil
}

func (c *classes) String() string {
	text := "label = " + c.port.Name
	if !c.argmax {
		text = "label = argmax of " + c.port.Name
	}
	if c.offset != 0 {
		text += fmt.Sprintf(" %+d (--%s changes it)", c.offset, offsetOption)
	}
	return text
}

// score scores a log of labels, of outputs, or of boxes.
func score(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	if s.DatasetDir == "" {
		return nil, errors.New("inputs that were made have no labels")
	}
	if dataset.HasCOCO(s.DatasetDir) {
		return vision.ScoreCOCO(ctx, log, s)
	}
	labels, expected, err := readTruth(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if expected != nil {
		list := make([]accuracy.Expected, len(expected))
		for i, e := range expected {
			list[i] = e.Expected
		}
		return accuracy.ScoreExpected(log, list)
	}
	return accuracy.ScoreTopK(log, labels, best)
}
