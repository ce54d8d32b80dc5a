package quantize

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func only(n *onnx.Node) ([]*onnx.Node, error) { return []*onnx.Node{n}, nil }

func renamed(op string) func(*upgrader, *onnx.Node) ([]*onnx.Node, error) {
	return func(_ *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		n.Op = op
		return only(n)
	}
}

func dropSpatial(_ *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	if onnx.AttrOr(n, "spatial", int64(1)) != 1 {
		return nil, fmt.Errorf("it has statistics for every pixel, which was given up in operator set 9")
	}
	n.DropAttr("spatial")
	return only(n)
}

// ints adds a constant list of whole numbers.
func (u *upgrader) ints(n *onnx.Node, what string, list []int64) string {
	t := onnx.TensorOf(u.index.Unique(layerName(n)+"_"+what), list, int64(len(list)))
	addConstant(u.model, t)
	return t.Name
}

func (u *upgrader) float(n *onnx.Node, what string, x float32) string {
	t := onnx.TensorOf(u.index.Unique(layerName(n)+"_"+what), []float32{x})
	addConstant(u.model, t)
	return t.Name
}

// attributesToInputs makes inputs of attributes that are lists of whole numbers.
// Lists that the node does not have are left out.
func attributesToInputs(names ...string) func(*upgrader, *onnx.Node) ([]*onnx.Node, error) {
	return func(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		inputs := []string{n.Input(0)}
		for _, name := range names {
			if n.Attr(name) == nil {
				break // what follows a list that is left out is left out too
			}
			inputs = append(inputs, u.ints(n, name, onnx.AttrOr[[]int64](n, name, nil)))
			n.DropAttr(name)
		}
		n.Inputs = inputs
		return only(n)
	}
}

func clipLimits(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	n.Inputs = []string{n.Input(0), "", ""}
	for i, name := range []string{"min", "max"} {
		if n.Attr(name) != nil {
			n.Inputs[i+1] = u.float(n, name, onnx.AttrOr(n, name, float32(0)))
			n.DropAttr(name)
		}
	}
	return only(n)
}

func padInputs(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	pads := onnx.AttrOr[[]int64](n, "pads", nil)
	if pads == nil {
		return nil, fmt.Errorf("it has no attribute pads")
	}
	n.Inputs = []string{n.Input(0), u.ints(n, "pads", pads), u.float(n, "value", onnx.AttrOr(n, "value", float32(0)))}
	n.DropAttr("pads")
	n.DropAttr("value")
	return only(n)
}

func topKInput(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	k := onnx.AttrOr(n, "k", int64(0))
	n.Inputs = []string{n.Input(0), u.ints(n, "k", []int64{k})}
	n.DropAttr("k")
	return only(n)
}

// dropoutAtInference makes an Identity of a node that does nothing when a model runs.
func dropoutAtInference(_ *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	if !onlyOutput(n) {
		return nil, fmt.Errorf("its mask is used")
	}
	n.Op, n.Inputs, n.Outputs, n.Attributes = "Identity", n.Inputs[:min(1, len(n.Inputs))], n.Outputs[:1], nil
	return only(n)
}

// upsampleToResize writes an enlargement as Resize does from operator set 11 on, where
// the way in which pixels are mapped has to be said.
func upsampleToResize(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	scales := n.Input(1)
	if list := onnx.AttrOr[[]float32](n, "scales", nil); list != nil {
		t := onnx.TensorOf(u.index.Unique(layerName(n)+"_scales"), list, int64(len(list)))
		addConstant(u.model, t)
		scales = t.Name
		n.DropAttr("scales")
	}
	// The two versions disagree on nearest pixels where an axis shrinks.
	t := u.types.Initializer(scales)
	if t == nil {
		t = constants(u.model)[scales]
	}
	if !isFloat32Constant(t) {
		return nil, fmt.Errorf("its scales are not constant")
	}
	list, err := onnx.Elements[float32](t)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(s float32) bool { return !(s >= 1) }) {
		return nil, fmt.Errorf("its scales %v shrink an axis", list)
	}
	n.Op, n.Inputs = "Resize", []string{n.Input(0), "", scales}
	n.SetAttr("coordinate_transformation_mode", "asymmetric")
	n.SetAttr("nearest_mode", "floor")
	return only(n)
}

// flatSoftmax writes the Softmax of old, which took all axes from one on together,
// as one over the last axis of a matrix.
func flatSoftmax(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	axis := onnx.AttrOr(n, "axis", int64(1))
	if u.isLastAxis(n, axis) {
		n.SetAttr("axis", int64(-1))
		return only(n)
	}
	name := layerName(n)
	x, y := n.Input(0), output(n, 0)
	shape, flat, result := u.index.Unique(name+"_shape"), u.index.Unique(name+"_flat"), u.index.Unique(name+"_matrix")
	n.Inputs, n.Outputs = []string{flat}, []string{result}
	n.SetAttr("axis", int64(-1))
	return []*onnx.Node{
		{Op: "Shape", Inputs: []string{x}, Outputs: []string{shape}},
		{Op: "Flatten", Inputs: []string{x}, Outputs: []string{flat}, Attributes: []onnx.Attribute{onnx.Attr("axis", axis)}},
		n,
		{Op: "Reshape", Inputs: []string{result, shape}, Outputs: []string{y}},
	}, nil
}

// isLastAxis reports whether an axis is certainly the last of a node's input, whose
// shape is that of its output.
func (u *upgrader) isLastAxis(n *onnx.Node, axis int64) bool {
	if axis == -1 {
		return true
	}
	for _, name := range []string{n.Input(0), output(n, 0)} {
		if v := u.types.Value(name); v != nil && v.Type.Shape != nil {
			return axis == int64(len(v.Type.Shape))-1
		}
	}
	return false
}
