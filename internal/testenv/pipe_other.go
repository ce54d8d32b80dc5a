//go:build !unix

package testenv

import (
	"os"
	"testing"
)

// Pipe makes a folder: this system has no named pipes.
func Pipe(t testing.TB, path string) {
	t.Helper()
	Must(t, os.Mkdir(path, 0o755))
}
