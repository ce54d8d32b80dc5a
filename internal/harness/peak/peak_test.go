package peak

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
)

// searched carries a search out against a system and returns what it tried. What follows from tries is the same
// however often it is asked for, so that a search may be interrupted after any of them.
func searched(t *testing.T, s Search, keeps func(Trial) bool) []report.PeakStep {
	t.Helper()
	var steps []report.PeakStep
	for {
		next, more := s.Next(steps)
		if again, moreAgain := s.Next(steps); again != next || moreAgain != more {
			t.Fatalf("after %d steps %+v follows, and then %+v", len(steps), next, again)
		}
		if !more {
			return steps
		}
		if len(steps) > 100 {
			t.Fatalf("the search does not end: %+v", steps[90:])
		}
		if !(next.Load > 0) || s.Whole && next.Load != math.Trunc(next.Load) {
			t.Fatalf("load %v is tried", next.Load)
		}
		steps = append(steps, report.PeakStep{Load: next.Load, Full: next.Full, Met: keeps(next)})
	}
}

func TestSearchFindsTheCapacity(t *testing.T) {
	for _, capacity := range []float64{0.37, 20, 1234.5, 2e6} {
		for _, first := range []float64{capacity / 500, capacity * 0.3, capacity, capacity * 1.01, capacity * 7, capacity * 800} {
			t.Run(fmt.Sprintf("%g from %g", capacity, first), func(t *testing.T) {
				steps := searched(t, Search{First: first}, func(n Trial) bool { return n.Load <= capacity })
				last := steps[len(steps)-1]
				if !last.Full || !last.Met || last.Load > capacity || last.Load < capacity/resolution {
					t.Errorf("the last of %d steps is %+v", len(steps), last)
				}
			})
		}
	}
}

func TestSearchOfWholeLoads(t *testing.T) {
	for capacity := 1.0; capacity <= 70; capacity++ {
		for _, first := range []float64{1, 4, 8, 70} {
			steps := searched(t, Search{First: first, Whole: true}, func(n Trial) bool { return n.Load <= capacity })
			if last := steps[len(steps)-1]; !last.Full || !last.Met || last.Load != capacity {
				t.Errorf("from %g: %g streams: the last of %d steps is %+v", first, capacity, len(steps), last)
			}
		}
	}
}

func TestSearchGivesUp(t *testing.T) {
	for _, s := range []Search{{First: 100}, {First: 8, Whole: true}} {
		steps := searched(t, s, func(Trial) bool { return false })
		for _, step := range steps {
			if step.Full {
				t.Errorf("%+v is confirmed", step)
			}
		}
		if len(steps) < 4 || len(steps) > 25 {
			t.Errorf("%d steps", len(steps))
		}
	}
}

func TestUnconfirmedLoadIsLowered(t *testing.T) {
	keeps := func(n Trial) bool { return n.Load <= 100 && !n.Full || n.Load <= 93 }
	steps := searched(t, Search{First: 50}, keeps)
	if best := highest(steps); best > 93 || best < 88 {
		t.Errorf("%g is confirmed: %+v", best, steps)
	}
	never := searched(t, Search{First: 50}, func(n Trial) bool { return n.Load <= 100 && !n.Full })
	full := 0
	for _, step := range never {
		if step.Full {
			full++
		}
	}
	if full != mostConfirmations {
		t.Errorf("%d confirmations, want %d", full, mostConfirmations)
	}
}

// A queue: above its capacity the latency grows with the length of the test. Short tests of 2 s keep the bound far above it.
func TestMissedConfirmationJumps(t *testing.T) {
	for _, capacity := range []float64{30, 60, 114} {
		s := Search{First: 20, Bound: 200 * time.Millisecond}
		var steps []report.PeakStep
		full := 0
		for next, more := s.Next(steps); more; next, more = s.Next(steps) {
			step := report.PeakStep{Load: next.Load, Full: next.Full, Seconds: 2, LatencyNS: 130e6, Met: next.Load <= 152}
			if next.Full {
				full++
				step.Met, step.Seconds = next.Load <= capacity, 600
				if !step.Met {
					step.Seconds = 600 * next.Load / capacity
					step.LatencyNS = int64((step.Seconds - 600) * 1e9)
				}
			}
			if steps = append(steps, step); len(steps) > 60 {
				t.Fatalf("the search does not end: %+v", steps)
			}
		}
		if got := highest(steps); got > capacity || got < capacity*0.95 || full > 3 {
			t.Errorf("capacity %g: %g is confirmed after %d tests at full length: %+v", capacity, got, full, steps)
		}
	}
}

// Nothing that was refused at full length is tried again before a lower load was kept.
func TestRefusedLoadWaitsForALowerOne(t *testing.T) {
	for unlucky := range 4 {
		full := 0
		kept := 0.0
		refused := map[float64]bool{}
		searched(t, Search{First: 60}, func(next Trial) bool {
			met := next.Load <= 169
			if !next.Full {
				return met
			}
			if refused[next.Load] && !(kept > 0 && kept < next.Load) {
				t.Errorf("%g is tried again, and nothing below it was kept", next.Load)
			}
			if full++; met && full-1 != unlucky {
				kept = next.Load
				return true
			}
			refused[next.Load] = true
			return false
		})
	}
}

