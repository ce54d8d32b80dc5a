package vision

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

const maskPixels = dataset.ADE20KSize * dataset.ADE20KSize

// masks makes a data set of n images. In the mask of image i each row y has the class
// y mod 32.
func masks(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	rect := image.Rect(0, 0, dataset.ADE20KSize, dataset.ADE20KSize)
	mask := image.NewGray(rect)
	for i := range mask.Pix {
		mask.Pix[i] = uint8(i / mask.Stride % 32)
	}
	for name, m := range map[string]image.Image{"images": image.NewRGBA(rect), "annotations": mask} {
		var file bytes.Buffer
		if err := png.Encode(&file, m); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			put(t, dir, filepath.Join(name, fmt.Sprintf("%d.png", i)), file.String())
		}
	}
	return dir
}

func TestDeepLabOfOfficialPorts(t *testing.T) {
	w := open(t, "deeplab-v3plus", builtInSetup(arch.DeepLabV3Plus(), masks(t, 2)))
	if w.Samples != 2 || fmt.Sprint(w.Row(0)) != "[float32[512 512 3]]" || w.Batch != 0 || fmt.Sprint(w.Outputs(workload.Only)) != "[ArgMax]" {
		t.Errorf("%d samples, row %v, batch %d, outputs %v", w.Samples, w.Row(0), w.Batch, w.Outputs(workload.Only))
	}
	row := []tensor.Tensor{tensor.New(tensor.Float32, 512, 512, 3)}
	if err := w.Prepare(1, row); err != nil || tensor.Data[float32](row[0])[0] != -1 {
		t.Errorf("black is %v, %v; want -1", tensor.Data[float32](row[0])[0], err)
	}
	want := "input: float32 NHWC 512×512, pre-processed by mobile_segmentation_512_float32; class of a pixel = ArgMax"
	if got := strings.Join(w.Notes, "; "); got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
}

func TestMaskOutputs(t *testing.T) {
	s := builtInSetup(arch.DeepLabV3Plus(), masks(t, 1))
	for _, shape := range []tensor.Shape{{-1, 32, 512, 512}, {-1, 513, 513}, {-1, 512, 256}, {-1, 512, 512, 2}, {-1, 512}, nil} {
		s.outputs[0].Shape = shape
		if _, err := deepLabV3Plus().Open(s.public()); !testenv.Names(err, "no output … [N 512 512] … ArgMax") {
			t.Errorf("%v: error %v", shape, err)
		}
	}
	for _, shape := range []tensor.Shape{{-1, 512, 512}, {4, -1, 512}, {-1, -1, -1, 1}} {
		s.outputs[0].Shape = shape
		if _, err := deepLabV3Plus().Open(s.public()); err != nil {
			t.Errorf("%v: error %v", shape, err)
		}
	}
	s.outputs[0].Type = tensor.String
	if _, err := deepLabV3Plus().Open(s.public()); err == nil {
		t.Error("texts are classes")
	}
	other := maskResponse{port: backend.Port{Name: "ArgMax"}}
	if _, err := other.append(nil, []tensor.Tensor{tensor.New(tensor.Uint8, 1, 513, 513)}, 0, workload.Item{}); !testenv.Names(err, "uint8[1 513 513] … 262144 pixels for each image") {
		t.Errorf("an output of another size: %v", err)
	}
}

func TestMaskResponses(t *testing.T) {
	s := maskResponse{port: backend.Port{Name: "ArgMax"}, offset: 1}
	for _, out := range []tensor.Tensor{
		tensor.New(tensor.Int64, 2, 512, 512), tensor.New(tensor.Int32, 2, 512, 512), tensor.New(tensor.Uint8, 2, 512, 512), tensor.New(tensor.Float32, 2, 512, 512, 1),
	} {
		at := maskPixels + 700
		switch out.Type {
		case tensor.Int64:
			tensor.Data[int64](out)[at] = 30
		case tensor.Int32:
			tensor.Data[int32](out)[at] = 30
		case tensor.Uint8:
			tensor.Data[uint8](out)[at] = 30
		default:
			tensor.Data[float32](out)[at] = 30
		}
		got, err := s.append([]byte("x"), []tensor.Tensor{out}, 1, workload.Item{})
		if err != nil || len(got) != 1+maskPixels || got[0] != 'x' || got[701] != 31 || got[700] != 1 {
			t.Errorf("%v: %d bytes, %v", out, len(got), err)
		}
		if _, err := s.append(nil, []tensor.Tensor{out}, 2, workload.Item{}); err == nil || !strings.Contains(err.Error(), "too short for 3 images") {
			t.Errorf("error %v", err)
		}
	}
	bad := tensor.New(tensor.Float32, 1, 512, 512)
	for _, v := range []float32{-2, 255, float32(math.NaN())} {
		tensor.Data[float32](bad)[3] = v
		if _, err := s.append(nil, []tensor.Tensor{bad}, 0, workload.Item{}); err == nil || !strings.Contains(err.Error(), "the class of pixel 3 is ") {
			t.Errorf("class %v: error %v", v, err)
		}
	}
	out, dst := tensor.New(tensor.Int32, 1, 512, 512), make([]byte, 0, maskPixels)
	if n := testing.AllocsPerRun(3, func() { dst, _ = s.append(dst[:0], []tensor.Tensor{out}, 0, workload.Item{}) }); n > 1 { // the slice in this line
		t.Errorf("%v allocations", n)
	}
}

