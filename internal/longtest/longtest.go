// Package longtest marks tests that take long: make test runs them, go test by itself does
// not. It leaves out benchmarks, which run only when somebody asks.
package longtest

import (
	"os"
	"testing"
)

// Wanted reports whether long tests run: MLPERF_LONG_TESTS is set.
func Wanted() bool { return os.Getenv("MLPERF_LONG_TESTS") != "" }

// Skip skips a test unless long tests run. It says why the test takes long.
func Skip(t testing.TB, why string) {
	t.Helper()
	if !Wanted() {
		t.Skip(why + ": make test")
	}
}