// Rules v0.5 test a candidate of Server five times, and one of MultiStream once. After a failure the next lower load has as many tests.
func TestLoadIsConfirmedAsTheRulesSay(t *testing.T) {
	for _, c := range []struct {
		name   string
		search Search
		fails  []int // of the full-length tests
		want   string
	}{
		{"Server", Search{First: 100, Tests: 5}, nil, "100 100 100 100 100"},
		{"Server fails in the third test", Search{First: 100, Tests: 5}, []int{2}, "100 100 100! 99 99 99 99 99"},
		{"Server fails twice", Search{First: 100, Tests: 5}, []int{0, 5}, "100! 99 99 99 99 99! 98 98 98 98 98"},
		{"MultiStream", Search{First: 100, Whole: true, Tests: 1}, nil, "100"},
		{"MultiStream fails twice", Search{First: 100, Whole: true, Tests: 1}, []int{0, 1}, "100! 99! 98"},
	} {
		var full []string
		searched(t, c.search, func(next Trial) bool {
			if !next.Full {
				return next.Load <= 100
			}
			met, mark := !slices.Contains(c.fails, len(full)), ""
			if !met {
				mark = "!"
			}
			full = append(full, fmt.Sprintf("%.4g%s", math.Floor(next.Load), mark))
			return met
		})
		if got := strings.Join(full, " "); got != c.want {
			t.Errorf("%s: full-length tests at %s, want %s", c.name, got, c.want)
		}
	}
	if last := searched(t, Search{First: 100, Tests: 5}, func(next Trial) bool { return !next.Full && next.Load <= 100 }); highest(last) != 0 {
		t.Errorf("%g is confirmed, which fails all tests", highest(last))
	}
}

// A machine that is busy with something else for a moment fails a load that it could keep.
func TestLoadThatFailsByChance(t *testing.T) {
	for unlucky := range 12 {
		n := 0
		steps := searched(t, Search{First: 60}, func(next Trial) bool {
			n++
			return next.Load <= 169 && n-1 != unlucky
		})
		if last := steps[len(steps)-1]; !last.Full || !last.Met || last.Load < 169/1.03 {
			t.Errorf("with bad luck in Trial %d the last of %d is %+v", unlucky, len(steps), last)
		}
	}
}

// The 34 ms of a bound of 100 ms say that something else than the load broke it above.
func TestConfirmedLoadFarFromTheBoundIsRaised(t *testing.T) {
	s := Search{First: 60, Bound: 100 * time.Millisecond}
	for _, test := range []struct {
		latency time.Duration
		next    Trial
		more    bool
	}{
		{34 * time.Millisecond, Trial{Load: 102}, true},
		{59 * time.Millisecond, Trial{Load: 102}, true},
		{60 * time.Millisecond, Trial{}, false},
		{93 * time.Millisecond, Trial{}, false},
	} {
		tried := []report.PeakStep{
			{Load: 100, Met: true}, {Load: 102}, {Load: 150}, {Load: 102}, {Load: 100, Full: true, Met: true, LatencyNS: int64(test.latency)},
		}
		if next, more := s.Next(tried); next != test.next || more != test.more {
			t.Errorf("at %v: %+v, %v, want %+v, %v", test.latency, next, more, test.next, test.more)
		}
		if next, more := s.Next(append(tried, report.PeakStep{Load: 102})); more {
			t.Errorf("after another failure: %+v", next)
		}
	}
	tried := []report.PeakStep{{Load: 100, Met: true}, {Load: 102}, {Load: 102}, {Load: 100, Full: true, Met: true, LatencyNS: 1}, {Load: 102, Met: true}}
	if next, more := s.Next(tried); !more || next != (Trial{Load: 153}) {
		t.Errorf("after a load that was kept: %+v, %v", next, more)
	}
}

func TestNoisySystemIsNotOverestimated(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		// Up to 10 % of the capacity depends on chance.
		steps := searched(t, Search{First: 10}, func(n Trial) bool { return n.Load <= 100*(0.9+0.1*rng.Float64()) })
		last := steps[len(steps)-1]
		if last.Full && last.Met && (last.Load < 70 || last.Load > 100) {
			t.Errorf("%+v", last)
		}
	}
}

// highest is the highest load that was confirmed; 0: none.
func highest(tried []report.PeakStep) (load float64) {
	for _, step := range tried {
		if step.Full && step.Met {
			load = max(load, step.Load)
		}
	}
	return load
}

// A capacity that is much higher than what the search begins with is not found whole, and whole loads begin with 1.
func TestSearchAtItsLimits(t *testing.T) {
	for _, capacity := range []float64{0.4, 3, 9.5, 50, 51, 1e3, 7e5} {
		most := min(capacity, 20*mostShare*widenFactor) // the search gives up beyond
		keeps := func(n Trial) bool { return n.Load <= capacity }
		tried := searched(t, Search{First: 20}, keeps)
		if got, least := highest(tried), min(capacity/resolution, 20*mostShare); got > most || got < least-1e-9 {
			t.Errorf("capacity %g: the peak is %g after %d steps, want %g to %g", capacity, got, len(tried), least, most)
		}
		least := 0.0 // of a system that does not keep even 1
		if capacity >= 1 {
			least = min(math.Floor(capacity)-max(1, capacity*(resolution-1)), 20*mostShare)
		}
		tried = searched(t, Search{First: 20, Whole: true}, keeps)
		if got := highest(tried); got > most || got < least-1e-9 {
			t.Errorf("capacity %g of whole loads: the peak is %g after %d steps, want %g to %g", capacity, got, len(tried), least, most)
		}
	}
}
