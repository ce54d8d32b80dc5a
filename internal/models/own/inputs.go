package own

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const (
	// seed is that of inputs that are made.
	seed = 20260101
	// Made samples are as many as fit into madeBytes, within these bounds.
	madeBytes           = 64 << 20
	leastMade, mostMade = 4, 256
	// Extents of free axes that nothing tells.
	defaultSequence = 128    // tokens
	defaultImage    = 224    // pixels
	defaultSound    = 16_000 // values: a second
	defaultExtent   = 16
)

// inputs are the inputs of a model with their contents.
type inputs struct {
	list    []*input
	row     []workload.Slot
	batched bool  // the first axis of each is the batch
	length  int64 // of a sequence, with the past: what inputs with lengths have
	samples int
	labels  []int64 // of the samples; nil: none

	expected []*expected // outputs

	images   *dataset.Folder // nil: no image is read
	pipeline string          // of the images, in the key of their cache
	dir      string

	notes, caveats []string
}

// An input is one input of a model.
type input struct {
	backend.Port
	axes []string     // names of the axes, empty where the file has none
	rows int64        // of the embedding that the input is an index into; 0: unknown
	size tensor.Shape // of a sample

	guessed bool // a part of size

	fill func(index int, dst tensor.Tensor) error
}

// openInputs finds the shape and the content of each input. batch is the number of samples in a run of the model; 0: any.
func openInputs(s workload.Setup, ports, outputs []backend.Port) (in *inputs, batch int, err error) {
	in = &inputs{dir: s.DatasetDir}
	for _, p := range ports {
		i := &input{Port: p, axes: make([]string, len(p.Shape))}
		switch {
		case p.Other != "":
			return nil, 0, fmt.Errorf("input %s of the model is a %s, which cannot be made or read: only tensors can", p.Name, p.Other)
		case p.Type == tensor.String:
			return nil, 0, fmt.Errorf("input %s of the model has texts, which cannot be made or read: want a model that takes their tokens", p.Name)
		}
		in.list = append(in.list, i)
	}
	in.readGraph(s.ModelPath)
	shapes, err := in.pairs(s.Options[shapeOption], shapeOption)
	if err != nil {
		return nil, 0, err
	}
	given := map[string]tensor.Shape{}
	for name, text := range shapes {
		for extent := range strings.SplitSeq(text, "x") {
			n, err := strconv.ParseInt(extent, 10, 64)
			if err != nil || n < 0 {
				return nil, 0, userinput.Invalid(shapeOption, name+"="+text, "extents with x between, as "+name+"=1x3x640x640")
			}
			given[name] = append(given[name], n)
		}
	}
	kinds, err := in.pairs(s.Options[inputOption], inputOption)
	if err != nil {
		return nil, 0, err
	}
	if batch, err = in.findBatch(given, outputs); err != nil {
		return nil, 0, err
	}
	data, err := in.openData(s, kinds, given, outputs)
	if err != nil {
		return nil, 0, err
	}
	if err := in.settle(given, data); err != nil {
		return nil, 0, err
	}
	if err := in.contents(s, kinds, data); err != nil {
		return nil, 0, err
	}
	return in, batch, nil
}

// readGraph reads what only the graph tells: names of axes, and rows of embeddings. Files in ONNX Runtime's own format have none.
func (in *inputs) readGraph(path string) {
	m, err := onnx.ReadFile(path)
	if err != nil {
		return // the engine reads other formats
	}
	index := m.Graph.Index()
	for _, v := range m.Graph.FreeInputs() {
		i := slices.IndexFunc(in.list, func(i *input) bool { return i.Name == v.Name })
		if i < 0 {
			continue
		}
		for k, dim := range v.Type.Shape {
			if k < len(in.list[i].axes) && in.list[i].Shape[k] < 0 {
				in.list[i].axes[k] = dim.Param
			}
		}
		in.list[i].rows = embeddingRows(index, v.Name, 8)
	}
}

