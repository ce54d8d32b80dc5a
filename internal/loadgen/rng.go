package loadgen

import "math"

// This file is the arithmetic of libstdc++ (GCC 11 and later) that decides the
// reference LoadGen's traffic: std::mt19937, std::uniform_int_distribution,
// std::shuffle, std::exponential_distribution and
// std::uniform_real_distribution<double>. Change nothing here without the golden
// sequences in testdata/rng.

const (
	mtSize   = 624
	mtShift  = 397
	mtUpper  = 0x80000000
	mtLower  = 0x7fffffff
	mtMatrix = 0x9908b0df

	// mtDefaultSeed is the seed of a std::mt19937 that was given none.
	mtDefaultSeed = 5489
)

// mt19937 is the 32-bit Mersenne Twister of Matsumoto and Nishimura.
type mt19937 struct {
	state [mtSize]uint32
	next  int
}

// newMT19937 seeds the engine with the low 32 bits of seed, as constructing a
// std::mt19937 from a uint64_t does.
func newMT19937(seed uint64) *mt19937 {
	g := &mt19937{next: mtSize}
	g.state[0] = uint32(seed)
	for i := 1; i < mtSize; i++ {
		prev := g.state[i-1]
		g.state[i] = 1812433253*(prev^prev>>30) + uint32(i)
	}
	return g
}

func (g *mt19937) uint32() uint32 {
	if g.next == mtSize {
		g.refill()
	}
	y := g.state[g.next]
	g.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (g *mt19937) refill() {
	twist := func(upper, lower uint32) uint32 {
		y := upper&mtUpper | lower&mtLower
		return y>>1 ^ mtMatrix&-(y&1)
	}
	s := &g.state
	for i := range mtSize - mtShift {
		s[i] = s[i+mtShift] ^ twist(s[i], s[i+1])
	}
	for i := mtSize - mtShift; i < mtSize-1; i++ {
		s[i] = s[i+mtShift-mtSize] ^ twist(s[i], s[i+1])
	}
	s[mtSize-1] = s[mtShift-1] ^ twist(s[mtSize-1], s[0])
	g.next = 0
}

// uniformInt draws from [0, n) as std::uniform_int_distribution does since GCC 11
// (Lemire's nearly divisionless method). n is at least 1 and at most 1<<32.
func (g *mt19937) uniformInt(n uint64) uint64 {
	if n == 1<<32 {
		return uint64(g.uint32())
	}
	product := uint64(g.uint32()) * n
	if low := uint32(product); uint64(low) < n {
		threshold := -uint32(n) % uint32(n)
		for low < threshold {
			product = uint64(g.uint32()) * n
			low = uint32(product)
		}
	}
	return product >> 32
}

// shuffle permutes s as std::shuffle does: one draw serves two swaps as long as
// the square of the length fits the engine's range.
func shuffle[T any](g *mt19937, s []T) {
	n := uint64(len(s))
	if n == 0 {
		return
	}
	const engineRange = math.MaxUint32
	if engineRange/n < n {
		for i := uint64(1); i < n; i++ {
			j := g.uniformInt(i + 1)
			s[i], s[j] = s[j], s[i]
		}
		return
	}
	i := uint64(1)
	if n%2 == 0 {
		j := g.uniformInt(2)
		s[i], s[j] = s[j], s[i]
		i++
	}
	for ; i < n; i += 2 {
		// Two independent draws, from [0, i+1) and [0, i+2), out of one.
		draw := g.uniformInt((i + 1) * (i + 2))
		j, k := draw/(i+2), draw%(i+2)
		s[i], s[j] = s[j], s[i]
		s[i+1], s[k] = s[k], s[i+1]
	}
}

// uniformReal draws from [0, 1) with 53 bits, as
// std::generate_canonical<double, 53> does: two raw outputs, low half first.
func (g *mt19937) uniformReal() float64 {
	const two32, two64 = 1 << 32, 1 << 64
	low := float64(g.uint32())
	high := float64(float64(g.uint32()) * two32)
	if u := (low + high) / two64; u < 1 {
		return u
	}
	return math.Nextafter(1, 0)
}

// exponential draws from the exponential distribution of the given rate.
//
// math.Log may differ from the C library's log in the last place. The gap in
// nanoseconds is truncated from about 1e10 times coarser a grid, so the schedule
// differs from the reference's about once in 1e10 draws.
func (g *mt19937) exponential(rate float64) float64 {
	return -math.Log(1-g.uniformReal()) / rate
}
