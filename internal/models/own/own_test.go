package own

import (
	"archive/zip"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// file writes a model of some nodes. A name in a shape is a free axis, * an input without a shape.
func file(t *testing.T, inputs, outputs string, nodes ...*onnx.Node) string {
	t.Helper()
	values := func(text string) (list []*onnx.Value) {
		for _, one := range strings.Fields(text) {
			part := strings.Split(one, ":")
			v := &onnx.Value{Name: part[0], Type: onnx.Type{Elem: map[string]onnx.ElemType{"f": onnx.Float32, "i": onnx.Int64, "b": onnx.Uint8, "s": onnx.String, "u": onnx.Uint64, "h": onnx.Float16}[part[1]], Shape: onnx.Shape{}}}
			for dim := range strings.FieldsFuncSeq(part[2], func(r rune) bool { return r == ',' }) {
				if n, err := strconv.ParseInt(dim, 10, 64); err == nil {
					v.Type.Shape = append(v.Type.Shape, onnx.Fixed(n))
				} else {
					v.Type.Shape = append(v.Type.Shape, onnx.Free(strings.Trim(dim, "?")))
				}
			}
			if part[2] == "*" {
				v.Type.Shape = nil
			}
			list = append(list, v)
		}
		return list
	}
	m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: &onnx.Graph{Name: "g", Nodes: nodes, Inputs: values(inputs), Outputs: values(outputs)}}
	path := filepath.Join(t.TempDir(), "my.onnx")
	testenv.Must(t, m.WriteFile(t.Context(), path))
	return path
}

// setup opens a model of these ports with options of name=value.
func setup(t *testing.T, inputs, outputs, data string, options ...string) (*workload.Workload, error) {
	t.Helper()
	path := file(t, inputs, outputs)
	return Model(path).Open(setupOf(t, path, data, options...))
}

func setupOf(t *testing.T, path, data string, options ...string) workload.Setup {
	t.Helper()
	in, out, err := backend.ReadPorts(path)
	testenv.Must(t, err)
	s := workload.Setup{ModelPath: path, DatasetDir: data, Options: workload.Values{}, Ports: map[string]workload.Ports{workload.Only: {Inputs: in, Outputs: out}}}
	for _, o := range options {
		name, value, _ := strings.Cut(o, " ")
		s.Options[name] = value
	}
	return s
}

