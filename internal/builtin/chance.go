package builtin

import (
	"math/bits"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
)

// chance gives random numbers that follow from what they are for. Only the generator is
// taken from math/rand/v2: what is made of its bits is not promised to stay as it is.
type chance struct{ pcg rand.PCG }

func newChance(purpose string, numbers ...uint64) *chance {
	return &chance{synth.Seeded(purpose, numbers...)}
}

// uniform returns a number from 0 up to but not including 1.
func (c *chance) uniform() float64 { return float64(c.pcg.Uint64()>>11) * 0x1p-53 }

// bell returns a number of mean 0 and variance 1, as the sum of twelve uniform ones.
func (c *chance) bell() float64 {
	sum := -6.0
	for range 12 {
		sum += c.uniform()
	}
	return sum
}

// below returns a whole number from 0 to n-1.
func (c *chance) below(n int) int {
	high, _ := bits.Mul64(c.pcg.Uint64(), uint64(n))
	return int(high)
}

// happens says yes with a probability.
func (c *chance) happens(probability float64) bool { return c.uniform() < probability }
