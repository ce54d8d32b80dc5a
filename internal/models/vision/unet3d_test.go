package vision

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func volumes(t testing.TB, cases int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "kits")
	if err := synth.WriteKiTS19(t.Context(), dir, synth.KiTS19Spec{Seed: 1, Cases: cases}, nil, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVolumeRows(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	w := open(t, "3d-unet-99.9", builtInSetup(arch.UNet3D(), volumes(t, 2)))
	// The second volume has 192 slices and is the largest.
	if w.Samples != 2 || fmt.Sprint(w.Row(0)) != "[float32[128 128 128]]" || w.Batch != 1 {
		t.Errorf("%d samples, row %v, batch %d", w.Samples, w.Row(0), w.Batch)
	}
	if first, second := w.Row(0)[0], w.Row(1)[0]; first.Bytes() != 4*128*128*128 || second.Bytes() != 4*192*128*128 {
		t.Errorf("samples are %v and %v", first, second)
	}
	row := tensor.New(tensor.Float32, 128*128*128)
	voxels := tensor.Data[float32](row)
	if err := w.Prepare(0, []tensor.Tensor{row}); err != nil || voxels[64*128*128+64*128+64] == 0 {
		t.Errorf("the voxel in the middle became %v, %v", voxels[64*128*128+64*128+64], err)
	}
	if err := w.Prepare(0, []tensor.Tensor{tensor.New(tensor.Float32, 192*128*128)}); err == nil {
		t.Error("a row of another size is no error")
	}
	want := "volumes are prepared while they are read; input: windows of 128 voxels into input, 64 apart; label = argmax of the weighted mean of output"
	if got := strings.Join(w.Notes, "; "); got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
}

func TestSentVolumes(t *testing.T) {
	u := &unet{slice: 192 * 256, voxels: 192 * 192 * 256}
	for _, c := range []struct {
		shape tensor.Shape
		right bool
	}{
		{tensor.Shape{128, 128, 128}, true}, {tensor.Shape{192, 192, 256}, true}, {tensor.Shape{128, 192, 192}, true},
		{tensor.Shape{64, 192, 192}, false}, {tensor.Shape{130, 128, 128}, false}, {tensor.Shape{128, 256, 256}, false},
		{tensor.Shape{256, 192, 256}, false}, {tensor.Shape{1 << 40, 1 << 40, 1 << 40}, false}, {tensor.Shape{0, 128, 128}, false},
	} {
		if row, err := u.complete([]tensor.Shape{c.shape}); (err == nil) != c.right {
			t.Errorf("%v: %v, %v", c.shape, row, err)
		}
	}
}

func TestUNetErrors(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	dir := volumes(t, 1)
	for want, change := range map[string]func(*setup){
		"the model has no input that is a window, float32[? 1 128 128 128]; it has input float32[? 4 128 128 128]": func(s *setup) { s.inputs[0].Shape[1] = 4 },
		"the model has no output that is a window, float32[? 3 128 128 128]":                                       func(s *setup) { s.outputs[0].Type = tensor.Float16 },
		"the model has no output that is a window":                                                                 func(s *setup) { s.binding.output = "another" },
		"the model has no input that is a window":                                                                  func(s *setup) { s.inputs[0].Shape[0] = 2 },
		"the model has 2 inputs (input, scale), expected one: a window of the volume": func(s *setup) {
			s.inputs = append(s.inputs, backend.Port{Name: "scale", Type: tensor.Float32})
		},
		"2 cases are wanted, ": func(s *setup) { s.count = 2 },
	} {
		s := builtInSetup(arch.UNet3D(), dir)
		change(&s)
		if _, err := unet3D().Open(s.public()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestWindowPort(t *testing.T) {
	port := func(d tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: "x", Type: d, Shape: shape}
	}
	for _, c := range []struct {
		port  backend.Port
		right bool
	}{
		{port(tensor.Float32, 1, 3, 128, 128, 128), true}, {port(tensor.Float32, -1, -1, -1, -1, -1), true}, {port(tensor.Float32, -1, 3, 128, 128, -1), true},
		{port(tensor.Float32, 2, 3, 128, 128, 128), false}, {port(tensor.Float32, 1, 1, 128, 128, 128), false}, {port(tensor.Float32, 1, 3, 128, 128, 64), false},
		{port(tensor.Float32, 1, 3, 128, 128), false}, {port(tensor.Float64, 1, 3, 128, 128, 128), false}, {port(tensor.Float32), false},
	} {
		other := backend.Port{Name: "other", Type: tensor.Int64}
		if got, err := windowPort("output", []backend.Port{other, c.port}, "", 3); (err == nil) != c.right || c.right && got.Name != "x" {
			t.Errorf("%v%v: %v, %v", c.port.Type, c.port.Shape, got, err)
		}
	}
}

func TestUNetScore(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "cases.json", `{"file_list":["case_00000","case_00003"],"image_shape":[[1,2,3],[1,1,2]],"target_rle":[[0,2,1,2,2,2],[1,2]]}`)
	log := `[{"seq_id":0,"qsl_idx":0,"data":"000001010202"}]`
	if _, err := unet3D().Score(t.Context(), accuracy.Named("log", strings.NewReader(log)), workload.Scoring{DatasetDir: dir}); err == nil || !strings.Contains(err.Error(), "1 records for 2 cases") {
		t.Errorf("error %v", err)
	}
	score, err := unet3DHighAccuracy().Score(t.Context(), accuracy.Named("log", strings.NewReader(log)), workload.Scoring{DatasetDir: dir, Samples: 1})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := score.Lookup("mean"); !ok || v.Value != 1 {
		t.Errorf("score %+v, want 1", score)
	}
}
