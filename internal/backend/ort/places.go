package ort

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/home"
)

// installDir returns the folder in our data directory that holds a version of the library for this
// platform. scripts/install_onnxruntime.sh follows the same rule.
func installDir(version string) (string, error) {
	return home.DataDir("onnxruntime", version, runtime.GOOS+"-"+runtime.GOARCH)
}

// installDirs lists the installed versions: the pinned one first, which results are
// comparable with, then the others from the newest.
func installDirs() []string {
	pinned, err := installDir(pinnedVersion)
	if err != nil {
		return nil
	}
	dirs := []string{pinned}
	others := fileio.Glob(filepath.Dir(filepath.Dir(pinned)), "*")
	slices.SortFunc(others, func(a, b string) int { return compareVersions(filepath.Base(b), filepath.Base(a)) })
	for _, version := range others {
		if dir := filepath.Join(version, filepath.Base(pinned)); dir != pinned && isFolder(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// nodePlatform is how the npm package onnxruntime-node names the folder of a platform, which has Go's names here.
func nodePlatform(system, arch string) string {
	if system == "windows" {
		system = "win32"
	}
	if arch == "amd64" {
		arch = "x64"
	}
	return filepath.Join(system, arch)
}

// systemDirs are the folders where packages and people put the shared libraries of a platform.
func systemDirs(system, arch string) []string {
	switch system {
	case "windows":
		return nil // its system folder holds a private copy of another age
	case "darwin":
		return []string{"/usr/local/lib", "/opt/homebrew/lib", "/opt/onnxruntime/lib"}
	}
	dirs := []string{"/usr/local/lib", "/usr/lib", "/usr/lib64", "/opt/onnxruntime/lib"}
	if multiarch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]; multiarch != "" {
		dirs = slices.Insert(dirs, 2, "/usr/lib/"+multiarch+"-linux-gnu")
	}
	return dirs
}

// loaderDirs are the folders that the system's loader searches beside those of systemDirs: its
// path variable, and on Linux what /etc/ld.so.conf lists, which is what its cache is made from.
func (s Search) loaderDirs() []string {
	variable := cmp.Or(map[string]string{"darwin": "DYLD_LIBRARY_PATH", "windows": "PATH"}[runtime.GOOS], "LD_LIBRARY_PATH")
	searched := filepath.SplitList(os.Getenv(variable))
	if runtime.GOOS == "linux" {
		searched = append(searched, s.loaderConf(filepath.Join(s.Root, "/etc/ld.so.conf"), 0)...)
	}
	var dirs []string
	for _, dir := range searched {
		if dir != "" && !slices.Contains(dirs, dir) && !slices.Contains(systemDirs(runtime.GOOS, runtime.GOARCH), dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// loaderConf reads a file in the format of ld.so.conf: a folder per line, comments after #,
// and lines that include other files by patterns.
func (s Search) loaderConf(path string, depth int) []string {
	const deepest = 8 // files that include each other would go on for ever
	text, err := os.ReadFile(path)
	if err != nil || depth > deepest {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "hwcap":
		case fields[0] == "include":
			for _, f := range s.included(fields[1:], filepath.Dir(path)) {
				dirs = append(dirs, s.loaderConf(f, depth+1)...)
			}
		default:
			dirs = append(dirs, filepath.Join(s.Root, fields[0]))
		}
	}
	return dirs
}

// included are the files of patterns that a file in a folder names.
func (s Search) included(patterns []string, folder string) (files []string) {
	for _, pattern := range patterns {
		in := folder
		if filepath.IsAbs(pattern) {
			in = s.Root
		}
		found, _ := filepath.Glob(filepath.Join(in, pattern))
		files = append(files, found...)
	}
	return files
}

// loaderHas says whether the system's loader would find a library. It may err on the side of yes.
func (s Search) loaderHas(name string) bool {
	if runtime.GOOS != "linux" {
		return true
	}
	for _, dir := range slices.Concat(systemDirs(runtime.GOOS, runtime.GOARCH), []string{"/lib", "/lib64"}, s.loaderDirs()) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
