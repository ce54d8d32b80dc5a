package vision

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A found is a box as the reference has it in a list: corners, score and label.
type found struct {
	corners [4]float32
	score   float32
	label   int
}

// written writes a box in an order, from which it has to be read.
func (f found) written(o boxOrder) [4]float32 {
	top, left, bottom, right := f.corners[0], f.corners[1], f.corners[2], f.corners[3]
	switch o {
	case xyxy:
		return [4]float32{left, top, right, bottom}
	case yxhw:
		return [4]float32{top, left, bottom - top, right - left}
	case xywh:
		return [4]float32{left, top, right - left, bottom - top}
	case cyxhw:
		return [4]float32{(top + bottom) / 2, (left + right) / 2, bottom - top, right - left}
	case cxcywh:
		return [4]float32{(left + right) / 2, (top + bottom) / 2, right - left, bottom - top}
	}
	return f.corners
}

// logged is what a log has of boxes, up to the first one below a threshold.
func logged(index int, list []found, threshold float32) []byte {
	var b []byte
	add := func(v float32) { b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v)) }
	for _, f := range list {
		if f.score < threshold {
			break
		}
		add(float32(index))
		for _, v := range f.corners {
			add(v)
		}
		add(f.score)
		add(float32(f.label))
	}
	return b
}

// Boxes of all orders, in pixels or as parts, of classes in numbers of any type, come out as the same corners.
func TestBoxesAreReadHoweverTheyAreWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	const images, most = 3, 5
	for _, order := range []boxOrder{yxyx, xyxy, yxhw, xywh, cyxhw, cxcywh} {
		for _, pixels := range []int{0, 64} {
			for _, offset := range []int{0, 1, -1} {
				b := boxes{boxRule: boxRule{order: order, pixels: pixels, threshold: 0.25, offset: offset}, ports: make(boxPorts, 3)}
				lists := make([][]found, images)
				corners, scores, classes := make([]float32, images*most*4), make([]float32, images*most), make([]int64, images*most)
				for k := range lists {
					for i := range most {
						// quarters of a power of two are the same however they are added up
						top, left := float32(r.IntN(32))/64, float32(r.IntN(32))/64
						f := found{[4]float32{top, left, top + float32(1+r.IntN(16))*2/64, left + float32(1+r.IntN(16))*2/64}, float32(r.IntN(9)) / 8, 2 + r.IntN(80)}
						lists[k] = append(lists[k], f)
						for at, v := range f.written(order) {
							if pixels > 0 {
								v *= float32(pixels)
							}
							corners[(k*most+i)*4+at] = v
						}
						scores[k*most+i], classes[k*most+i] = f.score, int64(f.label-offset)
					}
				}
				outputs := []tensor.Tensor{tensor.Of(corners, images, most, 4), tensor.Of(scores, images, most), tensor.Of(classes, images, most)}
				for k, list := range lists {
					got, err := b.respond(nil, outputs, k, workload.Item{Index: 100 + k})
					if want := logged(100+k, list, 0.25); err != nil || !slices.Equal(got, want) {
						t.Errorf("%s, %d pixels, offset %d, image %d: %v\n%x, want\n%x", order, pixels, offset, k, err, got, want)
					}
				}
			}
		}
	}
}

// The list ends at the first score below the threshold, though higher ones may follow; without one it is read to its end.
func TestAListOfBoxesEndsAtTheThreshold(t *testing.T) {
	scores := []float32{0.9, 0.5, 0.49999997, 0.8, 0}
	for threshold, want := range map[float32]int{0: 5, 0.5: 2, 0.6: 1, 0.95: 0, 0.4: 4} {
		b := boxes{boxRule: boxRule{order: yxyx, threshold: threshold}, ports: make(boxPorts, 3)}
		outputs := []tensor.Tensor{tensor.New(tensor.Float32, 1, 5, 4), tensor.Of(scores, 1, 5), tensor.New(tensor.Int64, 1, 5)}
		got, err := b.respond(nil, outputs, 0, workload.Item{})
		if err != nil || len(got) != want*28 {
			t.Errorf("above %v there are %d bytes, %v, want those of %d boxes", threshold, len(got), err, want)
		}
	}
}

