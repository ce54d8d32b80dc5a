//go:build cgo

package ort

import (
	"errors"
	"fmt"
	"strings"

	onnx "github.com/yalue/onnxruntime_go"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// head describes the model. What the file does not tell is asked of ONNX Runtime, which costs
// one more loading.
func (e *Engine) head(path string) (modelHead, error) {
	head, err := readModelHead(path)
	if err != nil && !errors.Is(err, format.ErrORTFormat) {
		return modelHead{}, err
	}
	if err == nil && head.complete() {
		return head, nil
	}
	options, err := optionsToLook()
	if err != nil {
		return modelHead{}, err
	}
	defer options.Destroy()
	in, out, err := onnx.GetInputOutputInfoWithOptions(path, options)
	if err != nil {
		return modelHead{}, &modelError{path, withOpset(readable(err.Error()), head)}
	}
	head.inputs, head.outputs = inferred(head.inputs, in), inferred(head.outputs, out)
	return head, nil
}

// optionsToLook are those of a session that only shows a model's ports.
func optionsToLook() (*onnx.SessionOptions, error) {
	options, err := onnx.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	err = errors.Join(options.SetGraphOptimizationLevel(onnx.GraphOptimizationLevelDisableAll),
		options.SetIntraOpNumThreads(1), options.SetLogSeverityLevel(onnx.LoggingLevelFatal))
	if err != nil {
		options.Destroy()
		return nil, err
	}
	return options, nil
}

// inferred describes ports as ONNX Runtime does. told are those of the file; none if it could not be
// read.
func inferred(told []modelPort, info []onnx.InputOutputInfo) []modelPort {
	ports := make([]modelPort, len(info))
	for i, v := range info {
		var file modelPort
		if i < len(told) {
			file = told[i]
		}
		ports[i] = inferredPort(file, v)
	}
	return ports
}

// inferredPort describes a port as ONNX Runtime does, which calls the shape empty where it is unknown.
func inferredPort(told modelPort, info onnx.InputOutputInfo) modelPort {
	p := modelPort{axes: make([]string, len(info.Dimensions))}
	p.Name = info.Name
	if info.OrtValueType != onnx.ONNXTypeTensor {
		p.Other = strings.ToLower(strings.TrimPrefix(info.OrtValueType.String(), "ONNX_TYPE_"))
		return p
	}
	elem := format.ElemType(info.DataType) // the C interface numbers types as ONNX does
	if p.Type = elem.DType(); p.Type == tensor.Invalid {
		p.Other = fmt.Sprintf("tensor of %v", elem)
	}
	for _, extent := range info.Dimensions {
		p.Shape = append(p.Shape, max(extent, -1))
	}
	p.AnyShape = len(info.Dimensions) == 0 && told.AnyShape
	if len(told.axes) == len(p.axes) {
		p.axes = told.axes
	}
	return p
}

// withOpset adds the model's opset to a message about operators or versions.
func withOpset(text string, head modelHead) string {
	if opset := head.opset; opset != "" {
		return fmt.Sprintf("%s (the model uses %s)", text, opset)
	}
	return text
}
