package assemble

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	unknown := limitation.Limitation{ID: limitation.UnknownModel, Key: "resnet50_v1.onnx", Value: "abc"}
	q := withResults(t, golden(t, "v6.1"), "", func(r *report.Results) { r.Limitations = append(r.Limitations, unknown) })
	q.ModelSource = "exported from the official weights by tf2onnx"
	q.Measurements, q.Calibration, q.Source = nil, "", ""
	built, err := Build(t.Context(), q)
	ok(t, err)
	if built.Results[1].Accuracy != "Top-1 76.012 %" {
		t.Errorf("the accuracy is %q, want five figures of 76.0125", built.Results[1].Accuracy)
	}
	text := read(t, q.Tree, home, "results/board1/resnet/Offline/README.md")
	for _, want := range []string{
		"- Accuracy: Top-1 76.012 % (five", "- Program: mlperf 1.2, which is not an official LoadGen\n", "- Model: resnet50_v1.onnx, SHA-256 abc, precision fp32\n",
		"- Model: " + report.Sentence(unknown) + ". The submitter states its source: exported from the official weights by tf2onnx\n",
		"- Model: input: float32 NCHW\n", "- Data: 50000 samples\n", "- Engine: onnxruntime, 2 instances with 3 threads each, batches of 8 at most\n",
		"\n## Settings\n\nWhat the test had besides the defaults of the rules:\n\n- target_qps = 40 (flag --target-qps)\n\nthe machine was idle.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("README.md lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "min_duration") {
		t.Errorf("README.md has settings of the rules:\n%s", text)
	}
	if text := read(t, q.Tree, home, "src/README.md"); !strings.Contains(text, "made with mlperf 1.2") {
		t.Errorf("src/README.md is %q", text)
	}
	if text := read(t, q.Tree, home, "documentation/calibration.md"); !strings.Contains(text, "FP32") {
		t.Errorf("calibration.md is %q", text)
	}
	if len(built.Check.Results) != 3 || !built.Check.Passes {
		t.Errorf("the tree breaks %v", rulesOf(built.Check))
	}
	// An accuracy run of another program goes with a performance run of this one.
	q.Model, q.Force = "resnet50", true
	ok(t, os.Remove(filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/accuracy/results.json")))
	built, err = Build(t.Context(), q)
	ok(t, err)
	if built.Results[1].Accuracy != "76.012" {
		t.Errorf("the accuracy is %q, want that of accuracy.txt", built.Results[1].Accuracy)
	}
}

func TestFiveSignificantFigures(t *testing.T) {
	for text, want := range map[string]string{
		"98.9995": "99.000", // the example of the rules
		"76.012":  "76.012", "76": "76.000", "0.853085": "0.85308", "0.853075": "0.85308", "0.853095": "0.85310",
		"90.87487229720105": "90.875", "7.35088e6": "", "8167644": "8167600", "8167650": "8167600", "8167750": "8167800", "99999.5": "100000", "9.99995": "10.000", "99998.5": "99998",
		"0": "0.0000", "0.00": "0.0000", "0.00012345650": "0.00012346", "-1.000050": "-1.0000", "-1.00015": "-1.0002", "NaN": "", "1/3": "", "": "", "0x10": "", "1_0": "",
	} {
		got, err := round(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("round(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestScoresOfOtherPrograms(t *testing.T) {
	for _, c := range []struct{ name, benchmark, text, want string }{
		{"the second of two numbers", "bert-99", "{\"exact_match\": 83.67, \"f1\": 90.87487}\n", "90.875"},
		{"a word error rate, by its accuracy", "whisper", "Word Error Rate: 2.5%, accuracy=97.5%\n", "97.500"},
		{"several metrics", "llama3.1-8b", "{'rouge1': '38.7792', 'rouge2': '15.9075', 'rougeL': '24.4957', 'rougeLsum': '35.793', 'gen_len': 8167644, 'gen_num': 13368}\n",
			"ROUGE1 38.779, ROUGE2 15.908, ROUGEL 24.496, ROUGELSUM 35.793, GEN_LEN 8167600"},
		{"one of several metrics", "llama3.1-8b", "{'rouge1': 38.5}\n", "ROUGE1 38.500"},
		{"the last of two lines", "resnet", "accuracy=1%\r\naccuracy=76%\r\nhash=12ab\r\n", "76.000"},
		{"free text", "resnet", "top5 0.93, top1 0.765\n", "0.93000"},
		{"no number", "resnet", "good\n", ""},
	} {
		r := &result{benchmark: c.benchmark, scenario: "Offline", accuracy: &run{folder: t.TempDir()}}
		write(t, filepath.Join(r.accuracy.folder, scoreFile), c.text)
		if got := builderOf(t, "v6.1").score(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// modelOf is a result of a model in a precision.
func modelOf(in report.Input) *result {
	return &result{benchmark: "resnet", scenario: "Offline", performance: &run{results: &report.Results{Input: in}}}
}

func TestMeasurements(t *testing.T) {
	const weights, types, changes = "FILL IN: of the weights that the model was made from", "FILL IN: e.g. fp32 or int8", "FILL IN: what was done to the weights: none, quantisation, sparsity, ..."
	for name, c := range map[string]struct {
		in   report.Input
		want map[string]string
	}{
		"fp32": {report.Input{Precision: "fp32", ModelPath: "/m/resnet50_v1.onnx", Binding: []string{"input: float32 NCHW 224×224"}}, map[string]string{
			"input_data_types": "fp32", "retraining": "no", "starting_weights_filename": "resnet50_v1.onnx", "weight_data_types": "fp32", "weight_transformations": "none",
		}},
		"fp16": {report.Input{Precision: "fp16", Binding: []string{"x", "input: float16"}}, map[string]string{
			"input_data_types": "fp16", "retraining": "no", "starting_weights_filename": weights, "weight_data_types": "fp16", "weight_transformations": "converted from fp32 to fp16",
		}},
		"int8": {report.Input{Precision: "int8", Binding: []string{"input: uint8 NHWC"}}, map[string]string{
			"input_data_types": "uint8", "retraining": "no", "starting_weights_filename": weights, "weight_data_types": "int8", "weight_transformations": "quantised after training to int8; calibration.md says how",
		}},
		"a file of the user's": {report.Input{ModelPath: "mine.onnx"}, map[string]string{
			"input_data_types": "FILL IN: of what goes into the model, e.g. fp32 or uint8", "retraining": "no", "starting_weights_filename": weights, "weight_data_types": types, "weight_transformations": changes,
		}},
	} {
		if diff := cmp.Diff(c.want, modelOf(c.in).measurements("closed")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := modelOf(report.Input{}).measurements("open")["retraining"]; !checker.HasPlaceholder(got) {
		t.Errorf("in the open division retraining is %q, want a placeholder", got)
	}
}

func TestNumerics(t *testing.T) {
	for name, c := range map[string]struct {
		in   report.Input
		want string
	}{
		"fp32":            {report.Input{Precision: "fp32"}, "Weights and activations are FP32"},
		"fp16":            {report.Input{Precision: "fp16"}, "FP16, rounded to nearest"},
		"int8":            {report.Input{Precision: "int8", ModelPath: "x.onnx"}, "FILL IN: how the model was quantised to int8"},
		"an unknown file": {report.Input{ModelPath: "x.onnx"}, "FILL IN: which numbers the model computes with"},
	} {
		if got := modelOf(c.in).numerics(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Package convert writes a description beside each model.
func TestConvertedModel(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.onnx")
	c := convert.Converter{Source: filepath.Join(t.TempDir(), "resnet50 v1.onnx")}
	write(t, c.Source, "weights")
	ok(t, c.Write(t.Context(), model, &onnx.Model{Graph: &onnx.Graph{}}, &convert.Made{Description: words("# Quantisation\n"), Conversion: report.Conversion{Precision: "int8", NotCompared: "no samples"}}))
	for _, precision := range []string{"int8", ""} { // converted by the run, or before
		r := modelOf(report.Input{Precision: precision, ModelPath: model})
		got := r.measurements("closed")
		if got["starting_weights_filename"] != "resnet50 v1.onnx" || got["weight_data_types"] != "int8" || got["weight_transformations"] != "quantised after training to int8; calibration.md says how" {
			t.Errorf("precision %q: %v", precision, got)
		}
		if text := r.numerics(); !strings.Contains(text, "### Quantisation\n\n#### Agreement with FP32\n\nAnswers were not compared: no samples.\n\n#### Origin\n\nStarting weights: \"resnet50 v1.onnx\", SHA-256 ") {
			t.Errorf("precision %q: the description is %q", precision, text)
		}
	}
}

// words is the description of a conversion.
type words string

func (w words) WriteMarkdown(to io.Writer) error {
	_, err := io.WriteString(to, string(w))
	return err
}

func (w words) Part() (n, of int) { return 1, 1 }

func TestUserConf(t *testing.T) {
	for scenario, c := range map[string]struct{ line, want string }{
		"SingleStream": {"requested_single_stream_expected_latency_ns 1.5e+06", "*.SingleStream.target_latency = 1.5\n"},
		"MultiStream":  {"requested_multi_stream_expected_latency_ns 8e+06", "*.MultiStream.target_latency = 8\n"},
		"Server":       {"requested_server_target_qps 120.5", "*.Server.target_qps = 120.5\n"},
		"Offline":      {"requested_offline_expected_qps 1000", "*.Offline.target_qps = 1000\n"},
	} {
		r := &result{performance: runOf(t, `effective_scenario "`+scenario+`"`, c.line)}
		if text, err := r.userConf(); err != nil || !strings.HasSuffix(string(text), c.want) {
			t.Errorf("%s: %q, %v, want %q", scenario, text, err, c.want)
		}
		write(t, filepath.Join(r.performance.folder, "user.conf"), "mine")
		if text, err := r.userConf(); err != nil || string(text) != "mine" {
			t.Errorf("with a user.conf of the run: %q, %v", text, err)
		}
	}
}

func TestNetworkDocument(t *testing.T) {
	t.Parallel()
	q := withResults(t, golden(t, "v6.1"), "", func(r *report.Results) {
		r.Remote = &report.Remote{Endpoints: []report.Endpoint{{URL: "http://10.0.0.2:8000"}, {URL: "http://10.0.0.3:8000"}}, Requests: 7, RoundTripNS: 1500000}
		r.System = machine.Machine{OS: "Debian 12", Kernel: "6.1", CPU: machine.CPU{Model: "Example CPU", Sockets: 2, Cores: 64}, Memory: machine.Memory{TotalBytes: 256 << 30}}
	})
	logs, err := filepath.Glob(filepath.Join(q.Runs[0], home, "results/board1/resnet50/*/*/run_1/mlperf_log_detail.txt"))
	ok(t, err)
	for _, log := range logs {
		write(t, log, setKeys(read(t, log), map[string]string{"sut_name": `"Network SUT: resnet50 on rack1, rack2"`}))
	}
	q.Division, q.Description = "network", complete(t, "network", "datacenter")
	for _, f := range checker.NetworkFields() {
		q.Description[f.Name] = "a " + f.Name
	}
	q.Description["network_media"] = `3" fibre`
	built, err := Build(t.Context(), q)
	ok(t, err)
	if slices.Contains(rulesOf(built.Check), "tree-network") {
		t.Error("the document does not pass")
	}
	path := filepath.Join(q.Tree, "network/ExampleOrg/documentation/network_board1.md")
	text := read(t, path)
	for _, want := range []string{
		"node0[\"rack1<br>a number_nic_sut x a nic_sut\"]", "node1[\"rack2<br>", "fabric <--> node1\n", "a network_type, 3' fibre, a network_rate", "LoadGen, QSL and QDL: mlperf 1.2",
		"- Processor: Example CPU, 2 sockets, 64 cores\n- Memory: 256 GiB\n- Software: Debian 12, kernel 6.1", "Addresses: 10.0.0.2:8000, 10.0.0.3:8000.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if text := read(t, q.Tree, "network/ExampleOrg/results/board1/resnet/Offline/README.md"); !strings.Contains(text, "- Network: 7 requests on 0 connections, mean round trip 1.5ms") {
		t.Errorf("README.md without the requests:\n%s", text)
	}
	q.Force, q.Network = true, q.Calibration
	_, err = Build(t.Context(), q)
	if ok(t, err); read(t, path) != read(t, q.Calibration) {
		t.Error("the user's document was not taken")
	}
}

// What a tree says of how its results came about is what the runs or the submitter say, and of logs of others nothing.
func TestHowItWasRun(t *testing.T) {
	const home = "/ExampleOrg/"
	q := golden(t, "v6.1")
	q.Description["framework"], q.Description["sw_notes"] = "ONNX Runtime 1.2", "measured with mlperf"
	q.Assumed = []string{"framework", "sw_notes"}
	_, err := Build(t.Context(), q)
	ok(t, err)
	readme := "closed" + home + "results/board1/resnet/Offline/README.md"
	if text := read(t, q.Tree, "closed"+home+"systems/board1.json"); strings.Contains(text, "measured with") || !strings.Contains(text, `"framework": "FILL IN: `) {
		t.Errorf("of other programs' logs the description says %s", text)
	}
	if text := read(t, q.Tree, readme); !strings.Contains(text, "FILL IN: how the benchmark was run") {
		t.Errorf("README.md of other programs' logs:\n%s", text)
	}
	q.Force, q.Readme = true, filepath.Join(t.TempDir(), "how.md")
	write(t, q.Readme, "Run ./bench.\n")
	_, err = Build(t.Context(), q)
	ok(t, err)
	if text := read(t, q.Tree, readme); !strings.HasSuffix(text, "\n## How the benchmark was run\n\nRun ./bench.\n") || strings.Contains(text, "FILL IN") {
		t.Errorf("README.md with a file of the submitter's:\n%s", text)
	}

	q = golden(t, "v6.1")
	q.Division = "open"
	q.Description["division"] = "open"
	_, err = Build(t.Context(), q)
	ok(t, err)
	if text := read(t, q.Tree, "open"+home+"documentation/deviations.md"); !strings.Contains(text, "Retraining: no\n- FILL IN: how model") {
		t.Errorf("deviations.md:\n%s", text)
	}
	q.Force, q.Deviations = true, q.Calibration
	_, err = Build(t.Context(), q)
	ok(t, err)
	if text := read(t, q.Tree, "open"+home+"documentation/deviations.md"); text != "FP32, nothing was calibrated.\n" {
		t.Errorf("deviations.md of the submitter's:\n%s", text)
	}
	q.Division = "closed"
	if _, err = Build(t.Context(), q); !testenv.Names(err, "division closed") {
		t.Errorf("deviations in closed: %v", err)
	}
}

func TestCommandsOfRuns(t *testing.T) {
	of := func(command ...string) *run { return &run{results: &report.Results{Command: command}} }
	r := &result{performance: of("mlperf", "run", "--model", "my model"), accuracy: of("mlperf", "audit", "TEST01"), tests: []*run{of("mlperf", "audit", "TEST01")}}
	var w strings.Builder
	ok(t, (&builder{}).howRun(&w, r))
	if want := "\n## How the benchmark was run\n\n    mlperf run --model 'my model'\n    mlperf audit TEST01\n"; w.String() != want {
		t.Errorf("%q, want %q", w.String(), want)
	}
}
