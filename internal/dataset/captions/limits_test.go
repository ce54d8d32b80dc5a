package captions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// random is an array of normal numbers.
func random(rng *rand.Rand, shape ...int64) tensor.Tensor {
	a := tensor.New(tensor.Float32, shape...)
	for i := range tensor.Data[float32](a) {
		tensor.Data[float32](a)[i] = float32(rng.NormFloat64())
	}
	return a
}

func TestLatentsOfAnySizeAreReadInTheirOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(82, 1))
	sides := [][2]int64{{1, 1}, {1, maxSide}, {maxSide, 1}, {128, 128}, {96, 160}}
	for range 20 {
		sides = append(sides, [2]int64{1 + rng.Int64N(40), 1 + rng.Int64N(40)})
	}
	for _, side := range sides {
		want := random(rng, 1, channels, side[0], side[1])
		dir := folder(t, "latents.npy", written(t, want))
		got, err := ReadLatents(dir)
		if err != nil || got.Height != int(side[0]) || got.Width != int(side[1]) || !slices.Equal(got.Values, tensor.Data[float32](want)) {
			t.Errorf("%v: %d × %d, %d numbers, %v", side, got.Height, got.Width, len(got.Values), err)
		}
		if got.Path != filepath.Join(dir, "latents.npy") {
			t.Errorf("%v: read from %s", side, got.Path)
		}
	}
}

func TestLatentsWithoutRoomOrOfTooMuchAreRefused(t *testing.T) {
	for _, shape := range [][]int64{{1, 4, 0, 2}, {1, 4, 2, 0}, {1, 4, maxSide + 1, 1}, {1, 4, 1, maxSide + 1}, {4, 2, 2}, {1, 4, 2, 2, 1}, {0, 4, 2, 2}, {1, 5, 2, 2}} {
		_, err := ReadLatents(folder(t, "latents.npy", written(t, tensor.New(tensor.Float32, shape...))))
		if want := fmt.Sprintf("the latents have the shape %v, want [1 4 height width] with sides up to 4096", tensor.Shape(shape)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v: %v, want %q", shape, err, want)
		}
	}
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a := tensor.New(tensor.Float32, 1, channels, 1, 2)
		at := []int{0, 3, 7}[i]
		tensor.Data[float32](a)[at] = float32(v)
		_, err := ReadLatents(folder(t, "latents.npy", written(t, a)))
		if want := fmt.Sprintf("number %d of the latents is %v", at, v); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v: %v, want %q", v, err, want)
		}
	}
}

// The first file that is there counts, even if it cannot be read: another one may be of another run.
func TestTheFirstOfSeveralFilesCounts(t *testing.T) {
	one := written(t, tensor.New(tensor.Float32, 1, channels, 1, 1))
	for i, first := range latentFiles {
		for _, second := range latentFiles[i+1:] {
			if l, err := ReadLatents(folder(t, second, one, first, "<html>")); err == nil || !strings.HasSuffix(l.Path, filepath.FromSlash(first)) {
				t.Errorf("%s before %s: %s, %v", first, second, l.Path, err)
			}
		}
	}
	for i, first := range tables {
		for _, second := range tables[i+1:] {
			if got, err := Read(folder(t, second, "caption\nb\n", first, "caption\na\n"), 0); err != nil || got[0] != "a" {
				t.Errorf("%s before %s: %q, %v", first, second, got, err)
			}
			if got, err := Read(folder(t, second, "caption\nb\n", first, ""), 0); err == nil {
				t.Errorf("an empty %s before %s: %q", first, second, got)
			}
		}
	}
}

func TestStatisticsOfAnySizeComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(82, 2))
	for range 20 {
		n := 1 + rng.IntN(30)
		want := accuracy.FeatureStatistics{Mean: make([]float64, n), Covariance: make([]float64, n*n)}
		for i := range want.Covariance {
			want.Mean[i%n], want.Covariance[i] = rng.NormFloat64(), rng.NormFloat64()*math.Exp(100*rng.NormFloat64())
		}
		path := filepath.Join(t.TempDir(), StatisticsFile)
		if err := WriteStatistics(path, want); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadStatistics(path); err != nil || !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Covariance, want.Covariance) {
			t.Errorf("%d features: %+v, %v, want %+v", n, got, err, want)
		}
	}
}

func TestStatisticsHaveAsManyFeaturesAsMay(t *testing.T) {
	rng := rand.New(rand.NewPCG(82, 3))
	for _, c := range []struct {
		name      string
		mu, sigma tensor.Tensor
		want      string
	}{
		{"one feature of either precision", random(rng, 1), tensor.New(tensor.Float64, 1, 1), ""},
		{"too many", random(rng, maxFeatures+1), random(rng, 1, 1), "mu has the shape [8193], want [n] with up to 8192 features"},
		{"as many as may", random(rng, maxFeatures), random(rng, 1, 1), "sigma has the shape [1 1], want [8192 8192] as mu has 8192 features"},
		{"a mean of two axes", random(rng, 2, 2), random(rng, 2, 2), "mu has the shape [2 2]"},
		{"a covariance that is not square", random(rng, 2), random(rng, 2, 1), "sigma has the shape [2 1], want [2 2]"},
		{"a covariance that is not square either", random(rng, 2), random(rng, 1, 2), "sigma has the shape [1 2], want [2 2]"},
		{"whole numbers behind", random(rng, 2), tensor.New(tensor.Int32, 2, 2), "sigma has numbers of type int32, want float64 or float32"},
	} {
		s, err := parseStatistics([]byte(archive(t, map[string]tensor.Tensor{"mu": c.mu, "sigma": c.sigma})))
		if c.want == "" && (err != nil || s.Mean[0] != float64(tensor.Data[float32](c.mu)[0]) || len(s.Covariance) != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v, want %q", c.name, s, err, c.want)
		}
	}
}
