package arch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A Filler says with what a tensor of weights is filled. Fillers make no weights
// themselves but a Source that makes them while it is read.
//
// The random ones draw from a stream of their own for each tensor, which follows from
// the seed and the tensor's name. So no weight depends on the order in which tensors
// are made, on other tensors, or on the platform: the arithmetic is on integers,
// followed by single multiplications and roundings that IEEE 754 defines exactly.
// There is no logarithm or exponential, which differ between platforms in the last
// bit, and no sum of a product, which some fuse into one rounding.
type Filler interface {
	fill(seed uint64, name string, dims []int64) (onnx.Source, error)
}

// He fills a tensor with bell-shaped random weights of mean 0 and variance
// Gain²·2/fan-in, which keeps the size of activations from layer to layer where
// ReLU follows (He et al., arXiv:1502.01852). The first axis of the tensor has
// to be that of the outputs; the others together are the fan-in.
//
// Each weight is the sum of four uniform numbers of 16 bits, which is close to a
// normal distribution cut off at 3.46 standard deviations.
type He struct {
	Gain float64 // 0 means 1
	// ZeroMean shifts each output's weights so that their sum is 0 but for rounding.
	// That makes features of a deep random network differ between images: without
	// it they share one large component, the mean of the activations.
	ZeroMean bool
}

// Uniform fills a tensor with random weights between Low and High, evenly.
type Uniform struct{ Low, High float32 }

// Constant fills a tensor with one number.
type Constant float32

// Given fills a tensor with the caller's weights, in row-major order. They are not
// copied.
type Given []float32

// sumVariance is the variance of the sum of four uniform integers of 16 bits, each of
// which has the variance (2³²-1)/12.
const sumVariance = (1<<32 - 1) / 3

func (h He) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	if len(dims) < 2 {
		return nil, fmt.Errorf("He weights need an axis of outputs and one of inputs, not %v", dims)
	}
	gain := h.Gain
	if gain == 0 {
		gain = 1
	}
	fan := product(dims[1:])
	return &bell{
		stream: streamSeed(seed, name), outputs: dims[0], fan: fan, zeroMean: h.ZeroMean,
		scale: gain * math.Sqrt(2/float64(fan)) / math.Sqrt(sumVariance),
	}, nil
}

func (u Uniform) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	return &uniform{stream: streamSeed(seed, name), n: product(dims), low: float64(u.Low), width: float64(u.High) - float64(u.Low)}, nil
}

func (c Constant) fill(_ uint64, _ string, dims []int64) (onnx.Source, error) {
	one := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(c)))
	return onnx.Raw(bytes.Repeat(one, int(product(dims)))), nil
}

func (g Given) fill(_ uint64, _ string, dims []int64) (onnx.Source, error) {
	if want := product(dims); int64(len(g)) != want {
		return nil, fmt.Errorf("%d weights given for the shape %v of %d", len(g), dims, want)
	}
	return given(g), nil
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// streamSeed derives the two halves of the seed of a tensor's random stream.
func streamSeed(seed uint64, name string) [2]uint64 {
	h := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(name+"\x00"), seed))
	return [2]uint64{binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16])}
}

// seededNorm returns a batch norm that nearly keeps values of mean 0 and a given
// standard deviation, divided by it: every channel differs a little, so that leaving
// the norm out, or folding it wrongly, is noticed.
func seededNorm(epsilon, deviation float32) BatchNorm {
	variance := deviation * deviation
	return BatchNorm{
		Epsilon:  epsilon,
		Gamma:    Uniform{0.8, 1.2},
		Beta:     Uniform{-0.1, 0.1},
		Mean:     Uniform{-0.1 * deviation, 0.1 * deviation},
		Variance: Uniform{0.8 * variance, 1.2 * variance},
	}
}

// pairedNorm is a seededNorm over pairs of channels that differ in nothing but a step. The
// first of each pair lies anywhere from low to high above the threshold of the ReLU that
// is to follow.
func pairedNorm(epsilon, low, high, step float32) BatchNorm {
	n := seededNorm(epsilon, 1)
	n.Gamma, n.Mean, n.Variance = Paired{Of: n.Gamma}, Paired{Of: n.Mean}, Paired{Of: n.Variance}
	n.Beta = Paired{Uniform{low, high}, step}
	return n
}

// chunk is the number of elements that the sources below make at a time.
const chunk = 4096

// bell is the Source behind He.
type bell struct {
	stream       [2]uint64
	outputs, fan int64
	zeroMean     bool
	scale        float64
}

func (s *bell) Size() int64 { return 4 * s.outputs * s.fan }

func (s *bell) WriteTo(w io.Writer) (int64, error) {
	rng := rand.NewPCG(s.stream[0], s.stream[1])
	group := min(chunk, s.outputs*s.fan)
	if s.zeroMean {
		group = s.fan
	}
	sums := make([]int32, group)
	buf := make([]byte, 4*group)
	var written int64
	for left := s.outputs * s.fan; left > 0; left -= group {
		sums := sums[:min(group, left)]
		total := drawSums(rng, sums)
		s.scaleSums(buf, sums, total)
		n, err := w.Write(buf[:4*len(sums)])
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// drawSums fills sums with sums of four uniform integers of 16 bits, less their mean
// of 2·65535, and returns their total.
func drawSums(rng *rand.PCG, sums []int32) (total int64) {
	const evenHalves = 0x0000ffff_0000ffff
	for i := range sums {
		bits := rng.Uint64()
		pairs := bits&evenHalves + bits>>16&evenHalves // two sums of two, side by side
		sum := int32(pairs>>32+pairs&0xffffffff) - 2*65535
		sums[i] = sum
		total += int64(sum)
	}
	return total
}

// scaleSums writes the weights that the sums stand for. For mean zero it multiplies
// before it subtracts, since the mean is no integer: (n·sum - total) · scale/n.
func (s *bell) scaleSums(buf []byte, sums []int32, total int64) {
	times, scale := int64(1), s.scale
	if s.zeroMean {
		times, scale = s.fan, s.scale/float64(s.fan)
	} else {
		total = 0
	}
	for i, sum := range sums {
		weight := float32(float64(times*int64(sum)-total) * scale)
		binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(weight))
	}
}

// uniform is the Source behind Uniform.
type uniform struct {
	stream     [2]uint64
	n          int64
	low, width float64
}

func (s *uniform) Size() int64 { return 4 * s.n }

func (s *uniform) WriteTo(w io.Writer) (int64, error) {
	rng := rand.NewPCG(s.stream[0], s.stream[1])
	return writeFloats(w, s.n, func(int64) float32 {
		step := float64(s.width * float64(rng.Uint64()>>11)) // the conversion forbids fusing
		return float32(s.low + float64(step*0x1p-53))
	})
}

// given is the Source behind Given.
type given []float32

func (s given) Size() int64 { return 4 * int64(len(s)) }

func (s given) WriteTo(w io.Writer) (int64, error) {
	return writeFloats(w, int64(len(s)), func(i int64) float32 { return s[i] })
}

func writeFloats(w io.Writer, n int64, at func(i int64) float32) (written int64, err error) {
	buf := make([]byte, 0, 4*min(chunk, n))
	for i := range n {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(at(i)))
		if len(buf) == cap(buf) || i == n-1 {
			k, err := w.Write(buf)
			written += int64(k)
			if err != nil {
				return written, err
			}
			buf = buf[:0]
		}
	}
	return written, nil
}
