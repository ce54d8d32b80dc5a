package vision

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A boxOrder says what the four numbers of a box are: y and x are corners, c is a centre,
// h and w are height and width.
type boxOrder string

// The orders.
const (
	yxyx   boxOrder = "yxyx"
	xyxy   boxOrder = "xyxy"
	yxhw   boxOrder = "yxhw"
	xywh   boxOrder = "xywh"
	cyxhw  boxOrder = "cycxhw"
	cxcywh boxOrder = "cxcywh"
)

// corners returns a box as ymin, xmin, ymax, xmax.
func (o boxOrder) corners(b [4]float32) [4]float32 {
	switch o {
	case xyxy:
		return [4]float32{b[1], b[0], b[3], b[2]}
	case yxhw:
		return [4]float32{b[0], b[1], b[0] + b[2], b[1] + b[3]}
	case xywh:
		return [4]float32{b[1], b[0], b[1] + b[3], b[0] + b[2]}
	case cyxhw:
		return around(b[0], b[1], b[2], b[3])
	case cxcywh:
		return around(b[1], b[0], b[3], b[2])
	}
	return b
}

func around(y, x, height, width float32) [4]float32 {
	return [4]float32{y - height/2, x - width/2, y + height/2, x + width/2}
}

// A boxRule describes the boxes of a model, as the reference reads them.
type boxRule struct {
	order boxOrder
	// pixels is the size of the image in whose pixels boxes are; 0: they are fractions of the image.
	pixels int
	// threshold ends the list of boxes at the first score below it, though higher ones
	// may follow; 0: the list is read to its end.
	threshold float32
	offset    int // label = class of the model + offset
}

// boxes are the outputs of a detector, and how they are read.
type boxes struct {
	boxRule
	ports  boxPorts
	labels labelMap
}

// respond appends the boxes of the k-th image of a batch to dst: the index of the sample,
// ymin, xmin, ymax, xmax from 0 to 1, score and label, all float32. That is what the
// reference's post-processing makes (python/coco.py, python/openimages.py).
func (b *boxes) respond(dst []byte, outputs []tensor.Tensor, k int, item workload.Item) ([]byte, error) {
	list, err := b.list(outputs, k)
	if err != nil {
		return dst, err
	}
	for i, score := range list.scores {
		switch {
		case score != score:
			// The reference would accept it, and NumPy would rank it first.
			return dst, fmt.Errorf("the model's score of box %d is not a number", i)
		case score < b.threshold:
			return dst, nil
		}
		class, corners := numberAt(list.classes, list.first+i), b.order.corners([4]float32(list.corners[4*i:]))
		if !(math.Abs(class) < math.MaxInt32) {
			return dst, fmt.Errorf("box %d: %v is not a class", i, class)
		}
		label, err := b.labels.label(int(class) + b.offset)
		if err != nil {
			return dst, fmt.Errorf("box %d: %w", i, err)
		}
		dst = appendFloat(dst, float32(item.Index))
		for _, v := range corners {
			if v-v != 0 {
				return dst, fmt.Errorf("box %d: the corners %v are not numbers", i, list.corners[4*i:][:4])
			}
			if b.pixels != 0 {
				v /= float32(b.pixels)
			}
			dst = appendFloat(dst, v)
		}
		dst = appendFloat(appendFloat(dst, score), float32(label))
	}
	return dst, nil
}

// numberAt returns an element of a tensor of classes or counts, which models write as integers or floats.
func numberAt(t tensor.Tensor, i int) float64 {
	switch t.Type {
	case tensor.Int64:
		return float64(tensor.Data[int64](t)[i])
	case tensor.Int32:
		return float64(tensor.Data[int32](t)[i])
	}
	return float64(tensor.Data[float32](t)[i])
}

