package ort

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A fakeMachine has a root folder for a search.
type fakeMachine struct {
	t    *testing.T
	root string
}

func newFakeMachine(t *testing.T) *fakeMachine {
	if runtime.GOOS != "linux" {
		t.Skip("the fake machine runs Linux")
	}
	root := t.TempDir()
	for _, name := range []string{LibraryVariable, "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(root, "data"))
	return &fakeMachine{t, root}
}

// put writes a file.
func (m *fakeMachine) put(path string, content []byte) string {
	m.t.Helper()
	path = filepath.Join(m.root, path)
	testenv.Must(m.t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644))
	return path
}

// install writes a library of a version.
func (m *fakeMachine) install(path, version string) string {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	return m.put(path, fakeELF(machine, entryPoint, "VERS_"+version))
}

func (m *fakeMachine) search() Search {
	return Search{Executable: filepath.Join(m.root, "bin", "mlperf"), WorkDir: filepath.Join(m.root, "work"), Root: m.root}
}

func TestSearchOrder(t *testing.T) {
	m := newFakeMachine(t)
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(m.root, "ld"))
	platform := runtime.GOOS + "-" + runtime.GOARCH
	node := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	multiarch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	t.Setenv("VIRTUAL_ENV", filepath.Join(m.root, "venv"))
	t.Setenv("CONDA_PREFIX", filepath.Join(m.root, "conda"))
	for _, packages := range []string{"home/.local/lib/python3.12", "conda/lib/python3.11", "venv/lib/python3.9", "venv/lib/python3.10"} {
		m.put(packages+"/site-packages/onnxruntime-1.26.0.dist-info/RECORD", nil)
	}
	// Without mlperf in its environment, the program in bin takes nothing from there.
	m.install("lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.29.9", "1.29.9")
	// From the last place to the first: each new library must win over all before.
	for _, step := range []struct{ path, version, where string }{
		{"ld/libonnxruntime.so.1", "1.24.1", "loader"},
		{"usr/lib/" + multiarch + "-linux-gnu/libonnxruntime.so.1.24.9", "1.24.9", "system"},
		{"usr/lib/" + multiarch + "-linux-gnu/libonnxruntime.so.1.24.10", "1.24.10", "system"},
		{"usr/lib/libonnxruntime.so.1.25.0", "1.25.0", "system"},
		{"usr/local/lib/libonnxruntime.so.1.25.1", "1.25.1", "system"},
		{"work/node_modules/onnxruntime-node/bin/napi-v6/linux/" + node + "/libonnxruntime.so.1", "1.26.0", "npm package"},
		{"home/.local/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.26.0", "1.26.0", "Python packages of the user"},
		{"conda/lib/libonnxruntime.so", "1.26.0", "conda environment"},
		{"conda/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.26.1", "1.26.1", "Python environment, CONDA_PREFIX"},
		{"venv/lib/python3.9/site-packages/onnxruntime/capi/libonnxruntime.so.1.26.3", "1.26.3", "Python environment, VIRTUAL_ENV"},
		{"venv/lib/python3.10/site-packages/onnxruntime/capi/libonnxruntime.so.1.26.2", "1.26.2", "Python environment, VIRTUAL_ENV"},
		{"data/onnxruntime/1.27.0/" + platform + "/libonnxruntime.so.1", "1.27.0", "data directory"},
		{"data/onnxruntime/1.30.0/" + platform + "/libonnxruntime.so.1", "1.30.0", "data directory"},
		{"data/onnxruntime/" + pinnedVersion + "/" + platform + "/libonnxruntime.so.1", pinnedVersion, "data directory"},
		{"bin/lib/libonnxruntime.so", "1.28.0", "beside the program"},
		{"bin/libonnxruntime.so.1", "1.29.0", "beside the program"},
	} {
		want := m.install(step.path, step.version)
		got, candidates, err := m.search().Find()
		if err != nil || got != (Library{want, step.version, step.where}) {
			t.Fatalf("Find() = %+v, %v, want %s", got, err, want)
		}
		for _, c := range candidates {
			if c.Chosen != (c.Path == want) || c.Chosen != (c.Reason == "") {
				t.Errorf("candidate %+v, want %s alone chosen and a reason for all others", c, want)
			}
		}
	}
}

