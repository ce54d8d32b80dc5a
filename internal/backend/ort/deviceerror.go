package ort

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// deviceError says in plain words why a device cannot be used, and what helps. It goes by the text
// that ONNX Runtime or the loader gave, since nothing else tells one cause from another.
func deviceError(d *device, mainLibrary string, cause error) *DeviceError {
	reason, remedy := explainDevice(d, mainLibrary, cause.Error())
	if remedy != "" {
		reason += "; " + remedy
	}
	return &DeviceError{Device: d.name, Reason: reason}
}

func explainDevice(d *device, mainLibrary, text string) (reason, remedy string) {
	if file, why := missingLibrary(text); file != "" {
		return explainMissing(d, mainLibrary, file, why)
	}
	for _, k := range knownFailures {
		if strings.Contains(text, k.text) {
			reason = strings.NewReplacer("DEVICE", title(d.name), "LIBRARY", mainLibrary).Replace(k.reason)
			if k.remedy == "" {
				return reason, anotherBuild(d)
			}
			return reason, k.remedy
		}
	}
	return readable(text), ""
}

// knownFailures pairs a part of ONNX Runtime's or CUDA's text with our words for it. Without a
// remedy of its own, another build of ONNX Runtime helps. CUDA's numbers are those of cudaError_t.
var knownFailures = []struct{ text, reason, remedy string }{
	{"is not supported in this build", "this ONNX Runtime was built without DEVICE", ""},
	{"does not support CoreML", "this ONNX Runtime was built without DEVICE", ""},
	{"Specified provider is not supported", "this ONNX Runtime was built without DEVICE", ""},
	{"Failed to load shared library", "this ONNX Runtime has no DEVICE support: its library is not beside LIBRARY", ""},
	{"Failed to get a WebGPU adapter", "no GPU that DEVICE can use was found", "install a graphics driver with Vulkan"},
	{"driver version is insufficient", oldDriver, updateDriver},
	{"CUDA failure 35", oldDriver, updateDriver},
	{"no CUDA-capable device", noGPU, seeGPU},
	{"CUDA failure 100", noGPU, seeGPU},
	{"invalid device ordinal", wrongGPU, listGPUs},
	{"CUDA failure 101", wrongGPU, listGPUs},
	{"CUDA failure 2:", "the GPU has not enough free memory", "run fewer instances or a smaller batch, or end what else uses it"},
}

const (
	oldDriver    = "the NVIDIA driver is too old for the CUDA of this ONNX Runtime"
	updateDriver = "update the driver"
	noGPU        = "no NVIDIA GPU was found"
	seeGPU       = "nvidia-smi should list one; in a container, start it with access to the GPUs"
	wrongGPU     = "there is no GPU of the number given as device_id"
	listGPUs     = "nvidia-smi lists them"
)

// loaderSays matches the system loaders' complaints: on Linux the file that could not be opened comes
// last before its error; on macOS it is what the library wants.
var loaderSays = []*regexp.Regexp{
	regexp.MustCompile(`with error: (\S+?): (cannot open shared object file: No such file or directory)`),
	regexp.MustCompile(`(\S+?): (cannot open shared object file: No such file or directory)`),
	regexp.MustCompile(`Library not loaded: (\S+)\s*()`),
	regexp.MustCompile(`with error: (\S+?): (version .* not found)`),
	regexp.MustCompile(`with error: (\S+?): (undefined symbol: \S+)`),
}

// missingLibrary finds the file that a loader could not open, and what it said.
func missingLibrary(text string) (file, why string) {
	for _, r := range loaderSays {
		if m := r.FindStringSubmatch(text); m != nil {
			return m[1], m[2]
		}
	}
	return "", ""
}

