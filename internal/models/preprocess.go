package models

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An ImageReader makes the inputs of a model from image files.
type ImageReader struct {
	pipeline preprocess.Pipeline
	scratch  preprocess.Scratch
}

// NewImageReader returns a reader with the reference's pre-processing, or the one that is
// named, and its layout, or the one that is named (NCHW or NHWC).
func (m Model) NewImageReader(pipeline, layout string) (*ImageReader, error) {
	if pipeline == "" {
		if len(m.Pipelines) == 0 {
			return nil, fmt.Errorf("the samples of %s are not images", m.Name)
		}
		pipeline = m.Pipelines[0]
	}
	p, err := lookupPipeline(pipeline)
	if err != nil {
		return nil, err
	}
	switch strings.ToUpper(layout) {
	case "":
	case "NCHW":
		p.Layout = preprocess.NCHW
	case "NHWC":
		p.Layout = preprocess.NHWC
	default:
		return nil, fmt.Errorf("layout is %q, want NCHW or NHWC", layout)
	}
	return &ImageReader{pipeline: p}, nil
}

// Pipeline names the pre-processing.
func (r *ImageReader) Pipeline() string { return r.pipeline.Name }

// Read returns the input of an image, without a batch axis.
func (r *ImageReader) Read(file []byte) (tensor.Tensor, error) {
	t := tensor.New(r.pipeline.Type, r.pipeline.Shape()...)
	damaged, err := r.pipeline.ApplyFile(t, file, &r.scratch)
	if err == nil && damaged {
		err = errors.New("the image is damaged or cut off")
	}
	return t, err
}
