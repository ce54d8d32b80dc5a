package ort

import (
	"errors"
	"strings"
	"testing"
)

// The texts are those of ONNX Runtime 1.24.3 and of the binding.
func TestReadable(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{
			"Error running network: Non-zero status code returned while running MatMul node. Name:'n_MatMul' Status Message: matmul_helper.h:59 Compute MatMul dimension mismatch",
			"node n_MatMul (MatMul): MatMul dimension mismatch",
		},
		{
			"Non-zero status code returned while running Add node. Name:'n_Add' Status Message: /onnxruntime_src/onnxruntime/core/framework/execution_frame.cc:160 onnxruntime::common::Status onnxruntime::IExecutionFrame::GetOrCreateNodeOutputMLValue(int, int, const onnxruntime::TensorShape*, OrtValue*&, const onnxruntime::Node&) shape && tensor.Shape() == *shape was false. OrtValue shape verification failed. Current shape:{3,4} Requested shape:{2,4}",
			"node n_Add (Add): shape && tensor.Shape() == *shape was false. OrtValue shape verification failed. Current shape:{3,4} Requested shape:{2,4}",
		},
		{
			"Got invalid dimensions for input: x for the following indices\n index: 1 Got: 5 Expected: 4\n Please fix either the inputs/outputs or the model.",
			"wrong shape for input x for the following indices index: 1 Got: 5 Expected: 4",
		},
		{
			"Error creating C session from file: Load model from /tmp/bad.onnx failed:Protobuf parsing failed.",
			"not an ONNX file, or a damaged one",
		},
		{
			`Error creating C session from file: Load model from /tmp/m.onnx failed:This is an invalid model. In Node, ("n_Foo", Foo, "", -1) : ("x": tensor(float),) -> ("y": tensor(float),) , Error No Op registered for Foo with domain_version of 17`,
			`in node ("n_Foo", Foo, "", -1) : ("x": tensor(float),) -> ("y": tensor(float),) , Error No Op registered for Foo with domain_version of 17`,
		},
		{
			"Error creating C session from file: Load model from /tmp/m.onnx failed:/onnxruntime_src/onnxruntime/core/graph/model_load_utils.h:46 void onnxruntime::model_load_utils::ValidateOpsetForDomain(const std::unordered_map<std::__cxx11::basic_string<char>, int>&, const onnxruntime::logging::Logger&, bool, const std::string&, int) ONNX Runtime only *guarantees* support for models stamped with official released onnx opset versions. Opset 99 is under development and support for this is limited. The operator schemas and or other functionality may change before next ONNX release and in this case ONNX Runtime will not guarantee backward compatibility. Current official support for domain ai.onnx is till opset 25.",
			"opset 99 is newer than this ONNX Runtime knows. Current official support for domain ai.onnx ends at opset 25",
		},
		{
			"Error creating C session from file: Load model from /tmp/m.onnx failed:This is an invalid model. Type Error: Type 'tensor(float)' of input parameter (x) of operator (And) in node (n_And) is invalid.",
			"type error: Type 'tensor(float)' of input parameter (x) of operator (And) in node (n_And) is invalid",
		},
		{"", ""},
		{"MatMul went wrong.", "MatMul went wrong"},
		{"a.cc:1 onnxruntime::f(int, (", ""},
	} {
		if got := readable(test.text); got != test.want {
			t.Errorf("readable(%q)\n got %q\nwant %q", test.text, got, test.want)
		}
	}
}

func FuzzReadable(f *testing.F) {
	f.Add("x.cc:12 a::b(c(d)) const [with T = int] message")
	f.Add("Non-zero status code returned while running Add node. Name:'' Status Message: ")
	f.Fuzz(func(t *testing.T, text string) {
		if got := readable(text); strings.ContainsAny(got, "\n\r") {
			t.Errorf("readable(%q) = %q has more than one line", text, got)
		}
	})
}

const lib = "/opt/ort/libonnxruntime.so.1"

