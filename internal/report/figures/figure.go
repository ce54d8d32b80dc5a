package figures

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/units"
)

// A Figure is a diagram. All series have a value for each of X; NaN: there is none.
type Figure struct {
	ID       string   `json:"id"`
	Title    string   `json:"-"`
	Sentence string   `json:"-"`
	Wide     bool     `json:"-"` // it should have the width of the page
	X        Axis     `json:"x"`
	Y        Axis     `json:"y"`
	Right    *Axis    `json:"right,omitempty"` // of series and marks that say so
	At       Values   `json:"at"`
	Series   []Series `json:"series"`
	Marks    []Mark   `json:"marks,omitempty"`
	// Names are those of the points, if they have some.
	Names []string `json:"names,omitempty"`
	// Places are names of the points' places on the axis, if those are no numbers.
	Places []string `json:"places,omitempty"`
}

// An Axis has a range, From below To.
type Axis struct {
	Label string  `json:"label"`
	Unit  string  `json:"unit"` // ns, s, % or what is counted
	Log   bool    `json:"log,omitempty"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
}

// A Kind is how a series is drawn.
type Kind string

// The kinds.
const (
	Line  Kind = "line"
	Dots  Kind = "dots"
	Bars  Kind = "bars"
	Steps Kind = "steps" // filled
	// Joined are few points, joined by lines.
	Joined Kind = "joined"
)

// A Color is a role of a series.
type Color string

// The colours, by the names of the variables in page.css, which has each in light and dark.
const (
	Main   Color = "a"
	Bar    Color = "bar"
	Second Color = "b" // also for what decides
	Quiet  Color = "c"
	Good   Color = "ok"
	Bad    Color = "bad"
	Ink    Color = "ink"
)

// A Series is a set of points.
type Series struct {
	Label  string `json:"label"`
	Kind   Kind   `json:"kind"`
	Color  Color  `json:"color"`
	Right  bool   `json:"right,omitempty"`
	Values Values `json:"values"`
}

// A Mark is a line at a value of an axis.
type Mark struct {
	Axis   string  `json:"axis"` // x, y or right
	Value  float64 `json:"value"`
	Label  string  `json:"label"`
	Color  Color   `json:"color"`
	Dashed bool    `json:"dashed,omitempty"`
}

// extremes are the smallest and the largest number; false if there is none.
func extremes(lists ...[]float64) (least, most float64, any bool) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, values := range lists {
		for _, v := range values {
			if units.Finite(v) {
				least, most, any = min(least, v), max(most, v), true
			}
		}
	}
	return least, most, any
}

// fromZero is a range with some room above.
func fromZero(most float64) (from, to float64) {
	if most <= 0 {
		return 0, 1
	}
	return 0, most * 1.15
}

// around is a range of a logarithmic axis; ends must be positive.
func around(least, most float64) (from, to float64) { return least * 0.7, max(most, least) * 1.4 }

// logBeyond is how many times the bound values must reach for an axis to be logarithmic.
const logBeyond = 8

// drawable reports whether the axes have a range. Files may hold numbers that nothing measured.
func (f *Figure) drawable() bool {
	for _, a := range []*Axis{&f.X, &f.Y, f.Right} {
		if a != nil && !a.hasRange() {
			return false
		}
	}
	f.Marks = slices.DeleteFunc(f.Marks, func(m Mark) bool { return !units.Finite(m.Value) })
	return true
}

func (a *Axis) hasRange() bool {
	return units.Finite(a.From) && units.Finite(a.To) && a.From < a.To && (a.From > 0 || !a.Log)
}
