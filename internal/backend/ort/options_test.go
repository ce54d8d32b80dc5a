package ort

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// namesIn lists the devices of requests, those in parentheses that the user did not ask for.
func namesIn(requests []request) string {
	var parts []string
	for _, r := range requests {
		name := r.name
		if r.implied {
			name = "(" + name + ")"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, " ")
}

func TestDeviceList(t *testing.T) {
	for _, test := range []struct{ list, want, err string }{
		{"", "cpu", ""},
		{"cpu", "cpu", ""},
		{"CUDA", "cuda", ""},
		{" cuda , cpu ", "cuda cpu", ""},
		{"trt", "tensorrt (cuda)", ""},
		{"TensorrtExecutionProvider,cuda", "tensorrt cuda", ""},
		{"tensorrt,openvino", "tensorrt (cuda) openvino", ""},
		{"NvTensorRTRTXExecutionProvider", "tensorrt-rtx", ""},
		{"tensorrt_rtx", "tensorrt-rtx", ""},
		{"dml", "directml", ""},
		{"gpu", "", `unknown device "gpu"; did you mean cuda? Devices are cpu, cuda, tensorrt, openvino, coreml, directml, xnnpack, webgpu, qnn`},
		{"cuda,CUDA", "", "device cuda is listed twice"},
		{"cpu,cuda", "", "device cpu runs every operator, so cuda after it would run none"},
	} {
		got, err := requests(test.list, nil)
		if err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)) || err == nil && (test.err != "" || namesIn(got) != test.want) {
			t.Errorf("requests(%q) = %q, %v, want %q and an error with %q", test.list, namesIn(got), err, test.want, test.err)
		}
	}
}

func TestDeviceOptions(t *testing.T) {
	got, err := requests("tensorrt", map[string]string{"device_id": "1", "trt_max_workspace_size": "7"})
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{{"device_id": "1", "trt_max_workspace_size": "7"}, {"device_id": "1"}}
	if diff := cmp.Diff(want, []map[string]string{got[0].options, got[1].options}); diff != "" {
		t.Errorf("options of tensorrt and the cuda behind it (-want +got):\n%s", diff)
	}
	if _, err := requests("cpu", map[string]string{"arena": "1"}); !testenv.Names(err, "device cpu … arena") {
		t.Errorf("options for the processor: got %v, want an error", err)
	}
}

func TestDeviceNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, d := range devices {
		for _, name := range append([]string{d.name, d.provider}, d.aliases...) {
			if other, taken := seen[userinput.Plain(name)]; taken {
				t.Errorf("%s and %s share the name %s", d.name, other, name)
			}
			seen[userinput.Plain(name)] = d.name
		}
		if d.call == callByName && d.by == "" {
			t.Errorf("device %s has no name for the common call", d.name)
		}
	}
}

func TestQuestionsAboutDevices(t *testing.T) {
	for list, want := range map[string]struct{ knows, converts, alone, accelerates bool }{
		"": {}, "OpenVINO,cpu": {}, "cpu": {true, false, false, false}, "xnnpack,cpu": {}, "CUDA": {true, false, false, true}, "Tensor_RT": {true, true, false, true},
		"tensorrt,cuda": {false, true, false, true}, "webgpu": {true, false, true, true}, "cuda,webgpu": {false, false, true, true}, "moon": {},
	} {
		got := want
		_, err := CanonicalDevice(list)
		got.knows, got.converts, got.alone, got.accelerates = err == nil, Converts(list, "fp16"), oneAtATime(list), Accelerates(list)
		if got != want {
			t.Errorf("%q: %+v, want %+v", list, got, want)
		}
	}
	if name, err := CanonicalDevice("TRT"); name != "tensorrt" || err != nil {
		t.Errorf("TRT is %q, %v, want tensorrt", name, err)
	}
}

func TestOldLibraryForDevice(t *testing.T) {
	webgpu, _ := deviceNamed("webgpu")
	if err := webgpu.checkVersion("1.27.0"); err == nil || !strings.Contains(err.Error(), "it needs 1.30") {
		t.Errorf("1.27.0: %v, want an error", err)
	}
	if err := webgpu.checkVersion("1.30.0"); err != nil {
		t.Errorf("1.30.0: %v", err)
	}
}

func TestOptionErrors(t *testing.T) {
	for _, c := range []struct {
		options backend.Options
		want    string
	}{
		{backend.Options{IntraThreads: -1}, "-1 intra-op threads: must be 0 (the engine decides) or more"},
		{backend.Options{InterThreads: -2}, "-2 inter-op threads"},
		{backend.Options{OptimizeLevel: "max"}, `unknown optimisation level "max"; levels are none, basic, extended, all`},
		{backend.Options{LogSeverity: 5}, "log severity 5: must be -1 (verbose) to 4 (fatal)"},
		{backend.Options{LogSeverity: -2}, "log severity -2: "},
		{backend.Options{ProfileShapes: [2]int{8, 4}}, "batches 8 to 4 to compile for"},
		{backend.Options{ProfileShapes: [2]int{0, 4}}, "batches 0 to 4 to compile for"},
		{backend.Options{Precision: "fp8"}, `unknown precision "fp8"; precisions are fp32, fp16, bf16, int8`},
		{backend.Options{Precision: "fp16"}, "device cpu does not convert models to fp16 by itself"},
		{backend.Options{Precision: "int8", Device: "cuda"}, "device cuda does not convert models to int8 by itself"},
		{backend.Options{Device: "tpu"}, `unknown device "tpu"`},
		{backend.Options{Cores: []int{0, 1}}, "2 processors for 0 intra-op threads"},
		{backend.Options{Cores: []int{0, -1}, IntraThreads: 2}, "processors [0 -1]: must be numbers from 0"},
		{backend.Options{Cores: []int{0, 1}, IntraThreads: 2, Affinity: "1"}, "no affinities beside"},
	} {
		c.options.ModelPath = "m.onnx"
		if _, err := planOf(c.options); !testenv.Names(err, c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.options, err, c.want)
		}
	}
	if _, err := planOf(backend.Options{}); !testenv.Names(err, "model file") {
		t.Errorf("no model: %v", err)
	}
}

