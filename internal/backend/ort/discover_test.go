package ort

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestProbeReadsHeaders(t *testing.T) {
	good := fakeELF(elf.EM_X86_64, "OrtGetApiBase", "VERS_1.24.3")
	tests := []struct {
		name string
		file []byte
		want probed
		err  string
	}{
		{"ELF with a version", good, probed{"linux", "amd64", "1.24.3"}, ""},
		{"ELF for another processor", fakeELF(elf.EM_AARCH64, "OrtGetApiBase", "VERS_1.27.0"), probed{"linux", "arm64", "1.27.0"}, ""},
		{"ELF without a version", fakeELF(elf.EM_X86_64, "OrtGetApiBase", ""), probed{"linux", "amd64", ""}, ""},
		{"ELF of something else", fakeELF(elf.EM_X86_64, "cos", "GLIBC_2.2"), probed{"linux", "amd64", ""}, "not ONNX Runtime"},
		{"ELF cut off", good[:200], probed{}, "damaged library file"},
		{"Mach-O", fakeMachO(macho.CpuArm64, "OrtGetApiBase", 1, 24, 3), probed{"darwin", "arm64", "1.24.3"}, ""},
		{"Mach-O of something else", fakeMachO(macho.CpuAmd64, "cos", 1, 0, 0), probed{"darwin", "amd64", "1.0.0"}, "not ONNX Runtime"},
		{"Mach-O for Intel", fakeMachO(macho.CpuAmd64, "OrtGetApiBase", 1, 25, 0), probed{"darwin", "amd64", "1.25.0"}, ""},
		{"Mach-O for another processor", fakeMachO(macho.CpuPpc64, "OrtGetApiBase", 1, 24, 3), probed{"darwin", "CpuPpc64", "1.24.3"}, ""},
		{"Mach-O of several processors", fakeFat(fakeMachO(macho.CpuPpc64, "OrtGetApiBase", 1, 23, 0), fakeMachO(hostCPU(), "OrtGetApiBase", 1, 24, 3)),
			probed{"darwin", runtime.GOARCH, "1.24.3"}, ""},
		{"Mach-O of several others", fakeFat(fakeMachO(macho.CpuPpc64, "OrtGetApiBase", 1, 23, 0)), probed{"darwin", "CpuPpc64", "1.23.0"}, ""},
		{"Mach-O of no processor", fakeFat(), probed{}, "damaged library file: "},
		{"Mach-O of several, cut off", fakeFat(fakeMachO(macho.CpuArm64, "OrtGetApiBase", 1, 24, 3))[:40], probed{}, "damaged library file: "},
		{"PE for 32 bits", fakePE(pe.IMAGE_FILE_MACHINE_I386, "OrtGetApiBase", 1, 24, 3), probed{"windows", "386", "1.24.3"}, ""},
		{"PE for another processor", fakePE(pe.IMAGE_FILE_MACHINE_ARMNT, "OrtGetApiBase", 1, 24, 3), probed{"windows", "machine 0x1c4", "1.24.3"}, ""},
		{"PE without a version", withoutVersion(fakePE(pe.IMAGE_FILE_MACHINE_AMD64, "OrtGetApiBase", 1, 24, 3)), probed{"windows", "amd64", ""}, ""},
		{"PE cut off", fakePE(pe.IMAGE_FILE_MACHINE_AMD64, "OrtGetApiBase", 1, 24, 3)[:0x90], probed{}, "damaged library file: "},
		{"PE", fakePE(pe.IMAGE_FILE_MACHINE_AMD64, "OrtGetApiBase", 1, 24, 3), probed{"windows", "amd64", "1.24.3"}, ""},
		{"PE of something else", fakePE(pe.IMAGE_FILE_MACHINE_ARM64, "cos", 1, 0, 0), probed{"windows", "arm64", "1.0.0"}, "not ONNX Runtime"},
		{"text", []byte("#!/bin/sh\n"), probed{}, "not a library"},
		{"nothing", nil, probed{}, "too short"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := probeReader(bytes.NewReader(test.file))
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("probe = %+v, %v, want %+v and an error with %q", got, err, test.want, test.err)
			}
		})
	}
}

func FuzzProbe(f *testing.F) {
	f.Add(fakeELF(elf.EM_X86_64, "OrtGetApiBase", "VERS_1.24.3"))
	f.Add(fakeMachO(macho.CpuArm64, "OrtGetApiBase", 1, 24, 3))
	f.Add(fakePE(pe.IMAGE_FILE_MACHINE_AMD64, "OrtGetApiBase", 1, 24, 3))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := probeReader(bytes.NewReader(file))
		if err == nil && (p.os == "" || p.arch == "") {
			t.Errorf("accepted a library for the system %q and the processor %q", p.os, p.arch)
		}
	})
}

