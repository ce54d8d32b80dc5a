package vision

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An imageSet is a data set of image files.
type imageSet interface {
	Len() int
	Path(i int) string
	Read(i int) ([]byte, error)
	Fingerprint() string
}

// imageSamples are samples of one image each: the common part of classification, detection and segmentation.
type imageSamples struct {
	kind     string // in the cache key
	data     imageSet
	pipeline preprocess.Pipeline
	input    imageInput
	batch    int
	row      []workload.Slot
	made     string // folder of pre-processed images; empty: none
	scratch  sync.Pool
	// size is what an image must have, where answers depend on it; nil: any will do.
	size func(index int) preprocess.Size
}

// newImageSamples joins a data set with a model's input, through the first of the pipelines that makes its type.
func newImageSamples(kind string, data imageSet, s setup, pipelines ...string) (*imageSamples, error) {
	p, in, err := bindPipeline(s, pipelines)
	if err != nil {
		return nil, err
	}
	return &imageSamples{
		kind:     kind,
		data:     data,
		pipeline: p,
		input:    in,
		batch:    s.inputs[0].Batch(),
		row:      []workload.Slot{{Type: in.dtype, Shape: p.Shape()}},
		made:     s.binding.preprocessed,
		scratch:  sync.Pool{New: func() any { return &preprocess.Scratch{MaxPixels: s.binding.maxPixels} }},
	}, nil
}

// bindPipeline chooses the pre-processing for the type of the model's input, and its layout.
func bindPipeline(s setup, pipelines []string) (preprocess.Pipeline, imageInput, error) {
	if s.binding.pipeline != "" {
		pipelines = []string{s.binding.pipeline}
	}
	p, err := lookupPipeline(pipelines[0])
	if err != nil {
		return p, imageInput{}, userinput.Wrap(pipelineOption, err)
	}
	in, err := bindImage(s.inputs, p.Size, s.binding)
	if err != nil {
		return p, in, err
	}
	if p, err = made(p, s, in.dtype, pipelines[1:]); err != nil {
		return p, in, err
	}
	p.Layout = preprocess.NCHW
	if in.layout == nhwc {
		p.Layout = preprocess.NHWC
	}
	return p, in, nil
}

// made is the pre-processing that makes the type of an input: p, or the first of others, or p without its arithmetic.
func made(p preprocess.Pipeline, s setup, taken tensor.DType, others []string) (preprocess.Pipeline, error) {
	dtype := taken
	if singlepass.IsOtherFloat(dtype) {
		dtype = tensor.Float32
	}
	for _, name := range others {
		if p.Type == dtype {
			break
		}
		other, err := lookupPipeline(name)
		if err != nil {
			return p, err
		}
		if other.Type == dtype {
			p = other
		}
	}
	if s.binding.pipeline == "" && dtype != p.Type {
		p = quantised(p, dtype)
	}
	if p.Type != dtype {
		return p, userinput.Errorf(pipelineOption, "the pre-processing %s makes %v, input %s takes %v: choose another", p.Name, p.Type,
			s.inputs[0].Name, taken)
	}
	return p, nil
}

// quantised is the pre-processing for models whose input is the pixels themselves, or
// the pixels minus 128: the same image without the arithmetic.
func quantised(p preprocess.Pipeline, dtype tensor.DType) preprocess.Pipeline {
	if dtype != tensor.Uint8 && dtype != tensor.Int8 {
		return p
	}
	p.Steps, p.Type = nil, dtype
	p.Name += "_uint8"
	if dtype == tensor.Int8 {
		p.Name = strings.TrimSuffix(p.Name, "_uint8") + "_int8"
		p.Steps = []preprocess.Step{{Op: preprocess.Subtract, By: [3]float32{128, 128, 128}}}
	}
	return p
}

