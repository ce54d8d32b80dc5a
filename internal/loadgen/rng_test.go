package loadgen

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// A drawnList is what libstdc++ drew from a range, or made of 0…n-1.
type drawnList struct {
	N       uint64
	Values  []uint64
	NextRaw uint32 `json:"next_raw"` // the output after it: as many were used up
	SHA256  string `json:"sha256_of_decimal_csv"`
	First20 []uint64
}

// randomNumbers are those of libstdc++ for a seed.
type randomNumbers struct {
	Seed        string
	First20     []uint32    `json:"mt19937_first20"`
	Draws624    []uint32    `json:"mt19937_draws_624_to_626"`
	Draw10000   uint32      `json:"mt19937_draw_10000"`
	UniformInt  []drawnList `json:"uniform_int"`
	Shuffle     []drawnList
	Reshuffle   [][]uint64 `json:"reshuffle_same_vector_n10_x4"`
	Exponential []drawnGaps
	UniformReal []string `json:"uniform_real_0_1_hex"`
}

// drawnGaps are those between queries at a rate.
type drawnGaps struct {
	QPS         float64
	Nanoseconds []int64
	Sum         int64 `json:"sum_ns_of_first_10000"`
}

// eachSeed runs a test of each seed that there are golden numbers of.
func eachSeed(t *testing.T, test func(t *testing.T, seed uint64, c randomNumbers)) {
	t.Helper()
	type golden struct{ Cases []randomNumbers }
	readGolden(t, "rng/set*.json", func(name string, data []byte) {
		for _, c := range unmarshal[golden](t, data).Cases {
			seed, err := strconv.ParseUint(c.Seed, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) { test(t, seed, c) })
		}
	})
}

func TestRawNumbersEqualLibstdcxx(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64, c randomNumbers) {
		g := newMT19937(seed)
		var raw []uint32
		for range 10000 {
			raw = append(raw, g.uint32())
		}
		if !slices.Equal(raw[:20], c.First20) || !slices.Equal(raw[623:626], c.Draws624) || raw[9999] != c.Draw10000 {
			t.Errorf("raw outputs differ: %v … %v … %d", raw[:20], raw[623:626], raw[9999])
		}
	})
}

func TestUniformNumbersEqualLibstdcxx(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64, c randomNumbers) {
		for _, want := range c.UniformInt {
			g := newMT19937(seed)
			for i, v := range want.Values {
				if got := g.uniformInt(want.N); got != v {
					t.Fatalf("uniformInt(%d) draw %d = %d, want %d", want.N, i, got, v)
				}
			}
			if got := g.uint32(); got != want.NextRaw {
				t.Errorf("after uniformInt(%d) the next output is %d, want %d", want.N, got, want.NextRaw)
			}
		}
		g := newMT19937(seed)
		for i, want := range c.UniformReal {
			w, err := strconv.ParseFloat(want, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.uniformReal(); got != w {
				t.Errorf("uniformReal draw %d = %x, want %s", i, got, want)
			}
		}
	})
}

func TestShufflesEqualLibstdcxx(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64, c randomNumbers) {
		for _, want := range c.Shuffle {
			g := newMT19937(seed)
			s := ascending(want.N)
			shuffle(g, s)
			if want.Values != nil && !slices.Equal(s, want.Values) {
				t.Errorf("shuffle of %d = %v, want %v", want.N, s, want.Values)
			}
			if want.SHA256 != "" && (checksum(s) != want.SHA256 || !slices.Equal(s[:20], want.First20)) {
				t.Errorf("shuffle of %d begins %v, want %v", want.N, s[:20], want.First20)
			}
			if got := g.uint32(); got != want.NextRaw {
				t.Errorf("after shuffle of %d the next output is %d, want %d", want.N, got, want.NextRaw)
			}
		}
		g, s := newMT19937(seed), ascending(10)
		for i, want := range c.Reshuffle {
			if shuffle(g, s); !slices.Equal(s, want) {
				t.Errorf("shuffle %d of the same list = %v, want %v", i, s, want)
			}
		}
	})
}

func TestGapsOfServerEqualLibstdcxx(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64, c randomNumbers) {
		for _, want := range c.Exponential {
			g := newMT19937(seed)
			sum, gaps := int64(0), make([]int64, 10000)
			for i := range gaps {
				gaps[i] = nanoseconds(g.exponential(want.QPS))
				sum += gaps[i]
			}
			if n := len(want.Nanoseconds); !slices.Equal(gaps[:n], want.Nanoseconds) || sum != want.Sum {
				t.Errorf("gaps at %g QPS are %v and sum to %d ns, want %v and %d", want.QPS, gaps[:n], sum, want.Nanoseconds, want.Sum)
			}
		}
	})
}
