package home

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adrg/xdg"
)

// environment sets variables for a test, also for package xdg, which reads them once.
func environment(t *testing.T, variables map[string]string) {
	t.Helper()
	t.Cleanup(xdg.Reload) // after the variables are as they were
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "MLPERF_CACHE_DIR", "MLPERF_DATA_DIR"} {
		t.Setenv(name, variables[name])
	}
	xdg.Reload()
}

func TestFolders(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the expected paths are those of Linux")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		variables   map[string]string
		cache, data string // "": an error
	}{
		"below the home directory":           {map[string]string{"HOME": "/home/me"}, "/home/me/.cache/mlperf/a/b", "/home/me/.local/share/mlperf/a/b"},
		"where XDG has them":                 {map[string]string{"HOME": "/home/me", "XDG_CACHE_HOME": "/c", "XDG_DATA_HOME": "/d"}, "/c/mlperf/a/b", "/d/mlperf/a/b"},
		"not where a relative XDG path is":   {map[string]string{"HOME": "/home/me", "XDG_CACHE_HOME": "c", "XDG_DATA_HOME": "d"}, "/home/me/.cache/mlperf/a/b", "/home/me/.local/share/mlperf/a/b"},
		"where our variables have them":      {map[string]string{"HOME": "/home/me", "XDG_DATA_HOME": "/d", "MLPERF_CACHE_DIR": "/oc", "MLPERF_DATA_DIR": "/od"}, "/oc/a/b", "/od/a/b"},
		"where our relative variables are":   {map[string]string{"HOME": "/home/me", "MLPERF_CACHE_DIR": "oc", "MLPERF_DATA_DIR": "./od/"}, filepath.Join(here, "oc/a/b"), filepath.Join(here, "od/a/b")},
		"nowhere without a home directory":   {nil, "", ""},
		"without a home, but with variables": {map[string]string{"MLPERF_CACHE_DIR": "/oc", "MLPERF_DATA_DIR": "/od"}, "/oc/a/b", "/od/a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, c.variables)
			for what, f := range map[string]func(...string) (string, error){"CACHE": CacheDir, "DATA": DataDir} {
				want := map[string]string{"CACHE": c.cache, "DATA": c.data}[what]
				got, err := f("a", "b")
				if got != want || (err == nil) != (want != "") {
					t.Errorf("%s: %q, %v; want %q", what, got, err, want)
				}
				if err != nil && !strings.Contains(err.Error(), "set MLPERF_"+what+"_DIR") {
					t.Errorf("%v does not say what to set", err)
				}
			}
		})
	}
}

func ExampleCacheDir() {
	os.Setenv("MLPERF_CACHE_DIR", "/var/cache/mlperf")
	defer os.Unsetenv("MLPERF_CACHE_DIR")
	dir, err := CacheDir("models")
	fmt.Println(filepath.ToSlash(dir), err)
	// Output: /var/cache/mlperf/models <nil>
}
