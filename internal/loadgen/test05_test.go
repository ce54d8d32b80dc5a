package loadgen

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// servedBy is which samples a Server run issues, and when.
func servedBy(t *testing.T, s TestSettings) (samples []QuerySampleIndex, due []time.Duration, r *Result) {
	t.Helper()
	inFakeTime(t, func(t *testing.T) {
		r = mustRun(t, atOnce(), &fakeQSL{total: 60, performance: 20}, s, timers)
	})
	r.Performance.EachSample(func(s SampleRecord) {
		samples, due = append(samples, s.Index), append(due, s.Start)
	})
	return samples, due, r
}

// A run with the switch is one with its seeds, each in the place of its own; and it says so.
func TestEachAlternativeSeedTakesThePlaceOfItsOwn(t *testing.T) {
	s := quick(Server)
	s.MinDuration = 100 * time.Millisecond
	plain, when, r := servedBy(t, s)
	if r.Warnings() != 0 {
		t.Errorf("without the switch there are %d warnings", r.Warnings())
	}
	for _, c := range []struct {
		name                      string
		change                    func(*TestSettings)
		sameSamples, sameInstants bool
	}{
		{"the same seeds", func(*TestSettings) {}, true, true},
		{"what is loaded", func(s *TestSettings) { s.Test05QSLRNGSeed = 77 }, false, true},
		{"which samples", func(s *TestSettings) { s.Test05SampleIndexRNGSeed = 77 }, false, true},
		{"when", func(s *TestSettings) { s.Test05ScheduleRNGSeed = 77 }, true, false},
	} {
		o := s
		o.Test05, o.Mode = true, SubmissionRun // in which there would be an accuracy part too
		o.Test05QSLRNGSeed, o.Test05SampleIndexRNGSeed, o.Test05ScheduleRNGSeed = s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed
		c.change(&o)
		samples, due, r := servedBy(t, o)
		n := min(len(samples), len(plain))
		if slices.Equal(samples[:n], plain[:n]) != c.sameSamples || slices.Equal(due[:n], when[:n]) != c.sameInstants {
			t.Errorf("%s: the samples are the same %t, the instants %t", c.name, slices.Equal(samples[:n], plain[:n]), slices.Equal(due[:n], when[:n]))
		}
		if r.AccuracySamples != 0 || r.Effective.Mode != PerformanceOnly || r.Requested.Mode != SubmissionRun {
			t.Errorf("%s: %d samples of accuracy mode, mode %v, asked for %v", c.name, r.AccuracySamples, r.Effective.Mode, r.Requested.Mode)
		}
		if said := slices.IndexFunc(r.Events, func(e Event) bool { return e.IsWarning && strings.Contains(e.Value.(string), "test05") }); said < 0 {
			t.Errorf("%s: the log does not say it", c.name)
		}
	}
}
