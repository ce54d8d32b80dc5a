//go:build unix

package testenv

import (
	"syscall"
	"testing"
)

// Pipe makes a named pipe.
func Pipe(t testing.TB, path string) {
	t.Helper()
	Must(t, syscall.Mkfifo(path, 0o644))
}