// embeddingRows is the number of rows of the smallest table that a value is the index into, perhaps after a cast or another shape.
func embeddingRows(index *onnx.Index, value string, steps int) (rows int64) {
	if steps == 0 {
		return 0
	}
	for _, n := range index.Consumers(value) {
		found := int64(0)
		switch n.Op {
		case "Gather":
			table := index.Initializer(n.Input(0))
			if table == nil && index.Producer(n.Input(0)) != nil && index.Producer(n.Input(0)).Op == "DequantizeLinear" {
				table = index.Initializer(index.Producer(n.Input(0)).Input(0))
			}
			axis := onnx.AttrOr(n, "axis", int64(0))
			if n.Input(1) == value && table != nil && axis == 0 && len(table.Dims) > 1 {
				found = table.Dims[0]
			}
		case "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Slice", "Transpose":
			if n.Input(0) == value && len(n.Outputs) > 0 {
				found = embeddingRows(index, n.Outputs[0], steps-1)
			}
		}
		if found > 0 && (rows == 0 || found < rows) {
			rows = found
		}
	}
	return rows
}

// pairs reads an option of NAME=VALUE pairs, each of an input.
func (in *inputs) pairs(text, option string) (map[string]string, error) {
	list := map[string]string{}
	if text == "" {
		return list, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		i := strings.LastIndex(pair, "=")
		if i <= 0 || i == len(pair)-1 {
			return nil, userinput.Invalid(option, pair, "NAME=VALUE")
		}
		name := pair[:i]
		if !slices.ContainsFunc(in.list, func(i *input) bool { return i.Name == name }) {
			var ports []backend.Port
			for _, i := range in.list {
				ports = append(ports, i.Port)
			}
			return nil, userinput.Errorf(option, "the model has no input %q; it has %s", name, workload.DescribePorts(ports))
		}
		list[name] = pair[i+1:]
	}
	return list, nil
}

// notBatch are parts of names of axes that are not the batch.
var notBatch = []string{"seq", "len", "time", "token", "frame", "width", "height", "num_", "box", "point", "node", "edge", "sample"}

// has reports whether a name has one of some parts.
func has(name string, parts ...string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
}

// findBatch decides whether the first axis of all inputs is the batch, and returns its extent, 0 if it is free.
func (in *inputs) findBatch(given map[string]tensor.Shape, outputs []backend.Port) (batch int, err error) {
	first := int64(0)
	in.batched = len(in.list) > 0
	for k, i := range in.list {
		shape := given[i.Name]
		if i.AnyShape {
			if len(shape) == 0 || shape[0] != 1 {
				return 0, userinput.Errorf(shapeOption, "the file does not say the shape of input %s: want --%s %s=1x… with the batch first", i.Name, shapeOption, i.Name)
			}
			i.Shape, i.axes = slices.Clone(shape), make([]string, len(shape))
			i.Shape[0] = -1
		}
		n := int64(0)
		if len(i.Shape) > 0 {
			n = i.Shape[0]
		}
		if k == 0 {
			first = n
		}
		switch {
		case n == 0, n != first, n < 0 && has(i.axes[0], notBatch...) && !has(i.axes[0], "batch"),
			n < 0 && len(shape) == len(i.Shape) && shape[0] != 1:
			in.batched = false
		}
	}
	for _, p := range outputs {
		if p.AnyShape {
			continue
		}
		if known := len(p.Shape) > 0 && p.Shape[0] >= 0; len(p.Shape) == 0 || known && p.Shape[0] != first {
			in.batched = in.batched && first == 1 // a run answers one sample either way
		} else if first > 1 && !known {
			in.batched = false
		}
	}
	switch {
	case !in.batched:
		return 1, nil
	case first < 0:
		return 0, nil
	}
	return int(first), nil
}

