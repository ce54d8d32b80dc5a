// Package npytest reads golden tensors for tests.
package npytest

import (
	"archive/zip"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Archive returns the arrays of an .npz file by name.
func Archive(t testing.TB, path string) map[string]tensor.Tensor {
	t.Helper()
	z, err := zip.OpenReader(path)
	testenv.Must(t, err)
	defer z.Close()
	all := map[string]tensor.Tensor{}
	for _, f := range z.File {
		r, err := f.Open()
		testenv.Must(t, err)
		n, err := npy.NewReader(r)
		testenv.Must(t, err)
		a := tensor.New(n.Type, n.Shape...)
		testenv.Must(t, n.Read(a), r.Close())
		all[strings.TrimSuffix(f.Name, ".npy")] = a
	}
	return all
}
