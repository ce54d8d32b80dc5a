//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// A badInput is a command line that cannot be right.
type badInput struct {
	args   string // split at spaces; _ is an empty argument
	status int
	want   string // in what is said: the offender
}

// longest is how long a bad command line may take before it is said to hang, on a machine with forty
// programs to a processor.
const longest = 2 * time.Minute

// TestBadInputIsNamed runs bad command lines over all verbs. Each ends at once with the right
// status, names the offender, and shows no stack.
func TestBadInputIsNamed(t *testing.T) {
	inMaterial(t)
	inputs := slices.Concat(badValues(t), badRuns(), badFiles(), badVerbs(), badLater())
	t.Logf("%d bad inputs", len(inputs))
	if len(inputs) < 300 {
		t.Errorf("%d bad inputs, want at least 300", len(inputs))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // each of them makes the whole command line and drops it
	next := make(chan badInput)
	var workers sync.WaitGroup
	for range 2 * runtime.NumCPU() { // some of them read files
		workers.Go(func() {
			for c := range next {
				c.check(t)
			}
		})
	}
	for _, c := range inputs {
		next <- c
	}
	close(next)
	workers.Wait()
}

// check runs the command line and looks at how it ends.
func (c badInput) check(t *testing.T) {
	var out bytes.Buffer
	args := strings.Fields(c.args)
	for i, a := range args {
		if a == "_" {
			args[i] = ""
		}
	}
	done := make(chan int, 1)
	go func() { done <- execute(args, &out, &out) }()
	select {
	case status := <-done:
		text := out.String()
		if status != c.status || !strings.Contains(text, c.want) || strings.Contains(text, "goroutine ") {
			t.Errorf("mlperf %s: status %d, want %d and %q:\n%s", c.args, status, c.status, c.want, strings.TrimSpace(text))
		}
	case <-time.After(longest):
		t.Errorf("mlperf %s hangs", c.args)
	}
}

// inMaterial goes to a folder with models, data, and files that are none.
func inMaterial(t *testing.T) {
	t.Helper()
	dir := material(t)
	t.Chdir(dir)
	for name, value := range map[string]string{"MLPERF_CACHE_DIR": "cache", "MLPERF_DATA_DIR": "data", "MLPERF_ORT_LIB": filepath.Join(dir, "nothere.so")} {
		t.Setenv(name, value)
	}
	for name, text := range map[string]string{
		"page.html": "<html>404</html>", "empty": "", "bad.conf": "*.Server.target_qsp = 1\n", "value.conf": "*.Server.target_qps = fast\n",
		"words.conf": "this is no settings file\n", "twice.conf": "*.Server.target_qps = 1\n*.Server.target_qps = 2\n",
		"cut.json": `[{ "seq_id" : 0, "qsl_idx" : 1, "data" : "00`, "odd.json": `[{ "seq_id" : 0, "qsl_idx" : 1, "data" : "0G" }]`,
		"far.json": `[{ "seq_id" : 0, "qsl_idx" : 99, "data" : "00000000" }]`, "profile.json": `{"schema": "x"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"folder", "run/old", "badrun"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("badrun/results.json", []byte(`{"schema": "mlperf-go/results/9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo("pipe", 0o644); err != nil {
		t.Fatal(err)
	}
}

// badValues gives every flag of every verb values that its type does not have.
func badValues(t *testing.T) []badInput {
	t.Helper()
	bad := map[string][]string{
		"int": {"x", "1.5", "99999999999999999999"}, "uint64": {"x", "-1", "1e3"}, "float64": {"x", "1e999"}, "bool": {"maybe"},
		"duration": {"soon", "-1s", "1e300"}, "scenario": {"Servers"}, "key=value": {"x", "=1"}, "intSlice": {"x", "1,y"},
	}
	var list []badInput
	for _, cmd := range commands(cli.New(io.Discard, io.Discard)) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			for _, value := range bad[f.Value.Type()] {
				list = append(list, badInput{fmt.Sprintf("%s --%s=%s", verbOf(cmd), f.Name, value), cli.ExitUsage, "--" + f.Name})
			}
		})
		list = append(list, badInput{verbOf(cmd) + " --no-such-flag", cli.ExitUsage, "--no-such-flag"})
	}
	return list
}

