package home

import (
	"io/fs"
	"syscall"
	"time"
)

// usage is what a file takes on disk, and when it was read or written last. Where the file
// system does not keep the time of reading, that of writing counts.
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
