//go:build ort && cgo && linux

package ort

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest/fakedevices"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// openFake opens the library that fakes devices.
func openFake(t *testing.T) *Engine {
	t.Helper()
	engine, err := New(Library{Path: fakedevices.Library()}, nil)
	testenv.Must(t, err)
	return engine // never closed: a device's library cannot be unloaded
}

// realLibrary is the path of ONNX Runtime.
func realLibrary(t *testing.T) string {
	t.Helper()
	real, _, err := Search{}.Find()
	testenv.Must(t, err)
	return real.Path
}

// calls are those that the fake noted.
func calls(t *testing.T) []string {
	t.Helper()
	return strings.Split(strings.TrimSpace(string(testenv.Read(t, os.Getenv(fakedevices.Log)))), "\n")
}

// withFakeDevices runs f in a process whose library fakes devices.
func withFakeDevices(t *testing.T, f func(t *testing.T), variables ...string) {
	t.Helper()
	fakedevices.With(t, realLibrary(t), f, variables...)
}

func TestORTDeviceOptions(t *testing.T) {
	withFakeDevices(t, func(t *testing.T) {
		for _, c := range []struct {
			name    string
			options backend.Options
			want    []string
		}{
			{"CUDA", backend.Options{Device: "cuda", DeviceOptions: map[string]string{"gpu_mem_limit": "1000000", "device_id": "2"}},
				[]string{"cuda gpu_mem_limit=1000000", "cuda device_id=2", "cuda appended"}},
			{"CUDA as it is", backend.Options{Device: "cuda"}, []string{"cuda device_id=0", "cuda appended"}},
			{"TensorRT in FP16", backend.Options{Device: "tensorrt", Precision: "fp16"},
				[]string{"tensorrt trt_fp16_enable=1", "tensorrt appended", "cuda appended"}},
			{"TensorRT on another GPU", backend.Options{Device: "tensorrt", DeviceOptions: map[string]string{"device_id": "1"}},
				[]string{"tensorrt device_id=1", "cuda device_id=1"}},
			{"TensorRT with a folder", backend.Options{Device: "trt", EngineCacheDir: t.TempDir()},
				[]string{"tensorrt trt_engine_cache_enable=1", "tensorrt appended"}},
		} {
			testenv.Must(t, os.Truncate(os.Getenv(fakedevices.Log), 0))
			c.options.ModelPath = doubled("N").write(t)
			s, err := openFake(t).Open(t.Context(), c.options)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			got := calls(t)
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("%s: the device got %q, want %q among them", c.name, got, want)
				}
			}
			x := bind(t, s, tensor.New(tensor.Float32, 1, 4))
			run(t, s, values(x), make([]backend.Value, 1))
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// The texts are those of ONNX Runtime 1.24.3 and of CUDA.
func TestORTDeviceFailures(t *testing.T) {
	failures := map[string]struct{ text, want string }{
		"no GPU":        {"CUDA failure 100: no CUDA-capable device is detected ; GPU=-1", "no NVIDIA GPU was found"},
		"an old driver": {"CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version", "too old for the CUDA of"},
		"another GPU":   {"CUDA failure 101: invalid device ordinal ; GPU=7", "no GPU has the number"},
		"a missing library": {"Failed to load library libonnxruntime_providers_cuda.so with error: libcudnn.so.9: cannot open shared object file: " +
			"No such file or directory", "libcudnn.so.9 is missing"},
		"another build": {"Failed to load library /x/libonnxruntime_providers_shared.so with error: /x/libonnxruntime_providers_shared.so: " +
			"cannot open shared object file: No such file or directory", "has no CUDA support"},
	}
	if name, inside := os.LookupEnv("FAKE_FAILURE"); inside {
		options := backend.Options{ModelPath: doubled("N").write(t), Device: "cuda"}
		_, err := openFake(t).Open(t.Context(), options)
		if device := new(deviceError); !errors.As(err, &device) || device.device != "cuda" || !strings.Contains(device.reason, failures[name].want) {
			t.Errorf("%s: %v, want %q", name, err, failures[name].want)
		}
		options.AllowFallback = true
		s := openWith(t, openFake(t), options)
		if w := s.Info().Warnings; len(w) != 1 || !strings.Contains(w[0], failures[name].want) || s.Info().Devices[0].Device != "cpu" {
			t.Errorf("%s: on %v with the warnings %q, want the processor and one", name, s.Info().Devices, w)
		}
		return
	}
	fake, real := fakedevices.Build(t), realLibrary(t)
	for name, failure := range failures {
		fake.Run(t, real, "FAKE_FAILURE="+name, "FAKE_CUDA_FAILS="+failure.text)
	}
}

func TestORTNodeCountsByDevice(t *testing.T) {
	withFakeDevices(t, func(t *testing.T) {
		s := openWith(t, openFake(t), backend.Options{ModelPath: doubled("N").write(t), Device: "cuda", OptimizeLevel: "none", CountDeviceNode: true})
		got := s.Info().Devices
		if len(got) != 2 || got[0].Device != "cuda" || got[0].Nodes != 1 || got[1].Device != "cpu" || got[1].Nodes != 1 {
			t.Errorf("the nodes are on %v, want one on cuda and one on cpu", got)
		}
	}, "FAKE_PROVIDER=CUDAExecutionProvider", "FAKE_LEFT=Add")
}

func TestORTDeviceThatRunsNothing(t *testing.T) {
	withFakeDevices(t, func(t *testing.T) {
		_, err := openFake(t).Open(t.Context(), backend.Options{ModelPath: doubled("N").write(t), Device: "cuda", CountDeviceNode: true})
		if device := new(deviceError); !errors.As(err, &device) || !strings.Contains(device.reason, "runs no node") {
			t.Errorf("%v, want an error that says that nothing runs there", err)
		}
	})
}

func TestORTCopiesToDevice(t *testing.T) {
	withFakeDevices(t, func(t *testing.T) {
		s, err := openFake(t).Open(t.Context(), backend.Options{
			ModelPath: doubled("N").write(t), Device: "cuda", DeviceOptions: map[string]string{"enable_cuda_graph": "1", "device_id": "3"},
		})
		if err != nil {
			t.Fatal(err)
		}
		y := tensor.New(tensor.Float32, 2, 4)
		out := values(bind(t, s, y))
		for turn := range 3 { // each time other memory
			x := tensor.New(tensor.Float32, 2, 4)
			tensor.Data[float32](x)[7] = float32(turn)
			run(t, s, values(bind(t, s, x)), out)
			if got := tensor.Data[float32](y)[7]; got != 2*float32(turn) {
				t.Errorf("turn %d: got %v", turn, got)
			}
		}
		count := map[string]int{}
		for _, call := range calls(t) {
			count[call]++
		}
		if count["memory Cuda 3"] != 1 || count["bound x"] != 1 || count["copied 32"] != 6 {
			t.Errorf("calls are %v, want memory of one GPU, one binding and two copies a run", count)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestORTFailedCopy(t *testing.T) {
	withFakeDevices(t, func(t *testing.T) {
		s := openWith(t, openFake(t), backend.Options{ModelPath: doubled("N").write(t), Device: "cuda", DeviceMemory: true})
		in, out := values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), values(bind(t, s, tensor.New(tensor.Float32, 1, 4)))
		if err := s.Run(t.Context(), in, out); err == nil || !strings.Contains(err.Error(), "copying input x to the device: CUDA failure 1") {
			t.Errorf("%v, want an error that names the input", err)
		}
	}, "FAKE_COPY_FAILS=1")
}

// Libraries beside a provider that has no path for them are found.
func TestORTLoadsLibrariesBesideProvider(t *testing.T) {
	if os.Getenv(fakedevices.Log) == "" {
		folder := fakedevices.Build(t)
		provider := filepath.Join(string(folder), "libonnxruntime_providers_cuda.so")
		out, err := exec.Command("cc", "-shared", "-Wl,--no-as-needed", "-o", provider, "-L", string(folder), "-l:libcudart.so.12").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		folder.Run(t, realLibrary(t), "LD_LIBRARY_PATH=")
		return
	}
	s := openWith(t, openFake(t), backend.Options{ModelPath: doubled("N").write(t), Device: "cuda", DeviceMemory: true})
	run(t, s, values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), values(bind(t, s, tensor.New(tensor.Float32, 1, 4))))
	if got := calls(t); !slices.Contains(got, "copied 16") {
		t.Errorf("calls are %v, want a copy by the CUDA beside the provider", got)
	}
}

func TestORTDeviceMemoryWithoutCUDA(t *testing.T) {
	withFakeDevices(t, func(t *testing.T) {
		_, err := openFake(t).Open(t.Context(), backend.Options{ModelPath: doubled("N").write(t), Device: "cuda", DeviceMemory: true})
		if err == nil || !strings.Contains(err.Error(), "libcudart.so.13, libcudart.so.12") {
			t.Errorf("%v, want an error that names the library", err)
		}
	}, "LD_LIBRARY_PATH=")
}
