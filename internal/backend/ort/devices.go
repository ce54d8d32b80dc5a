package ort

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// How a device is added to a session: two have calls of their own with an options object,
// three have calls of their own, the others share one call that takes their name.
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
	provider string   // as ONNX Runtime reports it
	call     call
	by       string // name in the common call

	since  string // oldest version of ONNX Runtime that is safe to ask
	hazard string // why older ones are not

	backing string // device that runs what this one cannot, before the processor does
	library string // middle of the name of the library that holds it; empty: the main library
	memory  string // its own memory, as ONNX Runtime calls it; empty: it has none that we could use
	needs   string // what must be installed for it, in words
	alone   bool   // what runs on it must not run beside anything else on it, of whatever session
	loads   string // library of the system without which it complains on standard error when tried (Linux)

	// Options of the provider that switch a precision on; nil: it does not convert models.
	precision map[string]map[string]string
}

// devices is the table of all devices that the binding can add. The names of providers and the
// choices of the common call are those of ONNX Runtime 1.24.3 (its message for an unknown name).
var devices = [...]device{
	{name: "cpu", provider: "CPUExecutionProvider", memory: "Cpu"},
	{name: "cuda", provider: "CUDAExecutionProvider", call: callCUDA, library: "cuda", memory: "Cuda",
		needs: "an NVIDIA driver, CUDA 12 and cuDNN 9"},
	{name: "tensorrt", aliases: []string{"trt"}, provider: "TensorrtExecutionProvider", call: callTensorRT,
		backing: "cuda", library: "tensorrt", memory: "Cuda", needs: "an NVIDIA driver, CUDA 12, cuDNN 9 and TensorRT 10",
		// https://onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html
		precision: map[string]map[string]string{
			"fp16": {"trt_fp16_enable": "1"},
			"int8": {"trt_int8_enable": "1", "trt_fp16_enable": "1"}, // fp16 where int8 has no kernel
		}},
	{name: "openvino", provider: "OpenVINOExecutionProvider", call: callOpenVINO, library: "openvino",
		needs: "Intel OpenVINO",
		// https://onnxruntime.ai/docs/execution-providers/OpenVINO-ExecutionProvider.html
		precision: map[string]map[string]string{"fp32": {"precision": "FP32"}, "fp16": {"precision": "FP16"}}},
	{name: "coreml", provider: "CoreMLExecutionProvider", call: callCoreML, needs: "macOS"},
	{name: "directml", aliases: []string{"dml"}, provider: "DmlExecutionProvider", call: callDirectML,
		needs: "Windows and DirectX 12"},
	{name: "xnnpack", provider: "XnnpackExecutionProvider", call: callByName, by: "XNNPACK"},
	{name: "webgpu", provider: "WebGpuExecutionProvider", call: callByName, by: "WebGPU", alone: true,
		since: "1.30", hazard: "without a suitable GPU it hangs or ends the process when it is closed",
		needs: "a GPU with Vulkan, Metal or DirectX 12", loads: "libvulkan.so.1"},
	{name: "qnn", provider: "QNNExecutionProvider", call: callByName, by: "QNN", library: "qnn",
		needs: "Qualcomm AI Engine Direct"},
	{name: "snpe", provider: "SNPEExecutionProvider", call: callByName, by: "SNPE"},
	{name: "vitisai", provider: "VitisAIExecutionProvider", call: callByName, by: "VitisAI", library: "vitisai",
		needs: "AMD Vitis AI"},
	{name: "migraphx", provider: "MIGraphXExecutionProvider", call: callByName, by: "MIGraphX", library: "migraphx",
		needs:     "AMD ROCm and MIGraphX",
		precision: map[string]map[string]string{"fp16": {"migraphx_fp16_enable": "1"}, "int8": {"migraphx_int8_enable": "1"}}},
	{name: "tensorrt-rtx", aliases: []string{"nvtensorrtrtx"}, provider: "NvTensorRTRTXExecutionProvider",
		call: callByName, by: "NvTensorRtRtx", library: "nv_tensorrt_rtx", needs: "an NVIDIA driver and TensorRT for RTX"},
	{name: "azure", provider: "AzureExecutionProvider", call: callByName, by: "AZURE"},
}

// Devices lists the names of all devices that may be asked for; whether the library at hand has
// them is for Engine.Providers to say.
func Devices() []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.name
	}
	return names
}

// Converts says whether a device, the first of a list separated by commas, computes in a
// precision by itself, given an FP32 model.
func Converts(list, precision string) bool {
	first, _, _ := strings.Cut(list, ",")
	d, err := deviceNamed(first)
	return err == nil && d.precision[precision] != nil
}

// OneAtATime reports whether sessions on a device, the first of a list separated by commas, run one after
// the other, however many there are.
func OneAtATime(list string) bool {
	first, _, _ := strings.Cut(list, ",")
	d, err := deviceNamed(first)
	return err == nil && d.alone
}

// Knows reports whether there may be a device of that name; any case, and - and _ do not
// count.
func Knows(name string) bool {
	_, err := deviceNamed(name)
	return err == nil
}

