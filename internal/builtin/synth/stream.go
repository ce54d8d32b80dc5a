package synth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"image"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
)

// A stream gives random numbers that follow from what they are for: a purpose and the
// numbers that tell its uses apart. Streams of different purposes are independent.
//
// Only the generator is taken from math/rand/v2, because only that is promised to stay
// as it is; what is made of its bits is ours, and the same on every platform.
type stream struct{ pcg rand.PCG }

func newStream(purpose string, numbers ...uint64) *stream {
	return &stream{Seeded(purpose, numbers...)}
}

// Seeded returns the generator for a purpose and the numbers that tell its uses apart. It
// hashes before it seeds, since the first numbers of a PCG resemble those of its neighbour's.
func Seeded(purpose string, numbers ...uint64) rand.PCG {
	key := append([]byte(purpose), 0)
	for _, n := range numbers {
		key = binary.LittleEndian.AppendUint64(key, n)
	}
	sum := sha256.Sum256(key)
	return *rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]))
}

// deriveSeed returns a seed for one use of many that a seed has.
func deriveSeed(purpose string, numbers ...uint64) uint64 {
	return newStream(purpose, numbers...).pcg.Uint64()
}

// uniform returns a number from 0 up to but not including 1.
func (s *stream) uniform() float64 {
	return float64(s.pcg.Uint64()>>11) * 0x1p-53
}

// normal returns a bell-shaped number of mean 0 and variance 1, at most 3.47 away from
// 0: the sum of four uniform numbers of 16 bits. A true normal number takes a logarithm,
// which differs between platforms in the last bit.
func (s *stream) normal() float64 {
	const deviation = 37837.22 // √((2³²-1)/3), of the sum
	var sum int64
	for b := s.pcg.Uint64(); b != 0; b >>= 16 {
		sum += int64(b & 0xffff)
	}
	return float64(sum-2*0xffff) / deviation
}

// below returns a whole number from 0 to n-1.
func (s *stream) below(n int) int {
	high, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return int(high)
}

// between returns a whole number from low to high.
func (s *stream) between(low, high int) int { return low + s.below(high-low+1) }

// pick returns an index with a chance in proportion to its weight.
func (s *stream) pick(weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	at := s.below(total)
	for i, w := range weights {
		if at < w {
			return i
		}
		at -= w
	}
	return len(weights) - 1
}

// shuffle puts numbers into a random order.
func (s *stream) shuffle(v []int) {
	for i := len(v) - 1; i > 0; i-- {
		j := s.below(i + 1)
		v[i], v[j] = v[j], v[i]
	}
}

// sine returns the sine of an angle in turns, to about ten digits. It is made of sums
// and products, each rounded by itself, and so the same on every platform; math.Sin is
// not. Angles must be far below 2⁵².
func sine(turns float64) float64 {
	t := turns - math.Floor(turns+0.5) // to between -1/2 and 1/2
	switch {
	case t > 0.25:
		t = 0.5 - t
	case t < -0.25:
		t = -0.5 - t
	}
	x := float64(t * (2 * math.Pi))
	square := float64(x * x)
	// Taylor's series, x·(1 - x²/3! + x⁴/5! - …), from its far end.
	sum := 0.0
	for n := 15.0; n > 1; n -= 2 {
		sum = float64((1-sum)*square) / (n * (n - 1))
	}
	return float64(x * (1 - sum))
}

func cosine(turns float64) float64 { return sine(turns + 0.25) }

// sineTable has one turn of the sine, in units of 2⁻¹⁴.
var sineTable = makeSineTable()

const (
	sineBits = 10 // of the index into sineTable
	sineUnit = 14
)

func makeSineTable() *[1 << sineBits]int32 {
	var table [1 << sineBits]int32
	for i := range table {
		table[i] = fixed(sine(float64(i)/(1<<sineBits)), sineUnit)
	}
	return &table
}

// fixed returns a number in units of 2⁻ᵇⁱᵗˢ, rounded.
func fixed(v float64, bits int) int32 {
	return int32(math.Floor(float64(v*float64(int64(1)<<bits)) + 0.5))
}

// storedFor returns the pixels that have to be in a file with an EXIF orientation, so
// that a reader who heeds it sees m. Orientations without rotation return m itself.
func storedFor(m *image.RGBA, orientation byte) *image.RGBA {
	width, height := m.Rect.Dx(), m.Rect.Dy()
	if orientation == rotate90 || orientation == rotate270 {
		width, height = height, width
	} else if orientation != rotate180 {
		return m
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			tx, ty := width-1-x, height-1-y // half a turn
			switch orientation {
			case rotate90:
				tx, ty = y, height-1-x
			case rotate270:
				tx, ty = width-1-y, x
			}
			out.SetRGBA(tx, ty, m.RGBAAt(x, y))
		}
	}
	return out
}

// EXIF orientations that turn the picture, by what the reader has to do: rotate
// clockwise by so many degrees (EXIF 2.3 §4.6.4, tag 0x0112).
const (
	rotate180 = 3
	rotate90  = 6
	rotate270 = 8
)

// draw makes n files on all processors. Each worker gets a function of its own, which may
// keep memory from file to file. Progress, if it is not nil, is told after each.
func draw(ctx context.Context, n int, newWorker func() func(i int) error, progress func(done, total int)) error {
	done := workerpool.Counter(n, progress)
	return workerpool.EachWith(ctx, 0, n, func() func(context.Context, int) error {
		work := newWorker()
		return func(_ context.Context, i int) error {
			err := work(i)
			if err == nil {
				done(1)
			}
			return err
		}
	})
}