// The first text is ONNX Runtime's own (1.24.3 without GPU support); the others follow its source and CUDA's documentation.
func TestDeviceErrors(t *testing.T) {
	bridge := "/onnxruntime_src/onnxruntime/core/session/provider_bridge_ort.cc:1952 onnxruntime::Provider& onnxruntime::ProviderLibrary::Get() [ONNXRuntimeError] : 1 : FAIL : Failed to load library "
	for _, test := range []struct {
		name, device, text, want string
	}{
		{
			"library without GPU support", "tensorrt",
			bridge + "/opt/ort/libonnxruntime_providers_shared.so with error: /opt/ort/libonnxruntime_providers_shared.so: cannot open shared object file: No such file or directory",
			"device tensorrt: this ONNX Runtime has no TensorRT support: libonnxruntime_providers_shared.so is not beside " + lib +
				"; use a GPU build of ONNX Runtime (mlperf doctor --fix --device cuda gets one for Linux x86-64), named by the option ort-lib or MLPERF_ORT_LIB, and an NVIDIA driver, " +
				"CUDA 12 or 13, cuDNN 9 and TensorRT 10",
		},
		{
			"cuDNN missing", "cuda",
			bridge + "/opt/ort/libonnxruntime_providers_cuda.so with error: libcudnn.so.9: cannot open shared object file: No such file or directory",
			"device cuda: libcudnn.so.9 is missing (needed by libonnxruntime_providers_cuda.so); install cuDNN of the version that this name asks for, or add its folder to LD_LIBRARY_PATH",
		},
		{
			"TensorRT missing", "tensorrt",
			bridge + "/opt/ort/libonnxruntime_providers_tensorrt.so with error: libnvinfer.so.10: cannot open shared object file: No such file or directory",
			"device tensorrt: libnvinfer.so.10 is missing (needed by libonnxruntime_providers_tensorrt.so); install TensorRT of",
		},
		{
			"something else missing", "cuda",
			bridge + "/opt/ort/libonnxruntime_providers_cuda.so with error: libz.so.1: cannot open shared object file: No such file or directory",
			"libz.so.1 is missing (needed by libonnxruntime_providers_cuda.so); install the package that has it, or add its folder to LD_LIBRARY_PATH",
		},
		{
			"driver missing", "cuda",
			bridge + "/opt/ort/libonnxruntime_providers_cuda.so with error: libcuda.so.1: cannot open shared object file: No such file or directory",
			"libcuda.so.1 is missing (needed by libonnxruntime_providers_cuda.so); install the NVIDIA driver",
		},
		{
			"C library too old", "cuda",
			bridge + "/opt/ort/libonnxruntime_providers_cuda.so with error: /lib/libc.so.6: version `GLIBC_2.38' not found (required by x)",
			"libc.so.6 does not fit this system: version `GLIBC_2.38' not found",
		},
		{"no GPU", "cuda", "CUDA failure 100: no CUDA-capable device is detected ; GPU=-1 ; hostname=x", "device cuda: no NVIDIA GPU was found; nvidia-smi should list one"},
		{"driver too old", "cuda", "CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version ; GPU=0", "device cuda: the NVIDIA driver is missing, or too old for the CUDA of this ONNX Runtime; install or update it"},
		{"wrong number", "cuda", "CUDA failure 101: invalid device ordinal ; GPU=7", "no GPU has the number given as device_id"},
		{"no memory", "cuda", "CUDA failure 2: out of memory ; GPU=0", "the GPU has not enough free memory"},
		{"no OpenVINO", "openvino", "SessionOptionsAppendExecutionProvider_OpenVINO_V2: Failed to load shared library", "device openvino: this ONNX Runtime has no OpenVINO support"},
		{"not built in", "qnn", "QNN execution provider is not supported in this build.", "device qnn: this ONNX Runtime was built without QNN; use a build"},
		{"unknown option", "cuda", "/onnxruntime_src/include/onnxruntime/core/framework/provider_options_utils.h:148 onnxruntime::common::Status onnxruntime::ProviderOptionsParser::Parse(const onnxruntime::ProviderOptions&) const Unknown provider option: \"gpu\".", `device cuda: unknown provider option: "gpu"`},
	} {
		d, err := deviceNamed(test.device)
		if err != nil {
			t.Fatal(err)
		}
		if got := explain(d, lib, errors.New(test.text)).error(d).Error(); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want it to contain %q", test.name, got, test.want)
		}
	}
}

func TestBlamed(t *testing.T) {
	asked, _ := requests("tensorrt", nil)
	for text, want := range map[string]string{
		"CUDNN failure 1: CUDNN_STATUS_NOT_INITIALIZED": "cuda",
		"TensorRT EP failed to create engine":           "tensorrt",
		"Protobuf parsing failed.":                      "",
		"CUDAExecutionProvider: bad option":             "cuda",
	} {
		got := ""
		if d := blamed(asked, text); d != nil {
			got = d.name
		}
		if got != want {
			t.Errorf("%q is blamed on %q, want %q", text, got, want)
		}
	}
	only, _ := requests("cpu", nil)
	if d := blamed(only, "CUDA failure 100"); d != nil {
		t.Errorf("without CUDA, %s is blamed", d.name)
	}
}