// settle decides the shape of a sample of each input: that of the file, of --shape, of the data, or a guess.
func (in *inputs) settle(given map[string]tensor.Shape, data map[string]content) error {
	known := map[string]int64{} // axes by name
	begin := 0
	if in.batched {
		begin = 1
	}
	for _, i := range in.list {
		shape, option := given[i.Name], "--"+shapeOption+" "+i.Name
		if len(shape) == len(i.Shape)-begin && begin == 1 {
			shape = append(tensor.Shape{1}, shape...)
		}
		if c, ok := data[i.Name]; ok && c.shape != nil && shape == nil {
			shape, option = append(make(tensor.Shape, begin), c.shape...), c.from
		}
		if shape == nil {
			continue
		}
		if len(shape) != len(i.Shape) {
			return userinput.Errorf(shapeOption, "%s: %v has %d axes, input %s%v has %d", option, shape, len(shape), i.Name, i.Shape, len(i.Shape))
		}
		for k := begin; k < len(shape); k++ {
			if i.Shape[k] >= 0 && i.Shape[k] != shape[k] {
				return userinput.Errorf(shapeOption, "%s: axis %d is %d, input %s takes %d", option, k, shape[k], i.Name, i.Shape[k])
			}
			if i.Shape[k] < 0 && i.axes[k] != "" {
				known[i.axes[k]] = shape[k]
			}
		}
		i.size = slices.Clone(shape[begin:])
	}
	for _, sums := range []bool{false, true} { // sums of axes come after the axes
		for _, i := range in.list {
			for k, name := range i.axes {
				if _, ok := extentOf(name, known); !ok && i.size == nil && name != "" && k >= begin && i.Shape[k] < 0 && strings.Contains(name, "+") == sums {
					known[name], i.guessed = i.guess(k), true
				}
			}
		}
	}
	for _, i := range in.list {
		if i.size != nil {
			continue
		}
		i.size = slices.Clone(i.Shape[begin:])
		for k := range i.size {
			if i.size[k] >= 0 {
				continue
			}
			var ok bool
			if i.size[k], ok = extentOf(i.axes[begin+k], known); !ok {
				i.size[k], i.guessed = i.guess(begin+k), true
			}
		}
		if i.guessed {
			whole := i.size
			if begin == 1 {
				whole = append(tensor.Shape{1}, i.size...)
			}
			var parts []string
			for _, n := range whole {
				parts = append(parts, strconv.FormatInt(n, 10))
			}
			in.notes = append(in.notes, fmt.Sprintf("input %s has free axes: guessed --%s %s=%s", i.Name, shapeOption, i.Name, strings.Join(parts, "x")))
		}
	}
	present, past := int64(0), int64(0)
	for _, i := range in.list {
		in.row = append(in.row, workload.Slot{Type: i.Type, Shape: i.size})
		for k, n := range i.size {
			switch name := i.axes[begin+k]; {
			case i.Shape[begin+k] >= 0 || has(name, "batch"):
			case has(name, "past") && !has(name, "+"):
				past = max(past, n)
			case !has(i.Name, "mask", "past"):
				present = max(present, n)
			}
		}
	}
	in.length = present + past
	return nil
}

// extentOf is the extent of an axis whose name is known, or is a sum of known names and numbers, as exporters write.
func extentOf(name string, known map[string]int64) (int64, bool) {
	if n, ok := known[name]; ok || name == "" {
		return n, ok
	}
	sum := int64(0)
	terms := strings.Split(name, "+")
	for _, term := range terms {
		term = strings.TrimSpace(term)
		n, ok := known[term]
		if !ok {
			var err error
			if n, err = strconv.ParseInt(term, 10, 64); err != nil || len(terms) == 1 {
				return 0, false
			}
		}
		sum += n
	}
	return sum, true
}

