package ort

import (
	"os/exec"
	"testing"
)

func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip("there are no pipes with names: ", err)
	}
}
