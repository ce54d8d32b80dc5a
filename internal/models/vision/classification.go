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
	respond := classResponse{output: out, payload: c.payload}
	if !s.ranked {
		return samples.workload([]string{out.port.Name}, respond.append, out.String()), nil
	}
	names := []string{out.port.Name}
	respond.scores = out
	if out.argmax {
		_, scores := classPorts(s.outputs, binding{})
		if scores == nil {
			return samples.workload(names, respond.append, out.String(), "Top-1 only: the model has no output with scores"), nil
		}
		names = append(names, scores.Name)
		respond.scores = classOutput{port: *scores, offset: out.offset}
	}
	respond.best = make([][]int32, data.Len())
	w := samples.workload(names, respond.append, out.String())
	w.Best = respond.best
	return w, nil
}

// A classResponse makes responses from the model's output.
type classResponse struct {
	output  classOutput
	payload accuracy.DType

	scores classOutput // the last output of the model
	best   [][]int32   // receives the labels of its highest scores; nil: not wanted
}

// append appends the label: as a float32, which is how the reference writes it
// (vision/classification_and_detection/python/main.py), or as an int32, as the mobile app
// does (flutter/cpp/datasets/imagenet.cc).
func (c classResponse) append(dst []byte, outputs []tensor.Tensor, k int, item workload.Item) ([]byte, error) {
	class, err := c.output.class(outputs[0], k)
	if err != nil {
		return dst, err
	}
	if c.best != nil {
		if c.best[item.Index], err = c.scores.ranking(outputs[len(outputs)-1], k); err != nil {
			return dst, err
		}
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
	if out.argmax {
		class := numberAt(t, k)
		if class < 0 || class >= background {
			return 0, fmt.Errorf("the model's output %s is %.0f: must be a class, 0 to %d", out.port.Name, class, background-1)
		}
		return int(class), nil
	}
	var top [1]int
	_, err = highest(top[:], t, k, n)
	return top[0], err
}

// ranking reads the labels of the highest scores of the k-th sample of a batch.
func (out classOutput) ranking(t tensor.Tensor, k int) ([]int32, error) {
	n, err := out.each(t, k)
	if err != nil {
		return nil, err
	}
	var top [5]int
	if n, err = highest(top[:], t, k, n); err != nil {
		return nil, err
	}
	var labels []int32
	for _, class := range top[:n] {
		labels = append(labels, int32(class+out.labelOffset(t)))
	}
	return labels, nil
}

// highest finds the highest of the n scores of the k-th sample.
func highest(top []int, t tensor.Tensor, k, n int) (int, error) {
	switch t.Type {
	case tensor.Float32:
		return accuracy.TopK(top, tensor.Data[float32](t)[k*n:][:n])
	case tensor.Uint8:
		return accuracy.TopK(top, tensor.Data[uint8](t)[k*n:][:n])
	}
	return accuracy.TopK(top, tensor.Data[int8](t)[k*n:][:n])
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
		return 0, fmt.Errorf("the model's output %s is %v, with %d values for each sample: must be one of %v", out.port.Name, t, n, want)
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
	score, err := accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{DType: o.dtype, Verbose: o.verbose, Best: s.Best})
	if err == nil && s.Foreign {
		score.Warnings = append(score.Warnings, "Top-1 only: the official log has one class for each sample, and so Top-5 is not known")
	}
	return score, err
}
