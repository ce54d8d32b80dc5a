package vision

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// ruleOf returns how a data set of the reference is read here.
func ruleOf(t *testing.T, set string) boxRule {
	t.Helper()
	for prefix, rule := range map[string]boxRule{
		"coco-300":                 {order: yxyx},
		"coco-300-pt":              {order: xyxy, threshold: 0.3},
		"coco-1200-onnx":           {order: xyxy, threshold: 0.5},
		"coco-1200-pt":             {order: xyxy, threshold: 0.05},
		"coco-1200-tf":             {order: yxyx, threshold: 0.05},
		"openimages-300-retinanet": {order: xyxy, pixels: 300, threshold: 0.05}, "openimages-800-retinanet": {order: xyxy, pixels: 800, threshold: 0.05},
		"openimages-800-retinanet-onnx": {order: xyxy, pixels: 800, threshold: 0.05}, "openimages-1200-retinanet": {order: xyxy, pixels: 1200, threshold: 0.05},
	} {
		if set == prefix {
			return rule
		}
	}
	t.Fatalf("the data set %s has no rule", set)
	return boxRule{}
}

func TestBoxesEqualReference(t *testing.T) {
	for _, r := range readResponses(t, "boxes.json.gz") {
		t.Run(r.Name+" "+r.Dataset, func(t *testing.T) {
			b := boxes{boxRule: ruleOf(t, r.Dataset), ports: make(boxPorts, 4)}
			order := []int{0, 2, 1} // the reference has boxes, labels, scores
			if r.Dataset == "coco-300" {
				order = []int{1, 2, 3, 0} // and here the count, boxes, scores, labels
			}
			for k, want := range r.Want {
				var outputs []tensor.Tensor
				image := k
				for _, o := range order {
					if len(r.Outputs) == 6 { // three for each image
						o, image = o+3*k, 0
					}
					outputs = append(outputs, r.tensor(t, o))
				}
				got, err := b.respond([]byte("x"), outputs, image, workload.Item{Index: r.IDs[k]})
				if err != nil || got[0] != 'x' || strings.ToUpper(hex.EncodeToString(got[1:])) != want {
					t.Errorf("sample %d is answered %X, %v; want %s after what was there", k, got, err, want)
				}
			}
		})
	}
}

// twoBoxes are outputs for one image.
func twoBoxes() []tensor.Tensor {
	return []tensor.Tensor{
		tensor.Of([]float32{0.5, 0.25, 0.25, 0.5, 0, 0, 1, 1}, 1, 2, 4),
		tensor.Of([]float32{0.9, 0.8}, 1, 2),
		tensor.Of([]float32{3, 7}, 1, 2),
		tensor.Of([]float32{1}, 1),
	}
}

// rowsOf reads a response.
func rowsOf(response []byte) [][7]float32 {
	var rows [][7]float32
	for i := 0; i < len(response); i += 28 {
		var row [7]float32
		for k := range row {
			row[k] = math.Float32frombits(binary.LittleEndian.Uint32(response[i+4*k:]))
		}
		rows = append(rows, row)
	}
	return rows
}

func TestBoxOrders(t *testing.T) {
	for order, want := range map[boxOrder][4]float32{
		yxyx:   {0.5, 0.25, 0.25, 0.5},
		xyxy:   {0.25, 0.5, 0.5, 0.25},
		yxhw:   {0.5, 0.25, 0.75, 0.75},
		xywh:   {0.25, 0.5, 0.75, 0.75},
		cyxhw:  {0.375, 0, 0.625, 0.5},
		cxcywh: {0, 0.375, 0.5, 0.625},
	} {
		b := boxes{boxRule: boxRule{order: order, offset: 1}, ports: make(boxPorts, 4)}
		got, err := b.respond(nil, twoBoxes(), 0, workload.Item{Index: 5})
		rows := rowsOf(got)
		if err != nil || len(rows) != 1 || rows[0] != [7]float32{5, want[0], want[1], want[2], want[3], 0.9, 4} {
			t.Errorf("%s: rows %v, %v; want corners %v", order, rows, err, want)
		}
	}
}

