package power

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// steady is a series of 1 W at some times.
func steady(times ...float64) Series {
	s := Series{Name: "m"}
	for _, at := range times {
		s.addWatts(seconds(at), 1)
	}
	return s
}

func TestASeriesMustCoverItsWindowUpToItsSlackAndGap(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []float64
		end   float64
		want  string // of the error, "" for none
	}{
		{"as late as may be", []float64{2, 10}, 10, ""},
		{"too late", []float64{2.001, 10}, 10, "power was measured from 2026-01-31 12:00:02.001Z to"},
		{"as early an end as may be", []float64{0, 8}, 10, ""},
		{"too early an end", []float64{0, 7.999}, 10, "to 2026-01-31 12:00:07.999Z"},
		{"as far apart as may be", []float64{0, 10, 20}, 20, ""},
		{"too far apart", []float64{0, 10.001, 20}, 20, "nothing was measured for 10s from 2026-01-31 12:00:00.000Z on"},
		{"points only around the window", []float64{-30, 30}, 11, "nothing was measured for 11s from 2026-01-31 12:00:00.000Z on"},
		{"points only around a short window", []float64{-30, 30}, 10, ""},
		{"a hole at the end", []float64{0, 1, 30}, 12, "nothing was measured for 11s from 2026-01-31 12:00:01.000Z on"},
	} {
		s := steady(c.times...)
		e, err := (&Record{Series: []Series{s}}).Between(begin(), seconds(c.end))
		switch {
		case c.want == "" && (err != nil || !near(e.Joules, c.end) || !near(e.MeanWatts, 1) || !near(e.PeakWatts, 1)):
			t.Errorf("%s: %+v, %v, want %v J", c.name, e, err, c.end)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestTheEnergyIsThatOfAllParts(t *testing.T) {
	a, b := steady(0, 5, 10), Series{Name: "b"}
	for i, joules := range []float64{0, 100, 400} {
		b.addJoules(seconds(float64(5*i)), joules)
	}
	e, err := (&Record{Series: []Series{a, b}}).Between(seconds(5), seconds(10))
	if err != nil || !near(e.Joules, 305) || !near(e.MeanWatts, 61) || !near(e.PeakWatts, 61) || len(e.Parts) != 2 {
		t.Fatalf("%+v, %v, want 5 J and 300 J in five seconds", e, err)
	}
	if p := e.Parts[1]; p.Name != "b" || !near(p.MeanWatts, 60) || len(p.Watts) != 2 || p.Watts[0] != (Watt{0, 20}) || p.Watts[1] != (Watt{5, 60}) {
		t.Errorf("part %+v, want 20 W at the begin and 60 W at the end", p)
	}
}

func TestACounterThatStandsStillIsAnErrorAndNotZero(t *testing.T) {
	s := Series{Name: "package-0"}
	for i := range 5 {
		s.addJoules(seconds(float64(i)), 7)
	}
	_, err := (&Record{Series: []Series{s}}).Between(begin(), seconds(4))
	if err == nil || err.Error() != "package-0: it shows no energy for the 4s of the test" {
		t.Errorf("error %v", err)
	}
}

func TestTwoReadingsAtOneInstantAreNoInfinitePower(t *testing.T) {
	s := Series{Name: "m"}
	s.addJoules(begin(), 0)
	s.addJoules(seconds(2), 20)
	s.addJoules(seconds(2), 21)
	e, err := (&Record{Series: []Series{s}}).Between(begin(), seconds(2))
	if err != nil || !near(e.Joules, 20) || !near(e.PeakWatts, 10) {
		t.Errorf("%+v, %v, want 20 J and at most 10 W", e, err)
	}
}

func TestACurveOfAsManyValuesAsMayBeStaysAsItIs(t *testing.T) {
	for n, want := range map[int]int{mostWatts: mostWatts, mostWatts + 1: (mostWatts + 2) / 2, 3 * mostWatts: mostWatts} {
		list := make([]Watt, n)
		for i := range list {
			list[i] = Watt{float64(i), 1}
		}
		got := thin(list)
		if len(got) != want || got[len(got)-1] != (Watt{float64(n - 1), 1}) {
			t.Errorf("%d values become %d, the last %v, want %d and the last time", n, len(got), got[len(got)-1], want)
		}
	}
}

// While an analyser looks for its ranges it reads no power. checks/power_check.py passes over such
// samples, and wants them in spl.txt.
func TestSamplesWithoutAPowerAreLeftOutAndNoted(t *testing.T) {
	var lines []string
	for i, watts := range []string{"nan", "5", "-1.0", "0", "7", "NaN"} {
		lines = append(lines, "Time,"+seconds(float64(i)).Format(ptdTime)+",Watts,"+watts+",Mark,x")
	}
	r, err := recordOf(lines, begin())
	if err != nil {
		t.Fatal(err)
	}
	if points := r.Series[0].Points; len(points) != 2 || !points[0].At.Equal(seconds(2)) || points[1].Joules != 3*6 {
		t.Errorf("points %v, want 5 W after two seconds and 7 W three seconds later", points)
	}
	if len(r.Samples) != 6 || !strings.HasPrefix(r.Samples[5], "Time,"+seconds(6).Format(ptdTime)+",Watts,NaN") {
		t.Errorf("samples %q, want all six, a second later", r.Samples)
	}
	if len(r.Notes) != 1 || r.Notes[0] != "4 of 6 samples of PTDaemon have no power above 0 and were left out" {
		t.Errorf("notes %q", r.Notes)
	}
	if r, err := recordOf(lines[4:5], begin()); err != nil || r.Notes != nil {
		t.Errorf("of a sample with a power: %v, notes %q", err, r.Notes)
	}
}

func TestPowersThatCannotBeAddedUpAreAnError(t *testing.T) {
	s := Series{Name: "meter"}
	for i := range 5 {
		s.addWatts(seconds(float64(i)), math.MaxFloat64)
	}
	if e, err := (&Record{Series: []Series{s}}).Between(seconds(0), seconds(4)); err == nil || err.Error() != "meter: its powers are too large to be added up" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestSamplesTellHowFarTheClocksAreApart(t *testing.T) {
	line := func(second int, watts string) string {
		return "Time," + seconds(float64(second)).Format(ptdTime) + ",Watts," + watts + ",Mark,x"
	}
	r, err := recordOf([]string{line(0, "5"), line(1, "6")}, seconds(99))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{line(100, "5"), line(101, "6")}
	if r.Offset != 100*time.Second || fmt.Sprint(r.Samples) != fmt.Sprint(want) || !r.Series[0].Points[1].At.Equal(seconds(101)) {
		t.Errorf("offset %v, samples %q, want 1m40s and %q", r.Offset, r.Samples, want)
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{nil, "there are no samples"},
		{[]string{line(0, "5"), "Watts"}, `sample 2 is "Watts", want Time,…,Watts,…`},
		{[]string{"Time,x,Volts,5"}, `sample 1 is "Time,x,Volts,5"`},
		{[]string{line(0, "5"), line(0, "5")}, "sample 2: the time 01-31-2026 12:00:00.000 is not after the one before"},
		{[]string{line(0, "-5")}, "none of 1 samples has a power above 0"},
		{[]string{line(0, "5"), line(1, "much")}, `sample 2: "much" is not a power in watts`},
		{[]string{line(0, "+Inf")}, `sample 1: "+Inf" is not a power in watts`},
		{[]string{line(0, "5"), "Time,noon,Watts,nan,Mark,x"}, `sample 2: "noon" is not a time`},
	} {
		if _, err := recordOf(c.lines, begin()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.lines, err, c.want)
		}
	}
}
