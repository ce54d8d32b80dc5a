package vision

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A classifier describes an image classifier on ImageNet.
type classifier struct {
	pipelines []string       // of the official model, and for inputs of other types
	payload   accuracy.DType // of the label in a response; empty: float32
}

// open opens ImageNet and reads the ports of the model file.
func (c classifier) open(s setup) (*workload.Workload, error) {
	data, err := dataset.OpenImageNet(s.datasetDir, s.data())
	if err != nil {
		return nil, err
	}
	out, err := bindClasses(s.outputs, s.binding)
	if err != nil {
		return nil, err
	}
	samples, err := newImageSamples("classification", data, s, c.pipelines...)
	if err != nil {
		return nil, err
	}
	respond := classResponse{output: out, payload: c.payload}.append
	return samples.workload([]string{out.port.Name}, respond, out.String()), nil
}

// A classResponse makes responses from the model's output.
type classResponse struct {
	output  classOutput
	payload accuracy.DType
}

// append appends the label: as a float32, which is how the reference writes it
// (vision/classification_and_detection/python/main.py), or as an int32, as the mobile app
// does (flutter/cpp/datasets/imagenet.cc).
func (c classResponse) append(dst []byte, outputs []tensor.Tensor, k int, _ workload.Item) ([]byte, error) {
	class, err := c.output.class(outputs[0], k)
	if err != nil {
		return dst, err
	}
	label := class + c.output.labelOffset(outputs[0])
	if c.payload == accuracy.Int32 {
		return binary.LittleEndian.AppendUint32(dst, uint32(int32(label))), nil
	}
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(label))), nil
}

// class reads the class of the k-th sample of a batch.
func (out classOutput) class(t tensor.Tensor, k int) (int, error) {
	n, err := out.each(t, k)
	if err != nil {
		return 0, err
	}
	switch {
	case out.argmax:
		class := numberAt(t, k)
		if class < 0 || class >= background {
			return 0, fmt.Errorf("the model's output %s is %.0f: want a class, 0 to %d", out.port.Name, class, background-1)
		}
		return int(class), nil
	case t.Type == tensor.Float32:
		return argmax(tensor.Data[float32](t)[k*n:][:n])
	case t.Type == tensor.Uint8:
		return argmax(tensor.Data[uint8](t)[k*n:][:n])
	}
	return argmax(tensor.Data[int8](t)[k*n:][:n])
}

// each is the number of values that an output has for a sample. The file may not say it; the shape after a run does.
func (out classOutput) each(t tensor.Tensor, k int) (int, error) {
	if len(t.Shape) == 0 || int64(k) >= t.Shape[0] || t.Len() == 0 {
		return 0, fmt.Errorf("the model's output %s is %v, too short for the batch", out.port.Name, t)
	}
	want := []int{background - 1, background}
	if out.argmax {
		want = []int{1}
	}
	n := t.Len() / int(t.Shape[0])
	if !slices.Contains(want, n) {
		return 0, fmt.Errorf("the model's output %s is %v, with %d values for each sample, want one of %v", out.port.Name, t, n, want)
	}
	return n, nil
}

// labelOffset is the offset from class to label.
func (out classOutput) labelOffset(t tensor.Tensor) int {
	if out.open && int64(t.Len()) == t.Shape[0]*(background-1) {
		return 0
	}
	return out.offset
}

// argmax returns the index of the first maximum. A NaN is an error: NumPy, and so the reference, would take it as the
// maximum.
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

// score scores a log of labels.
func (c classifier) score(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	truth, err := dataset.ReadValMap(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	o, err := parseScoring(s.Options)
	if err != nil {
		return nil, err
	}
	if o.dtype == "" {
		o.dtype = c.payload
	}
	return accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{DType: o.dtype, Verbose: o.verbose})
}
