package vision

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// lookupPipeline returns a pre-processing by its name: one of the reference's, or one of
// the mobile app's for another size than the reference's.
func lookupPipeline(name string) (preprocess.Pipeline, error) {
	for _, v := range resizedPipelines() {
		if v.name != name {
			continue
		}
		p, err := preprocess.Lookup(v.like)
		if err != nil {
			return p, fmt.Errorf("pre-processing %s: %w", name, err)
		}
		p.Name, p.Size = v.name, v.size
		if v.padded {
			p.Fit, p.Kernel, p.Float = preprocess.PadDeepLab, preprocess.DeepLabBilinear, false
		}
		return p, nil
	}
	if size, rect := strings.CutSuffix(strings.TrimPrefix(name, yoloPrefix), "_rect"); strings.HasPrefix(name, yoloPrefix) {
		if n, err := strconv.Atoi(size); err == nil && n > 0 && n%32 == 0 {
			p, err := preprocess.Lookup(map[bool]string{false: yoloSquare, true: yoloRect}[rect])
			p.Name, p.Size = name, n
			return p, err
		}
	}
	return preprocess.Lookup(name)
}

// A resizedPipeline is a pipeline of the reference with another size.
type resizedPipeline struct {
	name, like string
	size       int
	padded     bool // as DeepLab does it
}

// resizedPipelines are those of the mobile app's models: SSD-MobileNet-v2 takes 300×300
// pixels, MobileDet, which came later, 320×320. Images for segmentation are prepared before the
// app gets them, with 512×512 pixels; of those nothing is left to do but the arithmetic.
func resizedPipelines() []resizedPipeline {
	var list []resizedPipeline
	for _, dtype := range []string{"float32", "uint8", "int8"} {
		list = append(list,
			resizedPipeline{name: "mobile_detection_300_" + dtype, like: "mobile_detection_320_" + dtype, size: 300},
			resizedPipeline{name: "mobile_segmentation_512_" + dtype, like: "mobile_detection_320_" + dtype, size: 512, padded: true})
	}
	return list
}

// imageReader returns the NewReader of a model: the reference's pre-processing and layout, unless options name others.
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
			return nil, userinput.Errorf(layoutOption, "unknown layout %q: must be %s or %s", b.layout, nchw, nhwc)
		}
		scratch := &preprocess.Scratch{MaxPixels: b.maxPixels}
		return &workload.Reader{Name: p.Name, Read: func(file []byte) (tensor.Tensor, error) {
			return p.Make(file, scratch)
		}}, nil
	}
}
