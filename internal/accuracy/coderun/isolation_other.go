//go:build !unix

package coderun

import "os/exec"

func isolate(*exec.Cmd, bool) {}

func endGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
