package figures

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// power is what each part of the machine drew over time.
func (x run) power() *Figure {
	e := x.r.Energy
	if e == nil {
		return nil
	}
	instants := longest(e.Parts)
	if len(instants) < 2 {
		return nil
	}
	f := &Figure{ID: "power", Title: "Power", Wide: true, X: Axis{Label: "time", Unit: "s"}, Y: Axis{Label: "power", Unit: "W"}}
	for _, w := range instants {
		f.At = append(f.At, w.Seconds)
	}
	var all [][]float64
	var names []string
	for _, p := range e.Parts {
		if len(p.Watts) == 0 {
			continue
		}
		values := following(f.At, p.Watts)
		all, names = append(all, values), append(names, p.Name)
		f.Series = append(f.Series, Series{Label: p.Name, Kind: Line, Color: []Color{Main, Second, Quiet, Ink}[(len(all)-1)%4], Values: values})
	}
	_, most, _ := extremes(all...)
	_, f.X.To, _ = extremes(f.At)
	f.Y.From, f.Y.To = fromZero(most)
	f.Sentence = fmt.Sprintf("%s on average, %s at most, of %s: %s for the whole of the traffic", units.Text(e.MeanWatts, "W"),
		units.Text(e.PeakWatts, "W"), strings.Join(names, ", "), units.Text(e.Joules, "J"))
	if e.JoulesPerSample > 0 {
		f.Sentence += ", " + units.Text(e.JoulesPerSample, "J") + " per sample"
	}
	f.Sentence += "."
	return f
}

// longest are the powers of the part of which there are most.
func longest(parts []report.EnergyPart) (most []report.PowerAt) {
	for _, p := range parts {
		if len(p.Watts) > len(most) {
			most = p.Watts
		}
	}
	return most
}

// following are the newest powers that were known at instants, which are in order.
func following(at Values, watts []report.PowerAt) Values {
	out, next := make(Values, len(at)), 0
	for i, t := range at {
		for next+1 < len(watts) && watts[next+1].Seconds <= t {
			next++
		}
		out[i] = watts[next].Watts
	}
	return out
}
