package ort

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A deviceError says that a device cannot be used, and why.
type deviceError struct {
	device string
	reason string
}

func (e *deviceError) Error() string { return "device " + e.device + ": " + e.reason }

// An explanation says why a device cannot be used, and what helps.
type explanation struct {
	reason, remedy string
	absent         bool // the library was built without the device
}

// error is the explanation as an error about a device.
func (x explanation) error(d *device) *deviceError {
	reason := x.reason
	if x.remedy != "" {
		reason += "; " + x.remedy
	}
	return &deviceError{d.name, reason}
}

// explain finds the cause in the text of ONNX Runtime or the loader, since nothing else tells one cause from another.
func explain(d *device, mainLibrary string, err error) explanation {
	text := err.Error()
	for _, r := range loaderErrors {
		m := r.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		name, why := filepath.Base(m[1]), m[2]
		switch {
		case strings.HasPrefix(why, "version") || strings.HasPrefix(why, "undefined"):
			return explanation{reason: fmt.Sprintf("%s does not fit this system: %s", name, why), remedy: anotherBuild(d)}
		case strings.Contains(name, "onnxruntime_providers_"):
			return explanation{fmt.Sprintf("this ONNX Runtime has no %s support: %s is not beside %s", d.title, name, mainLibrary), anotherBuild(d), true}
		}
		x := explanation{reason: name + " is missing", remedy: "install the package that has it, or add its folder to LD_LIBRARY_PATH"}
		if own := d.libraryFile(mainLibrary); own != "" {
			x.reason += " (needed by " + filepath.Base(own) + ")"
		}
		for _, l := range libraryMakers {
			if strings.HasPrefix(name, l.prefix) {
				x.remedy = fmt.Sprintf("install %s of the version that this name asks for, or add its folder to LD_LIBRARY_PATH", l.maker)
			}
		}
		return x
	}
	for _, k := range knownFailures {
		if strings.Contains(text, k.text) {
			x := explanation{strings.NewReplacer("DEVICE", d.title, "LIBRARY", mainLibrary).Replace(k.reason), k.remedy, k.remedy == ""}
			if x.absent {
				x.remedy = anotherBuild(d)
			}
			return x
		}
	}
	return explanation{reason: readable(text)}
}

// loaderErrors match what the loaders of Linux and macOS say: a file, and what is wrong with it.
var loaderErrors = []*regexp.Regexp{
	regexp.MustCompile(`(\S+): (cannot open shared object file: No such file or directory|version .* not found|undefined symbol: \S+)`),
	regexp.MustCompile(`Library not loaded: (\S+)\s*()`),
}

// libraryMakers names the packages that libraries come with, by the file names that NVIDIA, Intel, AMD and Qualcomm use.
var libraryMakers = []struct{ prefix, maker string }{
	{"libcuda.", "the NVIDIA driver"}, {"libnvidia-", "the NVIDIA driver"},
	{"libcudnn", "cuDNN"},
	{"libcudart", "the CUDA toolkit"}, {"libcublas", "the CUDA toolkit"}, {"libcufft", "the CUDA toolkit"},
	{"libcurand", "the CUDA toolkit"}, {"libnvrtc", "the CUDA toolkit"}, {"libcusparse", "the CUDA toolkit"},
	{"libnvinfer", "TensorRT"}, {"libnvonnxparser", "TensorRT"},
	{"libopenvino", "OpenVINO"}, {"libtbb", "OpenVINO"},
	{"libmigraphx", "ROCm"}, {"libamdhip", "ROCm"}, {"libhip", "ROCm"},
	{"libQnn", "Qualcomm AI Engine Direct"},
}

// knownFailures pairs a part of ONNX Runtime's or CUDA's text with our words for it. Without a remedy of its own, the library
// lacks the device, and another build of ONNX Runtime helps. CUDA's numbers are those of cudaError_t.
var knownFailures = []struct{ text, reason, remedy string }{
	{"is not supported in this build", builtWithout, ""},
	{"is not enabled in this build", builtWithout, ""},
	{"does not support CoreML", builtWithout, ""},
	{"Specified provider is not supported", builtWithout, ""},
	{"Unknown provider name", builtWithout, ""},
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
	builtWithout = "this ONNX Runtime was built without DEVICE"
	oldDriver    = "the NVIDIA driver is missing, or too old for the CUDA of this ONNX Runtime"
	updateDriver = "install or update it"
	noGPU        = "no NVIDIA GPU was found"
	seeGPU       = "nvidia-smi should list one; in a container, start it with access to the GPUs"
	wrongGPU     = "no GPU has the number given as device_id"
	listGPUs     = "nvidia-smi lists them"
)

// anotherBuild says how to get a library that has the device.
func anotherBuild(d *device) string {
	text := "use a build of ONNX Runtime with it"
	switch d.name {
	case "cuda", "openvino", "webgpu":
		if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" { // as configs/downloads.json has it
			return "run: " + Remedy + " --device " + d.name
		}
	case "tensorrt":
		text = "use a GPU build of ONNX Runtime (" + Remedy + " --device cuda gets one for Linux x86-64)"
	case "coreml", "directml":
		return "it needs " + d.needs
	}
	text += ", named by the option ort-lib or " + LibraryVariable
	if d.needs != "" {
		text += ", and " + d.needs
	}
	return text
}

// blamed returns the device that a failure to load a model speaks of, by its name or by its makers' libraries; nil: the model
// is to blame.
func blamed(requests []request, text string) *device {
	for _, r := range requests {
		if r.call != callNone && slices.ContainsFunc(append([]string{r.provider}, r.marks...),
			func(mark string) bool { return strings.Contains(text, mark) }) {
			return r.device
		}
	}
	return nil
}
