package ort

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A call adds a device to a session: two devices have calls of their own with an options object, three have calls of their
// own, the others share one call that takes their name.
type call int

const (
	callNone call = iota // always there
	callCUDA
	callTensorRT
	callOpenVINO
	callCoreML
	callDirectML
	callByName
)

// A device is an execution provider of ONNX Runtime.
type device struct {
	name     string   // as users write it
	aliases  []string // other spellings, lower case
	title    string   // as its makers write it
	provider string   // as ONNX Runtime reports it
	call     call
	by       string // name in the common call

	since  string // oldest version of ONNX Runtime that is safe to ask
	hazard string // why older versions are not

	backing string   // device that runs what this one cannot, before the processor does
	library string   // middle of the name of the library that holds it; empty: the main library
	memory  string   // its own memory, as ONNX Runtime calls it; empty: it has none that we could use
	needs   string   // what must be installed for it, in words
	alone   bool     // one session runs on it at a time
	host    bool     // it computes on the machine's processors, OpenVINO at least unless its options say otherwise
	loads   string   // library of the system without which it complains on standard error when tried (Linux)
	marks   []string // texts of failures that are its own, besides the provider's name

	// For devices that compile a model before they run it: the option that takes a folder for the result, and the prefix of the
	// options that take shapes.
	cache, profile string

	// Options of the provider that switch a precision on; nil: it does not convert models.
	precision map[string]map[string]string
}

// devices is the table of all devices that the binding can add. The names of providers and the choices of the common call are
// those of ONNX Runtime 1.24.3 (its message for an unknown name); options are those of the providers' pages under
// https://onnxruntime.ai/docs/execution-providers/.
var devices = [...]device{
	{name: "cpu", provider: "CPUExecutionProvider", memory: "Cpu", host: true},
	{name: "cuda", title: "CUDA", provider: "CUDAExecutionProvider", call: callCUDA, library: "cuda", memory: "Cuda",
		needs: "an NVIDIA driver, CUDA 12 or 13, and cuDNN 9",
		marks: []string{"CUDA failure", "CUDNN failure", "CUBLAS failure", "CUDA error", "cudaGetDevice", "libcud", "libcublas"}},
	{name: "tensorrt", aliases: []string{"trt"}, title: "TensorRT", provider: "TensorrtExecutionProvider", call: callTensorRT,
		backing: "cuda", library: "tensorrt", memory: "Cuda", needs: "an NVIDIA driver, CUDA 12 or 13, cuDNN 9 and TensorRT 10",
		marks: []string{"TensorRT EP", "libnvinfer", "CUDA failure", "Tensorrt"},
		cache: "trt_engine_cache_path", profile: "trt_profile_",
		precision: map[string]map[string]string{
			"fp16": {"trt_fp16_enable": "1"},
			"int8": {"trt_int8_enable": "1", "trt_fp16_enable": "1"}, // fp16 where int8 has no kernel
		}},
	{name: "openvino", title: "OpenVINO", provider: "OpenVINOExecutionProvider", call: callOpenVINO, library: "openvino",
		needs: "Intel OpenVINO", host: true, marks: []string{"OpenVINO", "openvino"}, cache: "cache_dir",
		precision: map[string]map[string]string{
			"fp32": {"precision": "FP32"},
			"bf16": {"load_config": `{"CPU":{"INFERENCE_PRECISION_HINT":"bf16"}}`}, // benchmark_app's own choice where processors have it
		}},
	{name: "coreml", title: "Core ML", provider: "CoreMLExecutionProvider", call: callCoreML, needs: "macOS", cache: "ModelCacheDirectory"},
	{name: "directml", aliases: []string{"dml"}, title: "DirectML", provider: "DmlExecutionProvider", call: callDirectML,
		needs: "Windows and DirectX 12"},
	{name: "xnnpack", title: "XNNPACK", provider: "XnnpackExecutionProvider", call: callByName, by: "XNNPACK", host: true},
	{name: "webgpu", title: "WebGPU", provider: "WebGpuExecutionProvider", call: callByName, by: "WebGPU", alone: true,
		since: "1.30", hazard: "without a suitable GPU it hangs or ends the process when it is closed",
		needs: "a GPU with Vulkan, Metal or DirectX 12", loads: "libvulkan.so.1", marks: []string{"WebGPU", "Dawn"}},
	{name: "qnn", title: "QNN", provider: "QNNExecutionProvider", call: callByName, by: "QNN", library: "qnn",
		needs: "Qualcomm AI Engine Direct"},
	{name: "snpe", title: "SNPE", provider: "SNPEExecutionProvider", call: callByName, by: "SNPE"},
	{name: "vitisai", title: "Vitis AI", provider: "VitisAIExecutionProvider", call: callByName, by: "VitisAI", library: "vitisai",
		needs: "AMD Vitis AI"},
	{name: "migraphx", title: "MIGraphX", provider: "MIGraphXExecutionProvider", call: callByName, by: "MIGraphX", library: "migraphx",
		needs:     "AMD ROCm and MIGraphX",
		precision: map[string]map[string]string{"fp16": {"migraphx_fp16_enable": "1"}, "int8": {"migraphx_int8_enable": "1"}}},
	{name: "tensorrt-rtx", aliases: []string{"nvtensorrtrtx"}, title: "TensorRT for RTX", provider: "NvTensorRTRTXExecutionProvider",
		call: callByName, by: "NvTensorRtRtx", library: "nv_tensorrt_rtx", needs: "an NVIDIA driver and TensorRT for RTX",
		cache: "nv_runtime_cache_path", profile: "nv_profile_"},
	{name: "azure", title: "Azure", provider: "AzureExecutionProvider", call: callByName, by: "AZURE"},
}

