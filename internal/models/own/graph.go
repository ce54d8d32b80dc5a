package own

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// steps is how many operators a value is followed through.
const steps = 8

// readGraph reads what only the operators tell. Files in ONNX Runtime's own format keep theirs from us.
func (in *inputs) readGraph(path string) {
	in.sized = true
	m, err := onnx.ReadFile(path)
	if err != nil {
		return // the engine reads other formats
	}
	in.sized = m.Graph.SizedByData() != nil
	index := m.Graph.Index()
	for _, i := range in.list {
		i.rows = embeddingRows(index, i.Name, steps)
		axes := make([]int, len(i.Shape))
		for k := range axes {
			axes[k] = k
		}
		i.batch, i.batchOf = batchAxis(index, i.Name, axes, steps)
	}
}

// embeddingRows is the number of rows of the smallest table that a value is the index into, perhaps after a cast or another shape.
func embeddingRows(index *onnx.Index, value string, steps int) (rows int64) {
	if steps == 0 {
		return 0
	}
	for _, n := range index.Consumers(value) {
		found := int64(0)
		switch n.Op {
		case "Gather":
			table := index.Initializer(n.Input(0))
			if table == nil && index.Producer(n.Input(0)) != nil && index.Producer(n.Input(0)).Op == "DequantizeLinear" {
				table = index.Initializer(index.Producer(n.Input(0)).Input(0))
			}
			axis := onnx.AttrOr(n, "axis", int64(0))
			if n.Input(1) == value && table != nil && axis == 0 && len(table.Dims) > 1 {
				found = table.Dims[0]
			}
		case "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Slice", "Transpose":
			if n.Input(0) == value && len(n.Outputs) > 0 {
				found = embeddingRows(index, n.Outputs[0], steps-1)
			}
		}
		if found > 0 && (rows == 0 || found < rows) {
			rows = found
		}
	}
	return rows
}

// added is an axis of a value that the input does not have.
const added = -1

// batchAxis follows a value to an operator that has the batch in a place of its own, and returns which axis of the input it is;
// added: none. axes are those of the input in the place of the value's. Without such an operator its description is empty.
func batchAxis(index *onnx.Index, value string, axes []int, steps int) (axis int, of string) {
	if steps == 0 {
		return 0, ""
	}
	for _, n := range index.Consumers(value) {
		if place, ok := batchPlace(n, slices.Index(n.Inputs, value)); ok && place < len(axes) {
			return axes[place], strings.TrimSpace(n.Op + " " + n.Name)
		}
		if next := passed(index, n, slices.Index(n.Inputs, value), axes); next != nil && len(n.Outputs) > 0 {
			if axis, of := batchAxis(index, n.Outputs[0], next, steps-1); of != "" {
				return axis, of
			}
		}
	}
	return 0, ""
}

// batchPlace is the axis of an operator's k-th input that is the batch by the operator's definition.
func batchPlace(n *onnx.Node, k int) (axis int, ok bool) {
	switch n.Op {
	case "Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "FusedConv", "MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool",
		"BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN":
		return 0, k == 0
	case "LSTM", "GRU", "RNN": // X, W, R, B, sequence_lens, initial_h, initial_c
		data := k == 0 || k == 5 || k == 6
		if data && onnx.AttrOr(n, "layout", int64(0)) == 0 {
			return 1, true
		}
		return 0, data || k == 4
	}
	return 0, false
}

// passed are the axes of the first output of an operator that moves axes, or computes each element by itself; nil: of another.
func passed(index *onnx.Index, n *onnx.Node, k int, axes []int) []int {
	switch n.Op {
	case "Cast", "Identity", "Relu", "LeakyRelu", "Clip", "Sigmoid", "Tanh", "Dropout", "QuantizeLinear", "DequantizeLinear", "Pad", "Slice", "Resize":
		if k == 0 {
			return axes
		}
	case "Add", "Sub", "Mul", "Div":
		if other := index.Initializer(n.Input(1 - min(k, 1))); other != nil && len(other.Dims) <= len(axes) {
			return axes
		}
	case "Gather": // of an embedding
		if k == 1 && index.Initializer(n.Input(0)) != nil {
			return append(slices.Clone(axes), added)
		}
	case "Transpose":
		order := onnx.AttrOr(n, "perm", []int64(nil))
		moved := make([]int, len(axes))
		for to := range moved {
			from := len(axes) - 1 - to
			if order != nil && to < len(order) {
				from = int(order[to])
			}
			if from < 0 || from >= len(axes) {
				return nil
			}
			moved[to] = axes[from]
		}
		return moved
	case "Unsqueeze":
		places := axesOf(index, n, 1)
		if k != 0 || places == nil {
			return nil
		}
		more := slices.Clone(axes)
		rank := int64(len(axes) + len(places))
		for i, place := range places {
			if places[i] = place; place < 0 {
				places[i] += rank
			}
		}
		slices.Sort(places)
		for _, place := range places {
			if place < 0 || int(place) > len(more) {
				return nil
			}
			more = slices.Insert(more, int(place), added)
		}
		return more
	}
	return nil
}

// axesOf are the axes that an operator is given: as its attribute, or as a constant.
func axesOf(index *onnx.Index, n *onnx.Node, input int) []int64 {
	if axes := onnx.AttrOr(n, "axes", []int64(nil)); axes != nil {
		return slices.Clone(axes)
	}
	t := index.Initializer(n.Input(input))
	if producer := index.Producer(n.Input(input)); t == nil && producer != nil && producer.Op == "Constant" {
		t = onnx.AttrOr(producer, "value", (*onnx.Tensor)(nil))
	}
	if t == nil {
		return nil
	}
	axes, err := onnx.Elements[int64](t)
	if err != nil {
		return nil
	}
	return axes
}
