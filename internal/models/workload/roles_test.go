package workload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestAFolderOfFilesMayBeALinkAndHaveOthers(t *testing.T) {
	dir := folder(t, "a.onnx", "b.onnx", "b.onnx.data", "notes.txt")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{dir, link, dir + string(filepath.Separator)} {
		files, err := Roles("b", "a")(path)
		if want := []File{{"b", filepath.Join(path, "b.onnx")}, {"a", filepath.Join(path, "a.onnx")}}; err != nil || !slices.Equal(files, want) {
			t.Errorf("Roles(%s) = %v, %v, want %v", path, files, err, want)
		}
	}
	for path, want := range map[string]string{
		"": "no such file", filepath.Join(dir, "a.onnx"): "is a file, want a folder with b.onnx and 1 more", os.DevNull: "is a file, want a folder with b.onnx and 1 more",
		filepath.Join(dir, "a.onnx", "x"): "a.onnx",
	} {
		if files, err := Roles("b", "a")(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Roles(%q) = %v, %v, want %q", path, files, err, want)
		}
	}
}

func TestPortsAreDescribedWithTypesAndShapes(t *testing.T) {
	for want, ports := range map[string][]backend.Port{
		"":                           nil,
		"x float32[]":                {{Name: "x", Type: tensor.Float32}},
		"x float32[? 3], y int64[2]": {{Name: "x", Type: tensor.Float32, Shape: tensor.Shape{-1, 3}}, {Name: "y", Type: tensor.Int64, Shape: tensor.Shape{2}}},
	} {
		if got := DescribePorts(ports); got != want {
			t.Errorf("DescribePorts(%v) = %q, want %q", ports, got, want)
		}
	}
}
