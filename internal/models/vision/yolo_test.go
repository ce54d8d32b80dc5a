package vision

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy/npytest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// cocoOf is COCO with images of some sizes.
func cocoOf(t *testing.T, licences string, sizes ...[2]int) string {
	t.Helper()
	dir := t.TempDir()
	var images []string
	for i, s := range sizes {
		name := fmt.Sprintf("%d.jpg", i)
		put(t, dir, "val2017/"+name, "")
		images = append(images, fmt.Sprintf(`{"id":%d,"file_name":%q,"height":%d,"width":%d,"license":%d}`, i, name, s[0], s[1], i))
	}
	put(t, dir, "annotations/instances_val2017.json", fmt.Sprintf(`{"licenses":[%s],"images":[%s],"categories":[{"id":1}],"annotations":[]}`, licences, strings.Join(images, ",")))
	return dir
}

// The golden values are of Ultralytics' non_max_suppression and scale_boxes, and of yolo_loadgen.py's responses.
func TestYOLOAnswersAsTheReference(t *testing.T) {
	var golden struct {
		Post []struct {
			Case, Anchors int
			Orig, Net     [2]int
			SHA256        string `json:"payload_sha256"`
		}
	}
	testenv.Must(t, json.Unmarshal(testenv.Read(t, "testdata/yolo/expected.json"), &golden))
	all := npytest.Archive(t, "testdata/yolo/post.npz")
	var sizes [][2]int
	for _, g := range golden.Post {
		sizes = append(sizes, g.Orig)
	}
	data, err := dataset.OpenSafeCOCO(cocoOf(t, "", sizes...), dataset.Options{})
	testenv.Must(t, err)
	rect, err := lookupPipeline(yoloRect)
	testenv.Must(t, err)
	b := &yoloBoxes{yoloHead: &yoloHead{data: data, pipeline: rect, output: backend.Port{Name: "output0"}}}
	for k, g := range golden.Post {
		raw := tensor.New(tensor.Float32, 1, yoloRows, int64(g.Anchors))
		places, values := tensor.Data[int32](all[fmt.Sprintf("raw%d_idx", k)]), tensor.Data[float32](all[fmt.Sprintf("raw%d_val", k)])
		for i, place := range places {
			for row := range yoloRows {
				tensor.Data[float32](raw)[row*g.Anchors+int(place)] = values[i*yoloRows+row]
			}
		}
		if out := rect.Output(b.size(k)); out.Height != g.Net[0] || out.Width != g.Net[1] {
			b.pipeline.Stride = 0 // case 4 has a square
		} else {
			b.pipeline.Stride = 32
		}
		response, err := b.respond(nil, []tensor.Tensor{raw}, 0, workload.Item{Index: k})
		testenv.Must(t, err)
		if sum := sha256.Sum256(response); hex.EncodeToString(sum[:]) != g.SHA256 {
			t.Errorf("case %d: the response of %d bytes has another sum than %s", k, len(response), g.SHA256)
		}
	}
	for _, v := range [][2]int{{5, 0}, {0, 0}} { // a score, an x
		raw := tensor.New(tensor.Float32, 1, yoloRows, 8400)
		tensor.Data[float32](raw)[4*8400], tensor.Data[float32](raw)[v[0]*8400] = 0.5, float32(math.NaN())
		if _, err := b.respond(nil, []tensor.Tensor{raw}, 0, workload.Item{}); err == nil || !strings.Contains(err.Error(), "place 0") {
			t.Errorf("not a number in row %d: %v", v[0], err)
		}
	}
}

// The log and the score are of accuracy-coco.py and pycocotools.
func TestYOLOLogScoresAsTheReference(t *testing.T) {
	m := yolo()
	f, err := os.Open("testdata/yolo/log_a.json")
	testenv.Must(t, err)
	defer f.Close()
	score, err := m.Score(t.Context(), f, workload.Scoring{DatasetDir: "testdata/yolo/coco", Options: workload.Values{verboseOption: "true"}})
	testenv.Must(t, err)
	var want []string // without pycocotools' progress
	for line := range strings.Lines(string(testenv.Read(t, "testdata/yolo/score_a.txt"))) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, " Average") || strings.HasPrefix(line, "mAP") || strings.HasPrefix(line, "found") || strings.HasPrefix(line, "no results") || strings.HasPrefix(line, "ignored") {
			want = append(want, line)
		}
	}
	if !slices.Equal(score.Lines, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(score.Lines, "\n"), strings.Join(want, "\n"))
	}
}

