package loadgen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAccuracyModeLogsEverySampleOnce(t *testing.T) {
	for _, scenario := range Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				s := quick(scenario)
				s.Mode = AccuracyOnly
				log := &memoryLog{}
				opts := timers
				opts.AccuracyLog = log
				r := mustRun(t, atOnce(), &fakeQSL{total: 250, performance: 80}, s, opts)
				if !r.Valid() || r.Performance != nil {
					t.Errorf("valid %v, performance %v", r.Valid(), r.Performance)
				}
				seen := map[QuerySampleIndex]int{}
				for i, record := range log.records {
					seen[record.QSLIndex]++
					if record.SeqID != uint64(i) || len(record.Data) != 1 || record.Data[0] != byte(record.QSLIndex) {
						t.Fatalf("record %d is %+v", i, record)
					}
				}
				if len(seen) != 250 {
					t.Errorf("%d of 250 samples are in the log", len(seen))
				}
				if scenario != MultiStream && len(log.records) != 250 {
					t.Errorf("%d records, want 250", len(log.records))
				}
			})
		})
	}
}

func TestSubmissionRunDoesBoth(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(SingleStream)
		s.Mode = SubmissionRun
		log := &memoryLog{}
		opts := timers
		opts.AccuracyLog = log
		qsl := &fakeQSL{total: 250, performance: 80}
		r := mustRun(t, after(time.Millisecond), qsl, s, opts)
		if !r.Valid() || r.Performance == nil || r.AccuracySamples != 250 || len(log.records) != 250 || len(qsl.loads) != 5 {
			t.Errorf("valid %v, %d accuracy samples, %d records, %d loads", r.Valid(), r.AccuracySamples, len(log.records), len(qsl.loads))
		}
	})
}

func TestPerformanceModeSamplesResponsesLikeTheReference(t *testing.T) {
	// Check vector made with the reference: seed of TEST01, probability 4096/300000.
	e := EffectiveSettings{AccuracyLogRNGSeed: 720381539243781796, AccuracyLogProbability: 4096.0 / 300000}
	s := newSampler(e, 0)
	if s.offset != 0.49069568815352677 {
		t.Errorf("offset %v", s.offset)
	}
	var kept []int
	for i := range 900 {
		if s.keep() {
			kept = append(kept, i)
		}
	}
	if want := []int{279, 289, 329, 412, 446, 824, 878, 888}; !slices.Equal(kept, want) {
		t.Errorf("logged %v, want %v", kept, want)
	}
	if s := newSampler(e, 279); !s.keep() {
		t.Error("a sampler that begins at sample 279 does not log it")
	}

	inFakeTime(t, func(t *testing.T) {
		settings := quick(Server)
		settings.AccuracyLogRNGSeed, settings.AccuracyLogSamplingTarget = 7, 200
		log := &memoryLog{}
		opts := timers
		opts.AccuracyLog = log
		r := mustRun(t, after(time.Millisecond), &fakeQSL{total: 250, performance: 80}, settings, opts)
		if n := len(log.records); n < 150 || n > 250 || !r.Valid() {
			t.Errorf("%d responses logged, want about 200", n)
		}
	})
}

func TestAccuracyLogErrorsAreFaults(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Offline)
		s.Mode = AccuracyOnly
		opts := timers
		opts.AccuracyLog = &memoryLog{err: errors.New("no space left on device")}
		r := mustRun(t, atOnce(), &fakeQSL{total: 250, performance: 80}, s, opts)
		if r.Valid() || !strings.Contains(fmt.Sprint(r.Faults), "no space left") {
			t.Errorf("valid %v, faults %v", r.Valid(), r.Faults)
		}
	})
}

func TestResponsesOfAPerformanceRunAreWrittenAfterIt(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.AccuracyLogProbability = 1
		ended := false
		log := &memoryLog{}
		opts := timers
		opts.AccuracyLog = log
		buffer := []byte{7}
		sut := &fakeSUT{flush: func() { ended = true }}
		sut.issue = func(q Query) {
			if len(log.records) > 0 {
				t.Fatal("a response was written while queries are issued")
			}
			buffer[0] = byte(q.Samples[0].Index)
			q.Complete([]QuerySampleResponse{{ID: q.Samples[0].ID, Data: buffer}})
			buffer[0] = 255 // the SUT uses its buffer again
		}
		r := mustRun(t, sut, &fakeQSL{total: 250, performance: 80}, s, opts)
		if uint64(len(log.records)) != r.Performance.SampleCount || !ended {
			t.Errorf("%d records of %d samples", len(log.records), r.Performance.SampleCount)
		}
		for _, record := range log.records {
			if record.Data[0] != byte(record.QSLIndex) {
				t.Fatalf("record %+v", record)
			}
		}
	})
}

func TestAProbabilityOrATargetDecidesWhatIsLogged(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*TestSettings)
		want   float64
	}{
		{"none", func(*TestSettings) {}, 0},
		{"a probability", func(s *TestSettings) { s.AccuracyLogProbability = 0.25 }, 0.25},
		{"a target of 1000 expected queries", func(s *TestSettings) { *s = quick(Server); s.AccuracyLogSamplingTarget = 500 }, 0.1},
		{"a target of a minimum of queries", func(s *TestSettings) { s.AccuracyLogSamplingTarget, s.MinQueryCount = 500, 50000 }, 0.01},
		{"a target of queries of 8 samples", func(s *TestSettings) {
			s.Scenario, s.AccuracyLogSamplingTarget, s.MinQueryCount = MultiStream, 500, 50000
		}, 0.00125},
		{"a target of Offline samples", func(s *TestSettings) { *s = quick(Offline); s.AccuracyLogSamplingTarget = 550 }, 0.1},
	} {
		s := quick(SingleStream)
		test.change(&s)
		if got := accuracyLogProbability(s.Effective(100, 500)); got != test.want {
			t.Errorf("%s: probability %g, want %g", test.name, got, test.want)
		}
	}
}

func TestAnAnswerThatWasOnItsWayWhenTheTestStoppedIsNotLogged(t *testing.T) {
	for _, defers := range []bool{false, true} {
		kept := &memoryLog{}
		limits := logLimits{most: 1 << 20, timeout: time.Second}
		if defers {
			limits.hold = 1 << 10
		}
		log := newResponseLog(kept, limits, false)
		log.begin()
		log.add(QuerySample{ID: 1}, &QuerySampleResponse{ID: 1})
		if err := log.close(); err != nil {
			t.Fatal(err)
		}
		log.add(QuerySample{ID: 2}, &QuerySampleResponse{ID: 2}) // the caller may have closed its file
		if err := log.close(); err != nil || len(kept.records) != 1 || kept.records[0].SeqID != 1 {
			t.Errorf("records %+v, want that of sample 1", kept.records)
		}
	}
}
