package vision

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// put writes a file below a folder, which is made.
func put(t testing.TB, dir, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name), content)
}

// scenes makes a data set for detection with copies of testdata/text.jpg. In image i is
// one object of category 3+i; the last image is empty.
func scenes(t testing.TB, layout string, n int) string {
	t.Helper()
	picture, err := os.ReadFile("testdata/text.jpg")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, folder := "annotations/instances_val2017.json", "val2017"
	if layout == "openimages" {
		file, folder = "annotations/openimages-mlperf.json", "validation/data"
	}
	var images, objects, categories []string
	for i := range n {
		name := fmt.Sprintf("%c.jpg", 'z'-i)
		put(t, dir, filepath.Join(folder, name), string(picture))
		images = append(images, fmt.Sprintf(`{"id":%d,"file_name":%q,"width":100,"height":200}`, 10+i, name))
		categories = append(categories, fmt.Sprintf(`{"id":%d,"name":"c%d"}`, 3+i, i))
		if i < n-1 {
			objects = append(objects, fmt.Sprintf(`{"id":%d,"image_id":%d,"category_id":%d,"bbox":[25,100,50,50],"area":2500,"iscrowd":0}`, 1+i, 10+i, 3+i))
		}
	}
	put(t, dir, file, fmt.Sprintf(`{"images":[%s],"categories":[%s],"annotations":[%s]}`,
		strings.Join(images, ","), strings.Join(categories, ","), strings.Join(objects, ",")))
	return dir
}

// builtInSetup has the ports of a built-in model.
func builtInSetup(a arch.Architecture, dir string) setup {
	list := func(values []onnx.Value) []backend.Port {
		var pointers []*onnx.Value
		for i := range values {
			pointers = append(pointers, &values[i])
		}
		return backend.PortsOf(pointers)
	}
	return setup{datasetDir: dir, inputs: list(a.Inputs), outputs: list(a.Outputs)}
}

