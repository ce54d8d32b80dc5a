// Wheel puts a built mlperf into a wheel, the package format of pip. It runs no Python.
//
//	go run ./scripts/wheel --version 0.9.0 --output dist bin/mlperf
//
// The wheel holds the program alone (as a script, so that pip puts it into the environment's bin folder) and asks pip for
// onnxruntime, whose library the program finds there. Its platform is read from the program: on Linux the newest version of
// glibc that it asks for.
//
// Formats: https://packaging.python.org/en/latest/specifications/ (binary distribution format, core metadata, platform
// compatibility tags).
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

func main() {
	version := flag.String("version", "", "version of the program, as mlperf version prints it")
	output := flag.String("output", "dist", "folder for the wheel")
	flag.Parse()
	if flag.NArg() != 1 || *version == "" {
		fmt.Fprintln(os.Stderr, "usage: wheel --version V [--output DIR] PROGRAM")
		os.Exit(2)
	}
	path, err := build(flag.Arg(0), *version, *output)
	if err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// readme is what package indexes show.
const readme = `# mlperf

The whole of MLPerf Inference in one program: LoadGen, the reference workloads through ONNX Runtime, accuracy, compliance
tests and submissions. Models and data are built in, so the first result needs no download:

    pip install mlperf
    mlperf run --model resnet50 --scenario server --quick

Your own model: mlperf run model.onnx
NVIDIA GPUs: pip install 'mlperf[gpu]', then --device cuda. Intel: pip install 'mlperf[openvino]', then --device openvino.
mlperf doctor says which ONNX Runtime was found and what it can use.
`

// build writes the wheel of a program into a folder and returns its path.
func build(program, version, folder string) (string, error) {
	number := released.FindStringSubmatch(version)
	if number == nil {
		return "", fmt.Errorf("version %q: must be numbers with dots, such as 1.2.0, with -rc.1, -beta.1, -alpha.1 or -dev.1 behind them for a pre-release", version)
	}
	version = number[1]
	if number[2] != "" {
		version += map[string]string{"alpha": "a", "beta": "b", "rc": "rc", "dev": ".dev"}[number[2]] + number[3]
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	platform, err := platformOf(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return "", fmt.Errorf("%w: run in the root of the repository", err)
	}
	script := "mlperf"
	if strings.HasPrefix(platform, "win") {
		script = "mlperf.exe"
	}
	info := "mlperf-" + version + ".dist-info/"
	path := filepath.Join(folder, "mlperf-"+version+"-py3-none-"+platform+".whl")
	err = fileio.WriteAtomic(path, 0o644, func(w io.Writer) error {
		return pack(w, info+"RECORD", []file{
			{"mlperf-" + version + ".data/scripts/" + script, content, 0o755},
			{info + "METADATA", metadata(version), 0o644},
			{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: mlperf\nRoot-Is-Purelib: false\nTag: py3-none-" + platform + "\n"), 0o644},
			{info + "licenses/LICENSE", license, 0o644},
		})
	})
	return path, err
}

// released is a version of a Go module as tags have it, from which that of the wheel is made (PEP 440).
var released = regexp.MustCompile(`^(\d+(?:\.\d+)*)(?:-(alpha|beta|rc|dev)\.(\d+))?$`)

// metadata describes the package. ONNX Runtime 1.24 is the oldest that the program takes (internal/backend/ort, minVersion).
func metadata(version string) []byte {
	return []byte("Metadata-Version: 2.4\nName: mlperf\nVersion: " + version + `
Summary: MLPerf Inference in one program
License-Expression: Apache-2.0
License-File: LICENSE
Classifier: Environment :: Console
Classifier: Topic :: System :: Benchmark
Requires-Python: >=3.9
Requires-Dist: onnxruntime>=1.24
Provides-Extra: gpu
Requires-Dist: onnxruntime-gpu[cuda,cudnn]>=1.24; extra == 'gpu'
Provides-Extra: openvino
Requires-Dist: onnxruntime-openvino>=1.24; extra == 'openvino'
Description-Content-Type: text/markdown

` + readme)
}

// A file is one of a wheel.
type file struct {
	name    string
	content []byte
	mode    os.FileMode
}

// pack writes the files and, as record, the list of them with their sums. The same files give the same bytes.
func pack(w io.Writer, record string, files []file) error {
	archive := zip.NewWriter(w)
	var list bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&list, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	list.WriteString(record + ",,\n")
	for _, f := range append(files, file{record, list.Bytes(), 0o644}) {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		header.SetMode(f.mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// platformOf is the tag of the platform that a program runs on.
func platformOf(program []byte) (string, error) {
	in := bytes.NewReader(program)
	if f, err := elf.NewFile(in); err == nil {
		return linuxTag(f)
	}
	if f, err := macho.NewFile(in); err == nil {
		return macTag(f)
	}
	if f, err := pe.NewFile(in); err == nil {
		if arch := map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "win_amd64", pe.IMAGE_FILE_MACHINE_ARM64: "win_arm64"}[f.Machine]; arch != "" {
			return arch, nil
		}
		return "", fmt.Errorf("machine %#x: must be amd64 or arm64", f.Machine)
	}
	return "", errors.New("not a program: must be an ELF, Mach-O or PE file")
}

// linuxTag is manylinux_MAJOR_MINOR by the newest glibc that a symbol of the program asks for (PEP 600), and at least 2.17, the
// oldest that pip has a name for.
func linuxTag(f *elf.File) (string, error) {
	arch := map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}[f.Machine]
	if arch == "" {
		return "", fmt.Errorf("machine %v: must be x86-64 or AArch64", f.Machine)
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", fmt.Errorf("%w: the program was built without cgo and cannot run models", err)
	}
	newest := 17
	for _, s := range symbols {
		minor, found := strings.CutPrefix(s.Version, "GLIBC_2.")
		if !found {
			continue
		}
		minor, _, _ = strings.Cut(minor, ".") // GLIBC_2.2.5
		if n, err := strconv.Atoi(minor); err == nil {
			newest = max(newest, n)
		}
	}
	return fmt.Sprintf("manylinux_2_%d_%s", newest, arch), nil
}

// macTag is macosx_MAJOR_0 by the oldest system that the program says it runs on (LC_BUILD_VERSION of mach-o/loader.h).
func macTag(f *macho.File) (string, error) {
	arch := map[macho.Cpu]string{macho.CpuAmd64: "x86_64", macho.CpuArm64: "arm64"}[f.Cpu]
	if arch == "" {
		return "", fmt.Errorf("processor %v: must be amd64 or arm64", f.Cpu)
	}
	const buildVersion = 0x32
	for _, l := range f.Loads {
		if raw := l.Raw(); len(raw) >= 16 && f.ByteOrder.Uint32(raw) == buildVersion {
			return fmt.Sprintf("macosx_%d_0_%s", f.ByteOrder.Uint32(raw[12:])>>16, arch), nil
		}
	}
	return "", errors.New("the file does not say which macOS it runs on")
}