// TestShapes: what the inputs of a model of any task become.
func TestShapes(t *testing.T) {
	for _, test := range []struct {
		name, inputs, outputs string
		options               []string
		row                   string // slots of a sample
		batch                 int
		err                   string
	}{
		{name: "classifier", inputs: "x:f:N,3,224,224", outputs: "y:f:N,1000", row: "float32[3 224 224]"},
		{name: "fixed batch", inputs: "x:f:1,3,8,8", outputs: "y:f:1,10", row: "float32[3 8 8]", batch: 1},
		{name: "free sides", inputs: "x:f:N,3,height,width", outputs: "y:f:N,100,6", row: "float32[3 224 224]"},
		{name: "given sides", inputs: "x:f:N,3,height,width", outputs: "y:f:N,100,6", options: []string{"shape x=1x3x640x320"}, row: "float32[3 640 320]"},
		{name: "boxes of one image", inputs: "x:f:N,3,8,8", outputs: "y:f:100,6", row: "float32[1 3 8 8]", batch: 1},
		{name: "tokens", inputs: "ids:i:batch,seq mask:i:batch,seq", outputs: "y:f:batch,2", row: "int64[128] int64[128]"},
		{name: "one length for all", inputs: "ids:i:batch,seq mask:i:batch,seq", outputs: "y:f:batch,2", options: []string{"shape ids=1x32"}, row: "int64[32] int64[32]"},
		{name: "cache of a decoder", inputs: "ids:i:batch,seq mask:i:batch,past+seq past:f:batch,4,past,8", outputs: "y:f:batch,seq,9", row: "int64[128] int64[144] float32[4 16 8]"},
		{name: "time first", inputs: "x:f:time,1,80", outputs: "y:f:time,1,40", row: "float32[128 1 80]", batch: 1},
		{name: "recurrent state", inputs: "x:f:?,512 state:f:2,?,128 sr:i:", outputs: "y:f:?,1", row: "float32[1 512] float32[2 1 128] int64[]", batch: 1},
		{name: "no batch, as the user says", inputs: "x:f:?,1,80", outputs: "y:f:?,1,40", options: []string{"shape x=50x1x80"}, row: "float32[50 1 80]", batch: 1},
		{name: "image and threshold", inputs: "x:f:N,3,8,8 t:f:", outputs: "y:f:N,10", row: "float32[1 3 8 8] float32[]", batch: 1},
		{name: "sound", inputs: "audio:f:N,samples", outputs: "y:f:N,12", row: "float32[16000]"},
		{name: "a batch that is named", inputs: "x:f:batch_frames,40", outputs: "y:f:batch_frames,12", row: "float32[40]"},
		{name: "table", inputs: "x:f:?,4", outputs: "label:i:? p:f:?,3", row: "float32[4]"},
		{name: "no shape", inputs: "x:f:*", outputs: "y:f:*", err: "does not say the shape of input x"},
		{name: "no shape, but given", inputs: "x:f:*", outputs: "y:f:*", options: []string{"shape x=1x3x8x8"}, row: "float32[3 8 8]"},
		{name: "texts", inputs: "x:s:N", outputs: "y:f:N", err: "input x of the model has texts"},
		{name: "wrong shape", inputs: "x:f:N,3,8,8", outputs: "y:f:N,10", options: []string{"shape x=1x3x9x8"}, err: "axis 2 is 9, input x takes 8"},
		{name: "axes", inputs: "x:f:N,3,8,8", outputs: "y:f:N,10", options: []string{"shape x=3x3"}, err: "has 2 axes"},
		{name: "no number", inputs: "x:f:N,3", outputs: "y:f:N,10", options: []string{"shape x=1xthree"}, err: "extents with x between"},
		{name: "no input", inputs: "x:f:N,3", outputs: "y:f:N,10", options: []string{"input z=ones"}, err: `no input "z"`},
		{name: "no output", inputs: "x:f:N,3", outputs: "y:f:N,10", options: []string{"model-output z"}, err: `no tensor "z" among its outputs`},
		{name: "no file", inputs: "x:f:N,3", outputs: "y:f:N,10", options: []string{"input x=none.npy"}, err: "none.npy"},
		{name: "ids of no embedding", inputs: "x:i:N,3", outputs: "y:f:N,10", options: []string{"input x=ids"}, err: "must be normal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, err := setup(t, test.inputs, test.outputs, "", test.options...)
			if test.err != "" {
				if !testenv.Names(err, test.err) {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				return
			}
			testenv.Must(t, err)
			var row []string
			for _, slot := range w.Row(0) {
				row = append(row, slot.String())
			}
			if got := strings.Join(row, " "); got != test.row || w.Batch != test.batch || w.Samples < leastMade {
				t.Errorf("row %s, batch %d, %d samples, want %s, %d\n%s", got, w.Batch, w.Samples, test.row, test.batch, strings.Join(w.Notes, "\n"))
			}
			again := prepared(t, w, 1)
			for k, tensor := range prepared(t, w, 1) {
				if !slices.Equal(tensor.Bytes(), again[k].Bytes()) {
					t.Errorf("input %d differs when it is made again", k)
				}
			}
		})
	}
}

// prepared is the row of a sample.
func prepared(t *testing.T, w *workload.Workload, index int) (row []tensor.Tensor) {
	t.Helper()
	for _, slot := range w.Row(index) {
		row = append(row, tensor.New(slot.Type, slot.Shape...))
	}
	testenv.Must(t, w.Prepare(index, row))
	return row
}

func TestContents(t *testing.T) {
	w, err := setup(t, "a:f:N,2 b:i:N,2 c:b:N,2 attention_mask:i:N,2 h:h:N,2", "y:f:N,2", "", "input a=-1.5,c=zeros,b=7,h=ones")
	testenv.Must(t, err)
	row := prepared(t, w, 3)
	if a, mask := tensor.Data[float32](row[0]), tensor.Data[int64](row[3]); a[0] != -1.5 || tensor.Data[int64](row[1])[1] != 7 || mask[1] != 1 || row[2].Bytes()[0] != 0 || row[4].Bytes()[1] != 0x3c {
		t.Errorf("a %v, mask %v, c %v, h %v", a, mask, row[2].Bytes(), row[4].Bytes())
	}
}

