package power

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// slowEnergy adds up a series in steps of a millisecond: the plain way to do what at does.
func slowEnergy(s *Series, begin, end time.Time) float64 {
	power := func(t time.Time) float64 {
		for i := 1; i < len(s.Points); i++ {
			a, b := s.Points[i-1], s.Points[i]
			if !t.Before(a.At) && t.Before(b.At) {
				return (b.Joules - a.Joules) / b.At.Sub(a.At).Seconds()
			}
		}
		if t.Before(s.Points[0].At) {
			return s.firstWatts()
		}
		return s.Points[len(s.Points)-1].Watts
	}
	const step = time.Millisecond
	joules := 0.0
	for t := begin; t.Before(end); t = t.Add(step) {
		joules += power(t) * step.Seconds()
	}
	return joules
}

// randomSeries has readings at whole milliseconds, of a meter of power or of a counter.
func randomSeries(rnd *rand.Rand, n int) Series {
	s := Series{Name: "random"}
	at, joules := begin(), 0.0
	counter := rnd.IntN(2) == 0
	for range n {
		at = at.Add(time.Duration(1+rnd.IntN(1500)) * time.Millisecond)
		if counter {
			joules += rnd.Float64() * 100
			s.addJoules(at, joules)
		} else {
			s.addWatts(at, 1+rnd.Float64()*100)
		}
	}
	return s
}

func TestTheEnergyIsTheSumOfSmallSteps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 7))
	for range 40 {
		s := randomSeries(rnd, 2+rnd.IntN(12))
		length := s.Points[len(s.Points)-1].At.Sub(s.Points[0].At)
		from := s.Points[0].At.Add(time.Duration(rnd.Int64N(int64(length/2)) - int64(time.Second))).Truncate(time.Millisecond)
		to := from.Add(time.Millisecond + time.Duration(rnd.Int64N(int64(length/2+time.Second)))).Truncate(time.Millisecond)
		if !from.Before(to) {
			continue
		}
		e, err := (&Record{Series: []Series{s}}).Between(from, to)
		if want := slowEnergy(&s, from, to); err != nil || math.Abs(e.Joules-want) > 1e-6*want+1e-9 {
			t.Errorf("from %v to %v: %+v, %v, want %v J of %v", from, to, e, err, want, s.Points)
		}
	}
}

func TestEnergiesOfNeighbouringWindowsAddUp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	for range 100 {
		r := &Record{Series: []Series{randomSeries(rnd, 30), randomSeries(rnd, 30)}}
		a, b, c := seconds(2), seconds(2+rnd.Float64()*3), seconds(6)
		first, err1 := r.Between(a, b)
		second, err2 := r.Between(b, c)
		whole, err3 := r.Between(a, c)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		if !near(first.Joules+second.Joules, whole.Joules) {
			t.Errorf("%v J and %v J, together %v J", first.Joules, second.Joules, whole.Joules)
		}
		if whole.MeanWatts > whole.PeakWatts || !near(whole.MeanWatts*4, whole.Joules) || whole.Parts[0].Name != "random" {
			t.Errorf("mean %v W, peak %v W, %v J in four seconds", whole.MeanWatts, whole.PeakWatts, whole.Joules)
		}
	}
}

func TestAThinnedCurveKeepsItsMeanAndItsOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{0, 1, mostWatts, mostWatts + 1, 2 * mostWatts, 2*mostWatts + 1, 12345} {
		list := make([]Watt, n)
		sum := 0.0
		for i := range list {
			list[i] = Watt{float64(i), rnd.Float64() * 300}
			sum += list[i].Watts
		}
		got := thin(list)
		weighted, last := 0.0, -1.0
		for _, w := range got {
			if w.Seconds <= last {
				t.Fatalf("of %d values, %v s after %v s", n, w.Seconds, last)
			}
			weighted += w.Watts * (w.Seconds - last)
			last = w.Seconds
		}
		if len(got) > mostWatts || last != float64(n-1) || math.Abs(weighted-sum) > 0.001*float64(n)+1e-6 {
			t.Errorf("%d values become %d up to %v s with the sum %v, want at most %d up to %d s with %v", n, len(got), last, weighted, mostWatts, n-1, sum)
		}
	}
}