// workload returns a workload that answers a batch with one run of the model, from some of its outputs.
func (s *imageSamples) workload(outputs []string, respond singlepass.Respond, notes ...string) *workload.Workload {
	batch := max(s.batch, 0)
	return &workload.Workload{
		Raw:     s.raw(),
		Samples: s.data.Len(), Row: func(int) []workload.Slot { return s.row }, Path: s.data.Path, Prepare: s.prepare, CacheKey: s.cacheKey,
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return singlepass.New(sessions[workload.Only], s.row, maxBatch, respond)
		},
		Outputs: func(string) []string { return outputs }, Batch: batch, Notes: append([]string{s.note()}, notes...),
		Exchange: &workload.Exchange{Decode: s.decode},
	}
}

// raw makes samples of files; nil of images that are pre-processed already.
func (s *imageSamples) raw() *workload.Raw {
	if s.made != "" {
		return nil
	}
	return &workload.Raw{
		What: "decoding, resizing and normalising (" + s.pipeline.Name + ")", Read: s.data.Read,
		Make: func(file []byte, _ int, row []tensor.Tensor) error { return s.decode(file, row) },
	}
}

// preprocessVersion is part of every cache key. Raise it when pre-processing makes other tensors from the same files.
const preprocessVersion = 1

func (s *imageSamples) cacheKey() string {
	if s.made != "" {
		return ""
	}
	key := fmt.Sprintf("%s %d\npipeline %+v\nfiles %s", s.kind, preprocessVersion, s.pipeline, s.data.Fingerprint())
	if s.converts() {
		key += fmt.Sprintf("\nas %v", s.input.dtype)
	}
	return key
}

// prepare fills a row.
func (s *imageSamples) prepare(index int, row []tensor.Tensor) error {
	data, err := s.data.Read(index)
	if err != nil {
		return fmt.Errorf("reading sample %d: %w", index, err)
	}
	if s.made != "" {
		if err := s.load(row[0], data); err != nil {
			return fmt.Errorf("sample %d, %s: %w", index, s.data.Path(index), err)
		}
		return nil
	}
	var want preprocess.Size
	if s.size != nil {
		want = s.size(index)
	}
	if err := s.fill(data, row, want); err != nil {
		return fmt.Errorf("sample %d, %s: %w", index, s.data.Path(index), err)
	}
	return nil
}

// decode fills a row from the file of an image.
func (s *imageSamples) decode(file []byte, row []tensor.Tensor) error {
	return s.fill(file, row, preprocess.Size{})
}

// fill is decode for an image of a size; zero: of any.
func (s *imageSamples) fill(file []byte, row []tensor.Tensor, want preprocess.Size) error {
	scratch := s.scratch.Get().(*preprocess.Scratch)
	defer s.scratch.Put(scratch)
	dst := row[0]
	if s.converts() {
		dst = tensor.New(s.pipeline.Type, dst.Shape...)
	}
	err := s.pipeline.ApplyFile(dst, file, scratch)
	if got := scratch.Decoded; want.Width > 0 && got.Width > 0 && got != want {
		return fmt.Errorf("the image has %d×%d pixels, its annotation says %d×%d", got.Width, got.Height, want.Width, want.Height)
	}
	if err == nil && s.converts() {
		singlepass.FromFloat32(row[0], tensor.Data[float32](dst))
	}
	return err
}

// converts reports whether the model takes another type than the pre-processing makes.
func (s *imageSamples) converts() bool { return s.input.dtype != s.pipeline.Type }

// load reads a pre-processed sample. It must have the model's own type, shape and layout; its arithmetic cannot be checked.
func (s *imageSamples) load(dst tensor.Tensor, data []byte) error {
	r, err := npy.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if r.Type != dst.Type || !slices.Equal(r.Shape, dst.Shape) {
		return fmt.Errorf("the array is %v%v, the model takes %v %s: %v", r.Type, r.Shape, s.input.dtype, s.input.layout, dst)
	}
	return r.Read(dst)
}

// note describes the input.
func (s *imageSamples) note() string {
	if s.made != "" {
		return fmt.Sprintf("%v, from %s", s.input, s.made)
	}
	return fmt.Sprintf("%v, pre-processed by %s", s.input, s.pipeline.Name)
}
