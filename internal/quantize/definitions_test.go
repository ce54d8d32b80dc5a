package quantize

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The definitions of the package's arithmetic, once more and slowly, over random numbers.

// drawn are numbers of all sizes, with zeros among them.
func drawn(rng *rand.Rand, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		switch rng.IntN(8) {
		case 0: // zero
		case 1:
			list[i] = float32(rng.NormFloat64() * 1e-6)
		case 2:
			list[i] = float32(rng.NormFloat64() * 1e4)
		default:
			list[i] = float32(rng.NormFloat64())
		}
	}
	return list
}

// shaped draws a shape of so many axes.
func shaped(rng *rand.Rand, axes int) (dims []int64, n int) {
	n = 1
	for range axes {
		d := 1 + rng.IntN(4)
		dims, n = append(dims, int64(d)), n*d
	}
	return dims, n
}

// coordinates are those of the i-th element of a shape.
func coordinates(dims []int64, i int) []int {
	at := make([]int, len(dims))
	for axis := len(dims) - 1; axis >= 0; axis-- {
		at[axis], i = i%int(dims[axis]), i/int(dims[axis])
	}
	return at
}

// rounded is x/scale as an integer, ties to even, by exact arithmetic.
func rounded(x, scale float32) int64 {
	q := new(big.Rat).Quo(new(big.Rat).SetFloat64(float64(x)), new(big.Rat).SetFloat64(float64(scale)))
	floor := new(big.Int).Div(q.Num(), q.Denom()) // Euclidean: below q, as the denominator is positive
	rest := new(big.Rat).Sub(q, new(big.Rat).SetInt(floor))
	up := rest.Cmp(big.NewRat(1, 2))
	if up > 0 || up == 0 && floor.Bit(0) == 1 {
		floor.Add(floor, big.NewInt(1))
	}
	return floor.Int64()
}

func TestWeightsAreTheNearestMultiplesOfTheScaleOfTheirUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		dims, n := shaped(rng, 2+rng.IntN(3))
		axis, perTensor, limit := rng.IntN(len(dims)), rng.IntN(2) == 0, []int{127, 63}[rng.IntN(2)]
		w := drawn(rng, n)
		got := quantizeWeights(w, dims, axis, perTensor, limit, nil)
		largest := make([]float64, dims[axis])
		for i, v := range w {
			unit := coordinates(dims, i)[axis]
			largest[unit] = max(largest[unit], math.Abs(float64(v)))
		}
		if perTensor {
			largest = []float64{slices.Max(largest)}
		}
		for i, v := range w {
			unit := min(coordinates(dims, i)[axis], len(largest)-1)
			scale := float32(largest[unit] / float64(limit))
			if largest[unit] == 0 {
				scale = 1
			}
			if got.scales[unit] != scale {
				t.Fatalf("%v along %d: the scale of unit %d is %v, want %v", dims, axis, unit, got.scales[unit], scale)
			}
			want := min(max(rounded(v, scale), -int64(limit)), int64(limit))
			if exact := rounded(v, scale); int64(got.values[i]) != want || want != exact && largest[unit] != math.Abs(float64(v)) {
				t.Fatalf("%v with the scale %v is %d, want %d of %d", v, scale, got.values[i], want, exact)
			}
		}
		for i, e := range got.errors(w, dims, axis) {
			unit := coordinates(dims, i)[axis]
			if want := float64(got.values[i])*float64(got.scale(unit)) - float64(w[i]); math.Abs(float64(e)-want) > 1e-7*math.Abs(want) {
				t.Fatalf("the error of %v is %v, want %v", w[i], e, want)
			}
		}
	}
}

