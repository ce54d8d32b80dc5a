package vision

import (
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// imageReader returns what opens a reader: with the reference's pre-processing and its
// layout, unless the options name others.
func imageReader(pipelines []string) func(workload.Values) (*workload.Reader, error) {
	return func(v workload.Values) (*workload.Reader, error) {
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
		scratch := &preprocess.Scratch{MaxPixels: b.maxPixels}
		return &workload.Reader{Name: p.Name, Read: func(file []byte) (tensor.Tensor, error) {
			t := tensor.New(p.Type, p.Shape()...)
			return t, p.ApplyFile(t, file, scratch)
		}}, nil
	}
}
