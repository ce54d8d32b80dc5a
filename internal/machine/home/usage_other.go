//go:build !linux

package home

import (
	"io/fs"
	"time"
)

// usage returns the length of a file, and when it was written last.
func usage(info fs.FileInfo) (bytes int64, used time.Time) { return info.Size(), info.ModTime() }
