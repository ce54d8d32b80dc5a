package power

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func begin() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

func seconds(s float64) time.Time { return begin().Add(time.Duration(s * 1e9)) }

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*max(1, math.Abs(b)) }

// meter is a series of watts, one reading a second.
func meter(watts ...float64) Series {
	s := Series{Name: "meter"}
	for i, w := range watts {
		s.addWatts(seconds(float64(i)), w)
	}
	return s
}

// counted is a series of joules, the first reading at a second, and then one a second.
func counted(joules ...float64) Series {
	s := Series{Name: "counter"}
	for i, j := range joules {
		s.addJoules(seconds(float64(i+1)), j)
	}
	return s
}

func TestEnergyOfAWindow(t *testing.T) {
	twice := counted(0, 20)
	twice.addJoules(seconds(2), 21) // two readings at one instant are not an infinite power
	for name, c := range map[string]struct {
		series       []Series
		from, to     float64
		joules, peak float64
	}{
		"between readings, of two parts":  {[]Series{counted(0, 10, 20, 30, 40, 50, 60, 70, 80), meter(5, 5, 5, 5, 5, 5, 5, 5, 5, 5)}, 2.5, 7.25, 4.75 * 15, 15},
		"with a peak":                     {[]Series{meter(10, 10, 80, 10, 10)}, 0, 4, 10 + 45 + 45 + 10, 80},
		"before a meter's first reading":  {[]Series{meter(100)}, -1, -0.98, 2, 100},
		"after a meter's last reading":    {[]Series{meter(100)}, 0.5, 1, 50, 100},
		"around a meter's only reading":   {[]Series{meter(100)}, -1, 1, 200, 100},
		"before a counter's readings":     {[]Series{counted(0, 50, 100)}, 0, 0.5, 25, 50},
		"after a counter's readings":      {[]Series{counted(0, 50, 100)}, 3, 4, 50, 50},
		"between a counter's readings":    {[]Series{counted(0, 50, 100)}, 1.5, 2, 25, 50},
		"two readings at the same second": {[]Series{twice}, 1, 2, 20, 20},
	} {
		e, err := (&Record{Series: c.series}).Between(seconds(c.from), seconds(c.to))
		if err != nil || !near(e.Joules, c.joules) || !near(e.MeanWatts, c.joules/(c.to-c.from)) || !near(e.PeakWatts, c.peak) || len(e.Parts) != len(c.series) {
			t.Errorf("%s: %+v, %v, want %v J, at most %v W", name, e, err, c.joules, c.peak)
		}
	}
}

func TestAnUnmeasuredWindowIsAnError(t *testing.T) {
	at := func(times ...float64) []Series {
		s := Series{Name: "m"}
		for _, at := range times {
			s.addWatts(seconds(at), 1)
		}
		return []Series{s}
	}
	for name, c := range map[string]struct {
		series     []Series
		begin, end float64
		want       string // of the error, "" for none
	}{
		"no series":                   {nil, 0, 10, "no power was measured"},
		"no points":                   {[]Series{{Name: "m"}}, 0, 10, "nothing was measured"},
		"before":                      {at(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), -10, 10, "the test ran from 2026-01-31 11:59:50.000Z to 2026-01-31 12:00:10.000Z, and power was measured from 2026-01-31 12:00:00.000Z"},
		"after":                       {at(0, 10, 20, 30), 20, 60, "power was measured from"},
		"another day":                 {at(0, 10, 20, 30), 86400, 86500, "power was measured from"},
		"a test without length":       {at(0, 10), 5, 5, "no length"},
		"at most so late":             {at(2, 10), 0, 10, ""},
		"too late":                    {at(2.001, 10), 0, 10, "power was measured from 2026-01-31 12:00:02.001Z to"},
		"at least so long":            {at(0, 8), 0, 10, ""},
		"too short":                   {at(0, 7.999), 0, 10, "to 2026-01-31 12:00:07.999Z"},
		"at most so far apart":        {at(0, 10, 20), 0, 20, ""},
		"too far apart":               {at(0, 10.001, 20), 0, 20, "nothing was measured for 10s from 2026-01-31 12:00:00.000Z on"},
		"points around the window":    {at(-30, 30), 0, 11, "nothing was measured for 11s from 2026-01-31 12:00:00.000Z on"},
		"points around a short one":   {at(-30, 30), 0, 10, ""},
		"a hole at the end":           {at(0, 1, 30), 0, 12, "nothing was measured for 11s from 2026-01-31 12:00:01.000Z on"},
		"a counter that stands still": {[]Series{counted(7, 7, 7)}, 0, 2, "it shows no energy for the 2s of the test"},
		"powers without a sum":        {[]Series{meter(math.MaxFloat64, math.MaxFloat64, math.MaxFloat64)}, 0, 2, "meter: its powers are too large to be added up"},
	} {
		e, err := (&Record{Series: c.series}).Between(seconds(c.begin), seconds(c.end))
		switch {
		case c.want == "" && (err != nil || !near(e.Joules, c.end-c.begin) || !near(e.PeakWatts, 1)):
			t.Errorf("%s: %+v, %v, want %v J", name, e, err, c.end-c.begin)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %+v, %v, want %q", name, e, err, c.want)
		}
	}
}

func TestLongCurvesAreThinned(t *testing.T) {
	s := Series{Name: "m"}
	for i := range 4000 {
		s.addWatts(seconds(float64(i)), float64(i%2)*2)
	}
	e, err := (&Record{Series: []Series{s}}).Between(seconds(0), seconds(3999))
	if err != nil || len(e.Parts[0].Watts) > mostWatts || len(e.Parts[0].Watts) < mostWatts/2 {
		t.Fatalf("%d values, %v", len(e.Parts[0].Watts), err)
	}
	for _, w := range e.Parts[0].Watts {
		if w.Watts < 0.8 || w.Watts > 1.2 {
			t.Errorf("%v W, want about the mean of 1", w)
		}
	}
}

func ExampleRecord_Between() {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	s := Series{Name: "meter"}
	for i, watts := range []float64{100, 200, 100} {
		s.addWatts(at.Add(time.Duration(i)*time.Second), watts)
	}
	energy, err := (&Record{Series: []Series{s}}).Between(at, at.Add(2*time.Second))
	fmt.Println(energy.Joules, energy.MeanWatts, energy.PeakWatts, err)
	_, err = (&Record{Series: []Series{s}}).Between(at, at.Add(time.Hour))
	fmt.Println(err)
	// Output:
	// 300 150 200 <nil>
	// meter: the test ran from 2026-01-31 12:00:00.000Z to 2026-01-31 13:00:00.000Z, and power was measured from 2026-01-31 12:00:00.000Z to 2026-01-31 12:00:02.000Z
}
