package own

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// labelsName is the name of the array of labels, in a file of its own or beside the inputs.
const labelsName = "labels"

// A content fills an input with data.
type content struct {
	shape tensor.Shape // of a sample; nil: the input decides
	from  string       // for notes and errors
	open  func(*input) (fill func(int, tensor.Tensor) error, err error)
}

// readData finds what there is for the inputs: arrays of --input, and the arrays or images of the folder.
func (in *inputs) readData(count int, outputs []backend.Port) error {
	for _, i := range in.list {
		read := readArray
		switch {
		case i.Type == tensor.String && strings.HasSuffix(i.option, textEnding):
			read = readLines
		case !strings.HasSuffix(i.option, ".npy"):
			continue
		}
		array, err := read(i.option)
		if err != nil {
			return userinput.Wrap(inputOption, err)
		}
		i.arrays, i.from = []tensor.Tensor{array}, i.option
	}
	if in.dir == "" {
		return nil
	}
	found, err := readArrays(in.dir)
	if err == nil {
		found, err = in.addLines(found)
	}
	if err != nil {
		return err
	}
	if err := in.takeExpected(found, outputs); err != nil {
		return err
	}
	if err := in.takeLabels(found); err != nil {
		return err
	}
	missing := slices.ContainsFunc(in.list, func(i *input) bool { return i.arrays == nil })
	switch {
	case len(found) > 0:
		return in.takeArrays(found)
	case in.labels == nil && (in.expected == nil || missing):
		in.images, err = dataset.OpenFolder(in.dir, dataset.Options{Count: count})
	}
	return err
}

// addLines adds the texts of inputs that have no array in the folder: a file NAME.txt with a line for each.
func (in *inputs) addLines(found map[string][]tensor.Tensor) (map[string][]tensor.Tensor, error) {
	for _, i := range in.list {
		name := plainName(i.Name)
		path := filepath.Join(in.dir, name+textEnding)
		if i.Type != tensor.String || found[i.Name] != nil || found[name] != nil || !fileio.Exists(path) {
			continue
		}
		lines, err := readLines(path)
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = map[string][]tensor.Tensor{}
		}
		found[name] = []tensor.Tensor{lines}
		if in.lines == nil {
			in.lines = map[string]bool{}
		}
		in.lines[name] = true
	}
	return found, nil
}

const (
	textEnding = ".txt"
	maxTexts   = 1 << 30 // bytes of a file of texts
)

// readLines reads the lines of a file, each a text.
func readLines(path string) (tensor.Tensor, error) {
	data, err := fileio.ReadFile(path, maxTexts)
	if err != nil {
		return tensor.Tensor{}, err
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for k := range lines {
		lines[k] = strings.TrimSuffix(lines[k], "\r")
	}
	if len(data) == 0 {
		return tensor.Tensor{}, fmt.Errorf("%s is empty: must have a text in each line", path)
	}
	return tensor.OfStrings(lines, int64(len(lines))), nil
}

// takeExpected takes the expected outputs out of the arrays of the folder.
func (in *inputs) takeExpected(found map[string][]tensor.Tensor, outputs []backend.Port) (err error) {
	if in.expected, err = expectedOf(found); err != nil {
		return fmt.Errorf("arrays in %s: %w", in.dir, err)
	}
	for _, e := range in.expected {
		if err := e.bind(outputs); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(in.dir, e.array()+".npy"), err)
		}
		delete(found, e.array())
	}
	return nil
}

// takeLabels takes the labels out of the arrays of the folder.
func (in *inputs) takeLabels(found map[string][]tensor.Tensor) (err error) {
	labels, ok := found[labelsName]
	if !ok {
		return nil
	}
	delete(found, labelsName)
	if in.labels, err = integers(labels); err != nil {
		return fmt.Errorf("labels in %s: %w", in.dir, err)
	}
	return nil
}

