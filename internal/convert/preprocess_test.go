package convert_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
)

func TestPreprocess(t *testing.T) {
	runtest.Request(t)
	image := append(fileio.Glob("imagenet", "*.JPEG"), fileio.Glob("imagenet", "val/*.JPEG")...)[0]
	q := convert.PreprocessRequest{Model: "resnet50", Files: []string{image, "./" + image}, Root: "imagenet", Output: "out"}
	if err := convert.Preprocess(t.Context(), q, harness.Silent{}); err != nil {
		t.Fatal(err)
	}
	name, _ := filepath.Rel("imagenet", image)
	// A header of .npy has at least 128 bytes here; the numbers are 3·224·224 of 4 bytes.
	if info, err := os.Stat(filepath.Join("out", name+".npy")); err != nil || info.Size() < 3*224*224*4 || info.Size() > 3*224*224*4+256 {
		t.Errorf("the file is %+v, %v", info, err)
	}
	for want, change := range map[string]func(*convert.PreprocessRequest){
		"model: is missing":          func(q *convert.PreprocessRequest) { q.Model = "" },
		"model: unknown model":       func(q *convert.PreprocessRequest) { q.Model = "alexnet" },
		"are not images":             func(q *convert.PreprocessRequest) { q.Model = "gnmt" },
		"tiny.onnx: it is not below": func(q *convert.PreprocessRequest) { q.Files = []string{"tiny.onnx"} },
		"colour":                     func(q *convert.PreprocessRequest) { q.Options = map[string]string{"colour": "red"} },
		"nowhere.jpg":                func(q *convert.PreprocessRequest) { q.Files, q.Root = []string{"nowhere.jpg"}, "" },
		"not a directory":            func(q *convert.PreprocessRequest) { q.Output = "tiny.onnx" },
		"tiny.onnx: ":                func(q *convert.PreprocessRequest) { q.Files, q.Root = []string{"tiny.onnx"}, "" },
		"root: a/x.jpg and b/x.jpg would both be written to " + filepath.Join("out", "x.jpg.npy") + ": give the folder whose structure is kept": func(q *convert.PreprocessRequest) {
			q.Files, q.Root = []string{"a/x.jpg", "a/x.jpg", "b/x.jpg"}, ""
		},
	} {
		bad := q
		change(&bad)
		if err := convert.Preprocess(t.Context(), bad, harness.Silent{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	enough := errors.New("enough")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(enough)
	q.Output = "none"
	if err := convert.Preprocess(stopped, q, harness.Silent{}); !errors.Is(err, enough) {
		t.Errorf("interrupted: %v, want %v", err, enough)
	}
	if _, err := os.Stat("none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}