// pip puts the program and the wheels of ONNX Runtime, for the processor and for devices, into one environment.
func TestSearchInTheEnvironmentOfTheProgram(t *testing.T) {
	m := newFakeMachine(t)
	const packages = "lib/python3.11/site-packages/"
	capi := packages + "onnxruntime/capi/libonnxruntime.so."
	m.put(packages+"mlperf-0.9.0.dist-info/RECORD", nil)
	m.install("bin/libonnxruntime.so.1", "1.33.0")
	cpu := m.install(capi+"1.32.0", "1.32.0")
	find := func(device string) string {
		t.Helper()
		s := m.search()
		s.Device = device
		got, _, err := s.Find()
		testenv.Must(t, err)
		return got.Path
	}
	if got := find(""); got != cpu {
		t.Errorf("found %s, want %s", got, cpu)
	}
	m.put(packages+"onnxruntime_openvino-1.24.1.dist-info/RECORD", nil)
	openvino := m.install(capi+"1.24.1", "1.24.1")
	if got := find(""); got != openvino {
		t.Errorf("with the wheel of a device: found %s, want its library, which has the processor too", got)
	}
	m.put(packages+"onnxruntime_gpu-1.31.1.dist-info/RECORD", nil)
	gpu := m.install(capi+"1.31.1", "1.31.1")
	for device, want := range map[string]string{"": gpu, "cuda": gpu, "tensorrt,cuda,cpu": gpu, "openvino": openvino} {
		if got := find(device); got != want {
			t.Errorf("device %q: found %s, want %s", device, got, want)
		}
	}
}

// Folders that pip installs into on other systems, and outside of environments.
func TestSearchInFoldersOfPip(t *testing.T) {
	for _, packages := range []string{
		"local/lib/python3.11/dist-packages", // Debian's own Python
		"Python311/site-packages",            // a user of Windows
		"venv/Lib/site-packages",             // an environment on Windows
		"3.12/lib/python/site-packages",      // a user of macOS
	} {
		m := newFakeMachine(t)
		m.put(packages+"/mlperf-0.9.0.dist-info/RECORD", nil)
		want := m.install(packages+"/onnxruntime/capi/libonnxruntime.so.1.32.0", "1.32.0")
		s := m.search()
		prefix, _, _ := strings.Cut(packages, "/")
		s.Executable = filepath.Join(m.root, prefix, "bin", "mlperf")
		if got, _, err := s.Find(); err != nil || got.Path != want {
			t.Errorf("Find() = %+v, %v, want %s", got, err, want)
		}
	}
	m := newFakeMachine(t)
	t.Setenv("PYTHONUSERBASE", filepath.Join(m.root, "base"))
	m.put("base/lib/python3.11/site-packages/onnxruntime-1.32.0.dist-info/RECORD", nil)
	want := m.install("base/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.32.0", "1.32.0")
	if got, _, err := m.search().Find(); err != nil || got.Path != want {
		t.Errorf("with PYTHONUSERBASE: Find() = %+v, %v, want %s", got, err, want)
	}
}

// A library that was installed for a device is for runs on it, and for others if there is none.
func TestSearchForADevice(t *testing.T) {
	m := newFakeMachine(t)
	platform := runtime.GOOS + "-" + runtime.GOARCH
	openvino := m.install("data/onnxruntime/1.24.1-openvino/"+platform+"/libonnxruntime.so.1.24.1", "1.24.1")
	find := func(device string) string {
		t.Helper()
		s := m.search()
		s.Device = device
		got, _, err := s.Find()
		testenv.Must(t, err)
		return got.Path
	}
	if got := find(""); got != openvino {
		t.Errorf("the only library is %s, found %s", openvino, got)
	}
	newer := m.install("data/onnxruntime/1.30.0/"+platform+"/libonnxruntime.so.1", "1.30.0")
	for device, want := range map[string]string{"": newer, "cpu": newer, "cuda,cpu": newer, "openvino": openvino, "OpenVINOExecutionProvider,cpu": openvino} {
		if got := find(device); got != want {
			t.Errorf("device %q: found %s, want %s", device, got, want)
		}
	}
	t.Setenv("VIRTUAL_ENV", filepath.Join(m.root, "venv"))
	m.put("venv/lib/python3.11/site-packages/onnxruntime_gpu-1.31.1.dist-info/RECORD", nil)
	wheel := m.install("venv/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1", "1.31.1")
	for device, want := range map[string]string{"": newer, "cuda": wheel, "openvino": openvino} {
		if got := find(device); got != want {
			t.Errorf("beside a wheel for CUDA: device %q: found %s, want %s", device, got, want)
		}
	}
	cuda := m.install("data/onnxruntime/1.24.4-cuda/"+platform+"/libonnxruntime.so.1.24.4", "1.24.4")
	if got := find("tensorrt"); got != cuda {
		t.Errorf("device tensorrt: found %s, want %s", got, cuda)
	}
}

func TestSearchInFoldersNamedLikePatterns(t *testing.T) {
	m := newFakeMachine(t)
	m.root = filepath.Join(m.root, "a[1]", "*")
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(m.root, "data"))
	for _, path := range []string{"data/onnxruntime/1.30.0/" + runtime.GOOS + "-" + runtime.GOARCH + "/libonnxruntime.so.1", "bin/libonnxruntime.so.1.30.0"} {
		want := m.install(path, "1.30.0")
		if got, _, err := m.search().Find(); err != nil || got.Path != want {
			t.Errorf("Find() = %+v, %v, want %s", got, err, want)
		}
	}
}

