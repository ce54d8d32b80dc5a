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
	return place{"cache", "MLPERF_CACHE_DIR", "XDG_CACHE_HOME", xdg.CacheHome}.folder(elem)
}

// DataDir returns the folder for downloaded files, with further path elements
// appended: $MLPERF_DATA_DIR, or mlperf in the user's data directory.
func DataDir(elem ...string) (string, error) {
	return place{"data", "MLPERF_DATA_DIR", "XDG_DATA_HOME", xdg.DataHome}.folder(elem)
}

// A place is where files of a kind are kept.
type place struct {
	what         string
	ours, theirs string // environment variables
	usual        string
}

// folder prefers what our variable has to the usual place.
func (p place) folder(elem []string) (string, error) {
	dir := os.Getenv(p.ours)
	if dir == "" {
		// Package xdg takes the root for the home directory of who has none.
		if _, err := os.UserHomeDir(); err != nil && !filepath.IsAbs(os.Getenv(p.theirs)) {
			return "", fmt.Errorf("finding the %s directory: %w; set %s", p.what, err, p.ours)
		}
		dir = filepath.Join(p.usual, "mlperf")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the %s directory: %w", p.what, err)
	}
	return filepath.Join(append([]string{abs}, elem...)...), nil
}
