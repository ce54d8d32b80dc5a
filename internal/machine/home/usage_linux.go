package home

import (
	"io/fs"
	"syscall"
	"time"
)

// usage returns the size of a file on disk, and when it was read or written last, as far as the file system keeps that.
func usage(info fs.FileInfo) (bytes int64, used time.Time) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size(), info.ModTime()
	}
	used = time.Unix(s.Atim.Unix())
	if info.ModTime().After(used) {
		used = info.ModTime()
	}
	return s.Blocks * 512, used // st_blocks counts 512 bytes, stat(2)
}
