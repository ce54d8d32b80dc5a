package own

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
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

// openData opens the data of the inputs: arrays of --input, and the arrays or images of the folder.
func (in *inputs) openData(s workload.Setup, kinds map[string]string, given map[string]tensor.Shape, outputs []backend.Port) (map[string]content, error) {
	data := map[string]content{}
	set := func(name string, arrays []tensor.Tensor, from string) error {
		i := slices.IndexFunc(in.list, func(i *input) bool { return i.Name == name })
		if i < 0 {
			return fmt.Errorf("%s: the model has no input of this name", from)
		}
		c, samples, err := in.arrays(in.list[i], arrays, from)
		if err != nil {
			return err
		}
		data[name] = c
		if in.samples > 0 && samples != in.samples {
			return fmt.Errorf("%s has %d samples, other inputs have %d", from, samples, in.samples)
		}
		in.samples = samples
		return nil
	}
	for name, kind := range kinds {
		if !strings.HasSuffix(kind, ".npy") {
			continue
		}
		array, err := readArray(kind)
		if err == nil {
			err = set(name, []tensor.Tensor{array}, kind)
		}
		if err != nil {
			return nil, userinput.Wrap(inputOption, err)
		}
	}
	if s.DatasetDir == "" {
		return data, nil
	}
	found, err := readArrays(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if in.expected, err = expectedOf(found); err != nil {
		return nil, fmt.Errorf("arrays in %s: %w", s.DatasetDir, err)
	}
	for _, e := range in.expected {
		if err := e.bind(outputs, in.batched); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(s.DatasetDir, e.array()+".npy"), err)
		}
		delete(found, e.array())
	}
	if len(found) > 0 {
		if labels, ok := found[labelsName]; ok {
			delete(found, labelsName)
			if in.labels, err = integers(labels); err != nil {
				return nil, fmt.Errorf("labels in %s: %w", s.DatasetDir, err)
			}
		}
		used := 0
		for _, i := range in.list {
			for _, name := range []string{i.Name, plainName(i.Name)} {
				if arrays, ok := found[name]; ok && kinds[i.Name] == "" {
					if err := set(i.Name, arrays, filepath.Join(s.DatasetDir, name+".npy")); err != nil {
						return nil, err
					}
					used++
					break
				}
			}
		}
		if used == 0 {
			return nil, fmt.Errorf("no array in %s is named as an input of the model (%s)", s.DatasetDir, in.names())
		}
		if in.labels != nil && len(in.labels) != in.samples {
			return nil, fmt.Errorf("%s has %d labels and %d samples", s.DatasetDir, len(in.labels), in.samples)
		}
		return data, nil
	}
	return data, in.openImages(s, given, data)
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
	r, err := npy.NewReader(from)
	if err != nil {
		return tensor.Tensor{}, err
	}
	if bytes := r.Shape.Len() * int64(r.Type.Size()); bytes > size {
		return tensor.Tensor{}, fmt.Errorf("the array %v%v has %d bytes, the file %d", r.Type, r.Shape, bytes, size)
	}
	t := tensor.New(r.Type, r.Shape...)
	if t.Len() == 0 {
		return t, errors.New("the array is empty")
	}
	return t, r.Read(t)
}

// arrays is the content of an input whose samples lie along the first axis of arrays. An array of the input's own
// shape is one sample, unless the model has a batch axis.
func (in *inputs) arrays(i *input, list []tensor.Tensor, from string) (c content, samples int, err error) {
	want := len(i.Shape) // axes of an array of samples
	if !in.batched {
		want++
	}
	var rows []tensor.Tensor // one for each sample
	for _, t := range list {
		if len(t.Shape) == want-1 && slices.EqualFunc(i.Shape[len(i.Shape)-want+1:], t.Shape, func(axis, n int64) bool { return axis < 0 || axis == n }) {
			t = t.Reshape(append(tensor.Shape{1}, t.Shape...)...)
		}
		if len(t.Shape) != want {
			return c, 0, fmt.Errorf("%s is %v, want samples along the first axis of input %s%v", from, t, i.Name, i.Shape)
		}
		for k := range int(t.Shape[0]) {
			row := t.Rows(k, 1)
			rows = append(rows, row.Reshape(row.Shape[1:]...))
		}
		if !slices.Equal(rows[0].Shape, rows[len(rows)-1].Shape) {
			return c, 0, fmt.Errorf("%s: samples have the shapes %v and %v, want one: fill them up", from, rows[0].Shape, rows[len(rows)-1].Shape)
		}
	}
	return content{shape: rows[0].Shape, from: from, open: func(i *input) (func(int, tensor.Tensor) error, error) {
		if _, err := converted(rows[0], i.Type); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		return func(index int, dst tensor.Tensor) error {
			t, err := converted(rows[index%len(rows)], dst.Type)
			if err != nil {
				return err
			}
			copy(dst.Bytes(), t.Bytes())
			return nil
		}, nil
	}}, len(rows), nil
}

