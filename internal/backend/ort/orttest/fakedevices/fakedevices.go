// Package fakedevices runs tests with a library that fakes ONNX Runtime's calls for CUDA and TensorRT and computes on the processor.
package fakedevices

import (
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

//go:embed testdata
var sources embed.FS

// Log names the variable with the file of the calls that the library noted. It is set in a process that has the library.
const Log = "FAKE_LOG"

// With runs f in a process that has the library, with some variables. Real is the path of ONNX Runtime.
func With(t *testing.T, real string, f func(t *testing.T), variables ...string) {
	t.Helper()
	if os.Getenv(Log) != "" {
		f(t)
		return
	}
	Build(t).Run(t, real, variables...)
}

// Library is the path of the library, in a process that has it.
func Library() string { return filepath.Join(os.Getenv("FAKE_FOLDER"), libraryName) }

const libraryName = "libonnxruntime.so.1"

// Folder has the libraries that were built for a test.
type Folder string

// Build compiles the library, and one of CUDA's runtime.
func Build(t *testing.T) Folder {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler is installed")
	}
	folder := t.TempDir()
	for source, library := range map[string]string{"onnxruntime.c": libraryName, "cudart.c": "libcudart.so.12"} {
		text, err := sources.Open("testdata/" + source)
		testenv.Must(t, err)
		command := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-Wl,-soname,"+library, "-o", filepath.Join(folder, library), "-x", "c", "-", "-ldl")
		command.Stdin = text
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return Folder(folder)
}

// Run runs the test in a child process with some variables: a process can open one library. Real is the path of ONNX Runtime.
func (f Folder) Run(t *testing.T, real string, variables ...string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "calls")
	testenv.Must(t, os.WriteFile(log, nil, 0o644))
	testenv.RunAgain(t, append([]string{"FAKE_LIBRARY=" + real, "FAKE_FOLDER=" + string(f), Log + "=" + log, "LD_LIBRARY_PATH=" + string(f)},
		variables...)...)
}
