package captions

import (
	"archive/zip"
	"bytes"
	"fmt"
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

// ReadStatistics reads what photographs are like, as pytorch-fid keeps it: an archive with mu, the
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
		return s, fmt.Errorf("no archive of NumPy's arrays: %w", err)
	}
	if s.Mean, err = readArray(archive, "mu", 1, 0); err != nil {
		return s, err
	}
	s.Covariance, err = readArray(archive, "sigma", 2, int64(len(s.Mean)))
	return s, err
}

// readArray reads an array of an archive with so many axes, each of which has n elements; 0: any
// number.
func readArray(archive *zip.Reader, name string, axes int, n int64) ([]float64, error) {
	f, err := archive.Open(name + ".npy")
	if err != nil {
		return nil, fmt.Errorf("there is no %s: %w", name, err)
	}
	defer f.Close()
	r, err := npy.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(r.Shape) == axes && eachIs(r.Shape, n) {
		return readFloats(r, name)
	}
	if n > 0 {
		return nil, fmt.Errorf("%s has the shape %v, want [%d %d] as mu has %d features", name, r.Shape, n, n, n)
	}
	return nil, fmt.Errorf("%s has the shape %v, want [n] with up to %d features", name, r.Shape, maxFeatures)
}

// eachIs reports whether every axis has n elements; 0: any number that features may have.
func eachIs(shape tensor.Shape, n int64) bool {
	return !slices.ContainsFunc(shape, func(extent int64) bool {
		return extent < 1 || extent > maxFeatures || n > 0 && extent != n
	})
}

// readFloats reads numbers of either precision.
func readFloats(r *npy.Reader, name string) ([]float64, error) {
	values := make([]float64, r.Shape.Len())
	switch r.Type {
	case tensor.Float64:
		return values, r.Read(tensor.Of(values, r.Shape...))
	case tensor.Float32:
		short := make([]float32, len(values))
		err := r.Read(tensor.Of(short, r.Shape...))
		for i, v := range short {
			values[i] = float64(v)
		}
		return values, err
	}
	return nil, fmt.Errorf("%s has numbers of type %v, want float64 or float32", name, r.Type)
}
