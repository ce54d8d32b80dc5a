package captions

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// WriteStatistics writes a file that ReadStatistics reads.
func WriteStatistics(path string, s accuracy.FeatureStatistics) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, n := zip.NewWriter(f), int64(len(s.Mean))
	for _, array := range []struct {
		name string
		t    tensor.Tensor
	}{{"mu", tensor.Of(s.Mean, n)}, {"sigma", tensor.Of(s.Covariance, n, n)}} {
		w, err := z.Create(array.name + ".npy")
		if err == nil {
			err = npy.Write(w, array.t)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, array.name, err)
		}
	}
	return z.Close()
}
