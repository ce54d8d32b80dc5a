//go:build unix && !linux

package coderun

import (
	"os/exec"
	"syscall"
)

// isolate gives a command a process group, which ends as a whole.
func isolate(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func endGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