// TestEmbedding: token ids stay within the rows of the embedding that the graph has, also behind a cast.
func TestEmbedding(t *testing.T) {
	path := file(t, "ids:i:N,seq", "y:f:N,seq,4")
	m, err := onnx.ReadFile(path)
	testenv.Must(t, err)
	m.Graph.Initializers = []*onnx.Tensor{onnx.TensorOf("table", make([]float32, 7*4), 7, 4)}
	m.Graph.Nodes = []*onnx.Node{
		{Op: "Cast", Inputs: []string{"ids"}, Outputs: []string{"small"}, Attributes: []onnx.Attribute{onnx.Attr("to", int64(onnx.Int32))}},
		{Op: "Gather", Inputs: []string{"table", "small"}, Outputs: []string{"y"}},
	}
	testenv.Must(t, m.WriteFile(t.Context(), path))
	in, out, err := backend.ReadPorts(path)
	testenv.Must(t, err)
	w, err := Model(path).Open(workload.Setup{ModelPath: path, Ports: map[string]workload.Ports{workload.Only: {Inputs: in, Outputs: out}}})
	testenv.Must(t, err)
	ids := tensor.Data[int64](prepared(t, w, 0)[0])
	if low, high := slices.Min(ids), slices.Max(ids); low != 0 || high != 6 {
		t.Errorf("ids from %d to %d, want 0 to 6", low, high)
	}
}

func TestArrays(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, npy.WriteFile(filepath.Join(dir, "a_0.npy"), tensor.Of([]float64{1, 2, 3, 4, 5, 6}, 3, 2)))
	testenv.Must(t, npy.WriteFile(filepath.Join(dir, "labels.npy"), tensor.Of([]int32{0, 1, 2}, 3)))
	f, err := os.Create(filepath.Join(dir, "b.npz"))
	testenv.Must(t, err)
	z := zip.NewWriter(f)
	for range 1 {
		entry, err := z.Create("b.npy")
		testenv.Must(t, err)
		testenv.Must(t, npy.Write(entry, tensor.Of([]int32{7, 8, 9}, 3, 1)))
	}
	testenv.Must(t, z.Close())
	testenv.Must(t, f.Close())
	w, err := setup(t, "a/0:f:N,k b:i:N,1", "y:f:N,3", dir)
	testenv.Must(t, err)
	row := prepared(t, w, 2)
	if a, b := tensor.Data[float32](row[0]), tensor.Data[int64](row[1]); w.Samples != 3 || !slices.Equal(a, []float32{5, 6}) || b[0] != 9 || len(w.Limitations) > 0 {
		t.Errorf("%d samples, a %v, b %v, limitations %v", w.Samples, a, b, w.Limitations)
	}
	for inputs, want := range map[string]string{
		"c:f:N,2":     "no array in",
		"a/0:f:N,3":   "axis 1 is 2, input a/0 takes 3",
		"a/0:i:N,2":   "the array has float64, the input takes int64",
		"a/0:f:N,2,2": "expected samples along the first axis",
	} {
		if _, err := setup(t, inputs, "y:f:N,3", dir); !testenv.Names(err, want) {
			t.Errorf("%s: error %v, want %q", inputs, err, want)
		}
	}
}