// maskLog has masks whose row y has the class classOf(y).
func maskLog(n int, classOf func(y int) int) accuracy.Input {
	var data []byte
	for i := range maskPixels {
		data = append(data, byte(classOf(i/dataset.ADE20KSize)))
	}
	var log strings.Builder
	for i := range n {
		fmt.Fprintf(&log, `,{"seq_id":%d,"qsl_idx":%d,"data":"%X"}`, i, i, data)
	}
	return accuracy.Named("log", strings.NewReader("["+log.String()[1:]+"]"))
}

func TestMaskScores(t *testing.T) {
	dir := masks(t, 2)
	for name, test := range map[string]struct {
		classOf func(y int) int
		want    float64
	}{
		"all right":          {func(y int) int { return y % 32 }, 1},
		"half of each class": {func(y int) int { return y % 32 * (y / 32 % 2) }, 0.5},
		"nothing":            {func(int) int { return 0 }, 0},
	} {
		score, err := deepLabV3Plus().Score(t.Context(), maskLog(2, test.classOf), workload.Scoring{DatasetDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := score.Lookup("mIoU"); !ok || math.Abs(v.Value-test.want) > 1e-6 || len(score.Warnings) != 0 {
			t.Errorf("%s: %+v, warnings %v, want %v", name, v, score.Warnings, test.want)
		}
	}
	for want, log := range map[string]accuracy.Input{
		"the ground truth has only 2 samples": maskLog(3, func(int) int { return 0 }),
		"prediction has 1 pixels":             accuracy.Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"00"}]`)),
		"log: none of the classes occurs":     accuracy.Named("log", strings.NewReader("[]")),
	} {
		if _, err := deepLabV3Plus().Score(t.Context(), log, workload.Scoring{DatasetDir: dir}); !testenv.Names(err, want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Masks of other sizes are brought to that of the images that the model sees.
func TestMasksOfOtherSizes(t *testing.T) {
	dir := t.TempDir()
	mask := image.NewGray(image.Rect(0, 0, 30, 20)) // fills 512×342 pixels
	for i := range mask.Pix {
		mask.Pix[i] = 1 + uint8(i/mask.Stride/10) // the upper half has class 1, the lower 2
	}
	for name, m := range map[string]image.Image{"images": image.NewRGBA(mask.Rect), "annotations": mask} {
		var file bytes.Buffer
		if err := png.Encode(&file, m); err != nil {
			t.Fatal(err)
		}
		put(t, dir, filepath.Join(name, "validation", "a.png"), file.String())
	}
	log := maskLog(1, func(y int) int { // what is below the image does not count
		if y < 171 {
			return 1
		}
		return 2
	})
	score, err := deepLabV3Plus().Score(t.Context(), log, workload.Scoring{DatasetDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := score.Lookup("mIoU of present classes"); !ok || v.Value != 1 {
		t.Errorf("%+v, want 1", v)
	}
}

// The app has no number if a class is in no image.
func TestMeanWithoutAClass(t *testing.T) {
	counts := accuracy.NewIoUCounts(3)
	if err := counts.Add(0, []uint8{1, 1, 2, 0}, []uint8{1, 1, 2, 2}); err != nil {
		t.Fatal(err)
	}
	score, err := ofPresent(accuracy.Named("log", nil), counts.Score(), "classes")
	if err != nil || score.Values[0].Value != 0.75 || len(score.Warnings) != 2 || !strings.HasPrefix(score.Warnings[0], "class 3 is in no image") {
		t.Errorf("score %+v, %v", score, err)
	}
}
