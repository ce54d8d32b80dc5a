package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// interruptedVerbs are those that may take long, each so that it would do something in the folder of the scripts' material.
var interruptedVerbs = []string{
	"run --model resnet50 --scenario offline --backend simulated --model-path tiny.onnx --dataset-path imagenet --quick --output r",
	"tune --model resnet50 --backend simulated --model-path tiny.onnx --dataset-path imagenet --output t.json",
	"audit TEST01 --model resnet50 --scenario offline --backend simulated --model-path tiny.onnx --dataset-path imagenet --quick --output a",
	"audit v0.5 --model resnet50 --scenario offline --backend simulated --model-path tiny.onnx --dataset-path imagenet --quick --output b",
	"suite run mlmark --only resnet50 --backend simulated --quick --output s",
	"preprocess --model resnet50 --output p ONE.JPEG",
	"verify dataset imagenet --dir imagenet --count 12",
	"download dataset squad --accept-license --mirror http://127.0.0.1:1 --mirror-only --dir d",
	"selftest --duration 10s",
	"selftest --all",
	"selftest --endpoint",
	"doctor",
	"serve resnet50 --backend simulated --model-path tiny.onnx --listen 127.0.0.1:0",
}

// TestEveryLongVerbEndsWithTheStatusOfAnInterruption if it is interrupted before it begins.
func TestEveryLongVerbEndsWithTheStatusOfAnInterruption(t *testing.T) {
	made := material(t)
	t.Chdir(t.TempDir())
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(t.TempDir(), "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(t.TempDir(), "data"))
	if err := os.CopyFS(".", os.DirFS(made)); err != nil {
		t.Fatal(err)
	}
	images, err := filepath.Glob("imagenet/*.JPEG")
	if err != nil || len(images) == 0 {
		t.Fatalf("the material has no images: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	for _, line := range interruptedVerbs {
		t.Run(strings.SplitN(line, " -", 2)[0], func(t *testing.T) {
			var out, said strings.Builder
			args := strings.Fields(line + " --progress none")
			for i, a := range args {
				if a == "ONE.JPEG" {
					args[i] = images[0]
				}
			}
			if got := cli.Run(ctx, args, &out, &said); got != cli.ExitInterrupted {
				t.Errorf("status %d, want %d:\n%s%s", got, cli.ExitInterrupted, out.String(), said.String())
			}
		})
	}
}
