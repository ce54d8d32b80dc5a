package figures

import (
	"fmt"
	"math"
	"testing"
)

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
