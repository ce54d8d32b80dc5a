package models

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A classifier describes the image classifiers on ImageNet: they differ in nothing but
// the pre-processing of the official model.
type classifier struct {
	pipeline string // for float32 inputs
}

// open joins a classifier with ImageNet and a model file.
func (c classifier) open(s Setup) (Workload, error) {
	data, err := dataset.OpenImageNet(s.DatasetDir, s.Count)
	if err != nil {
		return nil, err
	}
	out, err := bindClasses(s.Outputs, s.Binding)
	if err != nil {
		return nil, err
	}
	p, in, err := c.bind(s)
	if err != nil {
		return nil, err
	}
	return &classification{
		data:     data,
		pipeline: p,
		input:    in,
		batch:    s.Inputs[0].Batch(),
		output:   out,
		scratch:  sync.Pool{New: func() any { return new(preprocess.Scratch) }},
	}, nil
}

// bind chooses the pre-processing for the type of the model's input, and its layout.
func (c classifier) bind(s Setup) (preprocess.Pipeline, imageInput, error) {
	name := s.Binding.Pipeline
	if name == "" {
		name = c.pipeline
	}
	p, err := preprocess.Lookup(name)
	if err != nil {
		return p, imageInput{}, err
	}
	in, err := bindImage(s.Inputs, p.Size, s.Binding)
	if err != nil {
		return p, in, err
	}
	if s.Binding.Pipeline == "" && in.dtype != p.Type {
		p = c.quantised(p, in.dtype)
	}
	if p.Type != in.dtype {
		return p, in, fmt.Errorf("the pre-processing %s makes %v, input %s takes %v: choose another with --preprocess",
			p.Name, p.Type, s.Inputs[0].Name, in.dtype)
	}
	p.Layout = preprocess.NCHW
	if in.layout == "NHWC" {
		p.Layout = preprocess.NHWC
	}
	return p, in, nil
}

// quantised is the pre-processing for models whose input is the pixels themselves, or
// the pixels minus 128: the same image without the arithmetic.
func (classifier) quantised(p preprocess.Pipeline, dtype tensor.DType) preprocess.Pipeline {
	p.Steps, p.Type = nil, dtype
	p.Name += "_uint8"
	if dtype == tensor.Int8 {
		p.Name = strings.TrimSuffix(p.Name, "_uint8") + "_int8"
		p.Steps = []preprocess.Step{{Op: preprocess.Subtract, By: [3]float32{128, 128, 128}}}
	}
	return p
}

// A classification is a classifier joined with its data.
type classification struct {
	data     *dataset.ImageNet
	pipeline preprocess.Pipeline
	input    imageInput
	batch    int
	output   classOutput
	scratch  sync.Pool
}

// Len implements Workload.
func (c *classification) Len() int { return c.data.Len() }

// Row implements Workload.
func (c *classification) Row() []Slot { return []Slot{{c.pipeline.Type, c.pipeline.Shape()}} }

// preprocessVersion is part of every cache key. It must be raised when pre-processing
// comes to give other tensors for the same files.
const preprocessVersion = 1

// CacheKey implements Workload.
func (c *classification) CacheKey() string {
	return fmt.Sprintf("classification %d\npipeline %+v\nfiles %s", preprocessVersion, c.pipeline, c.data.Fingerprint())
}

// Prepare implements Workload.
func (c *classification) Prepare(index int, row []tensor.Tensor) error {
	return prepareImage(&c.scratch, c.pipeline, c.data, index, row[0])
}

// An imageSet is a data set of image files.
type imageSet interface {
	Path(i int) string
	Read(i int) ([]byte, error)
}

// prepareImage applies a pipeline to an image file. A file that is damaged is an error
// here, though the reference would go on with a grey rest: a benchmark on broken
// data is worth nothing.
func prepareImage(pool *sync.Pool, p preprocess.Pipeline, set imageSet, index int, dst tensor.Tensor) error {
	data, err := set.Read(index)
	if err != nil {
		return fmt.Errorf("reading sample %d: %w", index, err)
	}
	s := pool.Get().(*preprocess.Scratch)
	defer pool.Put(s)
	damaged, err := p.ApplyFile(dst, data, s)
	if err == nil && damaged {
		err = fmt.Errorf("the image is damaged or cut off; fetch the file again")
	}
	if err != nil {
		return fmt.Errorf("sample %d, %s: %w", index, set.Path(index), err)
	}
	return nil
}

// Outputs implements Workload.
func (c *classification) Outputs() []string { return []string{c.output.port.Name} }

// Batch implements Workload.
func (c *classification) Batch() int { return c.batch }

// NewPredictor implements Workload.
func (c *classification) NewPredictor(session backend.Session, maxBatch int) (Predictor, error) {
	return newSinglePass(session, c.Row(), maxBatch, c.respond)
}

// respond appends the label as a float32, which is how the reference writes it
// (vision/classification_and_detection/python/main.py).
func (c *classification) respond(dst []byte, outputs []tensor.Tensor, k int, _ Item) ([]byte, error) {
	class, err := c.output.class(outputs[0], k)
	if err != nil {
		return dst, err
	}
	label := float32(class + c.output.offset)
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(label)), nil
}

// class reads the class of the k-th sample of a batch.
func (out classOutput) class(t tensor.Tensor, k int) (int, error) {
	if len(t.Shape) == 0 || int64(k) >= t.Shape[0] || t.Len() == 0 {
		return 0, fmt.Errorf("the model's output %s is %v, too short for the batch", out.port.Name, t)
	}
	switch {
	case out.argmax && t.Type == tensor.Int64:
		return int(tensor.Data[int64](t)[k]), nil
	case out.argmax:
		return int(tensor.Data[int32](t)[k]), nil
	}
	n := t.Len() / int(t.Shape[0])
	switch t.Type {
	case tensor.Float32:
		return argmax(tensor.Data[float32](t)[k*n:][:n])
	case tensor.Uint8:
		return argmax(tensor.Data[uint8](t)[k*n:][:n])
	default:
		return argmax(tensor.Data[int8](t)[k*n:][:n])
	}
}

// argmax returns the index of the first maximum. A score that is not a number is an
// error: NumPy, and so the reference, would silently take it for the maximum.
func argmax[T float32 | uint8 | int8](scores []T) (int, error) {
	best := 0
	for i, s := range scores {
		if s != s {
			return 0, fmt.Errorf("the model's score of class %d is not a number", i)
		}
		if s > scores[best] {
			best = i
		}
	}
	return best, nil
}

// Notes implements Workload.
func (c *classification) Notes() []string {
	return []string{
		fmt.Sprintf("%v, pre-processed by %s", c.input, c.pipeline.Name),
		c.output.String(),
	}
}

// scoreImageNet scores a log of labels.
func scoreImageNet(log accuracy.Input, s Scoring) (*accuracy.Score, error) {
	truth, err := dataset.ReadValMap(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	score, err := accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{DType: s.DType, Verbose: s.Verbose})
	if err != nil {
		return nil, err
	}
	return &score.Score, nil
}
