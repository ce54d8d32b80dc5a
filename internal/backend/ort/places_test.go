package ort

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestLibrariesAreLookedForWhereThePlatformHasThem(t *testing.T) {
	usual := []string{"/usr/local/lib", "/usr/lib", "/usr/lib64", "/opt/onnxruntime/lib"}
	for _, c := range []struct {
		system, arch, node string
		dirs               []string
	}{
		{"linux", "amd64", "linux/x64", slices.Insert(slices.Clone(usual), 2, "/usr/lib/x86_64-linux-gnu")},
		{"linux", "arm64", "linux/arm64", slices.Insert(slices.Clone(usual), 2, "/usr/lib/aarch64-linux-gnu")},
		{"linux", "riscv64", "linux/riscv64", usual}, // whose folder nobody has named
		{"darwin", "arm64", "darwin/arm64", []string{"/usr/local/lib", "/opt/homebrew/lib", "/opt/onnxruntime/lib"}},
		{"windows", "amd64", "win32/x64", nil},
	} {
		if got := systemDirs(c.system, c.arch); !slices.Equal(got, c.dirs) {
			t.Errorf("on %s, %s: %q, want %q", c.system, c.arch, got, c.dirs)
		}
		if got := filepath.ToSlash(nodePlatform(c.system, c.arch)); got != c.node {
			t.Errorf("on %s, %s: %s, want %s", c.system, c.arch, got, c.node)
		}
	}
}
