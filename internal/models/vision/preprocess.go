package vision

import (
	"errors"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An imageFileReader makes the inputs of a model from image files.
type imageFileReader struct {
	pipeline preprocess.Pipeline
	scratch  preprocess.Scratch
}

// imageReader returns what opens a reader: with the reference's pre-processing and its
// layout, unless the options name others.
func imageReader(pipelines []string) func(workload.Values) (workload.Reader, error) {
	return func(v workload.Values) (workload.Reader, error) {
		b, err := parseBinding(v)
		if err != nil {
			return nil, err
		}
		if b.pipeline == "" {
			b.pipeline = pipelines[0]
		}
		p, err := lookupPipeline(b.pipeline)
		if err != nil {
			return nil, userinput.Wrap(pipelineOption, err)
		}
		switch b.layout {
		case "":
		case nchw:
			p.Layout = preprocess.NCHW
		case nhwc:
			p.Layout = preprocess.NHWC
		default:
			return nil, userinput.Errorf(layoutOption, "unknown layout %q, want %s or %s", b.layout, nchw, nhwc)
		}
		return &imageFileReader{pipeline: p, scratch: preprocess.Scratch{MaxPixels: b.maxPixels}}, nil
	}
}

// Name implements workload.Reader.
func (r *imageFileReader) Name() string { return r.pipeline.Name }

// Read implements workload.Reader.
func (r *imageFileReader) Read(file []byte) (tensor.Tensor, error) {
	t := tensor.New(r.pipeline.Type, r.pipeline.Shape()...)
	damaged, err := r.pipeline.ApplyFile(t, file, &r.scratch)
	if err == nil && damaged {
		err = errors.New("the image is damaged or cut off")
	}
	return t, err
}
