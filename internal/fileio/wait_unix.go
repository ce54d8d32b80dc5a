//go:build unix

package fileio

import "syscall"

// noWait keeps the opening of what has just become a pipe from waiting for a writer.
const noWait = syscall.O_NONBLOCK