// verbOf is a command without the name of the program.
func verbOf(cmd *cobra.Command) string {
	_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
	return verb
}

// badRuns are flags of run, and of what shares them, with values that no run can have.
func badRuns() []badInput {
	const base = "run --model resnet50 --scenario server --backend simulated --sim-latency 1ms --model-path tiny.onnx --dataset-path imagenet "
	var list []badInput
	for _, c := range []struct{ flags, want string }{
		{"--device _", "--device"}, {"--device cpu,,", "--device"}, {"--device gpu", `unknown device "gpu"`}, {"--device cpu,gpu", `"gpu"`},
		{"--instances -1", "--instances is -1"}, {"--instances 100000", "--instances is 100000"}, {"--max-batchsize -1", "--max-batchsize is -1"},
		{"--max-batchsize 1000000000", "--max-batchsize is 1000000000"}, {"--intra-threads 100000", "--intra-threads is 100000"},
		{"--intra-threads -3", "--intra-threads is -3"}, {"--inter-threads -1", "--inter-threads is -1"}, {"--count -1", "--count is -1"},
		{"--target-qps -1", "--target-qps"}, {"--target-qps 0", "--target-qps"}, {"--target-qps fast", "--target-qps"}, {"--target-qps NaN", "--target-qps"},
		{"--target-qps 1e999", "--target-qps"}, {"--min-duration soon", "--min-duration"}, {"--min-duration -1s", "--min-duration"},
		{"--max-duration x", "--max-duration"}, {"--min-query-count 1.5", "--min-query-count"}, {"--min-query-count -1", "--min-query-count"},
		{"--max-query-count x", "--max-query-count"}, {"--samples-per-query 8", "samples_per_query has no effect in Server"},
		{"--performance-sample-count x", "--performance-sample-count"}, {"--target-latency soon", "--target-latency"}, {"--target-latency -1ms", "--target-latency"},
		{"--target_latency 1e400", "--target-latency"}, {"--layout x", "--layout"}, {"--layout _", "--layout"},
		{"--preprocess nope --quick", "nope"}, {"--label-offset x", "--label-offset"}, {"--box-order zzz", "--box-order"}, {"--box-pixels x", "--box-pixels"},
		{"--precision int4", `--precision is "int4"`}, {"--precision int8", "--precision"}, {"--precision fp16", "ONNX Runtime"},
		{"--execution sideways", "--execution"}, {"--graph-optimization most", "--graph-optimization"}, {"--mode fast", `unknown mode "fast"`},
		{"--rules v9.9", `unknown rules "v9.9"`}, {"--rules _0", "unknown rules"}, {"--division mixed", `"mixed"`}, {"--backend tensorflow", `"tensorflow"`},
		{"--set colour=red", "colour"}, {"--set colour", "want key=value"}, {"--set target_qps", "want key=value"}, {"--set mode=9", "mode"},
		{"--set performance_issue_same=maybe", "true or false"}, {"--set target_latency_percentile=100", "percentile"}, {"--set target_latency_percentile=0", "percentile"},
		{"--set target_latency_percentile=-5", "negative"}, {"--set ttft_latency=5", "use_token_latencies is off"}, {"--set target_qps=1e400", "too large"},
		{"--set qsl_rng_seed=1e30", "64 bits"}, {"--set test05=2", "true or false"}, {"--set min_duration=1e300", "--set"},
		{"--sim-latency -1ms", "--sim-latency"}, {"--sim-jitter -1ms", "--sim-jitter"}, {"--max-batch-delay -1ms", "--max-batch-delay"},
		{"--provider-option a=1 --provider-option a=2", "was given before"}, {"--free-dimension height=0", "--free-dimension"}, {"--free-dimension x", "want key=value"}, {"--ort-config =", "want key=value"},
		{"--profile profile.json --model mobilenet --scenario", "flag needs an argument"},
		{"extra", `unexpected argument "extra"`}, {"--model alexnet", `unknown model "alexnet"`}, {"--model _", "--model"}, {"--scenario _", "--scenario"},
		{"--scenario servers", `unknown scenario "servers"`}, {"--scenario interactive", "no Interactive"}, {"--scenario offline --mode find-peak", "Offline has none"},
		{"--scenario single-stream --target-qps 5", "no effect in SingleStream"}, {"--scenario offline --target-latency 5ms", "no effect in Offline"},
		{"--scenario offline --target-latency auto", "Server scenario"}, {"--performance-sample-count 0 --scenario nowhere", `"nowhere"`},
		{"--set performance_issue_same=1 --set performance_issue_unique=1", "exclude each other"}, {"--mode", "flag needs an argument"},
	} {
		list = append(list, badInput{base + c.flags, cli.ExitUsage, c.want})
	}
	for _, c := range []struct{ flags, want string }{
		{"--budget 0s", "--budget"}, {"--max-batchsize 0", "--max-batchsize is 0"}, {"--instances 0", "--instances is 0"}, {"--intra-threads -1", "--intra-threads is -1"},
		{"--instances 99999", "--instances is 99999"}, {"--max-batch-delay soon", "--max-batch-delay"}, {"--max-batch-delay -1s", "--max-batch-delay"},
		{"--model-path =x", "--model-path"}, {"--model-path a/m.onnx --model-path b/m.onnx", "another file is called m"}, {"--precision int4", "int4"},
		{"--model-path a=x.onnx --model-path b=y.onnx --precision fp32,fp16", "--precision"}, {"--scenario nowhere", `"nowhere"`}, {"--device gpu", "gpu"},
		{"--target-latency 5x --scenario server", "--target-latency"}, {"--mode accuracy", "unknown flag: --mode"}, {"--rules v9", "v9"}, {"--execution x", "--execution"},
	} {
		list = append(list, badInput{"tune --model resnet50 --backend simulated --dataset-path imagenet " + c.flags, cli.ExitUsage, c.want})
	}
	return list
}