// guess is a sensible extent of a free axis.
func (i *input) guess(axis int) int64 {
	name := i.axes[axis]
	whole := i.Type != tensor.Float32 && !singlepass.IsOtherFloat(i.Type)
	switch {
	case axis == 0 && (name == "" || has(name, "batch") || !has(name, notBatch...)):
		return 1
	case has(name, "past"):
		return defaultExtent
	case name == "" && has(i.Name, "state", "hidden"): // the batch of a recurrent network, behind its layers
		return 1
	case has(name, "channel") || len(i.Shape) == 4 && (name == "" && axis == 1 && !slices.Contains(i.Shape[2:], 3)):
		return 3
	case len(i.Shape) == 4 && !has(name, "seq", "len"):
		return defaultImage
	case has(name, "sample", "audio", "wave"):
		return defaultSound
	case has(name, "seq", "len", "time", "token", "frame") || whole && len(i.Shape) >= 2:
		return defaultSequence
	}
	return defaultExtent
}

// contents decides what is in each input.
func (in *inputs) contents(s workload.Setup, kinds map[string]string, data map[string]content) error {
	bytes := workload.Bytes(in.row)
	made := min(max(int(madeBytes/max(bytes, 1)), leastMade), mostMade)
	var free []string // inputs that are made
	for k, i := range in.list {
		if c, ok := data[i.Name]; ok {
			fill, err := c.open(i)
			if err != nil {
				return err
			}
			i.fill = fill
			in.notes = append(in.notes, fmt.Sprintf("input %s %v: %s", i.Name, in.row[k], c.from))
			continue
		}
		kind := kinds[i.Name]
		if kind == "" {
			kind = i.kind()
		}
		fill, note, err := i.make(kind, k, in.length)
		if err != nil {
			return err
		}
		i.fill = fill
		free = append(free, i.Name)
		in.notes = append(in.notes, fmt.Sprintf("input %s %v: %s", i.Name, in.row[k], note))
	}
	if in.samples == 0 {
		in.samples = made
	}
	if s.Count > 0 {
		if in.dir != "" && s.Count > in.samples {
			return userinput.Errorf("count", "%d samples are wanted, %s has %d", s.Count, in.dir, in.samples)
		}
		in.samples = s.Count
	}
	for _, e := range in.expected {
		if e.Samples < in.samples {
			return fmt.Errorf("%s has %d samples, the inputs have %d", filepath.Join(in.dir, e.array()+".npy"), e.Samples, in.samples)
		}
	}
	if len(free) > 0 {
		in.caveats = append(in.caveats, "made inputs ("+strings.Join(free, ", ")+"): speed may depend on their content")
	}
	return nil
}

// kind is the content of an input that follows from its type and name.
func (i *input) kind() string {
	name := i.Name
	switch {
	case singlepass.IsFloat(i.Type):
		if has(name, "mask") {
			return "ones"
		}
		if len(i.Shape) == 4 && (slices.Contains(i.Shape[1:], 3) || slices.Contains(i.Shape[1:], 1)) {
			return "uniform"
		}
		return "normal"
	case i.Type == tensor.Bool, has(name, "mask"):
		return "ones"
	case has(name, "length", "_len", "seqlen"):
		return "length"
	case has(name, "type", "segment"):
		return "zeros"
	case i.rows > 0:
		return "ids"
	case i.Type == tensor.Uint8, i.Type == tensor.Int8:
		return "uniform"
	}
	return "zeros" // an index that is always there
}

