package pickle

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// longInt is LONG1 of eight bytes.
func longInt(v int64) string {
	b := []byte("\x8a\x08")
	for i := range 8 {
		b = append(b, byte(v>>(8*i)))
	}
	return string(b)
}

func TestSlicesAreThoseOfPython(t *testing.T) {
	for start := int64(-4); start <= 4; start++ {
		for stop := int64(-4); stop <= 4; stop++ {
			for _, step := range []int64{-3, -2, -1, 1, 2, 3} {
				var want, got []int64
				for v := start; step > 0 && v < stop || step < 0 && v > stop; v += step {
					want = append(want, v)
				}
				s := slice{start, stop, step}
				err := s.each(func(v int64) error { got = append(got, v); return nil })
				if err != nil || !slices.Equal(got, want) || s.len() != len(want) {
					t.Errorf("slice %v has %d numbers %v, want %v", s, s.len(), got, want)
				}
			}
		}
	}
}

// A step of -2⁶³ has no negative; looking for it took the whole stack, which ends a process.
func TestSlicesOfAbsurdNumbersAreRefused(t *testing.T) {
	for name, numbers := range map[string][3]int64{
		"the lowest step":  {0, 3, math.MinInt64},
		"a huge stop":      {0, math.MaxInt64, 1},
		"the lowest start": {math.MinInt64, 0, 1},
		"no step":          {0, 3, 0},
	} {
		of := longInt(numbers[0]) + longInt(numbers[1]) + longInt(numbers[2])
		v, err := Read([]byte("cbuiltins\nslice\n(" + of + "tR."))
		if err == nil || !strings.Contains(err.Error(), "a table is not as pandas writes it") {
			t.Errorf("%s: a slice: Read = %v, %v", name, v, err)
		}
		start, stop, step := longInt(numbers[0]), longInt(numbers[1]), longInt(numbers[2])
		index := "cpandas.core.indexes.base\n_new_Index\n(cpandas.core.indexes.range\nRangeIndex\n}(" +
			"\x8c\x05start" + start + "\x8c\x04stop" + stop + "\x8c\x04step" + step + "utR."
		if v, err = Read([]byte(index)); err == nil || !strings.Contains(err.Error(), "an index is neither an array nor a range") {
			t.Errorf("%s: an index: Read = %v, %v", name, v, err)
		}
	}
	for name, args := range map[string]string{"two numbers": "(K\x01K\x02t", "text": "(K\x01K\x02\x8c\x01xt", "no stop": "(K\x01NK\x01t", "four numbers": "(K\x01K\x02K\x01K\x01t"} {
		if v, err := Read([]byte("c__builtin__\nslice\n" + args + "R.")); err == nil {
			t.Errorf("a slice of %s: Read = %v", name, v)
		}
	}
}

func TestAStepThatIsNoneIsOne(t *testing.T) {
	v, err := newSlice(Tuple{int64(2), int64(5), nil})
	if err != nil || *v.(*slice) != (slice{2, 5, 1}) {
		t.Errorf("newSlice(2, 5, None) = %v, %v", v, err)
	}
}