// takeArrays gives the inputs the arrays of the folder that have their names.
func (in *inputs) takeArrays(found map[string][]tensor.Tensor) error {
	used := 0
	for _, i := range in.list {
		for _, name := range []string{i.Name, plainName(i.Name)} {
			if arrays, ok := found[name]; ok && i.option == "" {
				i.arrays, i.from = arrays, filepath.Join(in.dir, name+".npy")
				if in.lines[name] {
					i.from = filepath.Join(in.dir, name+textEnding)
				}
				used++
				break
			}
		}
	}
	if used == 0 {
		return fmt.Errorf("no array in %s is named as an input of the model (%s)", in.dir, in.names())
	}
	return nil
}

// bindData turns data into contents of the inputs: all have as many samples.
func (in *inputs) bindData(v workload.Values) error {
	for _, i := range in.list {
		if i.arrays == nil {
			continue
		}
		rows, err := in.rowsOf(i)
		if err != nil {
			return err
		}
		if in.samples > 0 && len(rows) != in.samples {
			return fmt.Errorf("%s has %d samples, other inputs have %d", i.from, len(rows), in.samples)
		}
		in.samples = len(rows)
		i.content = contentOf(rows, i.from)
	}
	if in.images != nil {
		return in.bindImages(v)
	}
	if in.labels != nil && len(in.labels) != in.samples {
		return fmt.Errorf("%s has %d labels and %d samples", in.dir, len(in.labels), in.samples)
	}
	return nil
}

func (in *inputs) names() string {
	var list []string
	for _, i := range in.list {
		list = append(list, i.Name)
	}
	return strings.Join(list, ", ")
}

// unlabelled says why there are no labels.
func (in *inputs) unlabelled() string {
	if in.dir == "" {
		return "inputs that are made have none (--data names a folder)"
	}
	return in.dir + " has none"
}

// plainName is the name of an input as that of a file.
func plainName(name string) string {
	return strings.NewReplacer("/", "_", ":", "_", "\\", "_").Replace(name)
}

// readArrays reads the arrays of a folder by name: NAME.npy, and those in .npz files, one after another. Nil: it has none.
func readArrays(dir string) (map[string][]tensor.Tensor, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, userinput.Errorf("dataset_path", "%s: no such folder", dir)
	}
	if err != nil {
		return nil, userinput.Wrap("dataset_path", err)
	}
	var found map[string][]tensor.Tensor
	add := func(name string, t tensor.Tensor) {
		if found == nil {
			found = map[string][]tensor.Tensor{}
		}
		found[name] = append(found[name], t)
	}
	for _, e := range entries { // in the order of their names
		path := filepath.Join(dir, e.Name())
		switch filepath.Ext(e.Name()) {
		case ".npy":
			t, err := readArray(path)
			if err != nil {
				return nil, err
			}
			add(strings.TrimSuffix(e.Name(), ".npy"), t)
		case ".npz":
			archive, err := zip.OpenReader(path)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", path, err)
			}
			for _, f := range archive.File {
				t, err := readZipped(f)
				if err != nil {
					return nil, errors.Join(fmt.Errorf("reading %s of %s: %w", f.Name, path, err), archive.Close())
				}
				add(strings.TrimSuffix(f.Name, ".npy"), t)
			}
			if err := archive.Close(); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func readZipped(f *zip.File) (tensor.Tensor, error) {
	r, err := f.Open()
	if err != nil {
		return tensor.Tensor{}, err
	}
	t, err := decodeArray(r, int64(f.UncompressedSize64))
	return t, errors.Join(err, r.Close())
}

func readArray(path string) (t tensor.Tensor, err error) {
	f, err := fileio.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		t, err = decodeArray(f, info.Size())
	}
	if err != nil {
		return t, fmt.Errorf("reading %s: %w", path, err)
	}
	return t, nil
}

// decodeArray reads an array of a file of so many bytes.
func decodeArray(from io.Reader, size int64) (tensor.Tensor, error) {
	r, err := npy.NewTextReader(from)
	if err != nil {
		return tensor.Tensor{}, err
	}
	if bytes := r.Bytes(); bytes > size {
		return tensor.Tensor{}, fmt.Errorf("the array %v%v has %d bytes, the file %d", r.Type, r.Shape, bytes, size)
	}
	t := tensor.New(r.Type, r.Shape...)
	return t, r.Read(t)
}

