package vision

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
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

// A boxRule is how the reference reads the boxes of a model.
type boxRule struct {
	order boxOrder
	// pixels is the size of the image in whose pixels boxes are given; 0: as parts of it.
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
			// The reference would take it, and NumPy rank it before all others.
			return dst, fmt.Errorf("the model's score of box %d is not a number", i)
		case score < b.threshold:
			return dst, nil
		}
		if dst, err = b.appendBox(dst, &list, i, item); err != nil {
			return dst, fmt.Errorf("box %d: %w", i, err)
		}
	}
	return dst, nil
}

// appendBox appends the i-th box of an image.
func (b *boxes) appendBox(dst []byte, list *boxList, i int, item workload.Item) ([]byte, error) {
	label, err := b.label(list.class(i))
	if err != nil {
		return dst, err
	}
	corners, err := b.corners([4]float32(list.corners[4*i:]))
	if err != nil {
		return dst, err
	}
	dst = appendFloat(dst, float32(item.Index))
	for _, v := range corners {
		dst = appendFloat(dst, v)
	}
	return appendFloat(appendFloat(dst, list.scores[i]), float32(label)), nil
}

// corners returns a box as parts of the image: ymin, xmin, ymax, xmax.
func (b *boxes) corners(box [4]float32) ([4]float32, error) {
	corners := b.order.corners(box)
	for i, v := range corners {
		if v-v != 0 {
			return corners, fmt.Errorf("the model says that it is at %v, which are not numbers", box)
		}
		if b.pixels != 0 {
			corners[i] = v / float32(b.pixels)
		}
	}
	return corners, nil
}

func appendFloat(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

// label returns what the log calls a class of the model.
func (b *boxes) label(class float64, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return b.labels.label(int(class) + b.offset)
}

// A boxList is what a model found in one image.
type boxList struct {
	corners []float32
	scores  []float32
	classes tensor.Tensor
	first   int // of the image's classes
}

// class returns the class of a box, which models give as integers or as floats.
func (l *boxList) class(i int) (float64, error) {
	var v float64
	switch l.classes.Type {
	case tensor.Int64:
		v = float64(tensor.Data[int64](l.classes)[l.first+i])
	case tensor.Int32:
		v = float64(tensor.Data[int32](l.classes)[l.first+i])
	default:
		v = float64(tensor.Data[float32](l.classes)[l.first+i])
	}
	if !(math.Abs(v) < math.MaxInt32) {
		return 0, fmt.Errorf("the class %v is no number of a class", v)
	}
	return v, nil
}

// list finds the boxes of the k-th image. The shapes may be known from this run only.
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
	found, err := b.found(outputs, k, each)
	if err != nil {
		return boxList{}, err
	}
	return boxList{
		corners: tensor.Data[float32](corners)[4*k*each:][:4*found],
		scores:  tensor.Data[float32](scores)[k*each:][:found],
		classes: classes,
		first:   k * each,
	}, nil
}

// found says how many boxes there are of those for which there is room.
func (b *boxes) found(outputs []tensor.Tensor, k, room int) (int, error) {
	if len(outputs) < 4 {
		return room, nil
	}
	counts := outputs[3]
	if k >= counts.Len() {
		return 0, fmt.Errorf("the model's output %s is %v, too short for the batch", b.ports[3].Name, counts)
	}
	var n float64
	switch counts.Type {
	case tensor.Int64:
		n = float64(tensor.Data[int64](counts)[k])
	case tensor.Int32:
		n = float64(tensor.Data[int32](counts)[k])
	default:
		n = float64(tensor.Data[float32](counts)[k])
	}
	if !(n >= 0 && n < float64(room+1)) {
		return 0, fmt.Errorf("the model says that it found %v boxes, there is room for %d", n, room)
	}
	return int(n), nil
}

// notes says how boxes are read.
func (b *boxes) notes() []string {
	unit := "as parts of the image"
	if b.pixels != 0 {
		unit = fmt.Sprintf("in pixels of %d", b.pixels)
	}
	lines := []string{fmt.Sprintf("boxes are output %s, %s %s; scores are %s", b.ports[0].Name, b.order, unit, b.ports[1].Name)}
	label := fmt.Sprintf("the label is %s plus %d", b.ports[2].Name, b.offset)
	if b.labels.table != nil {
		label += ", through the label map " + b.labels.name
	}
	lines = append(lines, label)
	if b.ports.counted() {
		lines = append(lines, "there are as many boxes as "+b.ports[3].Name+" says")
	}
	if b.threshold > 0 {
		lines = append(lines, fmt.Sprintf("the list ends at the first score below %v, as in the reference", b.threshold))
	}
	return lines
}
