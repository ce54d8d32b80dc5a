package captions

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// StatisticsFile is the usual name of the statistics.
const StatisticsFile = "val2014.npz"

const (
	maxStatistics = 1 << 30
	maxFeatures   = 1 << 13
)

// ReadStatistics reads statistics of photographs in the form of pytorch-fid: an archive with mu, the
// mean of the features, and sigma, their covariance.
func ReadStatistics(path string) (s accuracy.FeatureStatistics, err error) {
	data, err := fileio.ReadFile(path, maxStatistics)
	if err != nil {
		return s, fmt.Errorf("reading the statistics: %w", err)
	}
	if s, err = parseStatistics(data); err != nil {
		return s, fmt.Errorf("reading the statistics: %s: %w", path, err)
	}
	return s, nil
}

func parseStatistics(data []byte) (s accuracy.FeatureStatistics, err error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return s, fmt.Errorf("not an archive of NumPy arrays: %w", err)
	}
	if s.Mean, err = readArray(archive, "mu", 1, 0); err != nil {
		return s, err
	}
	s.Covariance, err = readArray(archive, "sigma", 2, int64(len(s.Mean)))
	return s, err
}

// readArray reads an array with n elements along each of its axes; 0: any number.
func readArray(archive *zip.Reader, name string, axes int, n int64) ([]float64, error) {
	f, err := archive.Open(name + ".npy")
	if err != nil {
		return nil, fmt.Errorf("no array %s: %w", name, err)
	}
	defer f.Close()
	r, err := npy.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	wrong := func(extent int64) bool { return extent < 1 || extent > maxFeatures || n > 0 && extent != n }
	if len(r.Shape) != axes || slices.ContainsFunc(r.Shape, wrong) {
		if n > 0 {
			return nil, fmt.Errorf("the shape of %s is %v: must be [%d %d] for the %d features of mu", name, r.Shape, n, n, n)
		}
		return nil, fmt.Errorf("the shape of %s is %v: must be [n] with up to %d features", name, r.Shape, maxFeatures)
	}
	values := make([]float64, r.Shape.Len())
	switch r.Type {
	case tensor.Float64:
		return values, r.Read(tensor.Of(values, r.Shape...))
	case tensor.Float32:
		single := make([]float32, len(values))
		err := r.Read(tensor.Of(single, r.Shape...))
		for i, v := range single {
			values[i] = float64(v)
		}
		return values, err
	}
	return nil, fmt.Errorf("the numbers of %s are %v: must be float64 or float32", name, r.Type)
}

// WriteStatistics writes a file for ReadStatistics.
func WriteStatistics(path string, s accuracy.FeatureStatistics) error {
	return fileio.WriteAtomic(path, 0o644, func(to io.Writer) error { return writeStatistics(to, s) })
}

func writeStatistics(to io.Writer, s accuracy.FeatureStatistics) error {
	z, n := zip.NewWriter(to), int64(len(s.Mean))
	for _, array := range []struct {
		name string
		t    tensor.Tensor
	}{{"mu", tensor.Of(s.Mean, n)}, {"sigma", tensor.Of(s.Covariance, n, n)}} {
		w, err := z.Create(array.name + ".npy")
		if err == nil {
			err = npy.Write(w, array.t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", array.name, err)
		}
	}
	return z.Close()
}
