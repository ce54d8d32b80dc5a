package vision

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// images makes an ImageNet folder with copies of testdata/text.jpg and returns it. Their
// labels are 0, 1, …
func images(t testing.TB, names ...string) string {
	t.Helper()
	picture, err := os.ReadFile("testdata/text.jpg")
	if err != nil {
		t.Fatal(err)
	}
	dir, list := t.TempDir(), ""
	for i, name := range names {
		list += fmt.Sprintf("%s %d\n", name, i)
		write(t, filepath.Join(dir, name), string(picture))
	}
	write(t, filepath.Join(dir, "val_map.txt"), list)
	return dir
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// setup is that of a model file with one input and one output.
func imageSetup(dir string, in tensor.DType, shape ...int64) setup {
	return setup{
		datasetDir: dir,
		inputs:     []backend.Port{{Name: "image", Type: in, Shape: shape}},
		outputs:    []backend.Port{{Name: "scores", Type: tensor.Float32, Shape: tensor.Shape{-1, 1001}}},
	}
}

func open(t testing.TB, name string, s setup) *workload.Workload {
	t.Helper()
	m := find(t, name)
	w, err := m.Open(s.public())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPrepareEqualsReference(t *testing.T) {
	tests := []struct {
		name     string
		model    string
		in       tensor.DType
		shape    tensor.Shape
		pipeline string
		want     string // SHA-256 of the tensor that the reference makes of testdata/text.jpg
	}{
		{"ResNet-50", "resnet50", tensor.Float32, tensor.Shape{-1, 3, 224, 224}, "",
			"816595fb8ad02f1e043f96940d0f8ffb491a16386975ae3a6b44abe3ac1cd72c"},
		{"ResNet-50, channels last", "resnet50", tensor.Float32, tensor.Shape{-1, 224, 224, 3}, "",
			"c326f3f66244224f9753d1105a977cd2ae5f5ee8ce029011843614f19c4c6ef8"},
		{"MobileNet", "mobilenet", tensor.Float32, tensor.Shape{-1, 3, 224, 224}, "",
			"33693584beaa42557d03b8b184d52f48e1bc5e255043d017bd50cb322dddf3ce"},
		{"MobileNet, channels last", "mobilenet", tensor.Float32, tensor.Shape{-1, 224, 224, 3}, "",
			"eb4a7681ba095ad19eb40127662d933ba8d7321fd9f996bb8071da7f31546c59"},
		{"another pipeline", "resnet50", tensor.Float32, tensor.Shape{-1, 3, 224, 224}, "imagenet_pytorch_224",
			"ff0a8e6ee4abadfefd02443f7ad9c6872ee3a36598cfed920a880e6e0a3bec1e"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := imageSetup(images(t, "a.jpg"), test.in, test.shape...)
			s.binding.pipeline = test.pipeline
			w := open(t, test.model, s)
			slot := w.Row(0)[0]
			row := tensor.New(slot.Type, slot.Shape...)
			if err := w.Prepare(0, []tensor.Tensor{row}); err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(row.Bytes()); hex.EncodeToString(sum[:]) != test.want {
				t.Errorf("the tensor has the hash %x, want %s", sum, test.want)
			}
			timed := tensor.New(slot.Type, slot.Shape...)
			file, err := w.Raw.Read(0)
			if err = errors.Join(err, w.Raw.Make(file, 0, []tensor.Tensor{timed})); err != nil || !bytes.Equal(timed.Bytes(), row.Bytes()) {
				t.Errorf("made of the file inside the latency it is another: %v", err)
			}
		})
	}
}

func TestQuantisedInputs(t *testing.T) {
	dir := images(t, "a.jpg")
	prepare := func(in tensor.DType) (tensor.Tensor, *workload.Workload) {
		w := open(t, "resnet50", imageSetup(dir, in, -1, 3, 224, 224))
		row := tensor.New(in, 3, 224, 224)
		if err := w.Prepare(0, []tensor.Tensor{row}); err != nil {
			t.Fatal(err)
		}
		return row, w
	}
	pixels, u8 := prepare(tensor.Uint8)
	lower, i8 := prepare(tensor.Int8)
	float, _ := prepare(tensor.Float32)
	means := [3]float32{123.68, 116.78, 103.94}
	for i, v := range tensor.Data[uint8](pixels) {
		if int(v)-128 != int(tensor.Data[int8](lower)[i]) || float32(v)-means[i/(224*224)] != tensor.Data[float32](float)[i] {
			t.Fatalf("number %d: pixel %d, int8 %d, float32 %v", i, v, tensor.Data[int8](lower)[i], tensor.Data[float32](float)[i])
		}
	}
	for w, want := range map[*workload.Workload]string{
		u8: "input: uint8 NCHW 224×224, pre-processed by resnet50_vgg_224_uint8",
		i8: "input: int8 NCHW 224×224, pre-processed by resnet50_vgg_224_int8",
	} {
		if got := w.Notes[0]; got != want {
			t.Errorf("note %q, want %q", got, want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := images(t, "a.jpg", "b.jpg")
	tests := []struct {
		name   string
		change func(*setup)
		want   string
	}{
		{"no data", func(s *setup) { s.datasetDir = t.TempDir() }, "val_map.txt is missing"},
		{"too few images", func(s *setup) { s.count = 3 }, "3 images are wanted"},
		{"an unknown pipeline", func(s *setup) { s.binding.pipeline = "vgg" }, `pre-processing pipeline "vgg" is not known: must be one of resnet50_vgg_224`},
		{"a pipeline of another type", func(s *setup) { s.binding.pipeline = "mobilenet_224_uint8" },
			"the pre-processing mobilenet_224_uint8 makes uint8, input image takes float32: choose another"},
		{"a pipeline of another size", func(s *setup) { s.binding.pipeline = "coco_resnet34_1200" }, "expected images of 1200×1200"},
		{"a wrong input", func(s *setup) { s.inputs[0].Shape = tensor.Shape{-1, 7} }, "input image has shape [? 7]"},
		{"a wrong output", func(s *setup) { s.outputs[0].Shape = tensor.Shape{-1, 7} }, "the model has no output with a class"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := imageSetup(dir, tensor.Float32, -1, 3, 224, 224)
			test.change(&s)
			if _, err := resnet50().Open(s.public()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestOpenReadsBatch(t *testing.T) {
	dir := images(t, "a.jpg", "b.jpg", "c.jpg")
	s := imageSetup(dir, tensor.Float32, 4, 3, 224, 224)
	s.count = 2
	w := open(t, "resnet50", s)
	if w.Samples != 2 || w.Batch != 4 || fmt.Sprint(w.Row(0)) != "[float32[3 224 224]]" || fmt.Sprint(w.Outputs(workload.Only)) != "[scores]" {
		t.Errorf("%d samples, batch %d, row %v, outputs %v", w.Samples, w.Batch, w.Row(0), w.Outputs(workload.Only))
	}
	if got := workload.Bytes(w.Row(0)); got != 4*3*224*224 {
		t.Errorf("three rows take %d bytes", got)
	}
	if w := open(t, "resnet50", imageSetup(dir, tensor.Float32, -1, 3, 224, 224)); w.Batch != 0 || w.Samples != 3 {
		t.Errorf("with a free batch: batch %d, %d samples", w.Batch, w.Samples)
	}
}

func TestCacheKey(t *testing.T) {
	dir := images(t, "a.jpg", "b.jpg")
	key := func(change func(*setup)) string {
		s := imageSetup(dir, tensor.Float32, -1, 3, 224, 224)
		change(&s)
		return open(t, "resnet50", s).CacheKey()
	}
	same := func(*setup) {}
	before := key(same)
	if key(same) != before {
		t.Error("the same workload has two keys")
	}
	for name, change := range map[string]func(*setup){
		"another pipeline": func(s *setup) { s.binding.pipeline = "imagenet_pytorch_224" },
		"another layout":   func(s *setup) { s.inputs[0].Shape = tensor.Shape{-1, 224, 224, 3} },
		"another type":     func(s *setup) { s.inputs[0].Type = tensor.Uint8 },
		"files of another time": func(s *setup) {
			s.datasetDir = images(t, "a.jpg", "b.jpg")
			setTimes(t, s.datasetDir, time.Now().Add(-time.Hour))
		},
	} {
		if key(change) == before {
			t.Errorf("%s has the same key", name)
		}
	}
	now := time.Now()
	setTimes(t, dir, now)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if before = key(same); key(func(s *setup) { s.datasetDir = link }) != before {
		t.Error("a link to the same files has another key: they would be decoded again")
	}
	later := now.Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "b.jpg"), later, later); err != nil {
		t.Fatal(err)
	}
	touched := key(same)
	write(t, filepath.Join(dir, "b.jpg"), "a longer or shorter file")
	if err := os.Chtimes(filepath.Join(dir, "b.jpg"), later, later); err != nil {
		t.Fatal(err)
	}
	changed := key(same)
	write(t, filepath.Join(dir, "val_map.txt"), "b.jpg 0\na.jpg 1\n")
	if listed := key(same); before == touched || touched == changed || changed == listed {
		t.Errorf("keys %q, after touching a file %q, after changing it %q, after changing the list %q", before, touched, changed, listed)
	}
}

// setTimes gives all files of a folder a time.
func setTimes(t *testing.T, dir string, at time.Time) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has the files %v, %v", dir, files, err)
	}
	for _, file := range files {
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedImagesAreErrors(t *testing.T) {
	picture, err := os.ReadFile("testdata/text.jpg")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, content, want string }{
		{"a page", "<html>404</html>", "must be JPEG or PNG"},
		{"nothing", "", "expected JPEG or PNG"},
		{"cut off", string(picture[:len(picture)/2]), "the image is damaged or cut off; fetch the file again"},
		{"cut off in its head", string(picture[:100]), "JPEG"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := images(t, "good.jpg", "bad.jpg")
			write(t, filepath.Join(dir, "bad.jpg"), test.content)
			w := open(t, "resnet50", imageSetup(dir, tensor.Float32, -1, 3, 224, 224))
			row := []tensor.Tensor{tensor.New(tensor.Float32, 3, 224, 224)}
			err := w.Prepare(1, row)
			if err == nil || !strings.HasPrefix(err.Error(), "sample 1, "+filepath.Join(dir, "bad.jpg")+": ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want the sample, the file and %q", err, test.want)
			}
			if err := w.Prepare(0, row); err != nil {
				t.Errorf("the other image: %v", err)
			}
		})
	}
	dir := images(t, "gone.jpg")
	w := open(t, "resnet50", imageSetup(dir, tensor.Float32, -1, 3, 224, 224))
	if err := os.Remove(filepath.Join(dir, "gone.jpg")); err != nil {
		t.Fatal(err)
	}
	row := []tensor.Tensor{tensor.New(tensor.Float32, 3, 224, 224)}
	if err := w.Prepare(0, row); err == nil || !strings.Contains(err.Error(), "reading sample 0") || !strings.Contains(err.Error(), "gone.jpg") {
		t.Errorf("error of a file that is gone: %v", err)
	}
}

// A response is a case of testdata/responses.json.gz.
type response struct {
	Name, Dataset string
	Outputs       []struct {
		DType string
		Shape tensor.Shape
		Hex   string
	}
	IDs  []int    `json:"content_ids"`
	Want []string `json:"response_hex"`
}

func TestMaxImagePixels(t *testing.T) {
	dir := images(t, "a.jpg")
	for _, c := range []struct{ pixels, want string }{
		{"", ""}, {"67108864", ""}, {"100", "limit of 100 pixels"}, {"0", "max-image-pixels"}, {"many", "max-image-pixels"},
	} {
		options := workload.Values{pixelsOption: c.pixels}
		if c.pixels == "" {
			options = nil
		}
		s := imageSetup(dir, tensor.Float32, -1, 3, 224, 224).public()
		s.Options = options
		w, err := find(t, "resnet50").Open(s)
		if err == nil {
			row := tensor.New(tensor.Float32, w.Row(0)[0].Shape...)
			err = w.Prepare(0, []tensor.Tensor{row})
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q pixels: %v, want an error with %q", c.pixels, err, c.want)
		}
	}
}

func readResponses(t *testing.T, file string) []response {
	t.Helper()
	list := testenv.JSON[[]response](t, "testdata/"+file)
	if len(list) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	return list
}

func (r response) tensor(t *testing.T, output int) tensor.Tensor {
	t.Helper()
	mem, err := hex.DecodeString(r.Outputs[output].Hex)
	if err != nil {
		t.Fatal(err)
	}
	d := map[string]tensor.DType{"int64": tensor.Int64, "float32": tensor.Float32}[r.Outputs[output].DType]
	out := tensor.New(d, r.Outputs[output].Shape...)
	if copy(out.Bytes(), mem) != len(mem) || len(out.Bytes()) != len(mem) {
		t.Fatalf("%d bytes for %v", len(mem), out)
	}
	return out
}

func TestResponsesEqualReference(t *testing.T) {
	for _, r := range readResponses(t, "responses.json.gz") {
		t.Run(r.Name+" "+r.Dataset, func(t *testing.T) {
			out := r.tensor(t, 0)
			free := append(tensor.Shape{-1}, out.Shape[1:]...)
			bound, err := bindClasses([]backend.Port{{Name: "out", Type: out.Type, Shape: free}}, binding{})
			if err != nil {
				t.Fatal(err)
			}
			c := classResponse{output: bound}
			for k, want := range r.Want {
				got, err := c.append([]byte("x"), []tensor.Tensor{out}, k, workload.Item{})
				if strings.HasSuffix(r.Name, "_nan") {
					// The reference takes a NaN for the maximum. Here it is an error: such a
					// model is broken, and must not score by accident.
					if err == nil || !strings.Contains(err.Error(), "is not a number") {
						t.Errorf("sample %d with a NaN among its scores is answered %x, error %v", k, got, err)
					}
					continue
				}
				if err != nil || strings.ToUpper(hex.EncodeToString(got[1:])) != want || got[0] != 'x' {
					t.Errorf("sample %d is answered %X, %v; want %s after what was there", k, got, err, want)
				}
			}
		})
	}
}

func TestQuantisedScores(t *testing.T) {
	bytes, signed := make([]byte, 2*1001), make([]int8, 2*1001)
	bytes[700], bytes[1001+3] = 9, 255
	for i := range signed {
		signed[i] = -100
	}
	signed[700], signed[1001+3] = -99, 127
	class32 := tensor.Of([]int32{700, 3}, 2)
	for _, out := range []tensor.Tensor{tensor.Of(bytes, 2, 1001), tensor.Of(signed, 2, 1001), class32} {
		bound, err := bindClasses([]backend.Port{{Name: "out", Type: out.Type, Shape: append(tensor.Shape{-1}, out.Shape[1:]...)}}, binding{})
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range []float32{699, 2} {
			got, err := classResponse{output: bound}.append(nil, []tensor.Tensor{out}, k, workload.Item{})
			if err != nil || math.Float32frombits(binary.LittleEndian.Uint32(got)) != want {
				t.Errorf("%v, sample %d is answered %x, %v; want %v", out, k, got, err, want)
			}
		}
	}
}

func TestShortOutputs(t *testing.T) {
	for _, out := range []tensor.Tensor{tensor.New(tensor.Int64, 1), tensor.New(tensor.Int64), tensor.New(tensor.Float32, 0, 1001)} {
		c := classOutput{port: backend.Port{Name: "out"}, argmax: out.Type == tensor.Int64}
		if class, err := c.class(out, 1); err == nil || !strings.Contains(err.Error(), "too short for the batch") {
			t.Errorf("the class of sample 1 in %v is %d, %v", out, class, err)
		}
	}
}

// Where the file says nothing of an output, a run does: what it makes has to be classes, or scores of them.
func TestOutputsWithoutClass(t *testing.T) {
	for _, c := range []struct {
		out  tensor.Tensor
		want string
	}{
		{tensor.New(tensor.Int64, 2, 1), ""}, {tensor.New(tensor.Int32, 2), ""}, {tensor.New(tensor.Float32, 2, 1000, 1, 1), ""}, {tensor.New(tensor.Uint8, 2, 1001), ""},
		{tensor.New(tensor.Int64, 2, 1000), "the model's output out is int64[2 1000], with 1000 values for each sample: must be one of [1]"},
		{tensor.New(tensor.Float32, 2, 5), "with 5 values for each sample: must be one of [1000 1001]"},
		{tensor.New(tensor.Float32, 2), "with 1 values for each sample"},
		{tensor.New(tensor.Int8, 2, 1002), "with 1002 values for each sample"},
	} {
		o := classOutput{port: backend.Port{Name: "out"}, argmax: isWhole(c.out.Type)}
		class, err := o.class(c.out, 1)
		if c.want == "" && (err != nil || class != 0) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("of %v: class %d, %v, want %q", c.out, class, err, c.want)
		}
	}
}

// A server may answer anything. A run stops at a class that no model of ImageNet has, in performance mode, too.
func TestClassesOutOfRange(t *testing.T) {
	for _, class := range []int64{0, 1, 1000, -1, -5, 1001, 1 << 31, 1 << 62, math.MinInt64} {
		out := tensor.New(tensor.Int64, 1)
		tensor.Data[int64](out)[0] = class
		o := classOutput{port: backend.Port{Name: "out"}, argmax: true, offset: -1}
		_, err := classResponse{output: o}.append(nil, []tensor.Tensor{out}, 0, workload.Item{})
		if bad := class < 0 || class > 1000; bad != (err != nil) || bad && !strings.Contains(err.Error(), "the model's output out is "+fmt.Sprint(class)+": must be a class") && class > -1<<53 && class < 1<<53 {
			t.Errorf("class %d: %v", class, err)
		}
	}
}

func TestPredictorAnswersLabels(t *testing.T) {
	s := imageSetup(images(t, "a.jpg", "b.jpg"), tensor.Float32, -1, 3, 224, 224)
	scores := tensor.New(tensor.Float32, 2, 1001)
	for k := range 2 {
		tensor.Data[float32](scores)[1001*k+7+k] = 1
	}
	got := answer(t, open(t, "resnet50", s), s.inputs, s.outputs, map[string]tensor.Tensor{"scores": scores})
	if string(got[0]) != "\x00\x00\xc0\x40" || string(got[1]) != "\x00\x00\xe0\x40" { // 6 and 7
		t.Errorf("answers %x", got)
	}
}

func TestScore(t *testing.T) {
	dir := images(t, "a.jpg", "b.jpg", "c.jpg")
	log := `[
{ "seq_id" : 0, "qsl_idx" : 0, "data" : "00000000" },
{ "seq_id" : 1, "qsl_idx" : 2, "data" : "00000040" },
{ "seq_id" : 2, "qsl_idx" : 1, "data" : "00000040" }
]`
	score, err := resnet50().Score(t.Context(), accuracy.Named("log", strings.NewReader(log)), workload.Scoring{DatasetDir: dir})
	if err != nil || strings.Join(score.Lines, "\n") != "accuracy=66.667%, good=2, total=3" {
		t.Errorf("score %+v, error %v", score, err)
	}
	if _, err := resnet50().Score(t.Context(), accuracy.Named("log", strings.NewReader(log)), workload.Scoring{DatasetDir: t.TempDir()}); err == nil {
		t.Error("scored without labels")
	}
	if _, err := resnet50().Score(t.Context(), accuracy.Named("log", strings.NewReader(log)), workload.Scoring{DatasetDir: dir, Options: workload.Values{"dtype": "float16"}}); err == nil {
		t.Error("scored with an unknown type")
	}
}

// Top-5 is kept beside the log, whose bytes stay those of the reference; it costs nothing where time counts.
func TestTop5(t *testing.T) {
	dir := images(t, "a.jpg", "b.jpg", "c.jpg")
	logged := accuracyLog("00000000", "00000000", "00000000") // answers 0, 0 and 0 for the labels 0, 1 and 2
	scores := tensor.New(tensor.Float32, 3, 1001)
	for k, classes := range [][]int{{1}, {1, 3, 4, 5, 2}, {1, 4, 5, 6, 7, 3}} { // with the background class
		for place, class := range classes {
			tensor.Data[float32](scores)[1001*k+class] = float32(9 - place)
		}
	}
	s := imageSetup(dir, tensor.Float32, -1, 3, 224, 224)
	class := backend.Port{Name: "ArgMax:0", Type: tensor.Int64, Shape: tensor.Shape{-1}}
	for _, c := range []struct {
		outputs, read []string
		ranked        bool
		want          float64 // 0: none
	}{
		{[]string{"scores"}, []string{"scores"}, false, 0},
		{[]string{"scores"}, []string{"scores"}, true, 200.0 / 3},
		{[]string{"ArgMax:0", "scores"}, []string{"ArgMax:0"}, false, 0},
		{[]string{"ArgMax:0", "scores"}, []string{"ArgMax:0", "scores"}, true, 200.0 / 3},
		{[]string{"ArgMax:0"}, []string{"ArgMax:0"}, true, 0},
	} {
		setup := s.public()
		ports := []backend.Port{}
		made := map[string]tensor.Tensor{"scores": scores, "ArgMax:0": tensor.Of([]int64{1, 1, 1}, 3)}
		for _, name := range c.outputs {
			ports = append(ports, map[string]backend.Port{"scores": s.outputs[0], "ArgMax:0": class}[name])
		}
		setup.Ports[workload.Only] = workload.Ports{Inputs: s.inputs, Outputs: ports}
		setup.Ranked = c.ranked
		w, err := resnet50().Open(setup)
		testenv.Must(t, err)
		if got := w.Outputs(workload.Only); !slices.Equal(got, c.read) {
			t.Errorf("%+v: reads %v", c, got)
		}
		for ticket, response := range answer(t, w, s.inputs, ports, made) {
			if string(response) != "\x00\x00\x00\x00" {
				t.Errorf("%+v: sample %d is answered %x", c, ticket, response)
			}
		}
		score, err := resnet50().Score(t.Context(), accuracy.Named("log", strings.NewReader(logged)), workload.Scoring{DatasetDir: dir, Best: w.Best})
		testenv.Must(t, err)
		if top5, ok := score.Lookup(accuracy.Top5); ok != (c.want != 0) || top5.Value != c.want || score.Text() != "accuracy=33.333%, good=1, total=3\n" {
			t.Errorf("%+v: %+v, lines %q", c, score.Values, score.Lines)
		}
	}
	score, err := resnet50().Score(t.Context(), accuracy.Named("log", strings.NewReader(logged)), workload.Scoring{DatasetDir: dir, Foreign: true})
	if err != nil || len(score.Warnings) != 1 || !strings.HasPrefix(score.Warnings[0], "Top-1 only") {
		t.Errorf("a log of others: %+v, %v", score, err)
	}
}

func accuracyLog(data ...string) string {
	var records []string
	for i, d := range data {
		records = append(records, fmt.Sprintf(`{"qsl_idx":%d,"data":"%s"}`, i, d))
	}
	return "[" + strings.Join(records, ",") + "]"
}

// answer has a workload answer all its samples with outputs of the model.
func answer(t *testing.T, w *workload.Workload, inputs, outputs []backend.Port, made map[string]tensor.Tensor) replies {
	t.Helper()
	names := w.Outputs(workload.Only)
	engine, err := simulated.New(simulated.Config{Inputs: inputs, Outputs: outputs, Answer: func(_, out []tensor.Tensor) error {
		for i, name := range names {
			copy(out[i].Bytes(), made[name].Bytes())
		}
		return nil
	}})
	testenv.Must(t, err)
	session, err := engine.Open(t.Context(), backend.Options{Outputs: names})
	testenv.Must(t, err)
	p, err := w.NewPredictor(workload.Sessions{workload.Only: session}, w.Samples)
	testenv.Must(t, err)
	store, err := workload.NewStore(w.Samples, w.Row)
	testenv.Must(t, err)
	defer store.Close()
	testenv.Must(t, p.Use(store))
	got, items := replies{}, []workload.Item{}
	for i := range w.Samples {
		items = append(items, workload.Item{Row: i, Index: i, Ticket: i})
	}
	testenv.Must(t, p.Predict(t.Context(), items, got))
	testenv.Must(t, p.Close())
	return got
}

func TestMobileLabelsAreIntegers(t *testing.T) {
	dir := images(t, "a.jpg", "b.jpg")
	s := imageSetup(dir, tensor.Float32, -1, 224, 224, 3)
	if note := open(t, "mobilenet-edgetpu", s).Notes[0]; note != "input: float32 NHWC 224×224, pre-processed by mobile_classification_224_float32" {
		t.Errorf("note %q", note)
	}
	bound, err := bindClasses(s.outputs, binding{})
	if err != nil {
		t.Fatal(err)
	}
	out := tensor.New(tensor.Float32, 1, 1001)
	tensor.Data[float32](out)[259] = 1
	got, err := classResponse{output: bound, payload: accuracy.Int32}.append(nil, []tensor.Tensor{out}, 0, workload.Item{})
	if err != nil || string(got) != "\x02\x01\x00\x00" {
		t.Errorf("class 259 is answered %x, %v; want the label 258 as an int32", got, err)
	}
	log := accuracy.Named("log", strings.NewReader(`[{"qsl_idx":0,"data":"00000000"},{"qsl_idx":1,"data":"02010000"}]`))
	if score, err := mobileNetEdgeTPU().Score(t.Context(), log, workload.Scoring{DatasetDir: dir}); err != nil || score.Lines[0] != "accuracy=50.000%, good=1, total=2" {
		t.Errorf("score %+v, %v", score, err)
	}
	s.inputs[0].Type = tensor.Uint8
	if note := open(t, "mobilenet-edgetpu", s).Notes[0]; !strings.HasSuffix(note, "pre-processed by mobile_classification_224_uint8") {
		t.Errorf("note %q", note)
	}
}

// A model in halves, as converters for GPUs write them, gets the same image and gives the same
// labels.
func TestOtherFloatInputs(t *testing.T) {
	dir := images(t, "a.jpg")
	plain := open(t, "resnet50", imageSetup(dir, tensor.Float32, -1, 3, 224, 224))
	want := tensor.New(tensor.Float32, 3, 224, 224)
	if err := plain.Prepare(0, []tensor.Tensor{want}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []tensor.DType{tensor.Float16, tensor.Float64} {
		s := imageSetup(dir, d, -1, 3, 224, 224)
		s.outputs[0].Type = d
		w := open(t, "resnet50", s)
		row := tensor.New(d, 3, 224, 224)
		if got := w.Row(0)[0].String(); got != row.String() || w.CacheKey() == plain.CacheKey() {
			t.Errorf("a row is %s, want %v; or it has the key of float32", got, row)
		}
		if err := w.Prepare(0, []tensor.Tensor{row}); err != nil {
			t.Fatal(err)
		}
		var memory []float32
		got := tensor.Data[float32](singlepass.AsFloat32(row, &memory))
		for i, v := range tensor.Data[float32](want) {
			if diff := math.Abs(float64(got[i] - v)); diff > 0.07 {
				t.Fatalf("%v: number %d is %v, want %v", d, i, got[i], v)
			}
		}
	}
}

// How many scores there are may only be known from a run.
func TestOffsetOfScoresWithoutShape(t *testing.T) {
	out, err := bindClasses([]backend.Port{{Name: "p", Type: tensor.Float32, AnyShape: true}}, binding{})
	if err != nil {
		t.Fatal(err)
	}
	two := 2
	said, err := bindClasses([]backend.Port{{Name: "p", Type: tensor.Float32, AnyShape: true}}, binding{labelOffset: &two})
	if err != nil {
		t.Fatal(err)
	}
	for scores, want := range map[int64]int{1000: 0, 1001: -1} {
		if got := out.labelOffset(tensor.New(tensor.Float32, 3, scores)); got != want {
			t.Errorf("of %d scores the offset is %d, want %d", scores, got, want)
		}
		if got := said.labelOffset(tensor.New(tensor.Float32, 3, scores)); got != 2 {
			t.Errorf("of %d scores the offset is %d, though 2 was said", scores, got)
		}
	}
}

func TestReaderOptions(t *testing.T) {
	for options, want := range map[string]string{"layout=HWC": `layout: unknown layout "HWC": must be NCHW or NHWC`, "preprocess=none": "preprocess: ", "max-image-pixels=x": "max-image-pixels: "} {
		name, value, _ := strings.Cut(options, "=")
		if _, err := resnet50().NewReader(workload.Values{name: value}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
}