// TestImages: folders of images in each form, for models of any size, layout and number of colours.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	for name, forms := range map[string][]string{"classes": {"cat/1.png", "cat/2.png", "dog/a/3.png"}, "flat": {"1.png", "2.PNG"}, "listed": {"x/1.png", "2.png"}, "mixed": {"1.png", "cat/2.png"}} {
		for _, image := range forms {
			writeImage(t, filepath.Join(dir, name, image))
		}
	}
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "listed", "val_map.txt"), []byte("x/1.png 70\n2.png 12345\n"), 0o644))
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	for _, test := range []struct {
		folder, input string
		options       []string
		row           string
		samples       int
		labels        []int64
		err           string
	}{
		{folder: "classes", input: "x:f:N,3,32,32", row: "float32[3 32 32]", samples: 3, labels: []int64{0, 0, 1}},
		{folder: "classes", input: "x:f:N,28,28,1", row: "float32[28 28 1]", samples: 3, labels: []int64{0, 0, 1}},
		{folder: "listed", input: "x:b:N,8,8,3", row: "uint8[8 8 3]", samples: 2, labels: []int64{70, 12345}},
		{folder: "flat", input: "x:h:N,3,h,w", row: "float16[3 224 224]", samples: 2},
		{folder: "flat", input: "x:f:N,3,h,w", options: []string{"shape x=1x3x32x32"}, row: "float32[3 32 32]", samples: 2},
		{folder: "flat", input: "x:f:N,3,8,8", options: []string{"preprocess resnet"}, row: "float32[3 8 8]", samples: 2},
		{folder: "flat", input: "x:f:N,3,8,8", options: []string{"preprocess none"}, err: `"none" is not known`},
		{folder: "flat", input: "x:f:N,3,8,9", err: "square"},
		{folder: "flat", input: "x:f:N,3,3,3", err: "cannot infer the layout"},
		{folder: "flat", input: "x:f:N,12", err: "no input of the model (x) has the four axes"},
		{folder: "mixed", input: "x:f:N,3,8,8", err: "give a folder per class, or all in one"},
		{folder: "empty", input: "x:f:N,3,8,8", err: "no image"},
		{folder: "gone", input: "x:f:N,3,8,8", err: "no such folder"},
	} {
		w, err := setup(t, test.input, "y:f:N,100000", filepath.Join(dir, test.folder), test.options...)
		if test.err != "" {
			if !testenv.Names(err, test.err) {
				t.Errorf("%s, %s: error %v, want %q", test.folder, test.input, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s, %s: %v", test.folder, test.input, err)
			continue
		}
		prepared(t, w, test.samples-1)
		labels, _, err := readTruth(filepath.Join(dir, test.folder))
		if got := w.Row(0)[0].String(); got != test.row || w.Samples != test.samples || err != nil || !slices.Equal(labels, test.labels) {
			t.Errorf("%s, %s: row %s, %d samples, labels %v, %v", test.folder, test.input, got, w.Samples, labels, err)
		}
	}
}

func writeImage(t *testing.T, path string) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.Create(path)
	testenv.Must(t, err)
	testenv.Must(t, png.Encode(f, image.NewRGBA(image.Rect(0, 0, 20, 10))))
	testenv.Must(t, f.Close())
}

// TestBestClasses: the labels of the five highest scores, of equal ones the first class.
func TestBestClasses(t *testing.T) {
	c := &classes{offset: 10}
	scores := tensor.Of([]float32{0, 0, 0, 0, 0, 0, 0, 1, 9, 3, 9, -1, 5, 4}, 2, 7)
	got, err := c.append(nil, []tensor.Tensor{scores}, 1, 2)
	if want := []byte{11, 0, 0, 0, 13, 0, 0, 0, 15, 0, 0, 0, 16, 0, 0, 0, 12, 0, 0, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("labels %v, %v, want %v", got, err, want)
	}
	if got, err := (&classes{argmax: true}).append(nil, []tensor.Tensor{tensor.Of([]int64{3, 4}, 2)}, 1, 2); err != nil || !slices.Equal(got, []byte{4, 0, 0, 0}) {
		t.Errorf("label %v, %v", got, err)
	}
}

// NaN in the first answers is a limitation.
func TestAnswersThatAreNotNumbers(t *testing.T) {
	w, err := setup(t, "x:f:N,2", "y:f:N,2", "")
	testenv.Must(t, err)
	if c := w.Answers(); c != nil {
		t.Errorf("before any answer: %q", c)
	}
	look := &finite{ports: []backend.Port{{Name: "y"}}}
	for _, c := range []struct {
		values []float32
		marked bool
	}{{[]float32{1, float32(math.Inf(1))}, false}, {[]float32{1, float32(math.NaN())}, true}, {[]float32{1, 2}, true}} {
		if look.at([]tensor.Tensor{tensor.Of(c.values, 1, 2)}); (len(look.limitations()) == 1) != c.marked {
			t.Errorf("%v: limitations %v", c.values, look.limitations())
		}
	}
}

