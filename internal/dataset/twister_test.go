package dataset

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The numbers are those of NumPy 1.24: RandomState(seed).randint(0, 20, 24) and the first 16 bytes of RandomState(seed).bytes.
func TestNumbersAreThoseOfNumPy(t *testing.T) {
	for _, c := range []struct {
		seed  uint32
		words [4]uint32
		sizes [24]int
	}{
		{0, [4]uint32{2357136044, 2546248239, 3071714933, 3626093760}, [24]int{12, 15, 0, 3, 3, 7, 9, 19, 18, 4, 6, 12, 1, 6, 7, 14, 17, 5, 13, 8, 9, 19, 16, 19}},
		{1, [4]uint32{1791095845, 4282876139, 3093770124, 4005303368}, [24]int{5, 11, 12, 8, 9, 11, 5, 15, 0, 16, 1, 12, 7, 13, 6, 18, 5, 18, 11, 10, 14, 18, 4, 9}},
		{123, [4]uint32{2991312382, 3062119789, 1228959102, 1840268610}, [24]int{13, 2, 2, 6, 17, 19, 10, 1, 0, 17, 15, 9, 0, 14, 0, 15, 19, 14, 4, 0, 16, 4, 17, 3}},
		{1<<32 - 1, [4]uint32{419326371, 479346978, 3918654476, 2416749639}, [24]int{3, 2, 12, 7, 0, 0, 18, 11, 11, 10, 13, 14, 5, 9, 9, 12, 4, 16, 17, 12, 11, 3, 9, 15}},
	} {
		words, sizes := newTwister(c.seed), newTwister(c.seed)
		for i, want := range c.words {
			if got := words.next(); got != want {
				t.Errorf("seed %d: word %d is %d, want %d", c.seed, i, got, want)
			}
		}
		for i, want := range c.sizes {
			if got := sizes.below20(); got != want {
				t.Errorf("seed %d: number %d is %d, want %d", c.seed, i, got, want)
			}
		}
	}
}

// The 10,000th number of seed 5489 is what ISO C++ says of its mt19937 (§ rand.predef).
func TestTheTwisterIsThatOfTheStandard(t *testing.T) {
	r := newTwister(5489)
	for range 9999 {
		r.next()
	}
	if got := r.next(); got != 4123659995 {
		t.Errorf("the 10,000th number is %d, want 4123659995", got)
	}
}

func TestRunsHaveAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	for range 100 {
		pairs := rng.IntN(5000)
		runs := AggregatePairs(pairs)
		end := 0
		for i, r := range runs {
			whole := slices.Contains(runSizes[:], r.Count)
			if r.First != end || r.Count < 1 || !whole && i != len(runs)-1 || r.Count > 700 {
				t.Fatalf("%d pairs: run %d is %+v behind %d", pairs, i, r, end)
			}
			end += r.Count
		}
		if end != pairs || endOf(runs) != pairs {
			t.Fatalf("%d pairs are %d in runs", pairs, end)
		}
		// More pairs change the last run only.
		if more := AggregatePairs(pairs + 1000); len(runs) > 1 && !slices.Equal(more[:len(runs)-1], runs[:len(runs)-1]) {
			t.Fatalf("with more pairs other runs come out: %v, %v", runs, more)
		}
	}
	if runs := AggregatePairs(0); len(runs) != 0 {
		t.Errorf("no pairs are %v", runs)
	}
}

func TestRunsAreWrittenAsTheTraceHasThem(t *testing.T) {
	var b strings.Builder
	if err := WriteRuns(&b, []Run{{0, 300}, {300, 7}}); err != nil || b.String() != "0, 300, 300\n300, 307, 7\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	full := errors.New("no space left")
	if err := WriteRuns(writer(func([]byte) (int, error) { return 0, full }), []Run{{0, 1}}); !errors.Is(err, full) {
		t.Errorf("on a full disk: %v", err)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestLinesOfATrace(t *testing.T) {
	for _, c := range []struct {
		line, want string
		run        Run
	}{
		{"0, 100, 100", "", Run{0, 100}},
		{"7,9,2", "", Run{7, 2}},
		{" 7 ,\t9 , 2 \r", "", Run{7, 2}},
		{"", "want first pair, end and count, got 1 fields", Run{}},
		{"1, 2, 1, 1", "want first pair, end and count, got 4 fields", Run{}},
		{"-1, 1, 2", `"-1" is not a number of pairs`, Run{}},
		{"0, 1e2, 100", `" 1e2" is not a number of pairs`, Run{}},
		{"0, 99999999999999999999, 1", `" 99999999999999999999" is not a number of pairs`, Run{}},
		{"9223372036854775807, 0, 1", "the count is not the end less the first pair", Run{}},
		{"5, 5, 0", "the count is not the end less the first pair", Run{}},
		{"5, 3, 2", "the count is not the end less the first pair", Run{}},
	} {
		got, err := parseRun(c.line)
		if got != c.run || fmt.Sprint(err) != c.want && (err != nil || c.want != "") {
			t.Errorf("%q: %+v, %v, want %+v, %q", c.line, got, err, c.run, c.want)
		}
	}
	if _, err := parseNext("4, 5, 1", 3); err == nil || err.Error() != "it begins with pair 4, the one before ends with 3" {
		t.Errorf("a gap: %v", err)
	}
}

func ExampleAggregatePairs() {
	fmt.Println(AggregatePairs(1000))
	// Output: [{0 200} {200 200} {400 200} {600 200} {800 200}]
}