func TestEnergyBeforeAndBehindReadingsIsOfTheNearestPower(t *testing.T) {
	counter := Series{Name: "counter"}
	for i, joules := range []float64{0, 30, 90} {
		counter.addJoules(seconds(float64(i)), joules)
	}
	meter := Series{Name: "meter"}
	for i, watts := range []float64{5, 10, 20} {
		meter.addWatts(seconds(float64(i)), watts)
	}
	for _, c := range []struct {
		s          *Series
		at, joules float64
	}{
		{&counter, -1, -30}, {&counter, 0, 0}, {&counter, 0.5, 15}, {&counter, 2, 90}, {&counter, 3, 150},
		{&meter, -1, -5}, {&meter, 0, 0}, {&meter, 1, 7.5}, {&meter, 1.5, 15}, {&meter, 2, 22.5}, {&meter, 4, 62.5},
	} {
		if got := c.s.at(seconds(c.at)); !near(got, c.joules) {
			t.Errorf("%s at %v s: %v J, want %v", c.s.Name, c.at, got, c.joules)
		}
	}
	one := Series{}
	if one.addWatts(seconds(3), 7); one.firstWatts() != 7 || one.at(seconds(5)) != 14 || one.at(seconds(2)) != -7 {
		t.Errorf("of one reading: %v W, %v J, %v J", one.firstWatts(), one.at(seconds(5)), one.at(seconds(2)))
	}
}

// A file that this package wrote would be read as it is, whatever the times and powers.
func TestAMetersFileSurvivesARoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 1))
	forms := map[string]func(time.Time) string{
		"RFC 3339": func(at time.Time) string { return at.Format(time.RFC3339Nano) },
		"spaces":   func(at time.Time) string { return at.Format("2006-01-02 15:04:05.999999999") },
		"seconds":  func(at time.Time) string { return fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000) },
		"ms":       func(at time.Time) string { return fmt.Sprint(at.UnixMilli()) },
		"another zone": func(at time.Time) string {
			return at.In(time.FixedZone("", -5*3600)).Format(time.RFC3339Nano)
		},
	}
	for name, form := range forms {
		var want []Point
		text, at := "time,other,watts\n", begin()
		for range 50 {
			at = at.Add(time.Duration(1+rnd.IntN(5000)) * time.Millisecond)
			watts := math.Round(rnd.Float64()*1e6) / 1e3
			want = append(want, Point{At: at, Watts: watts})
			text += fmt.Sprintf("%s, x ,%v\n", form(at), watts)
		}
		s, err := parseCSV(strings.NewReader(text), 0)
		if err != nil || len(s.Points) != len(want) {
			t.Fatalf("%s: %d points, %v", name, len(s.Points), err)
		}
		for i, p := range s.Points {
			if d := p.At.Sub(want[i].At); d < -time.Microsecond || d > time.Microsecond || p.Watts != want[i].Watts {
				t.Errorf("%s: point %d is %v W at %v, want %v W at %v", name, i, p.Watts, p.At, want[i].Watts, want[i].At)
			}
		}
	}
}

func TestColumnsAreFoundByTheirNames(t *testing.T) {
	for _, c := range []struct {
		header    string
		at, watts int
		isHeader  bool
		want      string
	}{
		{"time,watts", 0, 1, true, ""}, {"Watts,Timestamp", 1, 0, true, ""}, {"no, DateTime ,volts,Power(W)", 1, 3, true, ""}, {"t,W", 0, 1, true, ""},
		{"Time,01-31-2026 12:00:00.000,Watts,5", 1, 3, false, ""}, {"time,date,power,watts", 0, 2, true, ""},
		{"time,volts", 0, 0, false, `"time,volts", want columns named time and watts`}, {"when,watts", 0, 0, false, `"when,watts", want columns named time and watts`},
		{"time;watts", 0, 0, false, `"time;watts", want columns named time and watts`}, {"Time,x,Watts", 0, 2, true, ""},
	} {
		at, watts, header, err := columns(strings.Split(c.header, ","))
		switch {
		case c.want != "":
			if err == nil || err.Error() != c.want {
				t.Errorf("%s: %v, want %q", c.header, err, c.want)
			}
		case err != nil || at != c.at || watts != c.watts || header != c.isHeader:
			t.Errorf("%s: %d, %d, %v, %v, want %d, %d, %v", c.header, at, watts, header, err, c.at, c.watts, c.isHeader)
		}
	}
}