// badFiles are files and folders that are none, or not what is wanted.
func badFiles() []badInput {
	const base = "run --model resnet50 --scenario server --backend simulated --sim-latency 1ms --min-duration 50ms --target-qps 100 "
	var list []badInput
	for _, c := range []struct{ flags, want string }{
		{"--user-conf nowhere.conf", "nowhere.conf"}, {"--user-conf pipe", "pipe: is a pipe, not a regular file"}, {"--user-conf folder", "folder: is a folder"},
		{"--user-conf /dev/zero", "/dev/zero: is a device"}, {"--user-conf bad.conf", "bad.conf:1"}, {"--user-conf value.conf", "value.conf:1"},
		{"--user-conf words.conf", "words.conf:1"}, {"--user-conf twice.conf", "twice.conf:2"}, {"--mlperf-conf pipe", "pipe: is a pipe, not a regular file"},
		{"--audit-conf pipe", "pipe: is a pipe, not a regular file"}, {"--audit-conf bad.conf", "bad.conf:1"}, {"--user-conf bad.conf --mlperf-conf bad.conf", "bad.conf"},
		{"--model-path nowhere.onnx --dataset-path imagenet", "nowhere.onnx"}, {"--model-path page.html --dataset-path imagenet", "page.html"},
		{"--model-path empty --dataset-path imagenet", "empty"}, {"--model-path folder --dataset-path imagenet", "folder"}, {"--model-path pipe --dataset-path imagenet", "pipe"},
		{"--model-path /dev/zero --dataset-path imagenet", "/dev/zero"}, {"--model-path twoinputs.onnx --dataset-path imagenet", "2 inputs"},
		{"--model-path small.onnx --dataset-path imagenet", "192"}, {"--model-path classes.onnx --dataset-path imagenet", "17"},
		{"--model-path tiny.onnx --dataset-path nowhere", "val_map.txt"}, {"--model-path tiny.onnx --dataset-path folder", "val_map.txt"},
		{"--model-path tiny.onnx --dataset-path pipe", "pipe"}, {"--model-path tiny.onnx --dataset-path page.html", "page.html"},
		{"--model-path tiny.onnx --dataset-path imagenet --output page.html/x", "page.html"}, {"--model-path tiny.onnx --dataset-path imagenet --output /dev/null", "/dev/null"},
		{"--model-path static.onnx --dataset-path imagenet --max-batchsize 8", "batches of 4"}, {"--model-path tiny.onnx --dataset-path imagenet --profile nowhere.json", "nowhere.json"},
		{"--model-path tiny.onnx --dataset-path imagenet --profile profile.json", "profile.json"}, {"--model-path tiny.onnx --dataset-path imagenet --profile pipe", "pipe"},
		{"--model-path tiny.onnx --dataset-path imagenet --profile folder", "folder"},
		{"--model-path tiny.onnx --dataset-path imagenet --output badrun", "badrun has the results of a run already"},
		{"--backend onnxruntime --model-path tiny.onnx --dataset-path imagenet", "nothere.so"}, {"--backend onnxruntime --ort-lib page.html --model-path tiny.onnx --dataset-path imagenet", "page.html"},
	} {
		list = append(list, badInput{base + c.flags, cli.ExitError, c.want})
	}
	const score = "accuracy --model resnet50 --dataset-path imagenet --log "
	return append(list,
		badInput{score + "nowhere.json", cli.ExitError, "nowhere.json"}, badInput{score + "cut.json", cli.ExitError, "cut.json"},
		badInput{score + "odd.json", cli.ExitError, "odd.json"}, badInput{score + "far.json", cli.ExitError, "far.json"}, badInput{score + "pipe", cli.ExitError, "pipe"},
		badInput{score + "folder", cli.ExitError, "folder"}, badInput{score + "page.html", cli.ExitError, "page.html"}, badInput{score + "empty", cli.ExitError, "empty"},
		badInput{score + "/dev/zero", cli.ExitError, "/dev/zero"}, badInput{score + "cut.json --dtype complex", cli.ExitUsage, "--dtype"},
		badInput{score + "cut.json --use_inv_map", cli.ExitUsage, "--use-inv-map"}, badInput{score + "cut.json --remove_48_empty_images", cli.ExitUsage, "--remove-48-empty-images"},
		badInput{"accuracy --model alexnet --dataset-path imagenet --log cut.json", cli.ExitUsage, "alexnet"}, badInput{"accuracy --model resnet50", cli.ExitUsage, "RUN_DIR"},
		badInput{"accuracy nowhere", cli.ExitError, "nowhere"}, badInput{"accuracy folder", cli.ExitError, "folder"}, badInput{"accuracy badrun", cli.ExitError, "schema"}, badInput{"accuracy a b", cli.ExitUsage, `"b"`},
		badInput{"explain nowhere", cli.ExitError, "nowhere"}, badInput{"explain folder", cli.ExitError, "folder"}, badInput{"explain badrun", cli.ExitError, "schema"},
		badInput{"report nowhere", cli.ExitError, "nowhere"}, badInput{"report folder", cli.ExitError, "no runs below"}, badInput{"report --format pdf", cli.ExitUsage, "pdf"},
		badInput{"report --price -1", cli.ExitUsage, "--price"},
	)
}

