package power

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// A Point is what a meter knew at an instant.
type Point struct {
	At     time.Time
	Joules float64 // since the beginning of the series
	Watts  float64 // since the point before, or at the instant where a meter tells watts
}

// A Series is what one part of the machine took over time.
type Series struct {
	Name   string // what was measured: package-0, NVIDIA H100 (0)
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

// at is the energy up to an instant, between points in proportion; before the first and after the
// last one the power stays as it is there.
func (s *Series) at(t time.Time) float64 {
	i := sort.Search(len(s.Points), func(i int) bool { return !s.Points[i].At.Before(t) })
	switch {
	case i == 0:
		return s.Points[0].Joules + s.firstWatts()*t.Sub(s.Points[0].At).Seconds()
	case i == len(s.Points):
		last := s.Points[i-1]
		return last.Joules + last.Watts*t.Sub(last.At).Seconds()
	}
	a, b := s.Points[i-1], s.Points[i]
	return a.Joules + (b.Joules-a.Joules)*t.Sub(a.At).Seconds()/b.At.Sub(a.At).Seconds()
}

// firstWatts is the power at the first point. That of a counter is known from the second on.
func (s *Series) firstWatts() float64 {
	if first := s.Points[0]; first.Watts > 0 || len(s.Points) == 1 {
		return first.Watts
	}
	return s.Points[1].Watts
}

// A Record is everything that was measured.
type Record struct {
	Series  []Series
	Notes   []string      // what could not be read, and why
	Offset  time.Duration // that was added to the times of a meter with another clock
	Marked  bool          // nobody would accept it in a submission
	Samples []string      // lines of the analyser, as a submission wants them
}

// An Energy is what was taken in a window of time.
type Energy struct {
	Parts     []Part
	Joules    float64 // of all parts
	MeanWatts float64
	PeakWatts float64 // of the parts at their own peaks
}

// A Part is what one part of the machine took.
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
	// slack is how far a series may begin after a window, and end before it: meters tell
	// something once a second.
	slack = 2 * time.Second
	// gap is how far points may be apart.
	gap = 10 * time.Second
)

// Between is what was taken in a window. A series that does not cover it is an error: what was not
// measured is not zero.
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
	if len(s.Points) == 0 || s.Points[0].At.After(begin.Add(slack)) || s.Points[len(s.Points)-1].At.Before(end.Add(-slack)) {
		return part, fmt.Errorf("%s: the test ran from %s to %s, and %s", s.Name, stamp(begin), stamp(end), s.covers())
	}
	inside := s.inside(begin, end)
	if err := s.unbroken(begin, end, inside); err != nil {
		return part, err
	}
	for _, p := range inside {
		part.PeakWatts = max(part.PeakWatts, p.Watts)
		part.Watts = append(part.Watts, Watt{round(p.At.Sub(begin).Seconds()), round(p.Watts)})
	}
	part.Joules = s.at(end) - s.at(begin)
	if math.IsNaN(part.Joules) || math.IsInf(part.Joules, 0) {
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

// inside are the points from begin to end.
func (s *Series) inside(begin, end time.Time) []Point {
	var inside []Point
	for _, p := range s.Points {
		if !p.At.Before(begin) && !p.At.After(end) {
			inside = append(inside, p)
		}
	}
	return inside
}

// unbroken refuses points with a gap between them, after begin or before end.
func (s *Series) unbroken(begin, end time.Time, points []Point) error {
	last := begin
	for _, p := range slices.Concat(points, []Point{{At: end}}) {
		if d := p.At.Sub(last); d > gap {
			return fmt.Errorf("%s: nothing was measured for %v from %s on", s.Name, d.Round(time.Second), stamp(last))
		}
		last = p.At
	}
	return nil
}

func (s *Series) covers() string {
	if len(s.Points) == 0 {
		return "nothing was measured"
	}
	return fmt.Sprintf("power was measured from %s to %s", stamp(s.Points[0].At), stamp(s.Points[len(s.Points)-1].At))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// mostWatts is how many values over time are kept.
const mostWatts = 300

// thin keeps as many values as a curve needs.
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