func TestBiasesAreTheNearestMultiplesOfTheirScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	seen := 0
	for range 200 {
		units := 1 + rng.IntN(5)
		bias, scales := drawn(rng, units), make([]float32, []int{1, units}[rng.IntN(2)])
		for i := range scales {
			scales[i] = float32(math.Pow(10, -float64(rng.IntN(8))))
		}
		got, clamped := quantizeBias(bias, scales)
		for unit, b := range bias {
			exact := rounded(b, scales[min(unit, len(scales)-1)])
			want := min(max(exact, -math.MaxInt32), math.MaxInt32)
			if int64(got[unit]) != want {
				t.Fatalf("%v with the scale %v is %d, want %d", b, scales[min(unit, len(scales)-1)], got[unit], want)
			}
			if exact != want {
				clamped--
				seen++
			}
		}
		if clamped != 0 {
			t.Fatalf("of %v with %v %d more than those beyond 32 bits are said not to fit", bias, scales, clamped)
		}
	}
	if seen == 0 {
		t.Error("no bias was beyond 32 bits: the test shows less than it says")
	}
}

// Errors of weights move the mean of a filter by Σ error·mean of the channel that each weight multiplies.
func TestErrorsMoveTheMeanOfAFilterByTheirSumOverItsChannels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		groups, perGroup, filtersOfGroup := 1+rng.IntN(3), 1+rng.IntN(3), 1+rng.IntN(3)
		kernel, n := shaped(rng, 1+rng.IntN(2))
		dims := append([]int64{int64(groups * filtersOfGroup), int64(perGroup)}, kernel...)
		means, errors := drawn(rng, groups*perGroup), drawn(rng, groups*filtersOfGroup*perGroup*n)
		want := make([]float64, dims[0])
		for i, e := range errors {
			at := coordinates(dims, i)
			filter, channel := at[0], at[1]
			want[filter] += float64(e) * float64(means[filter/filtersOfGroup*perGroup+channel])
		}
		conv := node("Conv", "conv", []string{"x", "w"}, "y", onnx.Attr("group", int64(groups)))
		near(t, fmt.Sprintf("%d groups of %v", groups, dims), meanShifts(conv, errors, dims, means), want)

		inputs, units := 1+rng.IntN(4), 1+rng.IntN(4)
		matrix, means, errors := []int64{int64(inputs), int64(units)}, drawn(rng, inputs), drawn(rng, inputs*units)
		want = make([]float64, units)
		for i, e := range errors {
			at := coordinates(matrix, i)
			want[at[1]] += float64(e) * float64(means[at[0]])
		}
		near(t, "a product", meanShifts(node("MatMul", "p", []string{"x", "w"}, "y"), errors, matrix, means), want)

		turned := []int64{int64(units), int64(inputs)} // Gemm with transB
		want = make([]float64, units)
		for i, e := range errors {
			at := coordinates(turned, i)
			want[at[0]] += float64(e) * float64(means[at[1]])
		}
		gemm := node("Gemm", "g", []string{"x", "w"}, "y", onnx.Attr("transB", int64(1)))
		near(t, "a product with a matrix that is turned", meanShifts(gemm, errors, turned, means), want)
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9*(1+math.Abs(want[i])) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// Of all zero points, the one is taken with which the smallest scale holds both ends.
func TestNoZeroPointWouldDoWithASmallerScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 2000 {
		low, high := -math.Abs(rng.NormFloat64())*math.Pow(10, float64(rng.IntN(5)-2)), math.Abs(rng.NormFloat64())*math.Pow(10, float64(rng.IntN(5)-2))
		r := Range{float32(low), float32(high)}
		if rng.IntN(5) == 0 {
			r.Min = 0
		} else if rng.IntN(5) == 0 {
			r.Max = 0
		}
		best := math.Inf(1)
		for zero := range 256 {
			below, above := float64(zero), float64(255-zero)
			if r.Min < 0 && zero == 0 || r.Max > 0 && zero == 255 {
				continue
			}
			scale := 0.0
			if r.Min < 0 {
				scale = -float64(r.Min) / below
			}
			if r.Max > 0 {
				scale = max(scale, float64(r.Max)/above)
			}
			best = min(best, scale)
		}
		p := U8.of(r)
		if math.Abs(float64(p.Scale)-best) > 2e-7*best {
			t.Errorf("%v has the scale %v and zero at %d, %v would do", r, p.Scale, p.ZeroPoint, best)
		}
	}
}

