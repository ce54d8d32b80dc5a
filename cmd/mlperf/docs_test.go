package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestHelpExamplesRun runs every example that --help shows. What they run is a tiny
// model on the simulated engine.
func TestHelpExamplesRun(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	t.Parallel()
	dir := material(t)
	if err := os.Rename(filepath.Join(dir, "tiny.onnx"), filepath.Join(dir, "my.onnx")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := commands(cli.New(io.Discard, io.Discard))
	slices.SortStableFunc(all, func(a, b *cobra.Command) int { return order(a) - order(b) })
	for _, cmd := range all {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			args := exampleArgs(strings.Fields(line))
			if args == nil {
				continue
			}
			run := exec.Command(self, args...)
			run.Args[0] = "mlperf"
			run.Dir = dir
			run.Env = append(os.Environ(), "TEST_AS_MLPERF=1", "MLPERF_CACHE_DIR="+filepath.Join(dir, "cache"), "MLPERF_DATA_DIR="+filepath.Join(dir, "data"), "MLPERF_ORT_LIB=")
			out, err := run.CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) && slices.Contains([]int{cli.ExitInvalid, cli.ExitInaccurate}, exit.ExitCode()) {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", strings.TrimSpace(line), err, out)
			}
		}
	}
}

// order puts run first, because other examples look at its results.
func order(cmd *cobra.Command) int {
	if cmd.Name() == "run" {
		return 0
	}
	return 1
}

// exampleArgs turns an example into what is run. nil: it needs ONNX Runtime, or other tests run it.
func exampleArgs(words []string) []string {
	args := slices.Clone(words[1:])
	switch args[0] {
	case "synth", "doctor", "quantize", "compare", "convert", "serve", "submission": // scripts of their own run the last four
		return nil
	case "suite": // suite.txtar runs one
		if args[1] == "run" {
			return nil
		}
	case "audit": // audit.txtar runs the others
		if args[1] != "list" {
			return nil
		}
	case "explain":
		if slices.Contains(args, "logs") { // of another LoadGen; report.txtar has some
			return nil
		}
	case "run":
		if !slices.Contains(args, "--model-path") {
			args = append(args, "--model-path", "my.onnx", "--dataset-path", "imagenet")
		}
		return append(args, "--backend", "simulated", "--sim-latency", "1ms", "--min-duration", "100ms", "--min-query-count", "64")
	case "tune":
		if !slices.Contains(args, "--model-path") {
			args = append(args, "--model-path", "my.onnx")
		}
		return append(args, "--dataset-path", "imagenet", "--backend", "simulated", "--sim-latency", "1ms", "--instances", "1", "--intra-threads", "1", "--budget", "300ms")
	case "accuracy":
		for i, a := range args {
			if a == "mlperf_log_accuracy.json" {
				args[i] = "results/mobilenet/offline/accuracy/latest/" + a
			}
		}
	}
	return args
}