// TestExpectedOutputs: outputs of another runtime, beside arrays or images, say how many samples have the same.
func TestExpectedOutputs(t *testing.T) {
	dir := t.TempDir()
	array := func(name string, a tensor.Tensor) { testenv.Must(t, npy.WriteFile(filepath.Join(dir, name), a)) }
	array("x.npy", tensor.New(tensor.Float32, 3, 2))
	array("expected_y_0.npy", tensor.Of([]float64{1, 2, 3, 4, 5, float64(math.Inf(1))}, 3, 2))
	array("expected_n.npy", tensor.Of([]int32{7, 8, 9}, 3))
	w, err := setup(t, "x:f:N,2", "n:i:N y/0:f:N,2", dir)
	testenv.Must(t, err)
	in := &inputs{batched: true}
	_, in.expected, err = readTruth(dir)
	testenv.Must(t, err)
	outputs := []backend.Port{{Name: "n", Type: tensor.Int64}, {Name: "y/0", Type: tensor.Float32}}
	for _, e := range in.expected {
		testenv.Must(t, e.bind(outputs))
	}
	answers := func(y float32, n int64) (records [3]string) {
		got := []tensor.Tensor{tensor.Of([]int64{n, 8, 9}, 3), tensor.Of([]float32{1, 2.0029, y, 4, 5, float32(math.Inf(1))}, 3, 2)}
		for k := range 3 {
			data, err := in.answer(nil, got, k, 3)
			testenv.Must(t, err)
			records[k] = fmt.Sprintf(`{"seq_id":%d,"qsl_idx":%d,"data":"%X"}`, k, k, data)
		}
		return records
	}
	for _, c := range []struct {
		y    float32
		n    int64
		line string
	}{
		{3, 7, "equal=3 of 3 within 0.001 + 0.001·|expected|, largest difference 0.0029 (sample 0, y_0)"},
		{3.1, 7, "equal=2 of 3 within 0.001 + 0.001·|expected|, largest difference 0.1 (sample 1, y_0)"},
		{3, 6, "equal=2 of 3 within 0.001 + 0.001·|expected|, largest difference 1 (sample 0, n)"},
		{float32(math.NaN()), 7, "equal=2 of 3 within 0.001 + 0.001·|expected|, largest difference NaN (sample 1, y_0)"},
	} {
		records := answers(c.y, c.n)
		log := accuracy.Named("log", strings.NewReader("["+strings.Join(records[:], ",\n")+"]"))
		score, err := score(t.Context(), log, workload.Scoring{DatasetDir: dir})
		if err != nil || w.Samples != 3 || score.Lines[0] != c.line {
			t.Errorf("%v, %d: %v, %v, want %s", c.y, c.n, score, err, c.line)
		}
	}
	for outputs, want := range map[string]string{
		"y/0:f:N,2":       `the model has no output "n"; it has y/0`,
		"n:i:N y/0:i:N,2": "the array has other numbers than output y/0",
	} {
		if _, err := setup(t, "x:f:N,2", outputs, dir); !testenv.Names(err, want) {
			t.Errorf("%s: error %v, want %q", outputs, err, want)
		}
	}
	nan := float32(math.NaN())
	same, err := accuracy.ScoreExpected(accuracy.Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"0000C07F0000C0FF"}]`)), []accuracy.Expected{{Name: "y", Samples: 1, Length: 2, Floats: []float32{nan, nan}}})
	if err != nil || same.Values[0].Value != 100 {
		t.Errorf("NaN where NaN is expected: %v, %v", same, err)
	}
	array("expected_n.npy", tensor.Of([]int32{7, 8}, 2))
	if _, err := setup(t, "x:f:N,2", "n:i:N y/0:f:N,2", dir); !testenv.Names(err, "expected_n.npy … 2 samples … 3") {
		t.Errorf("too few: error %v", err)
	}
	testenv.Must(t, os.Remove(filepath.Join(dir, "x.npy")))
	writeImage(t, filepath.Join(dir, "1.png"))
	if w, err = setup(t, "x:f:N,3,8,8", "n:i:N y/0:f:N,2", dir); err != nil || w.Samples != 1 {
		t.Errorf("images: %v", err)
	}
}

// A YOLO of Ultralytics takes COCO as it is, and its log is scored in mAP.
func TestYOLOTakesCOCO(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"annotations", "val2017"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"val2017/a.jpg": "", "annotations/instances_val2017.json": `{"images":[{"id":7,"file_name":"a.jpg","height":480,"width":640}],"categories":[{"id":1}],
			"annotations":[{"id":1,"image_id":7,"category_id":1,"bbox":[64,48,128,96],"area":9000,"iscrowd":0}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := Model("yolo11n.onnx")
	w, err := m.Open(workload.Setup{DatasetDir: dir, Scored: true, Ports: map[string]workload.Ports{workload.Only: {
		Inputs:  []backend.Port{{Name: "images", Type: tensor.Float32, Shape: tensor.Shape{1, 3, 320, 320}}},
		Outputs: []backend.Port{{Name: "output0", Type: tensor.Float32, Shape: tensor.Shape{1, 84, 2100}}},
	}}})
	if err != nil || w.Samples != 1 || w.Row(0)[0].String() != "float32[3 320 320]" {
		t.Fatalf("%+v, %v", w, err)
	}
	box := "00000000" + "CDCCCC3D" + "CDCCCC3D" + "9A99993E" + "9A99993E" + "0000003F" + "0000803F" // 0.1 to 0.3 of both sides
	log := accuracy.Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"`+box+`"}]`))
	score, err := m.Score(t.Context(), log, workload.Scoring{DatasetDir: dir})
	if err != nil || score.Values[0].Name != "mAP" || score.Values[0].Value < 99 {
		t.Errorf("%+v, %v", score, err)
	}
}

// Texts are inputs of servers' models: lines of a file, or arrays.
func TestTexts(t *testing.T) {
	path := file(t, "text:s:N,1 pair:s:N,2 k:i:N,1", "y:f:N,1")
	const bytesOf3 = "\x93NUMPY\x01\x00\x38\x00{'descr': '|S2', 'fortran_order': False, 'shape': (3,)}\nab\x00\x00cd"
	for _, c := range []struct {
		name    string
		files   map[string]string
		options []string
		want    [][]string // texts of each sample
		err     string
	}{
		{name: "lines", files: map[string]string{"text.txt": "one\r\n\ntwo\n", "pair.txt": "a\nb\nc\nd\ne\nf"}, want: [][]string{{"one", "a", "b"}, {"", "c", "d"}, {"two", "e", "f"}}},
		{name: "an array", files: map[string]string{"text.npy": bytesOf3, "pair.txt": "a\nb\nc\nd\ne\nf"}, want: [][]string{{"ab", "a", "b"}, {"", "c", "d"}, {"cd", "e", "f"}}},
		{name: "a file", files: map[string]string{"text.txt": "x\ny", "other.txt": "a\nb\nc\nd"}, options: []string{"input pair=DIR/other.txt"}, want: [][]string{{"x", "a", "b"}, {"y", "c", "d"}}},
		{name: "no texts", files: map[string]string{"text.txt": "x\ny"}, err: "input pair has texts … pair=FILE.txt … pair.npy"},
		{name: "half a sample", files: map[string]string{"text.txt": "x", "pair.txt": "a\nb\nc"}, err: "pair.txt … 3 texts … has 2"},
		{name: "fewer", files: map[string]string{"text.txt": "x", "pair.txt": "a\nb\nc\nd"}, err: "pair.txt has 2 samples … 1"},
		{name: "nothing", files: map[string]string{"text.txt": "", "pair.txt": "a"}, err: "text.txt is empty"},
		{name: "texts for a number", files: map[string]string{"text.txt": "x\ny\nz", "pair.txt": "a\nb\nc\nd\ne\nf", "k.npy": bytesOf3}, err: "k.npy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			testenv.Tree(t, dir, c.files)
			for i := range c.options {
				c.options[i] = strings.ReplaceAll(c.options[i], "DIR", dir)
			}
			w, err := Served("my", path).Open(setupOf(t, path, dir, c.options...))
			if c.err != "" {
				if !testenv.Names(err, c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			testenv.Must(t, err)
			store, err := workload.NewStore(w.Samples, w.Row)
			testenv.Must(t, err)
			defer store.Close()
			for k, want := range c.want {
				row := store.Row(k)
				testenv.Must(t, w.Prepare(k, row))
				if got := slices.Concat(row[0].Strings(), row[1].Strings()); !slices.Equal(got, want) {
					t.Errorf("sample %d has %q, want %q", k, got, want)
				}
			}
			if w.Samples != len(c.want) {
				t.Errorf("%d samples, want %d", w.Samples, len(c.want))
			}
		})
	}
}
