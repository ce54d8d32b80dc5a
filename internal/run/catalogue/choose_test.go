package catalogue

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestChoose(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"my.onnx", "plain", "llama3.1-8b", "a.b/one.onnx", "a.b/two.ort", "a.b/onnx/model.onnx", "a.b/notes.txt", "mobilenet/x.onnx", "two.onnx/model.onnx"} {
		testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testenv.Must(t, os.WriteFile(file, nil, 0o644))
	}
	testenv.Must(t, os.Mkdir("empty", 0o755))
	const name, file = "name", "file"
	for _, c := range []struct{ model, want string }{
		{"resnet50", name}, {"ResNet_50", name}, {"llama3.1-405b", name}, {"gpt-oss-120b", name}, {"bert-99.9", name}, {"dlrm-v2-99.9", name}, {"3d-unet-99.9", name},
		{"llama3.1-8b", name}, {"mobilenet", name}, // beside a file and a folder of that name
		{"my.onnx", file}, {"./my.onnx", file}, {"plain", file}, {"./llama3.1-8b", file}, {"a.b/two.ort", file}, {"two.onnx/model.onnx", file},
	} {
		n, path, err := Choose(c.model)
		wantName, wantPath := c.model, ""
		if c.want == file {
			wantName, wantPath = "", c.model
		}
		if n != wantName || path != wantPath || err != nil {
			t.Errorf("Choose(%s) = name %q, file %q, %v, want a %s", c.model, n, path, err, c.want)
		}
	}
	for _, c := range []struct {
		model, want string
		wrong       bool // not a missing file, but an argument that cannot be right
	}{
		{"llama3.1-9b", `unknown model "llama3.1-9b"; did you mean llama3.1-8b? Must be one of `, true},
		{"alexnet", "yolo-99, or a model file", true},
		{"", `unknown model ""`, true},
		{"a.b", "a.b is a folder: must be one of its model files: a.b/one.onnx, a.b/two.ort, a.b/onnx/model.onnx", true},
		{"./mobilenet/", "is a folder: must be one of its model files: mobilenet/x.onnx", true},
		{"two.onnx", "two.onnx is a folder: must be one of its model files: two.onnx/model.onnx", true},
		{"empty", "empty is a folder without model files (.onnx, .ort, .tflite, .pb)", true},
		{"mine.onnx", "; did you mean my.onnx?", false},
		{"a.b/onee.onnx", "did you mean a.b/one.onnx?", false},
		{"resnet50.onnx", "did you mean resnet50, of the catalogue?", false},
		{"nowhere/far.onnx", "nowhere/far.onnx: ", false},
		{"my.onnx/x", "my.onnx/x: ", false},
	} {
		_, _, err := Choose(c.model)
		var of *userinput.Error
		if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), c.want) || errors.As(err, &of) != c.wrong {
			t.Errorf("Choose(%s): %v, want %s (of the field model: %t)", c.model, err, c.want, c.wrong)
		}
	}
}
