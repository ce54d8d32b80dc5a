package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/mlperf-go/mlperf/internal/figures"
)

// A shape is a path of an SVG file, whose y grows upwards, and its style.
type shape struct {
	points [][2]float64
	style  string
}

// drawn is what an SVG file has.
type drawn struct {
	shapes []shape
	texts  []string
}

func drawSVG(t *testing.T, f figures.Figure) drawn {
	t.Helper()
	var out bytes.Buffer
	if err := Draw(&out, f, "svg"); err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Paths []struct {
				D     string `xml:"d,attr"`
				Style string `xml:"style,attr"`
			} `xml:"path"`
			Texts []string `xml:"text"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(out.Bytes(), &file); err != nil || len(file.Groups) != 1 {
		t.Fatalf("%d groups, %v", len(file.Groups), err)
	}
	d := drawn{texts: file.Groups[0].Texts}
	for _, p := range file.Groups[0].Paths {
		s := shape{style: p.Style}
		for _, field := range strings.FieldsFunc(p.D, func(r rune) bool { return r == 'M' || r == 'L' || r == 'Z' }) {
			var at [2]float64
			if _, err := fmt.Sscanf(field, "%g,%g", &at[0], &at[1]); err == nil {
				s.points = append(s.points, at)
			}
		}
		d.shapes = append(d.shapes, s)
	}
	return d
}

// of returns the shapes of a colour, as "stroke" or "fill", in the order in which they are drawn.
func (d drawn) of(kind string, c figures.Color) []shape {
	r, g, b, _ := colors[c].RGBA()
	want := fmt.Sprintf("%s:#%02X%02X%02X", kind, r>>8, g>>8, b>>8)
	return slices.DeleteFunc(slices.Clone(d.shapes), func(s shape) bool { return !strings.Contains(s.style, want) })
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.02 }

// plain is a figure on linear axes from 0 to 100 in both directions, with three places.
func plain(series ...figures.Series) figures.Figure {
	return figures.Figure{
		Title: "t", X: figures.Axis{To: 100}, Y: figures.Axis{To: 100}, Right: &figures.Axis{Unit: "%", To: 50},
		At: figures.Values{25, 50, 75}, Series: series,
	}
}

// drawFramed draws a figure with marks at both ends of both axes, in a colour that is not used
// otherwise. They tell where values are drawn.
func drawFramed(t *testing.T, f figures.Figure) (d drawn, x, y func(v float64) float64) {
	t.Helper()
	f.Marks = append(slices.Clone(f.Marks), figures.Mark{Axis: "x", Value: f.X.From}, figures.Mark{Axis: "x", Value: f.X.To},
		figures.Mark{Axis: "y", Value: f.Y.From}, figures.Mark{Axis: "y", Value: f.Y.To})
	for i := range 4 {
		f.Marks[len(f.Marks)-1-i].Color = figures.Bad
	}
	d = drawSVG(t, f)
	lines := d.of("stroke", figures.Bad)
	if len(lines) != 8 { // each is in the legend, too
		t.Fatalf("%d lines of marks", len(lines))
	}
	left, right, low, high := lines[0].points[0][0], lines[1].points[0][0], lines[2].points[0][1], lines[3].points[0][1]
	between := func(axis figures.Axis, from, to float64) func(float64) float64 {
		return func(v float64) float64 { return from + (v-axis.From)/(axis.To-axis.From)*(to-from) }
	}
	return d, between(f.X, left, right), between(f.Y, low, high)
}

func TestLinesGoThroughTheirValues(t *testing.T) {
	f := plain(figures.Series{Label: "s", Kind: figures.Line, Color: figures.Good, Values: figures.Values{10, 40, 20}})
	d, x, y := drawFramed(t, f)
	lines := d.of("stroke", figures.Good)
	if len(lines) != 2 || len(lines[0].points) != 3 {
		t.Fatalf("lines %v, want one of three points, and that of the legend", lines)
	}
	for i, at := range lines[0].points {
		if wantX, wantY := x(float64(f.At[i])), y(float64(f.Series[0].Values[i])); !near(at[0], wantX) || !near(at[1], wantY) {
			t.Errorf("point %d is drawn at %v, want %g, %g", i, at, wantX, wantY)
		}
	}
}

func TestTheRightAxisIsBroughtToTheLeftOne(t *testing.T) {
	f := plain(figures.Series{Label: "s", Kind: figures.Line, Color: figures.Good, Right: true, Values: figures.Values{10, 40, 20}})
	f.Marks = []figures.Mark{{Axis: "right", Value: 40, Color: figures.Second}, {Axis: "y", Value: 40, Color: figures.Quiet}}
	f.Right.From, f.Right.To = 10, 60
	d, _, y := drawFramed(t, f)
	line := d.of("stroke", figures.Good)[0].points
	for i, want := range []float64{0, 60, 20} { // of 100, as 10, 40 and 20 are between 10 and 60
		if !near(line[i][1], y(want)) {
			t.Errorf("value %d is drawn at %g, want %g", i, line[i][1], y(want))
		}
	}
	if got := d.of("stroke", figures.Second)[0].points[0][1]; !near(got, y(60)) {
		t.Errorf("the mark of the right axis is drawn at %g, want %g", got, y(60))
	}
	if got := d.of("stroke", figures.Quiet)[0].points[0][1]; !near(got, y(40)) {
		t.Errorf("the mark of the left axis is drawn at %g, want %g", got, y(40))
	}
	if !slices.Contains(d.texts, "s (of 100 %)") {
		t.Errorf("the legend does not say that the series belongs to the right axis: %q", d.texts)
	}
	f.Right = nil
	d, _, y = drawFramed(t, f)
	if line := d.of("stroke", figures.Good)[0].points; !near(line[0][1], y(10)) {
		t.Errorf("without a right axis the value 10 is drawn at %g, want %g", line[0][1], y(10))
	}
}

func TestWhatIsNotThereDividesLinesAndNothingElse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		kind   figures.Kind
		values figures.Values
		pieces []int // points of each
	}{
		{figures.Line, figures.Values{1, 2, 3, 4, 5}, []int{5}},
		{figures.Line, figures.Values{1, 2, nan, 4, 5}, []int{2, 2}},
		{figures.Line, figures.Values{nan, 2, inf, -inf, 5}, []int{1, 1}},
		{figures.Line, figures.Values{nan, nan, nan, nan, nan}, nil},
		{figures.Dots, figures.Values{1, nan, 3, nan, 5}, []int{3}},
		{figures.Bars, figures.Values{nan, nan, 3, nan, 5}, []int{2}},
		{figures.Steps, figures.Values{1, nan, 3, 4, nan}, []int{3}},
	} {
		f := figures.Figure{At: figures.Values{1, 2, 3, 4, 5}}
		var got []int
		for _, piece := range points(f, figures.Series{Kind: c.kind, Values: c.values}) {
			got = append(got, len(piece))
		}
		if !slices.Equal(got, c.pieces) {
			t.Errorf("%s of %v has pieces of %v points, want %v", c.kind, c.values, got, c.pieces)
		}
	}
}

func TestLogarithmicAxesHaveNoZero(t *testing.T) {
	for name, f := range map[string]figures.Figure{
		"down":   {At: figures.Values{0, 1, 2}, Y: figures.Axis{Log: true}},
		"across": {At: figures.Values{0, -1, 2}, X: figures.Axis{Log: true}},
		"both":   {At: figures.Values{0, 1, 2}, X: figures.Axis{Log: true}, Y: figures.Axis{Log: true}},
		"none":   {At: figures.Values{0, -1, 2}},
	} {
		want := map[string]int{"down": 1, "across": 1, "both": 1, "none": 3}[name]
		pieces := points(f, figures.Series{Kind: figures.Dots, Values: figures.Values{-1, 0, 5}})
		if len(pieces) != 1 || len(pieces[0]) != want {
			t.Errorf("%s: points %v, want %d", name, pieces, want)
		}
	}
}

// A bound of nothing, as a file of somebody else may have it, once ended the program.
func TestMarksThatAreNotOnTheAxesAreLeftOut(t *testing.T) {
	f := figure()
	f.X.Log, f.X.From = true, 0.1
	for _, axis := range []string{"x", "y", "right"} {
		for _, value := range []float64{0, -5, math.NaN(), math.Inf(1), math.Inf(-1)} {
			f.Marks = []figures.Mark{{Axis: axis, Value: value, Label: "the mark", Color: figures.Bad}}
			d := drawSVG(t, f)
			right := axis == "right" && value == 0 // where the right axis begins, and the left one above zero
			if slices.Contains(d.texts, "the mark") != right {
				t.Errorf("a mark at %g of axis %s: drawn: %v, want %v", value, axis, !right, right)
			}
		}
	}
}

func TestBarsAreCentredAndShareTheWidth(t *testing.T) {
	f := plain(figures.Series{Label: "s", Kind: figures.Bars, Color: figures.Good, Values: figures.Values{10, math.NaN(), 30}})
	f.Y.From = 5
	d, x, y := drawFramed(t, f)
	bars := d.of("fill", figures.Good)
	if len(bars) != 3 {
		t.Fatalf("%d bars, want two, and one in the legend", len(bars))
	}
	width := x(100) - x(0)
	for i, place := range []float64{25, 75} {
		var left, right, foot float64 = math.Inf(1), math.Inf(-1), math.Inf(1)
		for _, p := range bars[i].points {
			left, right, foot = min(left, p[0]), max(right, p[0]), min(foot, p[1])
		}
		if !near((left+right)/2, x(place)) || !near(right-left, width/3*0.9) {
			t.Errorf("bar %d is drawn from %g to %g, want around %g and %g wide", i, left, right, x(place), width/3*0.9)
		}
		corners := [][2]float64{{left, foot}, {left, y(float64(f.Series[0].Values[2*i]))}, {right, y(float64(f.Series[0].Values[2*i]))}, {right, foot}}
		for _, want := range corners {
			if !slices.ContainsFunc(bars[i].points, func(p [2]float64) bool { return near(p[0], want[0]) && near(p[1], want[1]) }) {
				t.Errorf("bar %d is %v, want the corner %v", i, bars[i].points, want)
			}
		}
		if !near(foot, y(5)) {
			t.Errorf("bar %d stands at %g, want where the axis begins: %g", i, foot, y(5))
		}
	}
	if len(bars[2].points) < 4 || near(bars[2].points[0][1], bars[2].points[1][1]) && near(bars[2].points[0][0], bars[2].points[2][0]) {
		t.Errorf("the bar of the legend is %v", bars[2].points)
	}
}

func TestStepsChangeBetweenTheirPlaces(t *testing.T) {
	f := plain(figures.Series{Label: "s", Kind: figures.Steps, Color: figures.Good, Values: figures.Values{10, 40, 20}})
	d, x, y := drawFramed(t, f)
	line := d.of("stroke", figures.Good)[0].points
	for _, want := range [][2]float64{{37.5, 10}, {37.5, 40}, {62.5, 40}, {62.5, 20}} {
		if !slices.ContainsFunc(line, func(p [2]float64) bool { return near(p[0], x(want[0])) && near(p[1], y(want[1])) }) {
			t.Errorf("the steps %v do not go through %g, %g", line, x(want[0]), y(want[1]))
		}
	}
}

func TestTheLegendHasRoomAboveTheData(t *testing.T) {
	a := plot.Axis{Min: 10, Max: 110, Scale: plot.LinearScale{}}
	if room(&a); !near(a.Max, 145) || a.Min != 10 {
		t.Errorf("a linear axis from 10 to 110 goes from %g to %g, want 145", a.Min, a.Max)
	}
	a = plot.Axis{Min: 10, Max: 1000, Scale: plot.LogScale{}}
	if room(&a); !near(math.Log10(a.Max), 3.7) || a.Min != 10 { // 35 % of two decades more
		t.Errorf("a logarithmic axis from 10 to 1000 goes from %g to 10 to the %g, want 3.7", a.Min, math.Log10(a.Max))
	}
}

func labels(ticks []plot.Tick) map[float64]string {
	named := map[float64]string{}
	for _, tick := range ticks {
		if tick.Label != "" {
			named[math.Round(tick.Value)] = tick.Label
		}
	}
	return named
}

func TestLabelsHaveUnitsAndAreAtRoundNumbers(t *testing.T) {
	narrow := labels(ticks{plot.LogTicks{Prec: -1}, "ns"}.Ticks(1e6, 1e8))
	for v, want := range map[float64]string{1e6: "1 ms", 2e6: "2 ms", 5e6: "5 ms", 1e7: "10 ms", 5e7: "50 ms", 1e8: "100 ms", 3e6: "", 6e6: ""} {
		if narrow[v] != want {
			t.Errorf("%g is labelled %q, want %q", v, narrow[v], want)
		}
	}
	for _, wide := range []float64{1e9, 1e10} { // three decades and more have no room
		got := labels(ticks{plot.LogTicks{Prec: -1}, "ns"}.Ticks(1e6, wide))
		if got[2e6] != "" || got[5e6] != "" || got[1e7] != "10 ms" {
			t.Errorf("up to %g the labels are %v, want powers of ten", wide, got)
		}
	}
	linear := labels(ticks{plot.DefaultTicks{}, "s"}.Ticks(0, 3))
	if linear[2] != "2 s" || linear[1] != "1 s" {
		t.Errorf("labels %v, want whole seconds", linear)
	}
}

func TestTwoAndFiveOfAnyPowerOfTen(t *testing.T) {
	for v, want := range map[float64]bool{2: true, 5: true, 20: true, 0.5: true, 2e-7: true, 5e12: true, 1: false, 3: false, 10: false, 25: false, 60: false, 40: false} {
		if twoOrFive(v) != want {
			t.Errorf("twoOrFive(%g) = %v, want %v", v, !want, want)
		}
	}
}

func TestEachRoleHasAColourOfItsOwn(t *testing.T) {
	seen := map[color.Color]figures.Color{}
	for _, role := range []figures.Color{figures.Main, figures.Second, figures.Quiet, figures.Good, figures.Bad, figures.Ink} {
		c, ok := colors[role]
		if other, twice := seen[c]; !ok || twice {
			t.Errorf("%s has no colour, or that of %q", role, other)
		}
		seen[c] = role
	}
}

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	for _, format := range Formats() {
		if err := Draw(failing{}, figure(), format); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

type failing struct{}

// Write implements io.Writer.
func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left") }

// The range is that of the figure, whatever its values are, and above it there is the legend.
func TestAxesHaveTheRangeOfTheFigure(t *testing.T) {
	f := plain(figures.Series{Label: "s", Kind: figures.Line, Color: figures.Good, Values: figures.Values{40, 45, 50}})
	f.At = figures.Values{40, 45, 50}
	d := drawSVG(t, f)
	want := []string{"t", "0", "50", "100", "0", "40", "80", "120", "s"} // up to 135, where the legend ends
	if !slices.Equal(d.texts, want) {
		t.Errorf("texts %q, want %q", d.texts, want)
	}
	_, _, y := drawFramed(t, f)
	const height = 311.81
	if top := y(100); top > 0.8*height || top < 0.6*height {
		t.Errorf("the highest value is drawn at %g of %g, want room above for the legend", top, height)
	}
	var a plot.Axis
	if axis(&a, figures.Axis{From: 3, To: 7}); a.Min != 3 || a.Max != 7 {
		t.Errorf("a linear axis from 3 to 7 goes from %g to %g", a.Min, a.Max)
	}
	if axis(&a, figures.Axis{From: 0, To: 7, Log: true}); a.Min <= 0 || a.Max != 7 || a.Scale != (plot.LogScale{}) {
		t.Errorf("a logarithmic axis from 0 to 7 goes from %g to %g", a.Min, a.Max)
	}
}

func TestDashedMarksAreDashedAndOthersAreNot(t *testing.T) {
	f := plain()
	f.Marks = []figures.Mark{{Axis: "x", Value: 50, Color: figures.Good, Dashed: true}, {Axis: "y", Value: 50, Color: figures.Bad}}
	d := drawSVG(t, f)
	for c, want := range map[figures.Color]bool{figures.Good: true, figures.Bad: false} {
		for _, line := range d.of("stroke", c) {
			if strings.Contains(line.style, "stroke-dasharray") != want {
				t.Errorf("the line of %s is %s, want dashes: %v", c, line.style, want)
			}
		}
	}
	if !slices.ContainsFunc(d.shapes, func(s shape) bool { return strings.Contains(s.style, "stroke:#E3E8ED") }) {
		t.Error("there is no grid")
	}
}
