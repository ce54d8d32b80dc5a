//go:build !unix

package coderun

import "os/exec"

// keepApart cannot do more than end the command itself here.
func keepApart(*exec.Cmd, bool) {}

func canIsolate() bool { return false }

func canCount() bool { return false }

// endGroup ends a command.
func endGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
