package home

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
)

// CacheDir returns the folder for files that can be made again, with further path
// elements appended: $MLPERF_CACHE_DIR, or mlperf in the user's cache directory.
func CacheDir(elem ...string) (string, error) {
	return folder("cache", "MLPERF_CACHE_DIR", "XDG_CACHE_HOME", xdg.CacheHome, elem)
}

// DataDir returns the folder for downloaded files, with further path elements
// appended: $MLPERF_DATA_DIR, or mlperf in the user's data directory.
func DataDir(elem ...string) (string, error) {
	return folder("data", "MLPERF_DATA_DIR", "XDG_DATA_HOME", xdg.DataHome, elem)
}

// folder prefers the folder in a variable of this program to mlperf below the user's directory, which may come from a variable of XDG.
func folder(kind, variable, xdgVariable, userDir string, elem []string) (string, error) {
	dir := os.Getenv(variable)
	if dir == "" {
		// Package xdg takes the root for the home directory of a user without one.
		if _, err := os.UserHomeDir(); err != nil && !filepath.IsAbs(os.Getenv(xdgVariable)) {
			return "", fmt.Errorf("finding the %s directory: %w; set %s", kind, err, variable)
		}
		dir = filepath.Join(userDir, "mlperf")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the %s directory: %w", kind, err)
	}
	return filepath.Join(append([]string{abs}, elem...)...), nil
}
