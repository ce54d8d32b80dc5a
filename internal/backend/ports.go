package backend

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Port is an input or output of a model.
type Port struct {
	Name  string
	Type  tensor.DType
	Shape tensor.Shape // -1 where an extent is free
	// Axes are the names of the free axes, empty where an axis has none; nil: no axis has one. Axes of one name have one extent.
	Axes []string

	// AnyShape says that even the number of axes is unknown; Shape is then empty.
	AnyShape bool
	// Other names what this program cannot handle: sequence, or tensor of complex64. Type is then Invalid;
	// an output of this kind may be left out.
	Other string
}

// Batch is the number of samples that one run takes through the port: the extent of its first axis, -1 if
// that is free, and 1 without axes.
func (p Port) Batch() int {
	if p.AnyShape {
		return -1
	}
	if len(p.Shape) == 0 {
		return 1
	}
	return int(p.Shape[0])
}

// Axis is the name of an axis; empty: it has none, or its extent is known.
func (p Port) Axis(k int) string {
	if k >= len(p.Axes) {
		return ""
	}
	return p.Axes[k]
}

// An Agreement says what the first axes of two ports have to do with each other.
type Agreement int

// The agreements.
const (
	Differ  Agreement = iota // extents or names differ, or a port has no axes
	Unknown                  // both are free, and one has no name: only runs show it
	Agree                    // the extents are equal, or the names are, or both mean the batch
)

// FirstAxes compares the first axes of an input and an output: where they agree, and the input's is the batch, the output has a row
// for each sample.
func FirstAxes(in, out Port) Agreement {
	if len(in.Shape) == 0 || len(out.Shape) == 0 {
		if in.AnyShape || out.AnyShape {
			return Unknown
		}
		return Differ
	}
	a, b := in.Axis(0), out.Axis(0)
	switch {
	case in.Shape[0] >= 0 && in.Shape[0] == out.Shape[0]:
		return Agree
	case in.Shape[0] >= 0 || out.Shape[0] >= 0:
		return Differ
	case unnamed.MatchString(a) || unnamed.MatchString(b):
		return Unknown
	case a == b, batchName.MatchString(a) && batchName.MatchString(b):
		return Agree
	}
	return Differ
}

var (
	// unnamed are the names that exporters make where their user gave none: tf2onnx, PyTorch and PaddlePaddle make a new one for each
	// axis, others have one for all.
	unnamed   = regexp.MustCompile(`^(|\?|-1|(?i:none|unk|unknown|dynamic)|unk__\d+|.*_dim_\d+|(.*\.)?DynamicDimension\.\d+)$`)
	batchName = regexp.MustCompile(`^(?i:n|b|bs|bsz|((input|output|in|out|num|nb|dynamic)_?)?batch(_?(size|dim|axis))?)$`)
)

// Fits reports whether the port takes a tensor of a type and shape.
func (p Port) Fits(t tensor.DType, shape tensor.Shape) bool {
	if t != p.Type || p.AnyShape {
		return t == p.Type
	}
	return slices.EqualFunc(shape, p.Shape, func(got, want int64) bool { return want < 0 || got == want })
}

// ReadPorts reads the inputs and outputs of an ONNX file, without its weights.
func ReadPorts(path string) (inputs, outputs []Port, err error) {
	head, err := onnx.ReadHead(path)
	if err != nil {
		return nil, nil, err
	}
	return PortsOf(head.Inputs), PortsOf(head.Outputs), nil
}

// Untyped is Port.Other where the file has no type.
const Untyped = "value without a type"

// PortsOf describes inputs or outputs of an ONNX file.
func PortsOf(values []*onnx.Value) []Port {
	var list []Port
	for _, v := range values {
		if kind := v.Type.Kind(); kind != "tensor" {
			list = append(list, Port{Name: v.Name, Other: cmp.Or(kind, Untyped)})
			continue
		}
		port := Port{Name: v.Name, Type: v.Type.Elem.DType(), AnyShape: v.Type.Shape == nil}
		if port.Type == tensor.Invalid {
			port.Other = fmt.Sprintf("tensor of %v", v.Type.Elem)
		}
		for k, dim := range v.Type.Shape {
			extent := int64(-1)
			if dim.Known() {
				extent = dim.Size
			}
			port.Shape = append(port.Shape, extent)
			if dim.Param != "" {
				if port.Axes == nil {
					port.Axes = make([]string, len(v.Type.Shape))
				}
				port.Axes[k] = dim.Param
			}
		}
		list = append(list, port)
	}
	return list
}