// converted is an array in the type of an input: floats may have another width, and whole numbers too.
func converted(t tensor.Tensor, d tensor.DType) (tensor.Tensor, error) {
	if t.Type == d {
		return t, nil
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
		case tensor.Uint8, tensor.Bool:
			for _, b := range t.Bytes() {
				values = append(values, int64(b))
			}
		default:
			return nil, fmt.Errorf("the array has %v, want whole numbers", t.Type)
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

const (
	nchw = "NCHW"
	nhwc = "NHWC"
)

// pipelines are short names of pre-processings for classifiers.
var pipelines = map[string]string{
	"resnet": "resnet50_vgg_224", "mobilenet": "mobilenet_224", "torchvision": "imagenet_pytorch_224", "clip": "clip_vit_b32_224",
}

// openImages joins the input that takes images with those of the folder.
func (in *inputs) openImages(s workload.Setup, given map[string]tensor.Shape, data map[string]content) error {
	folder, err := dataset.OpenFolder(s.DatasetDir, dataset.Options{Count: s.Count})
	if err != nil {
		return err
	}
	var image *input
	for _, i := range in.list {
		if _, taken := data[i.Name]; !taken && len(i.Shape) == 4 && in.batched {
			if image != nil {
				return fmt.Errorf("the inputs %s and %s could both be images: want an array for one of them (--%s NAME=FILE.npy)", image.Name, i.Name, inputOption)
			}
			image = i
		}
	}
	if image == nil {
		return fmt.Errorf("%s has images, and no input of the model (%s) has the four axes of a batch of images: want arrays named as the inputs (NAME.npy)", s.DatasetDir, in.names())
	}
	sized := *image
	if shape := given[image.Name]; len(shape) == 4 {
		sized.Shape = slices.Clone(image.Shape)
		for k := 1; k < 4; k++ {
			if sized.Shape[k] < 0 {
				sized.Shape[k] = shape[k]
			}
		}
	}
	p, gray, note, err := imagePipeline(&sized, s.Options)
	if err != nil {
		return err
	}
	pixels, err := s.Options.Integer(pixelsOption)
	if err != nil {
		return err
	}
	scratches := sync.Pool{New: func() any {
		scratch := &preprocess.Scratch{}
		if pixels != nil {
			scratch.MaxPixels = *pixels
		}
		return scratch
	}}
	in.images, in.labels, in.samples, in.pipeline = folder, folder.Labels, folder.Len(), fmt.Sprintf("%+v gray %v", p, gray)
	shape := p.Shape()
	if gray {
		shape = grayShape(shape, p.Layout)
	}
	data[image.Name] = content{shape: shape, from: note, open: func(*input) (func(int, tensor.Tensor) error, error) {
		return func(index int, dst tensor.Tensor) error {
			file, err := folder.Read(index)
			if err != nil {
				return err
			}
			scratch := scratches.Get().(*preprocess.Scratch)
			defer scratches.Put(scratch)
			made := dst
			if gray || p.Type != dst.Type {
				made = tensor.New(p.Type, p.Shape()...)
			}
			if err := p.ApplyFile(made, file, scratch); err != nil {
				return fmt.Errorf("%s: %w", folder.Path(index), err)
			}
			if gray {
				made = luminance(made, p.Layout)
			}
			if gray || p.Type != dst.Type {
				t, err := converted(made, dst.Type)
				if err != nil {
					return err
				}
				copy(dst.Bytes(), t.Bytes())
			}
			return nil
		}, nil
	}}
	if folder.Classes > 0 {
		in.notes = append(in.notes, fmt.Sprintf("%d images of %d classes: folders in the order of their names", folder.Len(), folder.Classes))
	} else if folder.Labels == nil {
		in.notes = append(in.notes, fmt.Sprintf("%d images without labels: no accuracy", folder.Len()))
	}
	return nil
}

// imagePipeline is the pre-processing of an input. gray: the input has one channel.
func imagePipeline(i *input, v workload.Values) (p preprocess.Pipeline, gray bool, note string, err error) {
	layout := strings.ToUpper(v[layoutOption])
	channels := func(n int64) bool { return n == 3 || n == 1 }
	switch first, last := i.Shape[1], i.Shape[3]; {
	case layout != "":
	case channels(first) && !channels(last), first < 0 && !channels(last):
		layout = nchw
	case channels(last) && !channels(first):
		layout = nhwc
	default:
		return p, false, "", userinput.Errorf(layoutOption, "cannot infer the layout of input %s%v: want %s or %s", i.Name, i.Shape, nchw, nhwc)
	}
	channel, height, width := i.Shape[1], i.Shape[2], i.Shape[3]
	if layout == nhwc {
		height, width, channel = i.Shape[1], i.Shape[2], i.Shape[3]
	}
	gray = channel == 1
	if channel >= 0 && !channels(channel) || height != width {
		return p, false, "", fmt.Errorf("input %s%v does not take square images of three colours or one in %s: want arrays (%s.npy) that are prepared", i.Name, i.Shape, layout, plainName(i.Name))
	}
	name, guess := v[processOption], ""
	if name == "" {
		name, guess = "torchvision", fmt.Sprintf(" (a guess: --%s resnet, mobilenet, torchvision or clip)", processOption)
		if layout == nhwc {
			name = "mobilenet"
		}
	}
	full, changes, changed := strings.Cut(name, ",")
	if long, ok := pipelines[strings.ToLower(full)]; ok {
		full = long
	}
	if changed {
		full += "," + changes
	}
	if p, err = preprocess.Lookup(full); err != nil {
		return p, false, "", userinput.Wrap(processOption, err)
	}
	p.Layout = preprocess.NCHW
	if layout == nhwc {
		p.Layout = preprocess.NHWC
	}
	if height > 0 {
		p.Size = int(height)
	}
	p.BGR = p.BGR && !gray
	float := singlepass.IsFloat(i.Type)
	switch {
	case gray && float && v[processOption] == "":
		p.Steps, name = []preprocess.Step{{Op: preprocess.Divide, By: [3]float32{255, 255, 255}}}, "values from 0 to 1"
	case !float && (i.Type == tensor.Uint8 || i.Type == tensor.Int8):
		p.Type, p.Steps, name = i.Type, nil, "pixels"
		if i.Type == tensor.Int8 {
			p.Steps, name = []preprocess.Step{{Op: preprocess.Subtract, By: [3]float32{128, 128, 128}}}, "pixels minus 128"
		}
	case !float || p.Type != tensor.Float32:
		return p, false, "", userinput.Errorf(processOption, "the pre-processing %s makes %v, input %s takes %v: choose another", p.Name, p.Type, i.Name, i.Type)
	}
	return p, gray, fmt.Sprintf("images of %d×%d in %s, pre-processed as %s%s", p.Size, p.Size, layout, name, guess), nil
}

// grayShape is the shape of an image with one channel instead of three.
func grayShape(shape tensor.Shape, layout preprocess.Layout) tensor.Shape {
	if layout == preprocess.NHWC {
		return tensor.Shape{shape[0], shape[1], 1}
	}
	return tensor.Shape{1, shape[1], shape[2]}
}

// luminance is an image of three channels as one of gray (ITU-R BT.601).
func luminance(t tensor.Tensor, layout preprocess.Layout) tensor.Tensor {
	n := t.Len() / 3
	step, plane := 1, n
	if layout == preprocess.NHWC {
		step, plane = 3, 1
	}
	gray := tensor.New(t.Type, grayShape(t.Shape, layout)...)
	mix := func(at func(int) float64, put func(int, float64)) {
		for k := range n {
			put(k, 0.299*at(k*step)+0.587*at(k*step+plane)+0.114*at(k*step+2*plane))
		}
	}
	switch t.Type {
	case tensor.Float32:
		from, to := tensor.Data[float32](t), tensor.Data[float32](gray)
		mix(func(k int) float64 { return float64(from[k]) }, func(k int, v float64) { to[k] = float32(v) })
	case tensor.Int8:
		from, to := tensor.Data[int8](t), tensor.Data[int8](gray)
		mix(func(k int) float64 { return float64(from[k]) }, func(k int, v float64) { to[k] = int8(math.Round(v)) })
	default:
		from, to := t.Bytes(), gray.Bytes()
		mix(func(k int) float64 { return float64(from[k]) }, func(k int, v float64) { to[k] = uint8(math.Round(v)) })
	}
	return gray
}

// cacheVersion is part of every key of prepared samples. Raise it when the same files become other tensors.
const cacheVersion = 1

func (in *inputs) cacheKey() string {
	var row bytes.Buffer
	for k, i := range in.list {
		fmt.Fprintf(&row, "%s %v; ", i.Name, in.row[k])
	}
	if len(in.list) > 1 { // the others may be made or read in any way
		return ""
	}
	return fmt.Sprintf("own %d\npipeline %s\nrow %s\nfiles %s", cacheVersion, in.pipeline, &row, in.images.Fingerprint())
}