func TestBoxErrors(t *testing.T) {
	nan := float32(math.NaN())
	tests := []struct {
		name   string
		change func(o []tensor.Tensor)
		want   string
	}{
		{"a score that is NaN", func(o []tensor.Tensor) { tensor.Data[float32](o[1])[0] = nan }, "score of box 0 is not a number"},
		{"a class that is NaN", func(o []tensor.Tensor) { tensor.Data[float32](o[2])[0] = nan }, "box 0: NaN is not a class"},
		{"a class that is huge", func(o []tensor.Tensor) { tensor.Data[float32](o[2])[0] = 1e30 }, "is not a class"},
		{"a corner that is NaN", func(o []tensor.Tensor) {
			tensor.Data[float32](o[0])[3], tensor.Data[float32](o[2])[0] = nan, 7
		}, "box 0: the corners ["},
		{"an infinite box", func(o []tensor.Tensor) {
			tensor.Data[float32](o[0])[0], tensor.Data[float32](o[2])[0] = float32(math.Inf(-1)), 7
		}, "are not numbers"},
		{"five numbers of a box", func(o []tensor.Tensor) { o[0] = tensor.New(tensor.Float32, 1, 2, 5) }, "do not belong to a batch"},
		{"more boxes than there is room for", func(o []tensor.Tensor) { tensor.Data[float32](o[3])[0] = 3 }, "is 3 boxes: must be 0 to 2"},
		{"fewer than none", func(o []tensor.Tensor) { tensor.Data[float32](o[3])[0] = -1 }, "is -1 boxes"},
		{"a count that is NaN", func(o []tensor.Tensor) { tensor.Data[float32](o[3])[0] = nan }, "is NaN boxes"},
		{"no count", func(o []tensor.Tensor) { o[3] = tensor.New(tensor.Float32, 0) }, "too short for the batch"},
		{"fewer scores", func(o []tensor.Tensor) { o[1] = tensor.New(tensor.Float32, 1, 1) }, "do not belong to a batch"},
		{"another batch", func(o []tensor.Tensor) { o[0] = tensor.New(tensor.Float32, 0, 2, 4) }, "do not belong to a batch"},
		{"a class that is not in the label map", func([]tensor.Tensor) {}, "box 0: class 3 is not in the label map file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			outputs := twoBoxes()
			test.change(outputs)
			b := boxes{boxRule: boxRule{order: yxyx}, ports: make(boxPorts, 4), labels: labelMap{"file", map[int]int{7: 1}}}
			if got, err := b.respond(nil, outputs, 0, workload.Item{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("answered %X, error %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestReadingBoxesAllocatesNothing(t *testing.T) {
	b := boxes{boxRule: boxRule{order: xyxy, pixels: 800, threshold: 0.5}, ports: make(boxPorts, 4)}
	outputs := twoBoxes()
	var dst []byte
	if n := testing.AllocsPerRun(100, func() { dst, _ = b.respond(dst[:0], outputs, 0, workload.Item{Index: 1}) }); n != 0 || len(dst) != 28 {
		t.Errorf("%v allocations for %d bytes", n, len(dst))
	}
}

func TestBindBoxes(t *testing.T) {
	port := func(name string, d tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: name, Type: d, Shape: shape}
	}
	f, i := tensor.Float32, tensor.Int64
	tests := []struct {
		name    string
		outputs []backend.Port
		output  string // binding.output
		want    string
	}{
		{"SSD-MobileNet", []backend.Port{port("num_detections:0", f, -1), port("detection_boxes:0", f, -1, -1, -1), port("detection_scores:0", f, -1, -1), port("detection_classes:0", f, -1, -1)}, "",
			"detection_boxes:0 detection_scores:0 detection_classes:0 num_detections:0"},
		{"SSD-ResNet34", []backend.Port{port("bboxes", f, 1, -1, 4), port("labels", i, 1, -1), port("scores", f, 1, -1)}, "", "bboxes scores labels"},
		{"RetinaNet", []backend.Port{port("boxes", f, -1, 4), port("scores", f, -1), port("labels", i, -1)}, "", "boxes scores labels"},
		{"TFLite", []backend.Port{port("TFLite_Detection_PostProcess", f, 1, 100, 4), port("TFLite_Detection_PostProcess:1", f, 1, 100), port("TFLite_Detection_PostProcess:2", f, 1, 100), port("TFLite_Detection_PostProcess:3", f, 1)}, "",
			"TFLite_Detection_PostProcess TFLite_Detection_PostProcess:2 TFLite_Detection_PostProcess:1 TFLite_Detection_PostProcess:3"},
		{"names in capitals", []backend.Port{port("Labels", f, -1), port("Boxes", f, -1, 4), port("Scores", f, -1)}, "", "Boxes Scores Labels"},
		{"numbers for names", []backend.Port{port("811", i, -1), port("812", f, -1, 4), port("813", f, -1)}, "", "812 813 811"},
		{"as the user says", []backend.Port{port("a", f, -1, 4), port("b", f, -1), port("c", f, -1)}, "a, c,b", "a c b"},
		{"two may be boxes", []backend.Port{port("raw_boxes", f, -1, 4), port("boxes", f, -1, 4), port("scores", f, -1), port("labels", i, -1)}, "",
			"error: model-output: outputs raw_boxes and boxes may both be the box: name boxes, scores, classes and perhaps their number"},
		{"no labels", []backend.Port{port("boxes", f, -1, 4), port("scores", f, -1)}, "", "error: model-output: the model has no known output for the class; it has boxes float32[? 4], scores float32[?]"},
		{"labels of an odd type", []backend.Port{port("boxes", f, -1, 4), port("scores", f, -1), port("labels", tensor.Bool, -1)}, "", "error: output labels has elements of type bool"},
		{"the user names too few", []backend.Port{port("boxes", f, -1, 4)}, "boxes", "error: model-output: 1 outputs, expected"},
		{"the user names another", []backend.Port{port("boxes", f, -1, 4)}, "boxes,s,l", `error: model-output: the model has no output "s"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ports, err := bindBoxes(test.outputs, binding{output: test.output})
			got := strings.Join(ports.names(), " ")
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != test.want && !(err != nil && strings.HasPrefix(got, test.want)) {
				t.Errorf("ports %s, want %s", got, test.want)
			}
		})
	}
}