// planned checks options for a model.
func planned(t *testing.T, o backend.Options) plan {
	t.Helper()
	if o.ModelPath == "" {
		o.ModelPath = "m.onnx"
	}
	p, err := planOf(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDefaultOptions(t *testing.T) {
	p := planned(t, backend.Options{})
	if p.severity != severityFatal || p.level.name != "all" || len(p.config) != 0 || namesIn(p.requests) != "cpu" {
		t.Errorf("plan is %+v", p)
	}
	for given, want := range map[int]int{-1: 0, 1: 1, 4: 4} {
		if got := planned(t, backend.Options{LogSeverity: given}).severity; got != want {
			t.Errorf("severity %d becomes %d, want %d", given, got, want)
		}
	}
}

func TestFactsOfOptions(t *testing.T) {
	for _, c := range []struct {
		options backend.Options
		want    map[string]string
	}{
		{backend.Options{}, map[string]string{"intra_threads": "default", "inter_threads": "1"}},
		{backend.Options{Parallel: true}, map[string]string{"intra_threads": "default", "inter_threads": "default"}},
		{backend.Options{IntraThreads: 12, InterThreads: 3, Parallel: true}, map[string]string{"intra_threads": "12", "inter_threads": "3"}},
		{backend.Options{Device: "cuda", DeviceOptions: map[string]string{"device_id": "1"}, CustomOps: []string{"a.so", "b.so"}},
			map[string]string{"option cuda device_id": "1", "custom_ops": "a.so, b.so"}},
		{backend.Options{Cores: []int{0, 2, 5}, IntraThreads: 3}, map[string]string{"config " + keyAffinity: "3;6"}},
		{backend.Options{Cores: []int{0}, IntraThreads: 1}, map[string]string{"config " + keyAffinity: ""}},
	} {
		facts := planned(t, c.options).facts()
		for key, want := range c.want {
			if facts[key] != want {
				t.Errorf("%+v: %s is %q, want %q", c.options, key, facts[key], want)
			}
		}
	}
}

func TestConfigEntriesWin(t *testing.T) {
	p := planned(t, backend.Options{NoSpinning: true, Affinity: "1;2",
		Config: map[string]string{keyIntraSpinning: "1", "ep.context_enable": "1", "session.unheard_of": "x"}})
	want := map[string]string{keyIntraSpinning: "1", keyInterSpinning: "0", keyAffinity: "1;2", "ep.context_enable": "1", "session.unheard_of": "x"}
	if diff := cmp.Diff(want, p.config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if len(p.warnings) != 1 || !strings.Contains(p.warnings[0], "session.unheard_of") {
		t.Errorf("warnings are %q, want one about session.unheard_of", p.warnings)
	}
	if p.facts()["spinning"] != "on" {
		t.Errorf("facts are %v", p.facts())
	}
}

// Without instructions for products of bytes the kernels that cannot overflow are chosen, unless the user chose.
func TestProductsOfBytes(t *testing.T) {
	for _, c := range []struct {
		given map[string]string
		fast  bool
		want  string
	}{{nil, false, "1"}, {nil, true, ""}, {map[string]string{keyExactProducts: "0"}, false, "0"}, {map[string]string{keyExactProducts: "1"}, true, "1"}} {
		p := planned(t, backend.Options{Config: c.given})
		p.forProcessor(c.fast)
		if got := p.facts()["config "+keyExactProducts]; got != c.want {
			t.Errorf("given %v, fast %v: %q, want %q", c.given, c.fast, got, c.want)
		}
	}
}

func TestPrecisionOptions(t *testing.T) {
	for _, c := range []struct {
		device, precision string
		given, want       map[string]string
	}{
		{"tensorrt", "", nil, nil},
		{"tensorrt", "fp32", nil, nil},
		{"tensorrt", "fp16", nil, map[string]string{"trt_fp16_enable": "1"}},
		{"tensorrt", "int8", map[string]string{"trt_fp16_enable": "0"}, map[string]string{"trt_int8_enable": "1", "trt_fp16_enable": "0"}},
		{"openvino", "fp32", nil, map[string]string{"precision": "FP32"}},
		{"openvino", "bf16", nil, map[string]string{"load_config": `{"CPU":{"INFERENCE_PRECISION_HINT":"bf16"}}`}},
	} {
		p := planned(t, backend.Options{Device: c.device, Precision: c.precision, DeviceOptions: c.given})
		if diff := cmp.Diff(c.want, p.requests[0].options); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.device, c.precision, diff)
		}
	}
}