// Outputs of detectors as exporters call them, each with its role.
func TestOutputsAreKnownByWhatExportersCallThem(t *testing.T) {
	for _, c := range []struct {
		exporter string
		names    [3]string // boxes, scores, classes
	}{
		{"TensorFlow's detection API", [3]string{"detection_boxes:0", "detection_scores:0", "detection_classes:0"}},
		{"torchvision", [3]string{"boxes", "scores", "labels"}},
		{"the reference's SSD-ResNet34", [3]string{"bboxes", "scores", "labels"}},
		{"Triton's names of ensembles", [3]string{"BOXES", "SCORES", "CLASSES"}},
	} {
		for _, order := range [][3]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
			ports := make([]backend.Port, 3)
			for at, role := range order {
				ports[at] = backend.Port{Name: c.names[role], Type: []tensor.DType{tensor.Float32, tensor.Float32, tensor.Int64}[role], Shape: []tensor.Shape{{-1, 100, 4}, {-1, 100}, {-1, 100}}[role]}
			}
			for at, role := range order {
				if got := roleOf(ports[at]); got != role {
					t.Errorf("%s: %s has the role %d, want %d", c.exporter, ports[at].Name, got, role)
				}
			}
		}
	}
	for name, want := range map[string]int{"num_detections": 3, "num_boxes": 3, "box_scores": 1, "box_classes": 2, "raw": -1} {
		if got := namedRole(name); got != want {
			t.Errorf("%s has the role %d, want %d", name, got, want)
		}
	}
}

// Of names that are given each has to be there, and there have to be three or four.
func TestOutputsThatAreNamedHaveToBeThere(t *testing.T) {
	ports := []backend.Port{
		{Name: "b", Type: tensor.Float32, Shape: tensor.Shape{-1, 10, 4}}, {Name: "s", Type: tensor.Float32, Shape: tensor.Shape{-1, 10}},
		{Name: "c", Type: tensor.Float32, Shape: tensor.Shape{-1, 10}}, {Name: "n", Type: tensor.Int32, Shape: tensor.Shape{-1}},
	}
	for names, want := range map[string]string{
		"b,s,c": "", "b, s , c,n": "", "b,s": "model-output: 2 outputs are named, want those of boxes, scores, classes", "b,s,c,n,n": "model-output: 5 outputs are named",
		"b,s,x": `model-output: the model has no output "x"; it has b float32`, "n,s,c": "output n has elements of type int32, which is not expected of the box", "": "model-output: 1 outputs are named",
	} {
		got, err := namedPorts(ports, strings.Split(names, ","))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", names, err, want)
		} else if err == nil && (got[0].Name != "b" || got[2].Name != "c" || got.counted() != (len(got) == 4)) {
			t.Errorf("%q: %v", names, got.names())
		}
	}
}

// The numbers of COCO's categories there and back: 80 of 90.
func TestCategoriesOfCOCOAreNumberedBothWays(t *testing.T) {
	there, err := openLabelMap(coco80To91)
	if err != nil {
		t.Fatal(err)
	}
	back, err := openLabelMap(coco91To80)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for i := 1; i <= 80; i++ {
		id, err := there.label(i)
		if err != nil || id < i || id > 90 || seen[id] {
			t.Errorf("class %d is category %d, %v", i, id, err)
		}
		seen[id] = true
		if again, err := back.label(id); err != nil || again != i {
			t.Errorf("category %d is class %d, %v, want %d", id, again, err, i)
		}
	}
	for _, id := range []int{12, 26, 29, 30, 45, 66, 68, 69, 71, 83} { // those that COCO left out
		if label, err := back.label(id); err == nil || seen[id] {
			t.Errorf("category %d is class %d, though there is none", id, label)
		}
	}
	for _, class := range []int{0, 81, -1} {
		if _, err := there.label(class); err == nil || err.Error() != fmt.Sprintf("class %d is not in the label map coco80to91", class) {
			t.Errorf("class %d: %v", class, err)
		}
	}
}

// The nearest of all float16 by looking at every one of them; of two that are as near the even one.
func TestEveryFloat16IsTheNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		v := float32(math.Ldexp(r.Float64()*2-1, r.IntN(36)-20))
		best, distance := uint16(0), math.Inf(1)
		for bits := range 0x7c00 {
			near := float64(fromHalf(uint16(bits)))
			if d := math.Abs(near - math.Abs(float64(v))); d < distance || d == distance && bits%2 == 0 {
				best, distance = uint16(bits), d
			}
		}
		if v < 0 {
			best |= 0x8000
		}
		if got := toHalf(v); got != best {
			t.Errorf("%v is %#04x, want %#04x, %v", v, got, best, fromHalf(best))
		}
	}
}