// Devices lists the names of all devices that users may ask for. Engine.Providers says whether a library has them.
func Devices() []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.name
	}
	return names
}

// Converts reports whether a device, the first of a list separated by commas, computes in a precision by itself, given an FP32
// model.
func Converts(list, precision string) bool {
	first, _, _ := strings.Cut(list, ",")
	d, err := deviceNamed(first)
	return err == nil && d.precision[precision] != nil
}

// Accelerates reports whether a list of devices, separated by commas, has one with processors of its own.
func Accelerates(list string) bool {
	all, _ := requests(list, nil)
	return slices.ContainsFunc(all, func(r request) bool { return !r.host })
}

// oneAtATime reports whether sessions on a list of devices, separated by commas, run one after the other, however many there are.
func oneAtATime(list string) bool {
	all, _ := requests(list, nil)
	return slices.ContainsFunc(all, func(r request) bool { return r.alone })
}

// CanonicalDevice is the device of a name or alias; case, hyphens and underscores do not count. The error names what was probably meant.
func CanonicalDevice(name string) (string, error) {
	d, err := deviceNamed(name)
	if err != nil {
		return "", err
	}
	return d.name, nil
}

// meant are the devices that people mean by other words.
var meant = map[string]string{
	"gpu": "cuda", "nvidia": "cuda", "geforce": "cuda", "intel": "openvino", "igpu": "openvino", "amd": "migraphx", "rocm": "migraphx",
	"hip":   "migraphx",
	"apple": "coreml", "metal": "coreml", "mps": "coreml", "ane": "coreml", "dml": "directml", "directx": "directml", "vulkan": "webgpu",
	"hexagon": "qnn",
}

// nearestDevice is the device that the user probably meant by an unknown name; empty: none is near.
func nearestDevice(name string) string {
	if device := meant[userinput.Plain(name)]; device != "" {
		return device
	}
	return userinput.Nearest(name, Devices())
}

