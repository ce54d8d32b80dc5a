package machine

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/shirou/gopsutil/v4/disk"
)

// A Disk is the file system that a directory is on.
type Disk struct {
	Path       string `json:"path"` // that was asked for
	Type       string `json:"type,omitempty"`
	TotalBytes uint64 `json:"total_bytes"`
	FreeBytes  uint64 `json:"free_bytes"` // for this user
}

// DiskOf returns the file system of a directory, which need not exist yet: then that of the
// nearest one above it that does.
func DiskOf(dir string) (Disk, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Disk{}, fmt.Errorf("free space of %s: %w", dir, err)
	}
	for existing := abs; ; existing = filepath.Dir(existing) {
		_, err := os.Stat(existing)
		if err != nil && existing != filepath.Dir(existing) {
			continue
		}
		use, err := disk.Usage(existing)
		if err != nil {
			return Disk{}, fmt.Errorf("free space of %s: %w", dir, err)
		}
		return Disk{Path: abs, Type: use.Fstype, TotalBytes: use.Total, FreeBytes: use.Free}, nil
	}
}
