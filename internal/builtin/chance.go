package builtin

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// chance gives random numbers that follow from what they are for. Only the generator is
// taken from math/rand/v2: what is made of its bits is not promised to stay as it is.
type chance struct{ pcg rand.PCG }

func newChance(purpose string, numbers ...uint64) *chance {
	key := append([]byte(purpose), 0)
	for _, n := range numbers {
		key = binary.LittleEndian.AppendUint64(key, n)
	}
	sum := sha256.Sum256(key)
	c := &chance{}
	c.pcg.Seed(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]))
	return c
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