func TestVersionsAreComparedByTheirNumbers(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"1.24.3", "1.24", 1}, {"1.24", "1.24.0", 0}, {"1.9.9", "1.24", -1}, {"1.30.0", "1.24.3", 1},
		{"2.0", "1.99", 1}, {"1.24.10", "1.24.9", 1}, {"nightly", "1.24", 0}, {"1.024", "1.24", 0},
	} {
		if got := compareVersions(test.a, test.b); got > 0 != (test.want > 0) || got < 0 != (test.want < 0) {
			t.Errorf("compareVersions(%q, %q) = %d, want the sign of %d", test.a, test.b, got, test.want)
		}
	}
}

// A room is a made-up machine for a search.
type room struct {
	t    *testing.T
	root string
}

func newRoom(t *testing.T) *room {
	if runtime.GOOS != "linux" {
		t.Skip("the made-up machine runs Linux")
	}
	root := t.TempDir()
	for _, name := range []string{LibraryVariable, "LD_LIBRARY_PATH"} {
		t.Setenv(name, "")
	}
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(root, "data"))
	return &room{t, root}
}

// put writes a library of a version; "" is a file that is no library.
func (r *room) put(path, version string) string {
	r.t.Helper()
	content := []byte("not a library at all")
	if version != "" {
		machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
		content = fakeELF(machine, "OrtGetApiBase", "VERS_"+version)
	}
	path = filepath.Join(r.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *room) search() Search {
	return Search{
		Executable: filepath.Join(r.root, "bin", "mlperf"), WorkDir: filepath.Join(r.root, "work"), Root: r.root,
	}
}

func TestTheFirstUsableLibraryInOrderIsFound(t *testing.T) {
	r := newRoom(t)
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(r.root, "ld"))
	platform := runtime.GOOS + "-" + runtime.GOARCH
	// From the last place to the first: each new one must win over all before.
	for _, step := range []struct{ path, version, where string }{
		{"ld/libonnxruntime.so.1", "1.24.1", "loader"},
		{"usr/lib/libonnxruntime.so.1.25.0", "1.25.0", "system"},
		{"usr/local/lib/libonnxruntime.so.1.25.1", "1.25.1", "system"},
		{"work/node_modules/onnxruntime-node/bin/napi-v6/" + filepath.ToSlash(nodePlatform(runtime.GOOS, runtime.GOARCH)) + "/libonnxruntime.so.1", "1.26.0", "npm package"},
		{"data/onnxruntime/1.27.0/" + platform + "/libonnxruntime.so.1", "1.27.0", "data directory"},
		{"data/onnxruntime/1.30.0/" + platform + "/libonnxruntime.so.1", "1.30.0", "data directory"},
		{"data/onnxruntime/" + pinnedVersion + "/" + platform + "/libonnxruntime.so.1", pinnedVersion, "data directory"},
		{"bin/lib/libonnxruntime.so", "1.28.0", "beside the program"},
		{"bin/libonnxruntime.so.1", "1.29.0", "beside the program"},
	} {
		want := r.put(step.path, step.version)
		got, candidates, err := r.search().Find()
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

func TestFoldersMayBeCalledAsPatternsAre(t *testing.T) {
	r := newRoom(t)
	r.root = filepath.Join(r.root, "a[1]", "*")
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(r.root, "data"))
	platform := runtime.GOOS + "-" + runtime.GOARCH
	for _, path := range []string{"data/onnxruntime/1.30.0/" + platform + "/libonnxruntime.so.1", "bin/libonnxruntime.so.1.30.0"} {
		want := r.put(path, "1.30.0")
		if got, _, err := r.search().Find(); err != nil || got.Path != want {
			t.Errorf("Find() = %+v, %v, want %s", got, err, want)
		}
	}
}

func TestCandidatesSayWhyTheyWerePassedOver(t *testing.T) {
	r := newRoom(t)
	other := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		other = elf.EM_X86_64
	}
	old, text := r.put("usr/local/lib/libonnxruntime.so.1.20.1", "1.20.1"), r.put("usr/lib/libonnxruntime.so.1", "")
	foreign, notORT := r.put("usr/lib64/libonnxruntime.so.1", "1.24.3"), r.put("opt/onnxruntime/lib/libonnxruntime.so", "1.24.3")
	for path, content := range map[string][]byte{
		foreign: fakeELF(other, "OrtGetApiBase", "VERS_1.24.3"), notORT: fakeELF(elf.EM_X86_64, "cos", "")} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.put("usr/local/lib/libonnxruntime.so.1.20.1.sha256", "") // no candidate
	_, candidates, err := r.search().Find()
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("Find() = %v, want a *NotFoundError", err)
	}
	reasons := map[string]string{}
	for _, c := range candidates {
		reasons[c.Path] = c.Reason
	}
	for path, want := range map[string]string{
		old: "ONNX Runtime 1.20.1, needs at least 1.24", text: "not a library", foreign: "built for linux/", notORT: "not ONNX Runtime",
		filepath.Join(r.root, "bin/libonnxruntime.so.1"): "no such file",
	} {
		if !strings.Contains(reasons[path], want) {
			t.Errorf("%s: reason %q, want %q", path, reasons[path], want)
		}
		if want != "no such file" && !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not name %s", path)
		}
	}
	if _, listed := reasons[old+".sha256"]; listed {
		t.Error("a checksum file is a candidate")
	}
	for _, want := range []string{"scripts/install_onnxruntime.sh", "--ort-lib", LibraryVariable} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

