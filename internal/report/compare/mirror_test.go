package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// What is 10 % slower one way round is as much faster the other way round, and so are its bounds.
func TestSidesThatChangePlacesMirrorEachOther(t *testing.T) {
	one := simulation{arrivals: 1, service: 2, load: 0.7, seconds: 20, slower: 1}
	other := simulation{arrivals: 1, service: 3, load: 0.7, seconds: 20, slower: 1.02}
	for name, sides := range map[string][2][]Run{
		"one run each":      {{one.run(begin)}, {other.run(begin.Add(time.Hour))}},
		"repeats in turns":  {series(5, 0, one, 0.01), series(5, time.Minute, other, 0.01)},
		"repeats not so":    {series(3, 0, one, 0.01), series(3, 100*time.Hour, other, 0.01)},
		"one against three": {{one.run(begin)}, series(3, time.Hour, other, 0.01)},
	} {
		there, back := compared(t, sides[0], sides[1])[0], compared(t, sides[1], sides[0])[0]
		if len(there.Metrics) != len(back.Metrics) || len(there.Metrics) == 0 {
			t.Fatalf("%s: %d metrics, and back %d", name, len(there.Metrics), len(back.Metrics))
		}
		for i, a := range there.Metrics {
			b := back.Metrics[i]
			mirrored := func(x, y float64) bool { return math.Abs((1+x)*(1+y)-1) < 1e-9 }
			if a.Name != b.Name || a.Base != b.New || a.New != b.Base || !mirrored(a.Change, b.Change) || (a.Interval == nil) != (b.Interval == nil) {
				t.Errorf("%s, %s: %+v, and back %+v", name, a.Name, a, b)
				continue
			}
			if a.Interval != nil && (!mirrored(a.Interval.Lower, b.Interval.Upper) || !mirrored(a.Interval.Upper, b.Interval.Lower) || a.Differs() != b.Differs()) {
				t.Errorf("%s, %s: %+v, and back %+v", name, a.Name, a.Interval, b.Interval)
			}
			if tone := map[string]string{"good": "bad", "bad": "good", "": ""}[a.Tone()]; b.Tone() != tone {
				t.Errorf("%s, %s is %q, and back %q", name, a.Name, a.Tone(), b.Tone())
			}
		}
	}
}

// McNemar's test by its definition: all splits that are as uneven, added up one by one.
func TestMidPIsTheSumOfItsSplits(t *testing.T) {
	for n := range 40 {
		d := distuv.Binomial{N: float64(n), P: 0.5}
		for lost := 0; lost <= n; lost++ {
			sum := 0.0
			for k := range n + 1 {
				switch far := math.Abs(float64(k)-float64(n)/2) - math.Abs(float64(lost)-float64(n)/2); {
				case far > 1e-9:
					sum += d.Prob(float64(k))
				case far > -1e-9:
					sum += d.Prob(float64(k)) / 2
				}
			}
			want := min(1, sum)
			if 2*lost == n {
				want = 1 // the most even split of all
			}
			if got := midP(lost, n-lost); math.Abs(got-want) > 1e-9 {
				t.Errorf("midP(%d, %d) = %v, want %v", lost, n-lost, got, want)
			}
			if midP(lost, n-lost) != midP(n-lost, lost) {
				t.Errorf("midP(%d, %d) is another the other way round", lost, n-lost)
			}
		}
	}
}

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	for range 200 {
		name := metricNames()[rnd.IntN(len(metricNames()))]
		sign, above := []string{"+", "-", "−", ""}[rnd.IntN(4)], rnd.IntN(2) == 0
		mark := map[bool]string{true: ">", false: "<"}[above]
		text := strings.Repeat(" ", rnd.IntN(2)) + name + " " + mark + strings.Repeat(" ", rnd.IntN(2)) + sign + "2.5%"
		l, err := ParseLimit(text)
		want := 0.025
		if name == accuracyName {
			want = 2.5
		}
		if sign == "-" || sign == "−" {
			want = -want
		}
		if err != nil || l.Metric != name || l.Above != above || l.Change != want || l.String() != text {
			t.Errorf("ParseLimit(%q) = %+v, %v, want %s and %v", text, l, err, name, want)
		}
	}
	for text, want := range map[string]string{
		"p99": "want a metric, > or <, and a change", ">5%": "want a metric", "p99>": `the change is ""`, "p99>5": `the change is "5"`, "p99>NaN%": `the change is "NaN%"`, "p99>inf%": `the change is "inf%"`,
		"p98>5%": `unknown metric "p98", want one of `, "p99>>5%": `the change is ">5%"`, "": "want a metric",
	} {
		if l, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseLimit(%q) = %+v, %v, want %q", text, l, err, want)
		}
	}
}
