//go:build unix && !linux

package coderun

import (
	"os/exec"
	"syscall"
)

// keepApart gives a command a group of processes, which ends as a whole.
func keepApart(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return endGroup(cmd) }
}

func canIsolate() bool { return false }

func canCount() bool { return false }
