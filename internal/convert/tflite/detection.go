package tflite

import "github.com/mlperf-go/mlperf/internal/onnx"

// detections converts the custom operator that ends the detectors: boxes relative to anchors, scores of classes
// (with those of the background in front), and the anchors become boxes, classes, scores and their number
// (tensorflow/lite/kernels/detection_postprocess.cc).
func (g *graph) detections() {
	options := flexMap(g.op.custom)
	boxes, scores := g.in(0), g.in(1)
	count, classes := int64(options["max_detections"]), int64(options["num_classes"])
	if len(g.op.outputs) != 4 || boxes.rank() != 3 || scores.rank() != 3 || boxes.shape[0] != 1 || boxes.shape[2] < 4 || classes < 1 || count < 1 ||
		int64(scores.shape[2]) < classes {
		refuse("boxes %v, scores %v, %d classes and %d detections are not converted", boxes.shape, scores.shape, classes, count)
	}
	if most, given := options["max_classes_per_detection"]; given && most != 1 {
		refuse("%v classes for one box are not converted", most)
	}
	for n, shape := range [][]int{{1, int(count), 4}, {1, int(count)}, {1, int(count)}, {1}} {
		g.settle(n, shape...)
	}
	regular := options["use_regular_nms"] != 0
	perClass := count
	if regular {
		if perClass = int64(options["detections_per_class"]); perClass < 1 {
			perClass = 100 // kNumDetectionsPerClass
		}
	}

	part := func(x string, from, to, axis int64) string {
		return g.node("Slice", []string{x, g.ints(from), g.ints(to), g.ints(axis)})
	}
	encoded, anchors := g.real(0, last), g.real(2, last)
	if g.in(2).rank() == 2 {
		anchors = g.node("Unsqueeze", []string{anchors, g.ints(0)})
	}
	var corners [2][2]string // of y and x: low and high
	for a, scale := range [][2]string{{"y_scale", "h_scale"}, {"x_scale", "w_scale"}} {
		from := int64(a)
		extent := part(anchors, from+2, from+3, 2)
		middle := g.node("Mul", []string{g.node("Div", []string{part(encoded, from, from+1, 2), g.scalar(float32(options[scale[0]]))}), extent})
		middle = g.node("Add", []string{middle, part(anchors, from, from+1, 2)})
		half := g.node("Exp", []string{g.node("Div", []string{part(encoded, from+2, from+3, 2), g.scalar(float32(options[scale[1]]))})})
		half = g.node("Mul", []string{g.node("Mul", []string{half, extent}), g.scalar(0.5)})
		corners[a] = [2]string{g.node("Sub", []string{middle, half}), g.node("Add", []string{middle, half})}
	}
	decoded := g.node("Concat", []string{corners[0][0], corners[1][0], corners[0][1], corners[1][1]}, onnx.Attr("axis", int64(2)))

	all := part(g.real(1, last), int64(scores.shape[2])-classes, int64(scores.shape[2]), 2) // without the background
	rated := g.transpose(all, []int64{0, 2, 1})
	if !regular { // each box has its best class, and boxes of all classes compete
		rated = g.node("ReduceMax", []string{rated, g.ints(1)}, onnx.Attr("keepdims", int64(1)))
	}
	picked := g.node("NonMaxSuppression", []string{decoded, rated, g.ints(perClass),
		g.scalar(float32(options["nms_iou_threshold"])), g.scalar(float32(options["nms_score_threshold"]))})
	class := g.node("Squeeze", []string{part(picked, 1, 2, 1), g.ints(1)})
	box := g.node("Squeeze", []string{part(picked, 2, 3, 1), g.ints(1)})
	score := g.node("GatherND", []string{rated, picked})
	found := g.node("Min", []string{g.node("Shape", []string{score}), g.ints(count)})
	best := g.nodes("TopK", 2, []string{score, found}, onnx.Attr("axis", int64(0)))
	box = g.node("Gather", []string{box, best[1]})
	if regular {
		class = g.node("Gather", []string{class, best[1]})
	} else {
		class = g.node("ArgMax", []string{g.node("Gather", []string{g.node("Squeeze", []string{all, g.ints(0)}), box})},
			onnx.Attr("axis", int64(1)), onnx.Attr("keepdims", int64(0)))
	}
	missing := g.node("Sub", []string{g.ints(count), found})
	filled := func(x string) string { // rows that were not found are 0
		return g.node("Unsqueeze", []string{x, g.ints(0)})
	}
	real := func(x string) string { return g.node("Cast", []string{x}, onnx.Attr("to", int64(onnx.Float32))) }
	zero := g.ints(0)
	rows := g.node("Concat", []string{zero, missing}, onnx.Attr("axis", int64(0)))
	table := g.node("Concat", []string{zero, zero, missing, zero}, onnx.Attr("axis", int64(0)))
	g.setReal(0, last, filled(g.node("Pad", []string{g.node("Gather", []string{g.node("Squeeze", []string{decoded, zero}), box}), table})), actNone)
	g.setReal(1, last, filled(g.node("Pad", []string{real(class), rows})), actNone)
	g.setReal(2, last, filled(g.node("Pad", []string{best[0], rows})), actNone)
	g.setReal(3, last, real(found), actNone)
}
