//go:build unix

package coderun

import (
	"os/exec"
	"syscall"
)

// endGroup ends a command that keepApart was given, and what it has begun.
func endGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
