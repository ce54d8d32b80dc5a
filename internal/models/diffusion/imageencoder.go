package diffusion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An ImageEncoder computes the features of images with CLIP's image tower or Inception-v3. It is for one goroutine.
type ImageEncoder struct {
	session backend.Session
	kind    ImageEncoderKind
	side    int // of its images
	in, out backend.Value
	pixels  []byte
	floats  []float32
	scratch preprocess.Scratch
}

// An ImageEncoderKind is a network, and with it how an image is prepared.
type ImageEncoderKind uint8

// The kinds.
const (
	// CLIPImages is the image tower of CLIP: the image is resized as Pillow does it, bicubic, and shifted
	// and scaled channel by channel (open_clip 2.26.1).
	CLIPImages ImageEncoderKind = iota
	// Inception is Inception-v3: numbers from 0 to 1 are resized as PyTorch does it, bilinear, and
	// brought to −1 to 1 (text_to_image, tools/fid/inception.py).
	Inception
)

// Means and deviations of the pixels that CLIP was trained with (open_clip, OPENAI_DATASET_MEAN and _STD).
var (
	clipMean      = [imageChannels]float32{0.48145466, 0.4578275, 0.40821073}
	clipDeviation = [imageChannels]float32{0.26862954, 0.26130258, 0.27577711}
)

// defaultSide is the width and height of the images that either network reads.
func (k ImageEncoderKind) defaultSide() int { return []int{224, 299}[k] }

func (k ImageEncoderKind) output() string { return []string{"image_embeds", "features"}[k] }

// OpenImageEncoder opens a network with one input, images as planes of float32, and an output of features: of several
// outputs the one with the default name, or else the first.
func OpenImageEncoder(ctx context.Context, engine backend.Engine, path string, kind ImageEncoderKind) (*ImageEncoder, error) {
	inputs, outputs, err := engine.Ports(ctx, backend.Options{ModelPath: path})
	if err != nil {
		return nil, err
	}
	e := &ImageEncoder{kind: kind, side: kind.defaultSide()}
	out, err := e.ports(inputs, outputs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if e.session, err = engine.Open(ctx, backend.Options{ModelPath: path, Outputs: []string{out.Name}}); err != nil {
		return nil, err
	}
	one := slices.Clone(out.Shape)
	for i, extent := range one {
		one[i] = max(extent, 1) // unknown axes are the batch, and those of a pooled image
	}
	if e.in, err = e.session.Bind(tensor.New(tensor.Float32, 1, imageChannels, int64(e.side), int64(e.side))); err == nil {
		e.out, err = e.session.Bind(tensor.New(tensor.Float32, one...))
	}
	if err == nil && e.Features() < 2 {
		err = fmt.Errorf("the output %v has no known number of features", out.Shape)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), e.Close())
	}
	return e, nil
}

// ports checks the input and returns the output of features.
func (e *ImageEncoder) ports(inputs, outputs []backend.Port) (out backend.Port, err error) {
	isImage := func(p backend.Port) bool {
		return p.Type == tensor.Float32 && len(p.Shape) == 4 && (p.Shape[1] < 1 || p.Shape[1] == imageChannels)
	}
	if len(inputs) != 1 || !isImage(inputs[0]) {
		return out, fmt.Errorf("the inputs are %v: must be one, float32[N 3 %d %d]", inputs, e.side, e.side)
	}
	images, height, width := inputs[0].Shape[0], inputs[0].Shape[2], inputs[0].Shape[3]
	if height > 0 {
		e.side = int(height)
	}
	if images > 1 || width > 0 && int(width) != e.side {
		return out, fmt.Errorf("the input is %v: must be one square image at a time", inputs[0].Shape)
	}
	return featuresOf(outputs, e.kind.output())
}

// featuresOf chooses the output of features: the one with the default name, or else the first.
func featuresOf(outputs []backend.Port, usual string) (backend.Port, error) {
	if len(outputs) == 0 {
		return backend.Port{}, fmt.Errorf("the model has no output, expected features, %s", usual)
	}
	out := outputs[0]
	if port, ok := workload.PortNamed(outputs, usual); ok {
		out = port
	}
	if out.Type != tensor.Float32 || len(out.Shape) < 2 {
		return out, fmt.Errorf("the output %s is %v%v: must be features, float32[N n]", out.Name, out.Type, out.Shape)
	}
	return out, nil
}

// Encode returns the features of an image, rows of pixels of three bytes. The next call overwrites them.
func (e *ImageEncoder) Encode(ctx context.Context, image []byte, width, height int) ([]float32, error) {
	e.prepare(image, preprocess.Size{Width: width, Height: height})
	if err := e.session.Run(ctx, []backend.Value{e.in}, []backend.Value{e.out}); err != nil {
		return nil, err
	}
	features := tensor.Data[float32](e.out.Tensor())
	for i, v := range features {
		if v != v {
			return nil, fmt.Errorf("feature %d of the image is not a number", i)
		}
	}
	return features, nil
}

// Features is the number of features of an image.
func (e *ImageEncoder) Features() int { return int(e.out.Tensor().Len()) }

// prepare writes an image as the network reads it.
func (e *ImageEncoder) prepare(image []byte, from preprocess.Size) {
	to := preprocess.Size{Width: e.side, Height: e.side}
	n, planes := e.side*e.side, tensor.Data[float32](e.in.Tensor())
	if e.kind == CLIPImages {
		e.pixels = tensor.Grown(e.pixels, imageChannels*n)
		e.scratch.ResizeBytes(e.pixels, image, preprocess.PillowBicubic, from, to)
		for i, v := range e.pixels {
			c := i % imageChannels
			planes[c*n+i/imageChannels] = (float32(v)/255 - clipMean[c]) / clipDeviation[c]
		}
		return
	}
	e.floats = tensor.Grown(e.floats, len(image)+imageChannels*n)
	whole, small := e.floats[:len(image)], e.floats[len(image):]
	for i, v := range image {
		whole[i] = float32(v) / 255
	}
	e.scratch.ResizeTorch(small, whole, from, to)
	for i, v := range small {
		planes[i%imageChannels*n+i/imageChannels] = float32(2*v) - 1
	}
}

// Close closes the network.
func (e *ImageEncoder) Close() error {
	var errs []error
	for _, v := range []backend.Value{e.in, e.out} {
		if v != nil {
			errs = append(errs, v.Close())
		}
	}
	return errors.Join(append(errs, e.session.Close())...)
}
