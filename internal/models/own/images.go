package own

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const (
	nchw = "NCHW"
	nhwc = "NHWC"
)

// pipelines are short names of pre-processings for classifiers.
var pipelines = map[string]string{
	"resnet": "resnet50_vgg_224", "mobilenet": "mobilenet_224", "torchvision": "imagenet_pytorch_224", "clip": "clip_vit_b32_224",
}

// bindImages joins the input that takes images with those of the folder.
func (in *inputs) bindImages(v workload.Values) error {
	image, err := in.imageInput()
	if err != nil {
		return err
	}
	sized := *image
	if len(image.told) == 4 {
		sized.Shape = slices.Clone(image.Shape)
		for k := 1; k < 4; k++ {
			if sized.Shape[k] < 0 {
				sized.Shape[k] = image.told[k]
			}
		}
	}
	p, gray, note, err := imagePipeline(&sized, v)
	if err != nil {
		return err
	}
	pixels, err := v.Integer(pixelsOption)
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
	folder := in.images
	in.labels, in.samples, in.pipeline = folder.Labels, folder.Len(), fmt.Sprintf("%+v gray %v", p, gray)
	shape := p.Shape()
	if gray {
		shape = grayShape(shape, p.Layout)
	}
	image.content = &content{shape: shape, from: note, open: func(*input) (func(int, tensor.Tensor) error, error) {
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

// imageInput is the only input without data that has the four axes of a batch of images.
func (in *inputs) imageInput() (image *input, err error) {
	for _, i := range in.list {
		if i.content != nil || len(i.Shape) != 4 || !in.batched {
			continue
		}
		if image != nil {
			return nil, fmt.Errorf("the inputs %s and %s could both be images: expected an array for one of them (--%s NAME=FILE.npy)", image.Name,
				i.Name, inputOption)
		}
		image = i
	}
	if image == nil {
		return nil, fmt.Errorf(
			"%s has images, and no input of the model (%s) has the four axes of a batch of images: give arrays named as the inputs (NAME.npy)",
			in.dir, in.names())
	}
	return image, nil
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
		return p, false, "", userinput.Errorf(layoutOption, "cannot infer the layout of input %s%v: give %s or %s", i.Name, i.Shape, nchw, nhwc)
	}
	channel, height, width := i.Shape[1], i.Shape[2], i.Shape[3]
	if layout == nhwc {
		height, width, channel = i.Shape[1], i.Shape[2], i.Shape[3]
	}
	gray = channel == 1
	if channel >= 0 && !channels(channel) || height != width {
		return p, false, "", fmt.Errorf(
			"input %s%v does not take square images of three colours or one in %s: give arrays (%s.npy) that are prepared", i.Name, i.Shape, layout,
			plainName(i.Name))
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
		return p, false, "", userinput.Errorf(processOption, "the pre-processing %s makes %v, input %s takes %v: choose another", p.Name, p.Type,
			i.Name, i.Type)
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
