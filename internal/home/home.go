// Package home says where this program keeps files: what it can make again in the
// cache directory, what it has downloaded in the data directory.
package home

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// CacheDir returns the folder for files that can be made again, with further path
// elements appended: $MLPERF_CACHE_DIR, or mlperf in the user's cache directory.
func CacheDir(elem ...string) (string, error) {
	if dir := os.Getenv("MLPERF_CACHE_DIR"); dir != "" {
		return join(dir, elem)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w; set MLPERF_CACHE_DIR", err)
	}
	return join(filepath.Join(dir, "mlperf"), elem)
}

// DataDir returns the folder for downloaded files, with further path elements
// appended: $MLPERF_DATA_DIR, or mlperf in the directory that the operating system has
// for the purpose.
func DataDir(elem ...string) (string, error) {
	if dir := os.Getenv("MLPERF_DATA_DIR"); dir != "" {
		return join(dir, elem)
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" && filepath.IsAbs(dir) {
		return join(filepath.Join(dir, "mlperf"), elem)
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the data directory: %w; set MLPERF_DATA_DIR", err)
	}
	switch runtime.GOOS {
	case "darwin":
		return join(filepath.Join(user, "Library", "Application Support", "mlperf"), elem)
	case "windows":
		return join(filepath.Join(user, "AppData", "Local", "mlperf"), elem)
	}
	return join(filepath.Join(user, ".local", "share", "mlperf"), elem)
}

func join(dir string, elem []string) (string, error) {
	abs, err := filepath.Abs(dir)
	return filepath.Join(append([]string{abs}, elem...)...), err
}