func TestCandidatesHaveReasons(t *testing.T) {
	m := newFakeMachine(t)
	other := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		other = elf.EM_X86_64
	}
	old := m.install("usr/local/lib/libonnxruntime.so.1.20.1", "1.20.1")
	m.put("usr/local/lib/libonnxruntime.so.1.20.1.sha256", []byte("0123")) // not a candidate
	want := map[string]string{
		old: "ONNX Runtime 1.20.1, needs at least 1.24",
		m.put("usr/lib/libonnxruntime.so.1", []byte("not a library at all")):              "not a library",
		m.put("usr/lib64/libonnxruntime.so.1", fakeELF(other, entryPoint, "VERS_1.24.3")): "built for linux/",
		m.put("opt/onnxruntime/lib/libonnxruntime.so", fakeELF(elf.EM_X86_64, "cos", "")): "not ONNX Runtime",
		filepath.Join(m.root, "bin/libonnxruntime.so.1"):                                  "no such file",
	}
	_, candidates, err := m.search().Find()
	if !errors.As(err, new(*NotFoundError)) {
		t.Fatalf("Find() = %v, want a *NotFoundError", err)
	}
	reasons := map[string]string{}
	for _, c := range candidates {
		reasons[c.Path] = c.Reason
	}
	for path, reason := range want {
		if !strings.Contains(reasons[path], reason) {
			t.Errorf("%s: reason %q, want %q", path, reasons[path], reason)
		}
		if reason != "no such file" && !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not name %s", path)
		}
	}
	if _, listed := reasons[old+".sha256"]; listed {
		t.Error("a checksum file is a candidate")
	}
	if !strings.Contains(err.Error(), Remedy) {
		t.Errorf("the error does not say how to get a library: %v", err)
	}
}

func TestExplicitLibrary(t *testing.T) {
	m := newFakeMachine(t)
	m.install("usr/local/lib/libonnxruntime.so.1", "1.25.0")
	good := m.install("my/lib.so", "1.26.0")
	for _, c := range []struct{ flag, variable, err string }{
		{good, "", ""},
		{m.install("my/old.so", "1.22.0"), good, "old.so (from the option ort-lib): ONNX Runtime 1.22.0, needs at least 1.24"},
		{m.root, good, "is a folder"},
		{"", good, ""},
		{"", filepath.Join(m.root, "none.so"), "none.so (from MLPERF_ORT_LIB): no such file"},
	} {
		t.Setenv(LibraryVariable, c.variable)
		s := m.search()
		s.Explicit = c.flag
		got, candidates, err := s.Find()
		if len(candidates) != 1 || c.err == "" && (err != nil || got.Path != good) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%+v: %+v, %+v, %v", c, got, candidates, err)
		}
	}
}

func TestSearchResolvesLinks(t *testing.T) {
	m := newFakeMachine(t)
	real := m.install("opt/gpu/libonnxruntime.so.1.24.3", "1.24.3")
	folder := filepath.Join(m.root, "usr/local/lib")
	testenv.Must(t, os.MkdirAll(folder, 0o755), os.Symlink(real, filepath.Join(folder, "libonnxruntime.so.1")), os.Symlink(real, filepath.Join(folder, "libonnxruntime.so")))
	got, candidates, err := m.search().Find()
	if err != nil || got.Path != real {
		t.Fatalf("Find() = %+v, %v, want %s", got, err, real)
	}
	if !slices.ContainsFunc(candidates, func(c Candidate) bool { return c.Reason == "the same file as one before" }) {
		t.Errorf("the second link does not count as the same file: %v", candidates)
	}
}

func TestSearchReadsTheLoadersConfiguration(t *testing.T) {
	m := newFakeMachine(t)
	m.put("etc/ld.so.conf", []byte("# comment\ninclude ld.so.conf.d/*.conf /etc/other.conf\t/etc/none.conf\ninclude\nhwcap 1 nosegneg\n/opt/last # why\n"))
	m.put("etc/other.conf", []byte("/opt/other\n"))
	m.put("etc/ld.so.conf.d/a.conf", []byte("/opt/first\n\ninclude a.conf\n")) // itself
	want := m.install("opt/first/libonnxruntime.so.1", "1.24.3")
	m.install("opt/last/libonnxruntime.so.1", "1.24.3")
	if got, want := m.search().loaderDirs(), []string{filepath.Join(m.root, "opt/first"), filepath.Join(m.root, "opt/other"), filepath.Join(m.root, "opt/last")}; !slices.Equal(got, want) {
		t.Errorf("the folders are %q, want %q", got, want)
	}
	if got, _, err := m.search().Find(); err != nil || got.Path != want {
		t.Errorf("Find() = %+v, %v, want %s", got, err, want)
	}
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(m.root, "ld"))
	m.put("ld/libdriver.so.1", nil)
	m.put("opt/other/liblisted.so.1", nil)
	for name, want := range map[string]bool{"libdriver.so.1": true, "liblisted.so.1": true, "libmissing.so.1": false} {
		if got := m.search().loaderHas(name); got != want {
			t.Errorf("the loader finds %s: %t, want %t", name, got, want)
		}
	}
}