// rowsOf are the samples in the arrays of an input: they lie along the first axis, or an array is one sample.
func (in *inputs) rowsOf(i *input) (rows []tensor.Tensor, err error) {
	sample := i.Shape[in.begin():]
	for _, t := range i.arrays {
		if t, err = in.fold(i, t, sample); err != nil {
			return nil, err
		}
		if len(t.Shape) == len(sample) && fits(sample, t.Shape) {
			if err := in.checkWhole(i, t); err != nil {
				return nil, err
			}
			t = t.Reshape(append(tensor.Shape{1}, t.Shape...)...)
		}
		if len(t.Shape) != len(sample)+1 {
			return nil, in.noSamples(i, t)
		}
		for k := range int(t.Shape[0]) {
			row := t.Rows(k, 1)
			rows = append(rows, row.Reshape(row.Shape[1:]...))
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s is %v: it has no samples", i.from, i.arrays[0])
	}
	if first := rows[0].Shape; slices.ContainsFunc(rows, func(t tensor.Tensor) bool { return !slices.Equal(t.Shape, first) }) {
		other := slices.IndexFunc(rows, func(t tensor.Tensor) bool { return !slices.Equal(t.Shape, first) })
		return nil, fmt.Errorf("%s: samples have the shapes %v and %v, expected one: fill them up", i.from, first, rows[other].Shape)
	}
	return rows, nil
}

// fold gives the lines of a file of texts the shape of samples, of which each may have several.
func (in *inputs) fold(i *input, t tensor.Tensor, sample tensor.Shape) (tensor.Tensor, error) {
	if t.Type != tensor.String || len(t.Shape) != 1 || len(sample) == 0 {
		return t, nil
	}
	one := slices.Clone(sample)
	for k := range one {
		if one[k] < 0 {
			one[k] = 1
		}
	}
	if len(i.told) >= len(one) {
		one = slices.Clone(i.told[len(i.told)-len(one):])
	}
	n := one.Len()
	if n < 1 || t.Shape[0]%n != 0 {
		return t, fmt.Errorf("%s has %d texts, and a sample of input %s%s has %d: must be a multiple", i.from, t.Shape[0], i.Name, axesText(i.Port), n)
	}
	return t.Reshape(append(tensor.Shape{t.Shape[0] / n}, one...)...), nil
}

// checkWhole refuses an array that is one sample of several rows, in a model whose first axes are free, only differ, and may each be a
// batch: it is rather an array of samples without their axis.
func (in *inputs) checkWhole(i *input, t tensor.Tensor) error {
	if in.batched || len(t.Shape) == 0 || t.Shape[0] <= 1 || i.Shape[0] >= 0 || i.guess(0) != 1 || slices.Equal(i.told, t.Shape) {
		return nil
	}
	return fmt.Errorf("%w; if all of it is one sample: --%s %s=%s", in.noSamples(i, t), shapeOption, i.Name, extents(t.Shape))
}

// noSamples says which shape an array of samples of an input has.
func (in *inputs) noSamples(i *input, t tensor.Tensor) error {
	sample := slices.Clone(i.Shape[in.begin():])
	if !in.batched && len(sample) > 0 && sample[0] < 0 && i.guess(0) == 1 {
		sample[0] = 1
	}
	text := strings.Fields(strings.Trim(sample.String(), "[]"))
	n := "N"
	if len(t.Shape) == len(sample) && len(sample) > 0 && sample[0] == 1 && fits(sample[1:], t.Shape[1:]) { // only the axis of 1 is missing
		n, text = fmt.Sprint(t.Shape[0]), append([]string{"1"}, strings.Fields(strings.Trim(t.Shape[1:].String(), "[]"))...)
	}
	why := ""
	if !in.batched {
		why = " has no batch axis"
	}
	return fmt.Errorf("%s is %v, and input %s%s%s: expected samples along the first axis, [%s]", i.from, t, i.Name, axesText(i.Port), why,
		strings.Join(append([]string{n}, text...), " "))
}

// fits reports whether a shape has the extents of another, -1 where those are free.
func fits(want, shape tensor.Shape) bool {
	return slices.EqualFunc(want, shape, func(axis, n int64) bool { return axis < 0 || axis == n })
}

// holdsRows reports whether the arrays of an input are samples without the input's first axis: they have another number of rows
// than that, or as many as there are labels or expected outputs.
func (in *inputs) holdsRows(i *input) bool {
	rows, other := append(tensor.Shape{-1}, i.Shape[1:]...), false
	for _, t := range i.arrays {
		if !fits(rows, t.Shape) {
			return false
		}
		other = other || t.Shape[0] != i.Shape[0]
	}
	truths := len(in.labels)
	if in.expected != nil {
		truths = in.expected[0].Samples
	}
	return other || i.arrays != nil && int64(truths) == i.Shape[0]
}

// contentOf is the content of an input that has a row for each sample.
func contentOf(rows []tensor.Tensor, from string) *content {
	return &content{shape: rows[0].Shape, from: from, open: func(i *input) (func(int, tensor.Tensor) error, error) {
		if _, err := converted(rows[0], i.Type); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		return func(index int, dst tensor.Tensor) error {
			t, err := converted(rows[index%len(rows)], dst.Type)
			if err != nil {
				return err
			}
			copy(dst.Bytes(), t.Bytes())
			copy(dst.Strings(), t.Strings())
			return nil
		}, nil
	}}
}

// converted is an array in the type of an input: floats may have another width, and whole numbers too.
func converted(t tensor.Tensor, d tensor.DType) (tensor.Tensor, error) {
	if t.Type == d {
		return t, nil
	}
	if t.Type == tensor.String || d == tensor.String {
		return t, fmt.Errorf("the array has %v, the input takes %v", t.Type, d)
	}
	to := tensor.New(d, t.Shape...)
	if singlepass.IsFloat(t.Type) && singlepass.IsFloat(d) {
		if singlepass.IsOtherFloat(t.Type) {
			var memory []float32
			t = singlepass.AsFloat32(t, &memory)
		}
		putFloats(to, tensor.Data[float32](t))
		return to, nil
	}
	if singlepass.IsFloat(t.Type) || singlepass.IsFloat(d) {
		return to, fmt.Errorf("the array has %v, the input takes %v", t.Type, d)
	}
	values, err := integers([]tensor.Tensor{t})
	putIntegers(to, values)
	return to, err
}

// integers are the numbers of arrays that have no floats.
func integers(list []tensor.Tensor) (values []int64, err error) {
	for _, t := range list {
		switch t.Type {
		case tensor.Int64:
			values = append(values, tensor.Data[int64](t)...)
		case tensor.Int32:
			values = widened[int32](values, t)
		case tensor.Int16:
			values = widened[int16](values, t)
		case tensor.Int8:
			values = widened[int8](values, t)
		case tensor.Uint32:
			values = widened[uint32](values, t)
		case tensor.Uint16:
			values = widened[uint16](values, t)
		case tensor.Uint64: // the same bits: labels and lengths are small, and outputs are only compared
			for _, v := range tensor.Data[uint64](t) {
				values = append(values, int64(v))
			}
		case tensor.Uint8, tensor.Bool:
			for _, b := range t.Bytes() {
				values = append(values, int64(b))
			}
		default:
			return nil, fmt.Errorf("the array has %v, expected whole numbers", t.Type)
		}
	}
	return values, nil
}

func widened[T int32 | int16 | int8 | uint32 | uint16](values []int64, t tensor.Tensor) []int64 {
	for _, v := range tensor.Data[T](t) {
		values = append(values, int64(v))
	}
	return values
}

// readTruth reads what a folder of data has to compare answers with: expected outputs, or else labels.
func readTruth(dir string) (labels []int64, expected []*expected, err error) {
	arrays, err := readArrays(dir)
	if err != nil {
		return nil, nil, err
	}
	if expected, err = expectedOf(arrays); err != nil || len(expected) > 0 {
		return nil, expected, err
	}
	if arrays != nil {
		labels, err = integers(arrays[labelsName])
		return labels, nil, err
	}
	f, err := dataset.OpenFolder(dir, dataset.Options{})
	if err != nil {
		return nil, nil, err
	}
	return f.Labels, nil, nil
}