// badVerbs are the rest.
func badVerbs() []badInput {
	const quantize = "quantize --model resnet50 --model-path tiny.onnx --dataset-path imagenet "
	return []badInput{
		{"ruin", cli.ExitUsage, `"ruin"`}, {"run", cli.ExitUsage, "--model"}, {"explain", cli.ExitUsage, "RUN_DIR"}, {"show", cli.ExitUsage, "MODEL"}, {"show alexnet", cli.ExitUsage, "alexnet"},
		{"show resnet50 --rules v9", cli.ExitUsage, "v9"}, {"list chickens", cli.ExitUsage, "chickens"}, {"list models models", cli.ExitUsage, "models"},
		{"plan", cli.ExitUsage, "--model"}, {"plan --model alexnet", cli.ExitUsage, "alexnet"}, {"plan --model resnet50 --samples-per-second 0", cli.ExitUsage, "above 0"},
		{"plan --model resnet50 --samples-per-second -1", cli.ExitUsage, "--samples-per-second"}, {"plan --model resnet50 --samples-per-second NaN", cli.ExitUsage, "--samples-per-second"},
		{"plan --model resnet50 --value-bytes 0", cli.ExitUsage, "--value-bytes"}, {"plan --percentile 100", cli.ExitUsage, "percentile"}, {"plan --percentile 99 --confidence 100", cli.ExitUsage, "confidence"},
		{"plan --percentile 99 --margin -1", cli.ExitUsage, "margin"}, {"plan --model resnet50 --rules x", cli.ExitUsage, `"x"`},
		{"trace --scenario server --target-qps 0", cli.ExitUsage, "target_qps"}, {"trace --scenario server --target-qps -1", cli.ExitUsage, "target_qps"},
		{"trace --scenario offline --issue-unique --issue-same", cli.ExitUsage, "exclude each other"}, {"trace --mode fast", cli.ExitUsage, "fast"},
		{"trace --scenario offline --total-sample-count 0", cli.ExitUsage, "empty"}, {"trace --scenario multi-stream --samples-per-query 0", cli.ExitUsage, "samples_per_query"},
		{"trace --scenario server --target-qps 1e12", cli.ExitUsage, "ask for 1e+13 samples, want at most 100000000"}, {"trace --scenario offline --target-qps 1e300", cli.ExitUsage, ""}, {"trace extra", cli.ExitUsage, "extra"},
		{quantize + "--precision int4", cli.ExitUsage, "int4"}, {quantize + "--method guess", cli.ExitUsage, "guess"}, {quantize + "--activations f8", cli.ExitUsage, "f8"},
		{quantize + "--rank luck", cli.ExitUsage, "luck"}, {quantize + "--target 2", cli.ExitUsage, "--target"}, {quantize + "--target NaN", cli.ExitUsage, "--target"}, {quantize + "--samples -1", cli.ExitUsage, "--samples"},
		{quantize + "--count -1", cli.ExitUsage, "--count"}, {quantize + "--samples 3 --calibration page.html", cli.ExitUsage, "--samples"}, {quantize + "--calibration nope.txt", cli.ExitUsage, "nope.txt"},
		{quantize + "--calibration pipe", cli.ExitUsage, "pipe"}, {quantize + "--intra-threads -1", cli.ExitUsage, "--intra-threads"}, {quantize + "--layout x", cli.ExitUsage, "--layout"},
		{quantize, cli.ExitError, "nothere.so"}, {"quantize", cli.ExitUsage, "--model"}, {"quantize --model alexnet", cli.ExitUsage, "alexnet"},
		{"preprocess --model resnet50", cli.ExitUsage, "image files"}, {"preprocess x.jpg", cli.ExitUsage, "--model"}, {"preprocess --model alexnet x.jpg", cli.ExitUsage, "alexnet"},
		{"preprocess --model 3d-unet x.jpg", cli.ExitUsage, "not images"}, {"preprocess --model resnet50 --layout NCWH page.html", cli.ExitUsage, "NCWH"},
		{"preprocess --model resnet50 --preprocess nope page.html", cli.ExitUsage, "nope"}, {"preprocess --model resnet50 page.html", cli.ExitError, "page.html"},
		{"preprocess --model resnet50 nowhere.jpg", cli.ExitError, "nowhere.jpg"}, {"preprocess --model resnet50 pipe", cli.ExitError, "not a regular file"},
		{"preprocess --model resnet50 folder", cli.ExitError, "folder"}, {"preprocess --model resnet50 --root folder page.html", cli.ExitError, "not below"},
		{"synth chickens", cli.ExitUsage, "chickens"}, {"synth model", cli.ExitUsage, "NAME"}, {"synth model alexnet", cli.ExitUsage, "alexnet"}, {"synth dataset", cli.ExitUsage, "NAME"},
		{"synth dataset chickens", cli.ExitUsage, "chickens"}, {"synth model resnet50", cli.ExitError, "nothere.so"}, {"synth model resnet50 --ort-lib page.html", cli.ExitError, "page.html"},
		{"selftest --scenario offline --target-qps -1", cli.ExitUsage, ""}, {"selftest extra", cli.ExitUsage, "extra"}, {"doctor extra", cli.ExitUsage, "extra"}, {"version extra", cli.ExitUsage, "extra"},
	}
}
