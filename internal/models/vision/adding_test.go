package vision

import (
	"os"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// squeezeNet is SqueezeNet 1.1.
func squeezeNet() workload.Model {
	c := classifier{pipelines: []string{"imagenet_pytorch_224"}}
	return workload.Model{
		Name:    "squeezenet",
		Title:   "SqueezeNet 1.1",
		Task:    "image classification, ImageNet, 224×224",
		Dataset: "imagenet",
		BuiltIn: BuiltIn{Network: arch.MobileNet(), Pipeline: "imagenet_pytorch_224"},
		Source:  "https://example.org/squeezenet1.1.onnx",

		Rules:                  config.Model{Name: "squeezenet"},
		PerformanceSampleCount: 1024,
		Quality:                workload.Quality{Metric: "accuracy", Reference: 58.18, Fraction: 0.99},
		Open:                   opening(c.open),
		Score:                  c.score,

		Options:       imageOptions(),
		ScoreOptions:  labelOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(c.pipelines),
	}
}

func TestManualModel(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/adding-a-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(manual), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	source, err := os.ReadFile("adding_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if code == "" || !strings.Contains(string(source), code) {
		t.Error("docs/adding-a-model.md has another example than this file")
	}
	w, err := squeezeNet().Open(imageSetup(images(t, "a.jpg"), tensor.Float32, -1, 3, 224, 224).public())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Prepare(0, []tensor.Tensor{tensor.New(tensor.Float32, 3, 224, 224)}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"resnet50.go", "mobilenet_edgetpu.go", "ssd_mobilenet.go", "retinanet.go", "deeplab.go", "unet3d.go", "slidingwindow.go"} {
		if _, err := os.Stat(name); err != nil || !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("the manual should name %s, %v", name, err)
		}
	}
}