// explainMissing tells apart: ONNX Runtime's own part for the device is missing, so this is
// another build of it; or that part is there, and what it needs is missing or does not fit.
func explainMissing(d *device, mainLibrary, file, why string) (reason, remedy string) {
	name := filepath.Base(file)
	if strings.HasPrefix(why, "version") || strings.HasPrefix(why, "undefined") {
		return fmt.Sprintf("%s does not fit this system: %s", name, why), anotherBuild(d)
	}
	if strings.Contains(name, "onnxruntime_providers_") {
		return fmt.Sprintf("this ONNX Runtime has no %s support: %s is not beside %s", title(d.name), name, mainLibrary), anotherBuild(d)
	}
	reason = name + " is missing"
	if own := d.libraryFile(mainLibrary); own != "" {
		reason += " (needed by " + filepath.Base(own) + ")"
	}
	return reason, libraryRemedy(name)
}

// libraryRemedy names what brings a library. The prefixes are the file names that NVIDIA,
// Intel and AMD use.
func libraryRemedy(name string) string {
	for _, l := range []struct{ prefix, from string }{
		{"libcuda.", "the NVIDIA driver"},
		{"libnvidia-", "the NVIDIA driver"},
		{"libcudnn", "cuDNN"},
		{"libcudart", "the CUDA toolkit"}, {"libcublas", "the CUDA toolkit"}, {"libcufft", "the CUDA toolkit"},
		{"libcurand", "the CUDA toolkit"}, {"libnvrtc", "the CUDA toolkit"}, {"libcusparse", "the CUDA toolkit"},
		{"libnvinfer", "TensorRT"}, {"libnvonnxparser", "TensorRT"},
		{"libopenvino", "OpenVINO"}, {"libtbb", "OpenVINO"},
		{"libmigraphx", "ROCm"}, {"libamdhip", "ROCm"}, {"libhip", "ROCm"},
		{"libQnn", "Qualcomm AI Engine Direct"},
	} {
		if strings.HasPrefix(name, l.prefix) {
			return fmt.Sprintf("install %s of the version that this name asks for, or add its folder to LD_LIBRARY_PATH", l.from)
		}
	}
	return "install the package that has it, or add its folder to LD_LIBRARY_PATH"
}

// anotherBuild says how to get a library that has the device.
func anotherBuild(d *device) string {
	text := "use a build of ONNX Runtime with it"
	switch d.name {
	case "cuda", "tensorrt":
		text = "use a GPU build of ONNX Runtime (release archive onnxruntime-linux-x64-gpu)"
	case "coreml", "directml":
		return "it needs " + d.needs
	}
	text += ", named with --ort-lib or " + LibraryVariable
	if d.needs != "" {
		text += ", and " + d.needs
	}
	return text
}

// title writes a device's name as its makers do.
func title(name string) string {
	names := map[string]string{"cuda": "CUDA", "tensorrt": "TensorRT", "openvino": "OpenVINO", "coreml": "Core ML",
		"directml": "DirectML", "xnnpack": "XNNPACK", "webgpu": "WebGPU", "qnn": "QNN", "snpe": "SNPE",
		"vitisai": "Vitis AI", "migraphx": "MIGraphX", "tensorrt-rtx": "TensorRT for RTX", "azure": "Azure"}
	if t := names[name]; t != "" {
		return t
	}
	return name
}

// blamed returns the device whose fault a failure to load a model is, nil if it is the model's. The
// processor is never to blame; a device is if the text speaks of it or of its makers' libraries.
func blamed(requests []request, text string) *device {
	for _, r := range requests {
		if r.call == callNone {
			continue
		}
		for _, mark := range append([]string{r.provider}, blameMarks[r.name]...) {
			if strings.Contains(text, mark) {
				return r.device
			}
		}
	}
	return nil
}

var blameMarks = map[string][]string{
	"cuda":     {"CUDA failure", "CUDNN failure", "CUBLAS failure", "CUDA error", "cudaGetDevice", "libcud", "libcublas"},
	"tensorrt": {"TensorRT EP", "libnvinfer", "CUDA failure", "Tensorrt"},
	"webgpu":   {"WebGPU", "Dawn"},
	"openvino": {"OpenVINO", "openvino"},
}
