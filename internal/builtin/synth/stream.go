package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
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
