//go:build !unix

package coderun

import (
	"os"
	"os/exec"
)

func isolate(*exec.Cmd, bool) {}

func endGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func probe() (isolated, counted bool) { return false, false }

func confined(_ string, _ int64, f func() error) error { return f() }

func own(string) error { return nil }

func find(name string) (string, error) { return exec.LookPath(name) }

func whereabouts(folder *os.File) (string, error) { return folder.Name(), nil }
