package power

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
)

// A Point is a reading of a meter.
type Point struct {
	At     time.Time
	Joules float64 // since the beginning of the series
	Watts  float64 // mean since the point before, or at the instant for a meter of watts
}

// A Series is the energy of one part of the machine over time.
type Series struct {
	Name   string // of the part: package-0, NVIDIA H100 (0)
	Points []Point
}

// addJoules appends a reading of a counter that began with the series.
func (s *Series) addJoules(at time.Time, joules float64) {
	p := Point{At: at, Joules: joules}
	if n := len(s.Points); n > 0 {
		if d := at.Sub(s.Points[n-1].At).Seconds(); d > 0 {
			p.Watts = (joules - s.Points[n-1].Joules) / d
		}
	}
	s.Points = append(s.Points, p)
}

// addWatts appends a reading of a power. The energy since the last one is that of their mean.
func (s *Series) addWatts(at time.Time, watts float64) {
	p := Point{At: at, Watts: watts}
	if n := len(s.Points); n > 0 {
		last := s.Points[n-1]
		p.Joules = last.Joules + (last.Watts+watts)/2*at.Sub(last.At).Seconds()
	}
	s.Points = append(s.Points, p)
}

// at is the energy up to an instant: between points in proportion; before the first and after the
// last one with their power.
func (s *Series) at(t time.Time) float64 {
	i := sort.Search(len(s.Points), func(i int) bool { return !s.Points[i].At.Before(t) })
	switch {
	case i == 0:
		first := s.Points[0]
		if first.Watts == 0 && len(s.Points) > 1 { // of a counter, whose power is known from the second point on
			first.Watts = s.Points[1].Watts
		}
		return first.Joules + first.Watts*t.Sub(first.At).Seconds()
	case i == len(s.Points):
		last := s.Points[i-1]
		return last.Joules + last.Watts*t.Sub(last.At).Seconds()
	}
	a, b := s.Points[i-1], s.Points[i]
	return a.Joules + (b.Joules-a.Joules)*t.Sub(a.At).Seconds()/b.At.Sub(a.At).Seconds()
}

// A Record is the result of a measurement.
type Record struct {
	Series  []Series
	Notes   []string      // reasons why parts could not be read
	Offset  time.Duration // added to the times of a meter with a clock of its own
	Marked  bool          // not acceptable in a submission
	Samples []string      // lines of the analyser for a submission
}

// An Energy is the energy of all parts in a window of time.
type Energy struct {
	Parts     []Part
	Joules    float64
	MeanWatts float64
	PeakWatts float64 // of the parts at their own peaks
}

// A Part is the energy of one part of the machine.
type Part struct {
	Name                         string
	Joules, MeanWatts, PeakWatts float64
	Watts                        []Watt // over time
}

// A Watt is a power at a time since the beginning of the window.
type Watt struct {
	Seconds float64 `json:"seconds"`
	Watts   float64 `json:"watts"`
}

const (
	// slack is how long after the begin of a window a series may begin, and how long before its end it may end: meters
	// have one reading a second.
	slack = 2 * time.Second
	// gap is the longest time between two points.
	gap = 10 * time.Second
)

// Between is the energy in a window. A series that does not cover it is an error, and not zero joules.
func (r *Record) Between(begin, end time.Time) (*Energy, error) {
	if len(r.Series) == 0 {
		return nil, fmt.Errorf("no power was measured")
	}
	if !begin.Before(end) {
		return nil, fmt.Errorf("the test has no length")
	}
	e := &Energy{}
	for i := range r.Series {
		part, err := r.Series[i].between(begin, end)
		if err != nil {
			return nil, err
		}
		e.Parts = append(e.Parts, part)
		e.Joules += part.Joules
		e.PeakWatts += part.PeakWatts
	}
	e.MeanWatts = e.Joules / end.Sub(begin).Seconds()
	return e, nil
}

func (s *Series) between(begin, end time.Time) (Part, error) {
	part := Part{Name: s.Name}
	if n := len(s.Points); n == 0 {
		return part, fmt.Errorf("%s: the test ran from %s to %s, and nothing was measured", s.Name, stamp(begin), stamp(end))
	} else if first, last := s.Points[0].At, s.Points[n-1].At; first.After(begin.Add(slack)) || last.Before(end.Add(-slack)) {
		return part, fmt.Errorf("%s: the test ran from %s to %s, and power was measured from %s to %s", s.Name, stamp(begin), stamp(end),
			stamp(first), stamp(last))
	}
	last := begin
	broken := func(at time.Time) error {
		if d := at.Sub(last); d > gap {
			return fmt.Errorf("%s: nothing was measured for %v from %s on", s.Name, d.Round(time.Second), stamp(last))
		}
		last = at
		return nil
	}
	for _, p := range s.Points {
		if p.At.Before(begin) || p.At.After(end) {
			continue
		}
		if err := broken(p.At); err != nil {
			return part, err
		}
		part.PeakWatts = max(part.PeakWatts, p.Watts)
		part.Watts = append(part.Watts, Watt{round(p.At.Sub(begin).Seconds()), round(p.Watts)})
	}
	if err := broken(end); err != nil {
		return part, err
	}
	part.Joules = s.at(end) - s.at(begin)
	if !units.Finite(part.Joules) {
		return part, fmt.Errorf("%s: its powers are too large to be added up", s.Name)
	}
	if part.Joules <= 0 {
		return part, fmt.Errorf("%s: it shows no energy for the %v of the test", s.Name, end.Sub(begin).Round(time.Millisecond))
	}
	part.MeanWatts = part.Joules / end.Sub(begin).Seconds()
	part.PeakWatts = max(part.PeakWatts, part.MeanWatts)
	part.Watts = thin(part.Watts)
	return part, nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// mostWatts is the most values of a curve.
const mostWatts = 300

// thin replaces the values of a curve by means, as many as it needs.
func thin(list []Watt) []Watt {
	if len(list) <= mostWatts {
		return list
	}
	out := make([]Watt, 0, mostWatts)
	for chunk := range slices.Chunk(list, (len(list)+mostWatts-1)/mostWatts) {
		var sum float64
		for _, w := range chunk {
			sum += w.Watts
		}
		out = append(out, Watt{chunk[len(chunk)-1].Seconds, round(sum / float64(len(chunk)))})
	}
	return out
}