func TestDetectorsOfOfficialPorts(t *testing.T) {
	tests := []struct {
		model string
		row   string
		batch int
		notes []string
	}{
		{"ssd-mobilenet", "[uint8[300 300 3]]", -1, []string{
			"input: uint8 NHWC 300×300, pre-processed by coco_mobilenet_300",
			"boxes: detection_boxes:0 (yxyx, fractions of the image); scores: detection_scores:0",
			"label = detection_classes:0",
			"number of boxes: num_detections:0",
		}},
		{"ssd-resnet34", "[float32[3 1200 1200]]", 1, []string{
			"input: float32 NCHW 1200×1200, pre-processed by coco_resnet34_1200",
			"boxes: bboxes (xyxy, fractions of the image); scores: scores",
			"label = labels",
			"the list ends at the first score below 0.5, as in the reference",
		}},
		{"retinanet", "[float32[3 800 800]]", 1, []string{
			"input: float32 NCHW 800×800, pre-processed by openimages_retinanet_800",
			"boxes: boxes (xyxy, pixels of 800×800); scores: scores",
			"label = labels",
			"the list ends at the first score below 0.05, as in the reference",
		}},
		{"ssd-mobilenet-v2", "[float32[300 300 3]]", -1, []string{
			"input: float32 NHWC 300×300, pre-processed by mobile_detection_300_float32",
			"boxes: TFLite_Detection_PostProcess (yxyx, fractions of the image); scores: TFLite_Detection_PostProcess:2",
			"label = TFLite_Detection_PostProcess:1 + 1",
			"number of boxes: TFLite_Detection_PostProcess:3",
		}},
	}
	for _, test := range tests {
		t.Run(test.model, func(t *testing.T) {
			m := find(t, test.model)
			dir := scenes(t, m.Dataset, 3)
			w, err := m.Open(builtInSetup(m.BuiltIn.(BuiltIn).Network, dir).public())
			if err != nil {
				t.Fatal(err)
			}
			if w.Samples != 3 || fmt.Sprint(w.Row(0)) != test.row || w.Batch != max(test.batch, 0) {
				t.Errorf("%d samples, row %v, batch %d", w.Samples, w.Row(0), w.Batch)
			}
			if got := strings.Join(w.Notes, "\n"); got != strings.Join(test.notes, "\n") {
				t.Errorf("notes:\n%s\nwant:\n%s", got, strings.Join(test.notes, "\n"))
			}
			row := []tensor.Tensor{tensor.New(w.Row(0)[0].Type, w.Row(0)[0].Shape...)}
			if err := w.Prepare(1, row); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDetectorsOfOtherPorts(t *testing.T) {
	port := func(name string, d tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: name, Type: d, Shape: shape}
	}
	f := tensor.Float32
	boxes := []backend.Port{port("boxes", f, -1, -1, 4), port("scores", f, -1, -1), port("labels", tensor.Int64, -1, -1)}
	tests := []struct {
		name, model string
		setup       setup
		want        string // of the notes, or of the error
	}{
		{"SSD-MobileNet from PyTorch", "ssd-mobilenet", setup{inputs: []backend.Port{port("x", f, -1, 3, 300, 300)}, outputs: boxes},
			"input: float32 NCHW 300×300, pre-processed by coco_pt_mobilenet_300; boxes: boxes (xyxy, fractions of the image); scores: scores; " +
				"label = labels; the list ends at the first score below 0.3, as in the reference"},
		{"SSD-MobileNet in int8", "ssd-mobilenet", setup{inputs: []backend.Port{port("x", tensor.Int8, -1, 300, 300, 3)}, outputs: boxes},
			"input: int8 NHWC 300×300, pre-processed by coco_mobilenet_300_int8; boxes: "},
		{"SSD-ResNet34 from TensorFlow", "ssd-resnet34", setup{inputs: []backend.Port{port("image:0", f, -1, 1200, 1200, 3)},
			outputs: []backend.Port{port("detection_bboxes:0", f, -1, -1, 4), port("detection_classes:0", f, -1, -1), port("detection_scores:0", f, -1, -1)}},
			"input: float32 NHWC 1200×1200, pre-processed by coco_resnet34_1200; boxes: detection_bboxes:0 (yxyx, fractions of the image); scores: detection_scores:0; " +
				"label = detection_classes:0; the list ends at the first score below 0.05, as in the reference"},
		{"TensorFlow's names, three outputs", "ssd-mobilenet", setup{inputs: []backend.Port{port("x", f, -1, 3, 300, 300)},
			outputs: []backend.Port{port("detection_boxes:0", f, -1, -1, 4), port("detection_scores:0", f, -1, -1), port("detection_classes:0", f, -1, -1)}},
			"input: float32 NCHW 300×300, pre-processed by coco_pt_mobilenet_300; boxes: detection_boxes:0 (yxyx, fractions of the image); scores: detection_scores:0; label = detection_classes:0; the list ends at the first score below 0.3, as in the reference"},
		{"a user's own", "ssd-mobilenet", setup{inputs: []backend.Port{port("x", tensor.Uint8, 1, 300, 300, 3)}, outputs: boxes,
			binding: binding{boxOrder: "cxcywh", boxPixels: ptr(300), labelOffset: ptr(1), labelMap: "coco80to91"}},
			"input: uint8 NHWC 300×300, pre-processed by coco_mobilenet_300; boxes: boxes (cxcywh, pixels of 300×300); scores: scores; " +
				"label = labels + 1, through the label map coco80to91; the list ends"},
		{"RetinaNet with a count", "retinanet", setup{inputs: []backend.Port{port("x", f, 1, 3, 800, 800)}, outputs: append(boxes[:3:3], port("num", f, 1))},
			"error: the reference has no rule for a model with four outputs"},
		{"an unknown order", "retinanet", setup{inputs: []backend.Port{port("x", f, 1, 3, 800, 800)}, outputs: boxes, binding: binding{boxOrder: "hwc"}},
			`error: box-order: unknown order of boxes "hwc"`},
		{"negative pixels", "retinanet", setup{inputs: []backend.Port{port("x", f, 1, 3, 800, 800)}, outputs: boxes, binding: binding{boxPixels: ptr(-1)}},
			"error: box-pixels: -1: must be the size"},
		{"an unknown map", "retinanet", setup{inputs: []backend.Port{port("x", f, 1, 3, 800, 800)}, outputs: boxes, binding: binding{labelMap: "/none/such"}},
			"error: opening the label map: "},
		{"a batch without an axis for it", "retinanet", setup{inputs: []backend.Port{port("x", f, 4, 3, 800, 800)},
			outputs: []backend.Port{port("boxes", f, -1, 4), port("scores", f, -1), port("labels", tensor.Int64, -1)}},
			"error: the model takes batches of 4, and its output boxes has no batch axis"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := find(t, test.model)
			test.setup.datasetDir = scenes(t, m.Dataset, 2)
			w, err := m.Open(test.setup.public())
			got := "error: " + fmt.Sprint(err)
			if err == nil {
				got = strings.Join(w.Notes, "; ")
			}
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// TestDetectorFromImageToScore goes from images to the score: the model finds the object
// of every image but one.
func TestDetectorFromImageToScore(t *testing.T) {
	for _, batch := range []int{1, 3} {
		dir := scenes(t, "coco", 3)
		s := builtInSetup(arch.SSDMobileNet(), dir)
		w := open(t, "ssd-mobilenet", s)
		engine, err := simulated.New(simulated.Config{Inputs: s.inputs, Outputs: s.outputs, Answer: func(_, out []tensor.Tensor) error {
			for k := range int(out[0].Shape[0]) { // in the order of Outputs: boxes, scores, labels, count
				copy(tensor.Data[float32](out[0])[400*k:], []float32{0.5, 0.25, 0.75, 0.75})
				tensor.Data[float32](out[1])[100*k] = 0.9
				tensor.Data[float32](out[2])[100*k] = 3
				tensor.Data[float32](out[3])[k] = 1
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		session, err := engine.Open(t.Context(), backend.Options{Outputs: w.Outputs(workload.Only)})
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.NewPredictor(workload.Sessions{workload.Only: session}, batch)
		if err != nil {
			t.Fatal(err)
		}
		store, err := workload.NewStore(3, w.Row)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if err := p.Use(store); err != nil {
			t.Fatal(err)
		}
		log := ""
		for i := range 3 {
			got := replies{}
			if err := p.Predict(t.Context(), []workload.Item{{Row: i, Index: i}}, got); err != nil {
				t.Fatal(err)
			}
			log += fmt.Sprintf(`,{"seq_id":%d,"qsl_idx":%d,"data":"%X"}`, i, i, got[0])
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		score, err := ssdMobileNet().Score(t.Context(), accuracy.Named("log", strings.NewReader("["+log[1:]+"]")), workload.Scoring{DatasetDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		// Category 3 is found in its image and in two others, category 4 is not.
		if v, _ := score.Lookup("mAP"); math.Abs(v.Value-50) > 0.01 {
			t.Errorf("mAP is %v, want 50 for one category of two", v.Value)
		}
	}
}

func TestDetectionScoreOptions(t *testing.T) {
	dir := scenes(t, "coco", 2)
	row := func(label float32) string {
		var data []byte
		for _, v := range []float32{0, 0.5, 0.25, 0.75, 0.75, 0.9, label} {
			data = appendFloat(data, v)
		}
		return fmt.Sprintf(`[{"seq_id":0,"qsl_idx":0,"data":"%X"}]`, data)
	}
	for _, test := range []struct {
		model workload.Model
		label float32
		s     workload.Scoring
		want  float64
	}{
		{ssdMobileNet(), 3, workload.Scoring{}, 100},
		{ssdMobileNet(), 1, workload.Scoring{}, 0},
		{ssdMobileNet(), 1, workload.Scoring{Options: workload.Values{"use-inv-map": "true"}}, 100},
		{ssdResNet34(), 1, workload.Scoring{}, 100}, // number 1 of the categories, whose id is 3
		{ssdResNet34(), 3, workload.Scoring{Options: workload.Values{"use-inv-map": "false"}}, 100},
		{ssdResNet34(), 1, workload.Scoring{Options: workload.Values{"remove-48-empty-images": "true"}}, 100},
	} {
		test.s.DatasetDir = dir
		score, err := test.model.Score(t.Context(), accuracy.Named("log", strings.NewReader(row(test.label))), test.s)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := score.Lookup("mAP"); math.Abs(v.Value-test.want) > 1e-6 {
			t.Errorf("%s, label %v, %+v: mAP %v, want %v", test.model.Name, test.label, test.s, v.Value, test.want)
		}
	}
	if _, err := ssdMobileNet().Score(t.Context(), accuracy.Named("log", strings.NewReader("[]")), workload.Scoring{DatasetDir: t.TempDir()}); err == nil {
		t.Error("scored without annotations")
	}
}

func TestPreprocessedSamples(t *testing.T) {
	dir, made := scenes(t, "coco", 2), t.TempDir()
	image := tensor.New(tensor.Uint8, 300, 300, 3)
	tensor.Data[uint8](image)[12345] = 67
	if err := os.MkdirAll(filepath.Join(made, "val2017"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"z.jpg", "y.jpg"} {
		if err := npy.WriteFile(filepath.Join(made, "val2017", name+".npy"), image); err != nil {
			t.Fatal(err)
		}
	}
	s := builtInSetup(arch.SSDMobileNet(), dir)
	s.binding.preprocessed = made
	w := open(t, "ssd-mobilenet", s)
	row := []tensor.Tensor{tensor.New(tensor.Uint8, 300, 300, 3)}
	if err := w.Prepare(1, row); err != nil || tensor.Data[uint8](row[0])[12345] != 67 {
		t.Errorf("number 12345 is %d, %v", tensor.Data[uint8](row[0])[12345], err)
	}
	if w.CacheKey() != "" || w.Notes[0] != "input: uint8 NHWC 300×300, from "+made {
		t.Errorf("cache key %q, notes %q", w.CacheKey(), w.Notes[0])
	}
	if err := npy.WriteFile(filepath.Join(made, "val2017/z.jpg.npy"), tensor.New(tensor.Uint8, 3, 300, 300)); err != nil {
		t.Fatal(err)
	}
	if err := w.Prepare(0, row); err == nil || !strings.HasSuffix(err.Error(), "z.jpg.npy: the array is uint8[3 300 300], the model takes uint8 NHWC: uint8[300 300 3]") {
		t.Errorf("error %v", err)
	}
	write(t, filepath.Join(made, "val2017/z.jpg.npy"), "\x93NUMPY")
	if err := w.Prepare(0, row); err == nil || !strings.Contains(err.Error(), "z.jpg.npy: ") {
		t.Errorf("error %v", err)
	}
}