// A value below which so many percent lie is found by sorting, but for the width of a bin.
func TestPercentilesAreThoseOfTheSortedValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for round := range 40 {
		values := make([]float32, 2000)
		for i := range values {
			values[i] = float32(rng.NormFloat64())
			if round%3 == 0 { // as behind a Relu
				values[i] = max(values[i], 0)
			}
		}
		h := histogramOf(values...)
		slices.Sort(values)
		for _, p := range []float64{51, 75, 90, 99, 99.9, 100} {
			want := values[min(int(math.Ceil(p/100*float64(len(values))))-1, len(values)-1)]
			neighbours := float64(values[min(int(p/100*float64(len(values)))+1, len(values)-1)] - values[max(int(p/100*float64(len(values)))-2, 0)])
			if got := h.percentile(p); math.Abs(got-float64(want)) > 2*h.width()+neighbours {
				t.Fatalf("round %d: %v %% of the values are below %v, by the histogram below %v", round, p, want, got)
			}
		}
	}
}

// klDivergence is Σ p·ln(p/q) with both distributions written out, bin by bin.
func klDivergence(counts []float64, t, levels int) float64 {
	inside, beyond := 0.0, 0.0
	for i, c := range counts {
		if i < t {
			inside += c
		} else {
			beyond += c
		}
	}
	p, q := slices.Clone(counts[:t]), make([]float64, t)
	p[t-1] += beyond
	for level := range levels {
		first, last := level*t/levels, (level+1)*t/levels
		var filled []int
		values := 0.0
		for i := first; i < last; i++ {
			values += counts[i]
			if p[i] > 0 {
				filled = append(filled, i)
			}
		}
		for _, i := range filled {
			q[i] = max(values/float64(len(filled)), leastCount)
		}
	}
	d := 0.0
	for i := range p {
		if p[i] > 0 {
			d += p[i] / (inside + beyond) * math.Log(p[i]/(inside+beyond)/(q[i]/inside))
		}
	}
	return d
}

func TestTheDivergenceIsThatOfBothDistributions(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 500 {
		counts := make([]float64, 16+rng.IntN(64))
		for i := range counts {
			if rng.IntN(3) > 0 {
				counts[i] = float64(rng.IntN(50))
			}
		}
		counts[0]++ // something is inside
		levels := 2 + rng.IntN(8)
		n := levels + rng.IntN(len(counts)-levels)
		before := slices.Clone(counts)
		got, want := divergence(counts, n, levels), klDivergence(counts, n, levels)
		if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Fatalf("%d of %d bins by %d levels: %v, want %v", n, len(counts), levels, got, want)
		}
		if !slices.Equal(before, counts) {
			t.Fatal("the counts were changed")
		}
	}
}

func TestDecibelsAreThoseOfTheMeanRatio(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		heads := 1 + rng.IntN(3)
		powers, noises := make([]float64, heads), make([]float64, heads)
		mean := 0.0
		for i := range heads {
			want, got := drawn(rng, 20), drawn(rng, 20)
			powers[i], noises[i] = compare(want, got)
			power, noise := 0.0, 0.0
			for k := range want {
				power += math.Pow(float64(want[k]), 2)
				noise += math.Pow(float64(want[k])-float64(got[k]), 2)
			}
			if math.Abs(powers[i]-power) > 1e-9*power || math.Abs(noises[i]-noise) > 1e-9*noise {
				t.Fatalf("power and noise are %v and %v, want %v and %v", powers[i], noises[i], power, noise)
			}
			mean += noise / power
		}
		want := min(max(-10*math.Log10(mean/float64(heads)), -mostDecibels), mostDecibels)
		if got := decibels(powers, noises); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v with the noise %v is %v dB, want %v", powers, noises, got, want)
		}
	}
}
