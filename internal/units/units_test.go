package units

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	for _, test := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "ns", "0 s"}, {999, "ns", "999 ns"}, {999.96, "ns", "1 µs"}, {999.94, "ns", "999.9 ns"}, {460569644, "ns", "460.6 ms"}, {999.96e6, "ns", "1 s"}, {-2500, "ns", "-2.5 µs"},
		{6e10, "ns", "60 s"}, {119.94e9, "ns", "119.9 s"}, {119.96e9, "ns", "2 min"}, {125.4e9, "ns", "2 min 5 s"}, {600e9, "ns", "10 min"}, {-600e9, "ns", "-10 min"},
		{7169e9, "ns", "119 min 29 s"}, {7199.9e9, "ns", "2 h"}, {7500e9, "ns", "2 h 5 min"}, {15060, "ms", "15.06 s"}, {0.0005, "s", "500 µs"}, {1e15, "s", "277,777,777,777 h 47 min"},
		{135.43, "/s", "135.4/s"}, {1234567, "", "1,234,567"}, {-1234.5, "W", "-1,235 W"}, {0.00012346, "", "0.0001235"}, {999.96, "samples/s", "1,000 samples/s"}, {23090.4, "queries/s", "23,090 queries/s"},
		{math.NaN(), "ns", "–"}, {math.Inf(1), "", "–"}, {math.Inf(-1), "%", "–"},
	} {
		if got := Text(test.v, test.unit); got != test.want {
			t.Errorf("Text(%g, %q) = %q, want %q", test.v, test.unit, got, test.want)
		}
	}
	for got, want := range map[string]string{
		Count(0, "time"): "0 times", Count(1, "query"): "1 query", Count(uint64(24576), "query"): "24,576 queries", Count(1.75, "batch"): "1.75 batches", Count(2, "way"): "2 ways",
		Score(75.69541): "75.6954", Score(3615190.4): "3,615,190", Score(math.NaN()): "–",
		Exact(1e22): "10000000000000000000000", Exact(Rounded(23090.4, Digits)): "23090", Exact(1.5e-7): "0.00000015",
		Percent(1): "100 %", Percent(0.999999): "99.99 %", Percent(0.255): "25.5 %", Percent(math.NaN()): "– %",
		Percentile(0.999): "p99.9", Ordinal(.9): "90th", Ordinal(.91): "91st", Ordinal(.92): "92nd", Ordinal(.93): "93rd", Ordinal(.11): "11th", Ordinal(.12): "12th", Ordinal(.13): "13th", Ordinal(.999): "99.9th",
		Bytes(int64(816e6)): "816 MB", Bytes(-1): "0 B", Memory(3 << 29): "1.50 GiB", ExactDuration(15e6 + 1): "15.000001 ms", ExactDuration(600e9 + 1): "600.000000001 s", ExactDuration(0): "0 s",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// parsed is the number of a text; that of a duration is in nanoseconds.
func parsed(t *testing.T, text string) (sum float64) {
	t.Helper()
	sizes := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
	fields := strings.Fields(strings.TrimPrefix(text, "-"))
	for i := 0; i < len(fields); i += 2 {
		v, err := strconv.ParseFloat(strings.ReplaceAll(fields[i], ",", ""), 64)
		size := 1.0
		if len(fields) > i+1 {
			size = sizes[fields[i+1]]
		}
		if err != nil || size == 0 {
			t.Fatalf("%q is no number", text)
		}
		sum += v * size
	}
	if strings.HasPrefix(text, "-") {
		return -sum
	}
	return sum
}

// A text says its number to half a unit of its last digit, at every magnitude, and never with an exponent.
func TestTextsSayTheirNumber(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 20000 {
		v := (random.Float64() + 0.1) * math.Pow(10, float64(random.IntN(40)-12))
		if random.IntN(4) == 0 {
			v = -v
		}
		for _, form := range []struct {
			text string
			part float64 // of the number that the text may be wrong by
		}{
			{Number(v), 0.0005}, {Text(v, "ns"), 0.0042}, {Score(v), 0.000005}, {Exact(v), 1e-15}, {Exact(Rounded(v, Digits)), 0.0005},
		} {
			if got := parsed(t, form.text); math.Abs(got-v) > form.part*1.000001*math.Abs(v) || strings.Contains(form.text, "e") {
				t.Errorf("%v is written %q, which is %v", v, form.text, got)
			}
		}
	}
}

// From one duration to the next longer one, no text becomes shorter in time.
func TestDurationsStepInOrder(t *testing.T) {
	last, before := -1.0, ""
	for ns := 1.0; ns < 1e17; ns *= 1.0004 {
		text := Duration(time.Duration(ns))
		got := parsed(t, text)
		if got < last {
			t.Fatalf("%q follows %q", text, before)
		}
		if whole, unit, _ := strings.Cut(text, " "); len(strings.ReplaceAll(whole, ".", "")) > 4 && unit != "s" && !strings.Contains(text, "h") {
			t.Fatalf("%v ns is written %q", ns, text)
		}
		last, before = got, text
	}
}

// A share is cut to two digits behind the point, by the exact numbers.
func TestSharesAreCutExactly(t *testing.T) {
	for n := int64(1); n <= 400; n++ {
		for k := int64(0); k <= n; k++ {
			hundredths := new(big.Int).Div(big.NewInt(10000*k), big.NewInt(n)).Int64()
			want := strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64) + " %"
			for _, share := range []float64{float64(k) / float64(n), 1 - float64(n-k)/float64(n)} {
				if got := Percent(share); got != want {
					t.Fatalf("%d of %d is %s, want %s", k, n, got, want)
				}
			}
		}
	}
}

func TestFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if Finite(0, v) {
			t.Errorf("%v is finite", v)
		}
	}
	if !Finite[float32]() || !Finite(0, -math.MaxFloat64) {
		t.Error("numbers are not finite")
	}
}
