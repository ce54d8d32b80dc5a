package fileio

import (
	"fmt"
	"io/fs"
)

// Version names what is known of a file's content without reading it: its size and modification time, and where the system has them its
// inode and time of change. No program can set the time of change, so other content has another version.
func Version(info fs.FileInfo) string {
	return fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano(), inode(info))
}
