package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/run/runtest"
)

// TestListsAreNeverNull: a program that goes through a list of --json need not ask whether it is there. Each command that has --json
// is run, or named as one that takes servers, a network or minutes.
func TestListsAreNeverNull(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	q := runtest.Request(t)
	model := " --model resnet50 --backend simulated --sim-latency 1ms --model-path " + q.ModelPath + " --dataset-path " + q.DatasetPath + " --progress none"
	if o := mlperf(t, strings.Fields("run --scenario offline --mode accuracy --quick --output done"+model)...); o.status == ExitError || o.status == ExitUsage {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	write(t, "one.yaml", "name: one\nrules: v5.1\nbenchmarks: [{model: resnet50, scenarios: [single-stream]}]\n")
	tried := map[string]string{
		"accuracy": "done", "audit list": "", "audit": "TEST05 --scenario single-stream --rules v4.1 --quick --min-duration 20ms --output audited" + model, "cache clear": "--dry-run", "cache list": "", "compare": "done done", "doctor": "", "download list": "", "explain": "done",
		"list": "", "plan": "--model resnet50", "report": "done",
		"run": "--scenario single-stream --quick --min-duration 20ms --output again" + model, "selftest": "--scenario single-stream --duration 10ms", "show": "resnet50",
		"submission check": "tree", "suite list": "", "suite show": "one.yaml", "suite run": "one.yaml --backend simulated --quick --count 4 --output suited --progress none --model-path " + q.ModelPath + " --dataset-path " + q.DatasetPath,
		"trace": "--scenario offline --target-qps 100 --min-duration 10ms",
		"tune":  "--scenario offline --budget 1s --max-batchsize 1 --output tuned.json" + model, "version": "",
		"download dataset": "coco --dry-run", "download model": "resnet50 --dry-run",
		"preprocess": "--model resnet50 --output pre " + image(t),
	}
	write(t, "tree/closed/Org/notes.txt", "")
	elsewhere := []string{ // they take a network, minutes, ONNX Runtime, or trees that the tests of submissions make
		"audit verify", "convert", "download runtime", "quantize", "submission build", "submission pack", "submission report", "submission run", "synth dataset", "synth model",
		"verify dataset", "verify model",
	}
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		for _, c := range cmd.Commands() {
			walk(c, strings.TrimSpace(path+" "+c.Name()))
		}
		if path == "" || cmd.Flags().Lookup("json") == nil || slices.Contains(elsewhere, path) {
			return
		}
		args, ok := tried[path]
		if !ok {
			t.Errorf("%s has --json and is not tried", path)
			return
		}
		delete(tried, path)
		o := mlperf(t, append(strings.Fields(path+" "+args), "--json")...)
		var document any
		if err := json.Unmarshal([]byte(o.stdout), &document); err != nil {
			t.Errorf("%s: status %d, %v: %s", path, o.status, err, o.stderr)
			return
		}
		if at := nulls(document, path); len(at) > 0 {
			t.Errorf("null: %s", strings.Join(at, ", "))
		}
	}
	walk(New(io.Discard, io.Discard), "")
	for path := range tried {
		t.Errorf("%s has no --json, or does not exist", path)
	}
}

// image is a file of the images of runtest.
func image(t *testing.T) string {
	t.Helper()
	list, err := filepath.Glob("imagenet/val/*")
	if err != nil || len(list) == 0 {
		list, err = filepath.Glob("imagenet/*.JPEG")
	}
	if err != nil || len(list) == 0 {
		t.Fatalf("no images: %v", err)
	}
	return list[0]
}

// nulls are the places of null in a document, without numbers of places in lists.
func nulls(document any, at string) (list []string) {
	switch d := document.(type) {
	case nil:
		return []string{at}
	case []any:
		for _, v := range d {
			list = append(list, nulls(v, at+"[]")...)
		}
	case map[string]any:
		for k, v := range d {
			list = append(list, nulls(v, fmt.Sprintf("%s.%s", at, k))...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