func appendFloat(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

// A boxList has the boxes of one image.
type boxList struct {
	corners []float32
	scores  []float32
	classes tensor.Tensor
	first   int // index of the image's first class
}

// list returns the boxes of the k-th image. The shapes may be known from this run only.
func (b *boxes) list(outputs []tensor.Tensor, k int) (boxList, error) {
	corners, scores, classes := outputs[0], outputs[1], outputs[2]
	images := 1
	if len(corners.Shape) == 3 {
		images = int(corners.Shape[0])
	}
	n := scores.Len()
	if corners.Len() != 4*n || n != classes.Len() || k >= images || n%images != 0 {
		return boxList{}, fmt.Errorf("the model's outputs %v, %v and %v do not belong to a batch with %d images", corners, scores, classes, k+1)
	}
	each := n / images
	found := each
	if len(outputs) == 4 {
		if k >= outputs[3].Len() {
			return boxList{}, fmt.Errorf("the model's output %s is %v, too short for the batch", b.ports[3].Name, outputs[3])
		}
		count := numberAt(outputs[3], k)
		if !(count >= 0 && count < float64(each+1)) {
			return boxList{}, fmt.Errorf("the model's output %s is %v boxes: must be 0 to %d", b.ports[3].Name, count, each)
		}
		found = int(count)
	}
	return boxList{
		corners: tensor.Data[float32](corners)[4*k*each:][:4*found],
		scores:  tensor.Data[float32](scores)[k*each:][:found],
		classes: classes,
		first:   k * each,
	}, nil
}

// notes describe the outputs.
func (b *boxes) notes() []string {
	unit, label := "fractions of the image", "label = "+plus(b.ports[2].Name, b.offset)
	if b.pixels != 0 {
		unit = fmt.Sprintf("pixels of %d×%d", b.pixels, b.pixels)
	}
	if b.labels.table != nil {
		label += ", through the label map " + b.labels.name
	}
	lines := []string{fmt.Sprintf("boxes: %s (%s, %s); scores: %s", b.ports[0].Name, b.order, unit, b.ports[1].Name), label}
	if b.ports.counted() {
		lines = append(lines, "number of boxes: "+b.ports[3].Name)
	}
	if b.threshold > 0 {
		lines = append(lines, fmt.Sprintf("the list ends at the first score below %v, as in the reference", b.threshold))
	}
	return lines
}

// boxPorts are the outputs of a detector: boxes, scores, classes, and of some models the number of boxes.
type boxPorts []backend.Port

// boxRoles are words in the names of a detector's outputs, in the order of boxPorts.
func boxRoles() [4][]string {
	return [4][]string{{"box"}, {"score", "conf", "prob"}, {"class", "label"}, {"num", "count"}}
}

// tfliteOutputs are the outputs of TFLite's detection operator, whose names do not tell
// them apart: boxes, classes, scores, count.
const tfliteOutputs = "TFLite_Detection_PostProcess"

// bindBoxes finds boxes, scores, classes and count among the outputs by their names, or else by types and shapes.
func bindBoxes(outputs []backend.Port, override binding) (boxPorts, error) {
	if override.output != "" {
		return namedPorts(outputs, strings.Split(override.output, ","))
	}
	if len(outputs) == 4 && strings.HasPrefix(outputs[0].Name, tfliteOutputs) {
		return boxPorts{outputs[0], outputs[2], outputs[1], outputs[3]}.check()
	}
	var found [4]*backend.Port
	for i := range outputs {
		role := roleOf(outputs[i])
		if role < 0 || outputs[i].Other != "" {
			continue
		}
		if found[role] != nil {
			return nil, userinput.Errorf(outputOption, "outputs %s and %s may both be the %s: name boxes, scores, classes and perhaps their number",
				found[role].Name, outputs[i].Name, boxRoles()[role][0])
		}
		found[role] = &outputs[i]
	}
	if role := slices.Index(found[:3], nil); role >= 0 {
		return nil, userinput.Errorf(outputOption,
			"the model has no known output for the %s; it has %s: name boxes, scores, classes and perhaps their number",
			boxRoles()[role][0], workload.DescribePorts(outputs))
	}
	ports := boxPorts{*found[0], *found[1], *found[2]}
	if found[3] != nil {
		ports = append(ports, *found[3])
	}
	return ports.check()
}

// roleOf guesses the role of an output; -1: none.
func roleOf(port backend.Port) int {
	if role := namedRole(port.Name); role >= 0 {
		return role
	}
	switch axes := len(port.Shape); {
	case axes == 0:
		return -1
	case isWhole(port.Type):
		return 2
	case !singlepass.IsFloat(port.Type):
		return -1
	case axes >= 2 && port.Shape[axes-1] == 4:
		return 0
	}
	return 1
}

// namedRole is the role that the name of an output shows; -1: none.
func namedRole(name string) int {
	name = strings.ToLower(name)
	for _, role := range []int{3, 1, 2, 0} { // "num_boxes", "box_scores" and "box_classes" are not boxes
		if slices.ContainsFunc(boxRoles()[role], func(word string) bool { return strings.Contains(name, word) }) {
			return role
		}
	}
	return -1
}

// isWhole reports whether a type can be a class or a count.
func isWhole(d tensor.DType) bool { return d == tensor.Int64 || d == tensor.Int32 }

// namedPorts are outputs by their names.
func namedPorts(outputs []backend.Port, names []string) (boxPorts, error) {
	if len(names) != 3 && len(names) != 4 {
		return nil, userinput.Errorf(outputOption, "%d outputs, expected those of boxes, scores, classes and perhaps their number", len(names))
	}
	var ports boxPorts
	for _, name := range names {
		found := false
		for _, port := range outputs {
			if port.Name == strings.TrimSpace(name) {
				ports, found = append(ports, port), true
			}
		}
		if !found {
			return nil, userinput.Errorf(outputOption, "the model has no output %q; it has %s", name, workload.DescribePorts(outputs))
		}
	}
	return ports.check()
}

// check checks the types.
func (p boxPorts) check() (boxPorts, error) {
	for role, port := range p {
		if !singlepass.IsFloat(port.Type) && (role < 2 || !isWhole(port.Type)) {
			return nil, fmt.Errorf("output %s has elements of type %v, not supported for the %s", port.Name, port.Type, boxRoles()[role][0])
		}
	}
	return p, nil
}

// counted reports whether an output has the number of boxes.
func (p boxPorts) counted() bool { return len(p) == 4 }

func (p boxPorts) names() []string {
	var names []string
	for _, port := range p {
		names = append(names, port.Name)
	}
	return names
}

// tensorFlowBoxes is in the name of the boxes of TensorFlow's detection models, which have y before x.
const tensorFlowBoxes = "detection_boxes"