func TestAnExplicitLibraryIsNotReplacedByAnother(t *testing.T) {
	r := newRoom(t)
	r.put("usr/local/lib/libonnxruntime.so.1", "1.25.0")
	good, old := r.put("my/lib.so", "1.26.0"), r.put("my/old.so", "1.22.0")
	s := r.search()

	s.Explicit = good
	if got, _, err := s.Find(); err != nil || got.Path != good || got.Where != "--ort-lib" {
		t.Errorf("Find() = %+v, %v, want %s", got, err, good)
	}
	s.Explicit = old
	if _, _, err := s.Find(); err == nil || !strings.Contains(err.Error(), "old.so (from --ort-lib): ONNX Runtime 1.22.0, needs at least 1.24") {
		t.Errorf("Find() = %v, want an error about the version", err)
	}
	s.Explicit = ""
	t.Setenv(LibraryVariable, filepath.Join(r.root, "nowhere.so"))
	if _, candidates, err := s.Find(); err == nil || !strings.Contains(err.Error(), "nowhere.so (from MLPERF_ORT_LIB): no such file") || len(candidates) != 1 {
		t.Errorf("Find() = %v, %v, want an error about the missing file", candidates, err)
	}
	s.Explicit = r.root
	if _, _, err := s.Find(); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("Find() = %v, want an error about a folder", err)
	}
}

func TestLinksAreResolved(t *testing.T) {
	r := newRoom(t)
	real := r.put("opt/gpu/libonnxruntime.so.1.24.3", "1.24.3")
	for _, link := range []string{"libonnxruntime.so.1", "libonnxruntime.so"} {
		link = filepath.Join(r.root, "usr/local/lib", link)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, link); err != nil {
			t.Fatal(err)
		}
	}
	got, candidates, err := r.search().Find()
	if err != nil || got.Path != real {
		t.Fatalf("Find() = %+v, %v, want %s", got, err, real)
	}
	again := 0
	for _, c := range candidates {
		if c.Reason == "the same file as one before" {
			again++
		}
	}
	if again != 1 {
		t.Errorf("%d candidates are the same file, want the second link: %v", again, candidates)
	}
}

func TestTheLoadersFoldersAreReadFromItsConfiguration(t *testing.T) {
	r := newRoom(t)
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(r.root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("etc/ld.so.conf", "# comment\ninclude ld.so.conf.d/*.conf /etc/other.conf\t/etc/none.conf\ninclude\n/opt/last # why\n")
	write("etc/other.conf", "/opt/other\n")
	write("etc/ld.so.conf.d/a.conf", "/opt/first\n\ninclude a.conf\n")
	want := r.put("opt/first/libonnxruntime.so.1", "1.24.3")
	r.put("opt/last/libonnxruntime.so.1", "1.24.3")
	if got, want := r.search().loaderDirs(), []string{filepath.Join(r.root, "opt/first"), filepath.Join(r.root, "opt/other"), filepath.Join(r.root, "opt/last")}; !slices.Equal(got, want) {
		t.Errorf("the folders are %q, want %q", got, want)
	}
	if got, _, err := r.search().Find(); err != nil || got.Path != want {
		t.Errorf("Find() = %+v, %v, want %s", got, err, want)
	}
}

// Files that include each other would be read for ever; those that follow each other are read to the eighth.
func TestIncludedFilesAreFollowedSoFar(t *testing.T) {
	r := newRoom(t)
	etc := filepath.Join(r.root, "etc")
	if err := os.MkdirAll(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 12 {
		text := fmt.Sprintf("/opt/%d\ninclude %d.conf\nhwcap 1 nosegneg\ninclude\n", i, i+1)
		if err := os.WriteFile(filepath.Join(etc, fmt.Sprintf("%d.conf", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if i <= 8 {
			want = append(want, filepath.Join(r.root, fmt.Sprintf("opt/%d", i)))
		}
	}
	got := r.search().loaderConf(filepath.Join(etc, "0.conf"), 0)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the folders are %q, want %q", got, want)
	}
}

func TestALibraryOfADeviceIsFoundWhereTheLoaderLooks(t *testing.T) {
	r := newRoom(t)
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(r.root, "ld"))
	r.put("ld/libdriver.so.1", "")
	r.put("opt/other/liblisted.so.1", "")
	if err := os.MkdirAll(filepath.Join(r.root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.root, "etc/ld.so.conf"), []byte("/opt/other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"libdriver.so.1": true, "liblisted.so.1": true, "libnowhere.so.1": false} {
		if got := r.search().loaderHas(name); got != want {
			t.Errorf("the loader finds %s: %t, want %t", name, got, want)
		}
	}
}