// make returns a function that fills a tensor with content of a kind, and describes it. length is that of a sequence.
func (i *input) make(kind string, place int, length int64) (fill func(int, tensor.Tensor) error, note string, err error) {
	random := func(index int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(index)<<16|uint64(place))) }
	float := singlepass.IsFloat(i.Type)
	floats := func(next func(*rand.Rand) float32) func(int, tensor.Tensor) error {
		return filled(random, next, putFloats)
	}
	wholes := func(next func(*rand.Rand) int64) func(int, tensor.Tensor) error {
		return filled(random, next, putIntegers)
	}
	constant := func(n int64) func(int, tensor.Tensor) error {
		if float {
			return floats(func(*rand.Rand) float32 { return float32(n) })
		}
		return wholes(func(*rand.Rand) int64 { return n })
	}
	seeded := fmt.Sprintf(", seed %d", seed)
	switch {
	case kind == "length" && length > 0 && !float:
		if has(i.Name, "seqlens_k") { // GroupQueryAttention counts one less
			length--
		}
		return constant(length), fmt.Sprintf("%d, the length of the sequence", length), nil
	case kind == "zeros", kind == "length":
		return constant(0), "zeros", nil
	case kind == "ones":
		return constant(1), "ones", nil
	case kind == "normal" && float:
		return floats(func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }), "normal" + seeded, nil
	case kind == "uniform" && float:
		return floats(func(r *rand.Rand) float32 { return r.Float32() }), "uniform from 0 to 1" + seeded, nil
	case kind == "ids" && !float && i.rows > 0:
		return wholes(func(r *rand.Rand) int64 { return r.Int64N(i.rows) }), fmt.Sprintf("ids below %d, the rows of its embedding%s", i.rows, seeded), nil
	case (kind == "uniform" || kind == "normal") && !float:
		low, most := int64(0), int64(255)
		switch {
		case i.Type == tensor.Bool:
			most = 1
		case i.Type == tensor.Int8:
			low, most = -128, 127
		case i.rows > 0:
			most = i.rows - 1
		case i.Type != tensor.Uint8:
			most = 9
		}
		return wholes(func(r *rand.Rand) int64 { return low + r.Int64N(most-low+1) }), fmt.Sprintf("uniform from %d to %d%s", low, most, seeded), nil
	}
	if v, err := strconv.ParseFloat(kind, 32); err == nil && float {
		return floats(func(*rand.Rand) float32 { return float32(v) }), "all " + kind, nil
	}
	if n, err := strconv.ParseInt(kind, 10, 64); err == nil && !float {
		return constant(n), "all " + kind, nil
	}
	return nil, "", userinput.Errorf(inputOption, "%s=%s: want normal, uniform, zeros, ones, ids (of inputs that are indices into an embedding), a number or a file that ends in .npy", i.Name, kind)
}

// filled returns a function that fills a tensor with the next numbers of a sample's generator.
func filled[T float32 | int64](random func(index int) *rand.Rand, next func(*rand.Rand) T, put func(tensor.Tensor, []T)) func(int, tensor.Tensor) error {
	return func(index int, dst tensor.Tensor) error {
		r, values := random(index), make([]T, dst.Len())
		for k := range values {
			values[k] = next(r)
		}
		put(dst, values)
		return nil
	}
}

// putFloats writes numbers into a tensor of floats.
func putFloats(dst tensor.Tensor, values []float32) {
	if dst.Type == tensor.Float32 {
		copy(tensor.Data[float32](dst), values)
		return
	}
	singlepass.FromFloat32(dst, values)
}

// putIntegers writes whole numbers into a tensor that has no floats.
func putIntegers(dst tensor.Tensor, values []int64) {
	switch dst.Type {
	case tensor.Int64:
		put[int64](dst, values)
	case tensor.Int32:
		put[int32](dst, values)
	case tensor.Int16:
		put[int16](dst, values)
	case tensor.Int8:
		put[int8](dst, values)
	case tensor.Uint64:
		put[uint64](dst, values)
	case tensor.Uint32:
		put[uint32](dst, values)
	case tensor.Uint16:
		put[uint16](dst, values)
	default: // uint8, bool
		for i, v := range values {
			dst.Bytes()[i] = byte(v)
		}
	}
}

func put[T int64 | int32 | int16 | int8 | uint64 | uint32 | uint16](dst tensor.Tensor, values []int64) {
	to := tensor.Data[T](dst)
	for i, v := range values {
		to[i] = T(v)
	}
}

// prepare fills the row of a sample.
func (in *inputs) prepare(index int, row []tensor.Tensor) error {
	for k, i := range in.list {
		if err := i.fill(index, row[k]); err != nil {
			return fmt.Errorf("sample %d, input %s: %w", index, i.Name, err)
		}
	}
	return nil
}
