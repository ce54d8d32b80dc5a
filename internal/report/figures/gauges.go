package figures

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// gauges are what was read while the test ran: one figure for each unit.
func (x run) gauges() []Figure {
	g := x.c.Gauges
	if g == nil || len(g.AtNS) < 2 {
		return nil
	}
	var list []Figure
	for _, unit := range unitsOf(g.Series) {
		if f := x.gauge(g, unit); len(f.Series) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// units are those of the gauges, in order. Batches have a figure of their own.
func unitsOf(series []charts.Gauge) []string {
	var list []string
	seen := map[string]bool{"samples": true}
	for _, s := range series {
		if !seen[s.Unit] {
			seen[s.Unit] = true
			list = append(list, s.Unit)
		}
	}
	return list
}

func (x run) gauge(g *charts.Gauges, unit string) Figure {
	at := scaled(g.AtNS, 1e-9)
	_, end, _ := extremes(at)
	f := Figure{X: Axis{Label: "time", Unit: "s", To: end}, Y: Axis{Unit: unit}, At: at}
	var names, texts []string
	lowest, highest := 0.0, 0.0
	for i, s := range g.Series {
		if s.Unit != unit {
			continue
		}
		least, most, any := extremes(s.Values)
		if !any {
			continue
		}
		lowest, highest = min(lowest, least), max(highest, most)
		names = append(names, s.Name)
		says := fmt.Sprintf("%s between %s and %s", s.Name, units.Text(least, unit), units.Text(most, unit))
		if unit == "slots" || unit == "tokens/s" {
			says += fmt.Sprintf(", %s on average", units.Number(mean(s.Values)))
		}
		texts = append(texts, says)
		color := []Color{Main, Second, Quiet}[len(f.Series)%3]
		f.Series = append(f.Series, Series{Label: s.Name, Kind: Line, Color: color, Values: g.Series[i].Values})
	}
	f.ID, f.Title = "gauge-"+idOf(unit), capital(strings.Join(names, ", "))
	f.Sentence = capital(strings.Join(texts, "; ")) + "."
	if all := float64(x.r.Backend.Instances * x.r.Backend.MaxBatch); unit == "slots" && all > 0 {
		highest = max(highest, all)
		f.Marks = []Mark{{Axis: "y", Value: all, Label: "all " + units.Number(all), Color: Ink, Dashed: true}}
	}
	if f.Y.From, f.Y.To = fromZero(highest); unit == "%" {
		f.Y.To = max(104, highest)
	}
	f.Y.From = min(f.Y.From, lowest)
	f.Y.Label = unit
	return f
}

// mean is that of the numbers among values, of which there is one.
func mean(values Values) float64 {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if units.Finite(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// idOf is a unit as a part of a name in a page.
func idOf(unit string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		case r == '%':
			return 'p'
		}
		return '-'
	}, unit)
}

func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 || first == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
