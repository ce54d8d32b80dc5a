package loadgen

import (
	"testing"
	"time"
)

// progressOf runs a test with a SUT and returns what was reported meanwhile, but for the settings.
func progressOf(t *testing.T, sut SUT, s TestSettings, opts Options) (seen []Progress) {
	t.Helper()
	opts.Progress = func(p Progress) {
		if p.Test == nil || p.Test.Scenario != s.Scenario {
			t.Errorf("a report of %+v, want the test's settings", p.Test)
		}
		p.Test = nil
		seen = append(seen, p)
	}
	mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, opts)
	return seen
}

func TestProgressIsReportedTwiceASecond(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		seen := progressOf(t, after(4*time.Millisecond), quick(SingleStream), timers)
		if len(seen) < 9 {
			t.Fatalf("%d reports in 5 seconds, want 9", len(seen))
		}
		last := seen[len(seen)-1]
		if last.Completed < 1000 || last.RecentP99 != 4*time.Millisecond || last.Set != 1 || last.Sets != 1 || last.PlannedDuration != 5*time.Second {
			t.Errorf("last report %+v", last)
		}
	})
}

func TestProgressOfOfflineIsThatOfItsOneQuery(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		seen := progressOf(t, after(1200*time.Millisecond), quick(Offline), timers)
		want := Progress{Set: 1, Sets: 1, Elapsed: time.Second, Issued: 1, Planned: 1, Samples: 5500}
		if len(seen) != 2 || seen[1] != want {
			t.Errorf("reports %+v, want the second to be %+v", seen, want)
		}
	})
}

func TestProgressOfAccuracyModeCountsLoadedSets(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(SingleStream)
		s.Mode = AccuracyOnly
		seen := progressOf(t, after(9*time.Millisecond), s, timers)
		want := Progress{
			Accuracy: true, Set: 3, Sets: 5, Elapsed: 500 * time.Millisecond, Issued: 56, Planned: 100, Completed: 55, Samples: 100,
			RecentP50: 9 * time.Millisecond, RecentP90: 9 * time.Millisecond, RecentP99: 9 * time.Millisecond, RecentTarget: 9 * time.Millisecond,
		}
		if len(seen) != 5 || seen[2] != want {
			t.Errorf("reports %+v, want the third to be %+v", seen, want)
		}
	})
}

func TestProgressIsReportedBeforeTheFirstQuery(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		opts := timers
		opts.ProgressEvery = -1 // as 0
		s := quick(MultiStream)
		s.MultiStreamQPS, s.MinDuration, s.MinQueryCount = 1, 0, 2
		seen := progressOf(t, atOnce(), s, opts)
		if first := seen[0]; first.Elapsed != 500*time.Millisecond || first.Issued != 0 || first.RecentP99 != 0 {
			t.Errorf("first report %+v", first)
		}
	})
}