func deviceNamed(name string) (*device, error) {
	want := userinput.Plain(name)
	for i := range devices {
		d := &devices[i]
		if want == userinput.Plain(d.name) || slices.Contains(d.aliases, want) || want == strings.ToLower(d.provider) {
			return d, nil
		}
	}
	all := "devices are"
	if near := nearestDevice(name); near != "" {
		all = "did you mean " + near + "? Devices are"
	}
	return nil, fmt.Errorf("unknown device %q; %s %s", name, all, strings.Join(Devices(), ", "))
}

// A request asks for a device with options.
type request struct {
	*device
	options map[string]string
	implied bool // not asked for, but behind another that was
}

// records reports whether the device records the work of a run and replays it, for which addresses must stay the same.
func (r request) records() bool {
	return r.options["enable_cuda_graph"] == "1" || r.options["trt_cuda_graph_enable"] == "1"
}

// requests reads a list of devices, "tensorrt,cuda" for example, with options for the first one. The processor need not be
// listed: it is always there, and always last. A device that the user does not list runs behind one that names it as its
// backing, as TensorRT's documentation advises for CUDA.
func requests(list string, options map[string]string) ([]request, error) {
	var all []request
	has := func(d *device) bool { return slices.ContainsFunc(all, func(r request) bool { return r.device == d }) }
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		d, err := deviceNamed(name)
		switch {
		case err != nil:
			return nil, err
		case has(d):
			return nil, fmt.Errorf("device %s is listed twice", d.name)
		case len(all) > 0 && all[len(all)-1].call == callNone:
			return nil, fmt.Errorf("device %s runs every operator, so %s after it would run none", all[len(all)-1].name, d.name)
		}
		all = append(all, request{device: d})
	}
	if len(all) == 0 {
		all = []request{{device: &devices[0]}}
	}
	if len(options) > 0 && all[0].call == callNone {
		return nil, fmt.Errorf("device %s has no options (%s was given); settings of the session go into its config entries",
			all[0].name, strings.Join(slices.Sorted(maps.Keys(options)), ", "))
	}
	all[0].options = options
	for i := 0; i < len(all); i++ {
		d, err := deviceNamed(all[i].backing)
		if err != nil || has(d) {
			continue
		}
		backing := request{device: d, implied: true}
		if id, ok := all[i].options["device_id"]; ok {
			backing.options = map[string]string{"device_id": id}
		}
		all = slices.Insert(all, i+1, backing)
	}
	return all, nil
}

// libraryFile names the library that holds a device, beside the main library.
func (d *device) libraryFile(mainLibrary string) string {
	if d.library == "" {
		return ""
	}
	prefix, suffix := "lib", ".so"
	switch filepath.Ext(mainLibrary) {
	case ".dylib":
		suffix = ".dylib"
	case ".dll":
		prefix, suffix = "", ".dll"
	}
	return filepath.Join(filepath.Dir(mainLibrary), prefix+"onnxruntime_providers_"+d.library+suffix)
}

// checkVersion refuses a device that the library's version cannot be asked for.
func (d *device) checkVersion(version string) error {
	if d.since == "" || version == "" || !olderThan(version, d.since) {
		return nil
	}
	return fmt.Errorf("ONNX Runtime %s is too old for %s (%s); it needs %s", version, d.title, d.hazard, d.since)
}

// A Provider says what a device can do with this machine and library.
type Provider struct {
	Device   string `json:"device"`           // our name
	Provider string `json:"provider"`         // ONNX Runtime's name
	Compiled bool   `json:"compiled"`         // the library has it
	Usable   bool   `json:"usable"`           // and it computes a small model as the processor does
	Reason   string `json:"reason,omitempty"` // why not
	Remedy   string `json:"remedy,omitempty"` // what helps

	Nodes      map[string]int `json:"nodes,omitempty"`      // of the small model, by the device that ran them; part of a model may be one node
	Difference *float64       `json:"difference,omitempty"` // largest of its outputs from those of the processor
}