// The images are those that create_safe_annotations.py keeps.
func TestYOLOKeepsImagesOfFreeLicences(t *testing.T) {
	var licences []string
	for i, url := range []string{
		"http://creativecommons.org/licenses/by-nc-sa/2.0/", "http://creativecommons.org/licenses/by-nc/2.0/", "http://creativecommons.org/licenses/by-nc-nd/2.0/",
		"http://creativecommons.org/licenses/BY/2.0/", "http://creativecommons.org/licenses/by-sa/2.0/", "http://creativecommons.org/licenses/by-nd/2.0/",
		"http://flickr.com/commons/usage/", "http://www.usa.gov/copyright.shtml",
	} {
		licences = append(licences, fmt.Sprintf(`{"id":%d,"url":%q}`, i, url))
	}
	dir := cocoOf(t, strings.Join(licences, ","), slices.Repeat([][2]int{{10, 10}}, 9)...) // of the last image the licence is not listed
	data, err := dataset.OpenSafeCOCO(dir, dataset.Options{})
	testenv.Must(t, err)
	var ids []int64
	for i := range data.Len() {
		ids = append(ids, data.Image(i).ID)
	}
	if !slices.Equal(ids, []int64{3, 4, 5, 6, 7}) {
		t.Errorf("images %v are kept", ids)
	}
	if truth, err := dataset.ReadSafeCOCO(dir); err != nil || len(truth.Images) != 5 {
		t.Errorf("the truth has %d images, %v", len(truth.Images), err)
	}
	_, err = dataset.OpenSafeCOCO(cocoOf(t, licences[0], [2]int{10, 10}), dataset.Options{})
	if err == nil || !strings.Contains(err.Error(), "whose licence the benchmark allows") {
		t.Errorf("no image of a free licence: %v", err)
	}
}

func TestYOLOPorts(t *testing.T) {
	dir := cocoOf(t, "", [2]int{427, 640}, [2]int{640, 480})
	port := func(name string, shape ...int64) []backend.Port {
		return []backend.Port{{Name: name, Type: tensor.Float32, Shape: shape}}
	}
	s := builtInSetup(arch.YOLO11l(), dir)
	w, err := yolo().Open(s.public())
	testenv.Must(t, err)
	if got := w.Row(1)[0].String(); got != "float32[3 640 640]" || w.Batch != 1 {
		t.Errorf("a fixed input takes %s in batches of %d", got, w.Batch)
	}
	s.inputs, s.outputs = port("images", -1, 3, -1, -1), port("output0", -1, 84, -1)
	w, err = yolo().Open(s.public())
	testenv.Must(t, err)
	if a, b := w.Row(0)[0].String(), w.Row(1)[0].String(); a != "float32[3 448 640]" || b != "float32[3 640 480]" {
		t.Errorf("free axes take %s and %s", a, b)
	}
	for _, c := range []struct{ in, out []backend.Port }{
		{s.inputs, port("output0", 1, 300, 6)}, {s.inputs, port("output0", 1, 8400, 84)}, {s.inputs, port("output0", 1, 6, 8400)},
		{port("images", 1, 3, 320, 320), s.outputs},
	} {
		s.inputs, s.outputs = c.in, c.out
		if _, err := yolo().Open(s.public()); err == nil || !strings.Contains(err.Error(), c.in[0].Name) && !strings.Contains(err.Error(), c.out[0].Name) {
			t.Errorf("%v and %v are taken: %v", c.in, c.out, err)
		}
	}
}

// A model of a user takes all images of COCO, and may have an input of any size.
func TestYOLOOfUsers(t *testing.T) {
	dir := cocoOf(t, `{"id":0,"url":"http://creativecommons.org/licenses/by-nc/2.0/"}`, [2]int{427, 640}, [2]int{640, 480})
	for _, c := range []struct {
		in, want string
		shape    tensor.Shape
	}{
		{"320", "float32[3 320 320]", tensor.Shape{1, 3, 320, 320}}, {"1280", "float32[3 1280 1280]", tensor.Shape{1, 3, 1280, 1280}},
		{"free", "float32[3 448 640]", tensor.Shape{1, 3, -1, -1}},
	} {
		ports := workload.Ports{
			Inputs:  []backend.Port{{Name: "images", Type: tensor.Float32, Shape: c.shape}},
			Outputs: []backend.Port{{Name: "output0", Type: tensor.Float32, Shape: tensor.Shape{1, 84, -1}}},
		}
		w, err := OpenYOLO(workload.Setup{DatasetDir: dir, Ports: map[string]workload.Ports{workload.Only: ports}})
		if err != nil || w.Samples != 2 || w.Row(0)[0].String() != c.want {
			t.Errorf("%s: %+v, %v", c.in, w, err)
		}
	}
}

// An image of another size than its annotation says is an error that names the file and both.
func TestYOLONamesAnImageOfAnotherSize(t *testing.T) {
	dir := cocoOf(t, "", [2]int{427, 640})
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "val2017", "0.jpg"), testenv.Read(t, "../../preprocess/testdata/yolo/img3.png"), 0o600))
	for _, side := range []int64{-1, 640} {
		s := builtInSetup(arch.YOLO11l(), dir)
		s.inputs[0].Shape = tensor.Shape{1, 3, side, side}
		w, err := yolo().Open(s.public())
		testenv.Must(t, err)
		store, err := workload.NewStore(1, w.Row)
		testenv.Must(t, err)
		defer store.Close()
		if err := w.Prepare(0, store.Row(0)); err == nil || !strings.Contains(err.Error(), "0.jpg") || !strings.Contains(err.Error(), "97×120") || !strings.Contains(err.Error(), "640×427") {
			t.Errorf("%v", err)
		}
	}
}
