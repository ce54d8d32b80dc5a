package synth

import "math"

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
