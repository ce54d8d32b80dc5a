package picture

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/mlperf-go/mlperf/internal/figures"
)

// Formats are those that Draw writes.
func Formats() []string { return []string{"png", "svg"} }

// The size of a picture.
const width, height = 24 * vg.Centimeter, 11 * vg.Centimeter

var colors = map[figures.Color]color.Color{
	figures.Main: rgb(0x2f6fde), figures.Second: rgb(0xc2410c), figures.Quiet: rgb(0x75818f),
	figures.Good: rgb(0x147a4b), figures.Bad: rgb(0xb3261e), figures.Ink: rgb(0x16202c),
}

func rgb(v uint32) color.Color { return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255} }

// Draw writes a figure in a format.
func Draw(w io.Writer, f figures.Figure, format string) error {
	p := plot.New()
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X.Label, f.Y.Label
	p.Title.Padding, p.Legend.Top = 6, true
	axis(&p.X, f.X)
	axis(&p.Y, f.Y)
	room(&p.Y)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = rgb(0xe3e8ed), rgb(0xe3e8ed)
	p.Add(grid)
	for _, s := range f.Series {
		if err := series(p, f, s); err != nil {
			return fmt.Errorf("drawing %s: %w", s.Label, err)
		}
	}
	for _, m := range f.Marks {
		mark(p, f, m)
	}
	to, err := p.WriterTo(width, height, format)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", f.Title, err)
	}
	_, err = to.WriteTo(w)
	return err
}

func axis(a *plot.Axis, f figures.Axis) {
	a.Min, a.Max = f.From, f.To
	if f.Log {
		a.Min = max(f.From, math.SmallestNonzeroFloat32)
		a.Scale, a.Tick.Marker = plot.LogScale{}, ticks{plot.LogTicks{Prec: -1}, f.Unit}
		return
	}
	a.Tick.Marker = ticks{plot.DefaultTicks{}, f.Unit}
}

// room makes place for the legend above the data.
func room(a *plot.Axis) {
	const share = 0.35
	if _, log := a.Scale.(plot.LogScale); log {
		a.Max *= math.Pow(a.Max/a.Min, share)
		return
	}
	a.Max += share * (a.Max - a.Min)
}

// ticks have labels with units.
type ticks struct {
	plot.Ticker
	unit string
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(from, to float64) []plot.Tick {
	list := t.Ticker.Ticks(from, to)
	_, log := t.Ticker.(plot.LogTicks)
	for i := range list {
		if list[i].Label != "" || log && to < 1000*from && twoOrFive(list[i].Value) {
			list[i].Label = figures.Text(list[i].Value, t.unit)
		}
	}
	return list
}

// twoOrFive reports whether a number is 2 or 5 times a power of ten.
func twoOrFive(v float64) bool {
	m := math.Round(v / math.Pow(10, math.Floor(math.Log10(v))))
	return m == 2 || m == 5
}

// scaled brings a value of the right axis to the left one.
func scaled(f figures.Figure, right bool, v float64) float64 {
	if !right || f.Right == nil {
		return v
	}
	return f.Y.From + (v-f.Right.From)/(f.Right.To-f.Right.From)*(f.Y.To-f.Y.From)
}

func series(p *plot.Plot, f figures.Figure, s figures.Series) error {
	c := colors[s.Color]
	pieces := points(f, s)
	for i, xys := range pieces {
		drawn, err := plotted(s.Kind, xys, c, f)
		if err != nil {
			return err
		}
		p.Add(drawn)
		if t, ok := drawn.(plot.Thumbnailer); ok && i == 0 {
			name := s.Label
			if s.Right {
				name += " (of 100 %)"
			}
			p.Legend.Add(name, t)
		}
	}
	return nil
}

// points are the pieces of a series between what is not there.
func points(f figures.Figure, s figures.Series) []plotter.XYs {
	var pieces []plotter.XYs
	open := false
	for i, v := range s.Values {
		x, y := f.At[i], scaled(f, s.Right, v)
		if !drawable(f, x, y) {
			open = open && s.Kind != figures.Line
			continue
		}
		if !open {
			pieces, open = append(pieces, nil), true
		}
		last := len(pieces) - 1
		pieces[last] = append(pieces[last], plotter.XY{X: x, Y: y})
	}
	return pieces
}

// drawable reports whether a point is on the axes, of which logarithmic ones have no zero.
func drawable(f figures.Figure, x, y float64) bool {
	on := func(a figures.Axis, v float64) bool {
		return !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !a.Log)
	}
	return on(f.X, x) && on(f.Y, y)
}

func plotted(kind figures.Kind, xys plotter.XYs, c color.Color, f figures.Figure) (plot.Plotter, error) {
	switch kind {
	case figures.Dots:
		d, err := plotter.NewScatter(xys)
		if err != nil {
			return nil, err
		}
		d.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 2, Shape: draw.CircleGlyph{}}
		return d, nil
	case figures.Bars:
		return bars{xys, c, f}, nil
	}
	l, err := plotter.NewLine(xys)
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = c, 1.5
	if kind == figures.Steps {
		l.StepStyle = plotter.MidStep
	}
	return l, nil
}

// bars are as wide as there is room, on any scale.
type bars struct {
	plotter.XYs
	color color.Color
	f     figures.Figure
}

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	half := (c.Max.X - c.Min.X) / vg.Length(max(len(b.f.At), 1)) * 0.45
	for _, at := range b.XYs {
		middle, foot, top := x(at.X), y(b.f.Y.From), y(at.Y)
		c.FillPolygon(b.color, c.ClipPolygonXY([]vg.Point{{X: middle - half, Y: foot}, {X: middle - half, Y: top}, {X: middle + half, Y: top}, {X: middle + half, Y: foot}}))
	}
}

// Thumbnail implements plot.Thumbnailer.
func (b bars) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(b.color, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}

// mark draws a line at a value, which the legend names.
func mark(p *plot.Plot, f figures.Figure, m figures.Mark) {
	ends := plotter.XYs{{X: m.Value, Y: f.Y.From}, {X: m.Value, Y: f.Y.To}}
	if m.Axis != "x" {
		y := scaled(f, m.Axis == "right", m.Value)
		ends = plotter.XYs{{X: f.X.From, Y: y}, {X: f.X.To, Y: y}}
	}
	l, err := plotter.NewLine(ends)
	if err != nil || !drawable(f, ends[0].X, ends[0].Y) {
		return // what is not on an axis has no line
	}
	if l.Color = colors[m.Color]; m.Dashed {
		l.Dashes = []vg.Length{4, 3}
	}
	p.Add(l)
	p.Legend.Add(m.Label, l)
}
