package fileio

import (
	"fmt"
	"io/fs"
	"syscall"
)

func inode(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(" ", s.Ino, " ", s.Ctimespec.Nano())
	}
	return ""
}
