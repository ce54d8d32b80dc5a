package figures

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// read is the number of a text in nanoseconds, or as it is.
func read(t *testing.T, text string) float64 {
	t.Helper()
	scale := 1.0
	for _, u := range []struct {
		name string
		size float64
	}{{" ns", 1}, {" µs", 1e3}, {" ms", 1e6}, {" s", 1e9}} {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			text, scale = rest, u.size
			break
		}
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		t.Fatalf("%q is no number", text)
	}
	return v * scale
}

// A text says the number to half a unit of its fourth digit.
func TestTextsSayTheirNumber(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		v := (random.Float64() + 0.1) * math.Pow(10, float64(random.IntN(18)-3))
		if random.IntN(4) == 0 {
			v = -v
		}
		for _, unit := range []string{"", "ns"} {
			text := Text(v, unit)
			if got := read(t, text); math.Abs(got-v) > 0.0005001*math.Abs(v) {
				t.Errorf("Text(%v, %q) = %q, which is %v", v, unit, text, got)
			}
			if unit == "ns" && v > 1 {
				if number := strings.TrimLeft(strings.Fields(text)[0], "-"); !strings.HasSuffix(text, " s") && len(strings.ReplaceAll(number, ".", "")) > 4 {
					t.Errorf("Text(%v, %q) = %q is long", v, unit, text)
				}
			}
		}
	}
}

// A share is cut to two digits behind the point, by the exact numbers.
func TestSharesAreCutExactly(t *testing.T) {
	for n := int64(1); n <= 400; n++ {
		for k := int64(0); k <= n; k++ {
			hundredths := new(big.Int).Div(big.NewInt(10000*k), big.NewInt(n)).Int64()
			want := strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64) + " %"
			if got := percent(float64(k) / float64(n)); got != want {
				t.Fatalf("%d of %d is %s, want %s", k, n, got, want)
			}
			if got := percent(1 - float64(n-k)/float64(n)); got != want {
				t.Fatalf("all but %d of %d is %s, want %s", n-k, n, got, want)
			}
		}
	}
}

func TestOnlyAllIsAHundredPercent(t *testing.T) {
	for _, n := range []float64{1e4, 1e6, 270336, 1e9} {
		if got := percent(1 - 1/n); got != "99.99 %" {
			t.Errorf("all but one of %g are %s", n, got)
		}
		if got, want := percent(1/n), "0 %"; n > 1e4 && got != want {
			t.Errorf("one of %g is %s, want %s", n, got, want)
		}
	}
}

func TestCountsAreGrouped(t *testing.T) {
	for _, c := range []struct {
		n    float64
		want string
	}{
		{0, "0 times"}, {1, "1 time"}, {1.75, "1.75 times"}, {999, "999 times"}, {1000, "1,000 times"}, {12345678, "12,345,678 times"},
	} {
		if got := counted(c.n, "time"); got != c.want {
			t.Errorf("counted(%g) = %q, want %q", c.n, got, c.want)
		}
	}
	for s, want := range map[string]string{"1": "1", "12": "12", "123": "123", "1234": "1,234", "-123": "-123", "-1234": "-1,234", "123456789": "123,456,789"} {
		if got := grouped(s); got != want {
			t.Errorf("grouped(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestUnitsStandWhereTheyBelong(t *testing.T) {
	for _, c := range []struct{ unit, want string }{
		{"", "12.5"}, {"/s", "12.5/s"}, {"/query", "12.5/query"}, {"W", "12.5 W"}, {"%", "12.5 %"}, {"queries/s", "12.5 queries/s"}, {"ns", "12.5 ns"},
	} {
		if got := Text(12.5, c.unit); got != c.want {
			t.Errorf("Text(12.5, %q) = %q, want %q", c.unit, got, c.want)
		}
	}
}

func TestRangesHaveAnEnd(t *testing.T) {
	for most, want := range map[float64]float64{-5: 1, 0: 1, 100: 115} {
		if from, to := fromZero(most); from != 0 || math.Abs(to-want) > 1e-9 {
			t.Errorf("fromZero(%g) = %g to %g, want 0 to %g", most, from, to, want)
		}
	}
	for _, c := range []struct{ least, most, from, to float64 }{{10, 100, 7, 140}, {10, 10, 7, 14}, {10, 5, 7, 14}} {
		if from, to := around(c.least, c.most); math.Abs(from-c.from) > 1e-9 || math.Abs(to-c.to) > 1e-9 {
			t.Errorf("around(%g, %g) = %g to %g, want %g to %g", c.least, c.most, from, to, c.from, c.to)
		}
	}
	for _, c := range []struct {
		axis Axis
		want bool
	}{
		{Axis{From: 0, To: 1}, true}, {Axis{From: 1, To: 1}, false}, {Axis{From: 2, To: 1}, false}, {Axis{From: 0, To: 1, Log: true}, false},
		{Axis{From: 1e-9, To: 1, Log: true}, true}, {Axis{From: math.NaN(), To: 1}, false}, {Axis{From: 0, To: math.Inf(1)}, false},
	} {
		if got := c.axis.hasRange(); got != c.want {
			t.Errorf("%+v has a range: %v", c.axis, got)
		}
	}
}

func TestExtremesAreOfNumbers(t *testing.T) {
	none, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		lists [][]float64
		want  string
	}{
		{nil, "+Inf -Inf false"}, {[][]float64{{}, {none, inf, -inf}}, "+Inf -Inf false"},
		{[][]float64{{3}}, "3 3 true"}, {[][]float64{{none, 5, inf}, {-2, none}}, "-2 5 true"},
	} {
		least, most, any := extremes(c.lists...)
		if got := fmt.Sprint(least, most, any); got != c.want {
			t.Errorf("extremes(%v) = %s, want %s", c.lists, got, c.want)
		}
	}
}

// A mark at no place is left out; an axis without a range leaves out its figure.
func TestFiguresThatCannotBeDrawn(t *testing.T) {
	good := Axis{From: 0, To: 1}
	f := Figure{X: good, Y: good, Marks: []Mark{{Value: 1}, {Value: math.NaN()}, {Value: math.Inf(-1)}, {Value: 0}}}
	if !f.drawable() || len(f.Marks) != 2 || f.Marks[0].Value != 1 || f.Marks[1].Value != 0 {
		t.Errorf("marks %+v", f.Marks)
	}
	for _, f := range []Figure{{X: good}, {Y: good}, {X: good, Y: good, Right: &Axis{}}} {
		if f.drawable() {
			t.Errorf("%+v can be drawn", f)
		}
	}
	if f := (Figure{X: good, Y: good, Right: &good}); !f.drawable() {
		t.Error("three axes cannot be drawn")
	}
}

func ExampleText() {
	fmt.Println(Text(460569644, "ns"), Text(135.43, "/s"), Text(1234567, ""), Text(0.5, "J"))
	// Output: 460.6 ms 135.4/s 1,234,567 0.5 J
}
