package vision

import (
	"context"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A segmenter describes the models that give every pixel of an image a class.
type segmenter struct {
	pipelines []string
	classes   int // from 1; 0: no class
}

// open opens ADE20K and reads the ports of the model file.
func (m segmenter) open(s setup) (*workload.Workload, error) {
	data, err := dataset.OpenADE20K(s.datasetDir, s.data())
	if err != nil {
		return nil, err
	}
	port, err := bindPixels(s.outputs, s.binding)
	if err != nil {
		return nil, err
	}
	samples, err := newImageSamples("segmentation", data, s, m.pipelines...)
	if err != nil {
		return nil, err
	}
	r := maskResponse{port: port}
	if s.binding.labelOffset != nil {
		r.offset = *s.binding.labelOffset
	}
	return samples.workload([]string{port.Name}, r.append, "class of a pixel = "+plus(port.Name, r.offset)), nil
}

// bindPixels finds the output with the class of each pixel: [N H W], or [N H W 1].
func bindPixels(outputs []backend.Port, override binding) (backend.Port, error) {
	for _, port := range outputs {
		s := port.Shape
		shaped := (len(s) == 3 || len(s) == 4 && s[3] == 1) && fits(s[1], dataset.ADE20KSize) && fits(s[2], dataset.ADE20KSize)
		typed := singlepass.IsFloat(port.Type) || isWhole(port.Type) || port.Type == tensor.Uint8
		if shaped && typed && override.allows(port) {
			return port, nil
		}
	}
	return backend.Port{}, fmt.Errorf("the model has no output with a class for each pixel, [N %d %d]; it has %s",
		dataset.ADE20KSize, dataset.ADE20KSize, workload.DescribePorts(outputs))
}

// A maskResponse makes responses from the model's output.
type maskResponse struct {
	port   backend.Port
	offset int
}

// append appends one byte per pixel, row by row: its class. The mobile app has no log and scores at once, from the same
// classes.
func (s maskResponse) append(dst []byte, outputs []tensor.Tensor, k int, _ workload.Item) ([]byte, error) {
	const pixels = dataset.ADE20KSize * dataset.ADE20KSize
	t := outputs[0]
	switch images := t.Shape[0]; {
	case int64(k) >= images:
		return dst, fmt.Errorf("the model's output %s is %v, too short for %d images of %d pixels", s.port.Name, t, k+1, pixels)
	case int64(t.Len()) != images*pixels:
		return dst, fmt.Errorf("the model's output %s is %v: must be %d pixels for each image", s.port.Name, t, pixels)
	}
	switch t.Type {
	case tensor.Int64:
		return appendClasses(dst, tensor.Data[int64](t)[k*pixels:][:pixels], s.offset)
	case tensor.Int32:
		return appendClasses(dst, tensor.Data[int32](t)[k*pixels:][:pixels], s.offset)
	case tensor.Uint8:
		return appendClasses(dst, tensor.Data[uint8](t)[k*pixels:][:pixels], s.offset)
	}
	return appendClasses(dst, tensor.Data[float32](t)[k*pixels:][:pixels], s.offset)
}

func appendClasses[T int64 | int32 | uint8 | float32](dst []byte, classes []T, offset int) ([]byte, error) {
	for i, v := range classes {
		class := float64(v) + float64(offset)
		if !(class > -1 && class < 256) {
			return dst, fmt.Errorf("the class of pixel %d is %v: must be 0 to 255", i, class)
		}
		dst = append(dst, uint8(class))
	}
	return dst, nil
}

// score scores a log of masks as the mobile app does. The first record of a sample counts.
func (m segmenter) score(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	data, err := dataset.OpenADE20K(s.DatasetDir, dataset.Options{})
	if err != nil {
		return nil, err
	}
	counts := accuracy.NewIoUCounts(m.classes)
	coverage := accuracy.Coverage{Samples: data.Len()}
	for rec, err := range accuracy.FirstRecords(log, &coverage) {
		if err != nil {
			return nil, err
		}
		truth, err := data.Mask(int(rec.QSLIndex))
		if err == nil {
			classes := truth.Classes
			if size := dataset.ADE20KSize; truth.Width != size || truth.Height != size { // brought to the size of the images
				classes = preprocess.PadClasses(classes, preprocess.Size{Width: truth.Width, Height: truth.Height}, size)
			}
			err = counts.Add(int(rec.QSLIndex), rec.Data, classes)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: record %d, %s: %w", log.Name(), rec.Number, data.MaskPath(int(rec.QSLIndex)), err)
		}
	}
	score := counts.Score()
	score.Coverage = coverage
	return ofPresent(log, score, "classes")
}

// ofPresent has the second value of a score, the mean over the parts that occur, stand in for the first, with a warning, if
// that is undefined, as the mean over all parts is where one of them is in no sample.
func ofPresent(log accuracy.Input, score *accuracy.Score, parts string) (*accuracy.Score, error) {
	all, present := &score.Values[0], score.Values[1].Value
	switch {
	case !math.IsNaN(all.Value):
		return score, nil
	case math.IsNaN(present):
		return nil, fmt.Errorf("%s: none of the %s occurs: %s is undefined", log.Name(), parts, all.Name)
	}
	all.Value = present
	score.Warnings = append(score.Warnings, "the value is the mean over the "+parts+" that occur")
	return score, nil
}