// deviceNamed returns the device of that name.
func deviceNamed(name string) (*device, error) {
	want := userinput.Plain(name)
	for i := range devices {
		d := &devices[i]
		if want == userinput.Plain(d.name) || slices.Contains(d.aliases, want) || want == strings.ToLower(d.provider) {
			return d, nil
		}
	}
	return nil, fmt.Errorf("unknown device %q; devices are %s", name, strings.Join(Devices(), ", "))
}

// deviceOf returns our name of a provider that ONNX Runtime reports.
func deviceOf(provider string) string {
	for _, d := range devices {
		if d.provider == provider {
			return d.name
		}
	}
	return provider
}

// A request asks for a device with options.
type request struct {
	*device
	options map[string]string
	implied bool // not asked for, but behind another that was
}

// records reports whether the device is to record what it does in a run and replay that, for which
// addresses must stay the same.
func (r request) records() bool {
	return r.options["enable_cuda_graph"] == "1" || r.options["trt_cuda_graph_enable"] == "1"
}

// requests reads a list such as "tensorrt,cuda". The processor need not be listed: it is always
// there, and always last.
func requests(list string, options map[string]string) ([]request, error) {
	all, err := requestsOf(list)
	if err != nil {
		return nil, err
	}
	if len(options) > 0 && all[0].call == callNone {
		return nil, fmt.Errorf("device %s has no options (%s was given); settings of the session go into its config entries",
			all[0].name, strings.Join(slices.Sorted(maps.Keys(options)), ", "))
	}
	if i := slices.IndexFunc(all, func(r request) bool { return r.call == callNone }); i >= 0 && i < len(all)-1 {
		return nil, fmt.Errorf("device %s runs every operator, so %s after it would run none", all[i].name, all[i+1].name)
	}
	all[0].options = options
	return withBacking(all), nil
}

// requestsOf reads the names of a list.
func requestsOf(list string) ([]request, error) {
	var all []request
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		d, err := deviceNamed(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(r request) bool { return r.device == d }) {
			return nil, fmt.Errorf("device %s is listed twice", d.name)
		}
		all = append(all, request{device: d})
	}
	if len(all) == 0 {
		all = []request{{device: &devices[0]}}
	}
	return all, nil
}

// withBacking puts behind a device the one that runs what it cannot, as TensorRT's
// documentation advises for CUDA.
func withBacking(all []request) []request {
	for i := 0; i < len(all); i++ {
		d, err := deviceNamed(all[i].backing)
		if err != nil || slices.ContainsFunc(all, func(r request) bool { return r.device == d }) {
			continue
		}
		backing := request{device: d, implied: true}
		if id, ok := all[i].options["device_id"]; ok {
			backing.options = map[string]string{"device_id": id}
		}
		all = slices.Insert(all, i+1, backing)
	}
	return all
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
	return fmt.Errorf("ONNX Runtime %s is too old for %s (%s); it needs %s", version, title(d.name), d.hazard, d.since)
}

// A DeviceError says that a device cannot be used, and why.
type DeviceError struct {
	Device string
	Reason string
}

func (e *DeviceError) Error() string { return "device " + e.Device + ": " + e.Reason }

// A Provider says what this machine and library make of a device.
type Provider struct {
	Device   string `json:"device"`           // our name
	Provider string `json:"provider"`         // ONNX Runtime's name
	Compiled bool   `json:"compiled"`         // the library has it
	Usable   bool   `json:"usable"`           // and it could be used just now
	Reason   string `json:"reason,omitempty"` // why not
	Remedy   string `json:"remedy,omitempty"` // what helps
}

// isAbsent says whether an error text means that the library was built without a device, rather
// than that the device does not work.
func isAbsent(text string) bool {
	for _, mark := range []string{
		"is not supported in this build", "does not support CoreML", "Specified provider is not supported",
		"Unknown provider name", "Failed to load shared library",
	} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	file, _ := missingLibrary(text)
	return strings.Contains(file, "onnxruntime_providers_")
}

// tinyModel returns a model of one node, y = Identity(x) for one float, in ONNX's protobuf
// format. It must fit the oldest ONNX Runtime that can be loaded: opset 13, IR version 7.
func tinyModel() []byte {
	bytes := func(field byte, parts ...string) string {
		text := strings.Join(parts, "")
		return string([]byte{field<<3 | 2, byte(len(text))}) + text // all are shorter than 128 bytes
	}
	number := func(field, value byte) string { return string([]byte{field << 3, value}) }

	shape := bytes(2, bytes(1, number(1, 1)))             // one axis of extent 1
	tensorType := bytes(2, bytes(1, number(1, 1), shape)) // of float
	node := bytes(1, bytes(1, "x"), bytes(2, "y"), bytes(4, "Identity"))
	graph := bytes(7, node, bytes(2, "g"), bytes(11, bytes(1, "x"), tensorType), bytes(12, bytes(1, "y"), tensorType))
	return []byte(number(1, 7) + graph + bytes(8, bytes(1, ""), number(2, 13)))
}
