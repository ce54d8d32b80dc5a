package loadgen

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRunIssuesTheReferenceSequences(t *testing.T) {
	type golden struct {
		Seeds struct {
			QSL      uint64 `json:"qsl_rng_seed,string"`
			Sample   uint64 `json:"sample_index_rng_seed,string"`
			Schedule uint64 `json:"schedule_rng_seed,string"`
		}
		Cases []struct {
			Scenario, Mode  string
			Total           int     `json:"total_sample_count"`
			Performance     int     `json:"performance_sample_count"`
			MinQueries      uint64  `json:"min_query_count"`
			MaxQueries      uint64  `json:"max_query_count"`
			MinDurationMS   int64   `json:"min_duration_ms"`
			QPS             float64 `json:"target_qps"`
			Option          string
			SamplesPerQuery uint64  `json:"multi_stream_samples_per_query"`
			Count           []int64 `json:"generated_query_count"`
			PerQuery        []int64 `json:"generated_samples_per_query"`
			Length          []int64 `json:"generated_query_duration_ns"`
			Loads           []any   `json:"load_samples_to_ram_calls"`
			Issued          []any   `json:"issued_queries"`
		}
	}
	readGolden(t, "rng/loadgen_sequences_*.json", func(name string, data []byte) {
		g := unmarshal[golden](t, data)
		for i, c := range g.Cases {
			t.Run(fmt.Sprintf("%s case %d: %s %s %s", name, i, c.Scenario, c.Mode, c.Option), func(t *testing.T) {
				s := DefaultSettings()
				var err error
				if s.Scenario, err = ParseScenario(c.Scenario); err != nil {
					t.Fatal(err)
				}
				if s.Mode, err = ParseMode(c.Mode); err != nil {
					t.Fatal(err)
				}
				s.MinQueryCount, s.MaxQueryCount = c.MinQueries, c.MaxQueries
				s.MinDuration = time.Duration(c.MinDurationMS) * time.Millisecond
				s.ServerTargetQPS, s.OfflineExpectedQPS = c.QPS, c.QPS
				s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = 1e9/c.QPS, 1e9/c.QPS
				if c.SamplesPerQuery != 0 {
					s.MultiStreamSamplesPerQuery = c.SamplesPerQuery
				}
				s.PerformanceIssueUnique = c.Option == "performance_issue_unique"
				s.SampleConcatenatePermutation = c.Option == "sample_concatenate_permutation"
				if rest, ok := strings.CutPrefix(c.Option, "performance_issue_same index "); ok {
					s.PerformanceIssueSame = true
					fmt.Sscan(rest, &s.PerformanceIssueSameIndex)
				}
				s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = g.Seeds.QSL, g.Seeds.Sample, g.Seeds.Schedule

				inFakeTime(t, func(t *testing.T) {
					qsl := &fakeQSL{total: c.Total, performance: c.Performance}
					sut := atOnce()
					r := mustRun(t, sut, qsl, s, timers)
					compareNested(t, "loaded sets", qsl.loads, c.Loads)
					compareNested(t, "issued queries", sut.queries, c.Issued)
					compareEvents(t, r, "generated_query_count", c.Count)
					compareEvents(t, r, "generated_samples_per_query", c.PerQuery)
					compareEvents(t, r, "generated_query_duration", c.Length)
					if len(r.Faults) > 0 {
						t.Errorf("faults: %v", r.Faults)
					}
				})
			})
		}
	})
}

// compareNested compares lists of lists; a long one is given by its checksum.
func compareNested(t *testing.T, what string, got [][]QuerySampleIndex, want []any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d %s, want %d", len(got), what, len(want))
	}
	for i := range got {
		if long, ok := want[i].(map[string]any); ok {
			if key, ok := long["sha256_of_decimal_csv"].(string); ok && checksum(got[i]) != key {
				t.Errorf("%s: list %d has another checksum", what, i)
			} else if key, ok := long["sha256"].(string); ok && checksum(got[i]) != key {
				t.Errorf("%s: list %d has another checksum", what, i)
			}
			continue
		}
		if g, w := fmt.Sprint(got[i]), fmt.Sprint(want[i]); g != w {
			t.Fatalf("%s: list %d = %s, want %s", what, i, g, w)
		}
	}
}

func compareEvents(t *testing.T, r *Result, key string, want []int64) {
	t.Helper()
	var got []int64
	for _, e := range r.Events {
		if e.Key == key {
			var n int64
			fmt.Sscan(fmt.Sprint(e.Value), &n)
			got = append(got, n)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", key, got, want)
	}
}

func TestEveryScenarioIsValidWithAFastSUT(t *testing.T) {
	for _, scenario := range Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				sut := after(time.Millisecond)
				if scenario == Offline {
					sut = after(6 * time.Second)
				}
				r := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, quick(scenario), timers)
				if !r.Valid() {
					t.Fatalf("INVALID: %v %v", r.Performance.Problems(), r.Faults)
				}
				if sut.flushed != 1 {
					t.Errorf("FlushQueries was called %d times, want once", sut.flushed)
				}
				want := time.Millisecond
				if scenario == Offline {
					want = 6 * time.Second
				}
				if got := r.Performance.SampleLatency; got.Min != want || got.Max != want || got.Mean != want || got.Target != want {
					t.Errorf("latencies %+v, want all %v", got, want)
				}
			})
		})
	}
}

func TestLatencyCountsFromTheRightInstant(t *testing.T) {
	// A SUT that takes 10 ms inside IssueQuery makes every second query late.
	blocking := func(q Query) {
		time.Sleep(10 * time.Millisecond)
		answer(q)
	}
	t.Run("Server counts from the schedule", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Server)
			s.ServerTargetQPS, s.MaxQueryCount, s.MinDuration = 1e6, 3, time.Millisecond // all three are due almost at once
			r := mustRun(t, &fakeSUT{issue: blocking}, &fakeQSL{total: 5, performance: 5}, s, timers)
			if got := r.Performance.SampleLatency.Max; got < 29*time.Millisecond || got > 30*time.Millisecond {
				t.Errorf("the third query's latency is %v, want just below 30ms", got)
			}
			if got := r.Performance.IssueDelay.Max; got < 19*time.Millisecond {
				t.Errorf("the largest issue delay is %v, want about 20ms", got)
			}
		})
	})
	t.Run("SingleStream counts from the issue", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			r := mustRun(t, &fakeSUT{issue: blocking}, &fakeQSL{total: 5, performance: 5}, quick(SingleStream), timers)
			if got := r.Performance.SampleLatency; got.Min != 10*time.Millisecond || got.Max != 10*time.Millisecond {
				t.Errorf("latencies from %v to %v, want 10ms", got.Min, got.Max)
			}
		})
	})
	t.Run("Offline counts from the start", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Offline)
			s.MinDuration, s.MinQueryCount = 0, 4
			sut := &fakeSUT{issue: func(q Query) {
				for i, sample := range q.Samples {
					time.AfterFunc(time.Duration(i+1)*time.Second, func() {
						q.Complete([]QuerySampleResponse{{ID: sample.ID}})
					})
				}
			}}
			r := mustRun(t, sut, &fakeQSL{total: 5, performance: 5}, s, timers)
			if got := r.Performance.SamplesPerSecond(); got != 1 {
				t.Errorf("%g samples per second, want 1", got)
			}
			if got := r.Performance.SampleLatency.Min; got != time.Second {
				t.Errorf("the first latency is %v, want 1s", got)
			}
		})
	})
	t.Run("a MultiStream query lasts until its last sample", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := quick(MultiStream)
			s.MultiStreamSamplesPerQuery = 2
			sut := &fakeSUT{issue: func(q Query) {
				for i, sample := range q.Samples {
					time.AfterFunc(time.Duration(i+1)*time.Millisecond, func() {
						q.Complete([]QuerySampleResponse{{ID: sample.ID}})
					})
				}
			}}
			r := mustRun(t, sut, &fakeQSL{total: 5, performance: 5}, s, timers)
			if got := r.Performance.QueryLatency; got.Min != 2*time.Millisecond || got.Max != 2*time.Millisecond {
				t.Errorf("query latencies from %v to %v, want 2ms", got.Min, got.Max)
			}
			if got := r.Performance.SampleLatency.Min; got != time.Millisecond {
				t.Errorf("the shortest sample latency is %v, want 1ms", got)
			}
		})
	})
}

func TestValidityRules(t *testing.T) {
	tests := []struct {
		name    string
		change  func(*TestSettings)
		sut     *fakeSUT
		problem string // part of the first problem; "" if valid
	}{
		{"Server within its latency", func(s *TestSettings) { *s = quick(Server) }, after(100 * time.Millisecond), ""},
		{"Server above its latency", func(s *TestSettings) { *s = quick(Server) }, after(101 * time.Millisecond), "latency: "},
		{"Server too short", func(s *TestSettings) { *s = quick(Server); s.MaxQueryCount = 2000 }, after(1), "duration: "},
		{"Server with too few queries for early stopping", func(s *TestSettings) {
			*s = quick(Server)
			s.MinDuration, s.MinQueryCount = 0, 400
		}, after(1), "early stopping: 400 "},
		{"Server with just enough queries for early stopping", func(s *TestSettings) {
			*s = quick(Server)
			s.MinDuration, s.MinQueryCount = 0, 459
		}, after(1), ""},
		{"SingleStream too few queries", func(s *TestSettings) {
			s.MinDuration, s.MinQueryCount, s.MaxQueryCount = 0, 100, 99
		}, after(1), "queries: 99 "},
		{"SingleStream with too few queries for early stopping", func(s *TestSettings) {
			s.MinDuration, s.MinQueryCount = 0, 63
		}, after(1), "early stopping: 63 "},
		{"SingleStream with just enough queries for early stopping", func(s *TestSettings) {
			s.MinDuration, s.MinQueryCount = 0, 64
		}, after(1), ""},
		{"SingleStream cut by max_duration", func(s *TestSettings) { s.MaxDuration = 4 * time.Second }, after(time.Millisecond), "duration: "},
		{"SingleStream out of unique samples", func(s *TestSettings) {
			s.PerformanceIssueUnique, s.MinDuration = true, 0
		}, after(time.Millisecond), "queries: 80 "},
		{"MultiStream with too few queries for early stopping", func(s *TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount = MultiStream, 0, 661
		}, after(1), "early stopping: 661 "},
		{"MultiStream with just enough queries for early stopping", func(s *TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount = MultiStream, 0, 662
		}, after(1), ""},
		{"Offline too short", func(s *TestSettings) { *s = quick(Offline) }, after(4 * time.Second), "duration: "},
		{"Offline long enough", func(s *TestSettings) { *s = quick(Offline) }, after(5 * time.Second), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				s := quick(SingleStream)
				test.change(&s)
				sut := &fakeSUT{issue: test.sut.issue}
				r := mustRun(t, sut, &fakeQSL{total: 500, performance: 80}, s, timers)
				problems := r.Performance.Problems()
				if test.problem == "" {
					if !r.Valid() || len(problems) > 0 {
						t.Errorf("INVALID: %v, want VALID", problems)
					}
					return
				}
				if r.Valid() || len(problems) == 0 || !strings.Contains(problems[0], test.problem) {
					t.Errorf("problems %q, want one with %q", problems, test.problem)
				}
			})
		})
	}
}

func TestStreamsGoOnBeyondWhatWasPrepared(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(SingleStream)
		s.SingleStreamExpectedLatencyNS = 1e9 // 100 times too slow
		s.MinQueryCount = 1
		r := mustRun(t, after(10*time.Millisecond), &fakeQSL{total: 10, performance: 10}, s, timers)
		if !r.Valid() || r.Performance.QueryCount < 500 {
			t.Errorf("%d queries, valid: %v; want 500 and VALID", r.Performance.QueryCount, r.Valid())
		}
	})
}

func TestServerKeepsRunningInFakeTime(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.MinDuration, s.ServerTargetQPS = 10*time.Minute, 200
		begin := time.Now()
		r := mustRun(t, after(3*time.Millisecond), &fakeQSL{total: 500, performance: 100}, s, timers)
		if took := time.Since(begin); took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("the test took %v, want 10 minutes", took)
		}
		if qps := r.Performance.CompletedQPS(); qps < 198 || qps > 202 {
			t.Errorf("%g queries per second, want about 200", qps)
		}
		if r.Performance.IssueDelay.Max != 0 {
			t.Errorf("queries were issued up to %v late", r.Performance.IssueDelay.Max)
		}
	})
}

func TestServerThreadsShareTheTraffic(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		one := atOnce()
		mustRun(t, one, &fakeQSL{total: 500, performance: 100}, s, timers)
		s.ServerNumIssueQueryThreads = 3
		three := atOnce()
		r := mustRun(t, three, &fakeQSL{total: 500, performance: 100}, s, timers)
		if !r.Valid() || len(one.queries) != len(three.queries) {
			t.Errorf("three threads issued %d queries, one thread %d", len(three.queries), len(one.queries))
		}
	})
}

func TestCoalescingIssuesLateQueriesTogether(t *testing.T) {
	for _, threads := range []uint64{1, 2} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Server)
			s.ServerCoalesceQueries, s.ServerNumIssueQueryThreads = true, threads
			slow := &fakeSUT{issue: func(q Query) {
				time.Sleep(20 * time.Millisecond)
				answer(q)
			}}
			r := mustRun(t, slow, &fakeQSL{total: 500, performance: 100}, s, timers)
			samples, largest := 0, 0
			for _, q := range slow.queries {
				samples += len(q)
				largest = max(largest, len(q))
			}
			if uint64(samples) != r.Performance.QueryCount || uint64(samples) != r.Performance.SampleCount {
				t.Errorf("%d samples for %d queries", samples, r.Performance.QueryCount)
			}
			if largest < 10 {
				t.Errorf("the largest coalesced query has %d samples, want about 20 per thread", largest)
			}
			if len(r.Faults) > 0 {
				t.Errorf("faults: %v", r.Faults)
			}
		})
	}
}

func TestTooManyOutstandingQueriesEndTheRun(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.ServerMaxAsyncQueries = 10
		r := mustRun(t, after(time.Second), &fakeQSL{total: 500, performance: 100}, s, timers)
		if r.Valid() || r.Performance.QueryCount != 11 || !hasEvent(r, "outstanding") {
			t.Errorf("%d queries, valid %v, events %v; want 11, INVALID", r.Performance.QueryCount, r.Valid(), r.Events)
		}
	})
}

func hasEvent(r *Result, text string) bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool { return e.IsError && strings.Contains(fmt.Sprint(e.Value), text) })
}

// firstQuery applies wrong to the first query and answers the others after 1 ms.
func firstQuery(wrong func(Query)) func(Query) {
	done := false
	return func(q Query) {
		if done {
			time.AfterFunc(time.Millisecond, func() { answer(q) })
			return
		}
		done = true
		wrong(q)
	}
}

func TestMisbehavingSUTsAreNamed(t *testing.T) {
	twice := func(q Query) {
		time.Sleep(100 * time.Microsecond)
		answer(q)
		answer(q)
	}
	always := func(f func(Query)) func(Query) { return f }
	tests := []struct {
		name  string
		when  func(func(Query)) func(Query)
		wrong func(Query)
		fault string
	}{
		{"completes a sample twice", firstQuery, twice, "more than once"},
		{"completes every sample twice", always, twice, "more of this kind"},
		{"completes an id of nobody", firstQuery, func(q Query) {
			q.Complete([]QuerySampleResponse{{ID: 1 << 31}})
			answer(q)
		}, "has not issued"},
		{"completes an id that comes later", firstQuery, func(q Query) {
			q.Complete([]QuerySampleResponse{{ID: 4000}})
			answer(q)
		}, "has not issued"},
		{"never completes", firstQuery, func(Query) {}, "has completed none of the"},
		{"blocks in IssueQuery", firstQuery, func(q Query) {
			time.Sleep(time.Hour)
			answer(q)
		}, "has not returned from IssueQuery"},
		{"panics", firstQuery, func(Query) { panic("out of memory") }, "panicked: out of memory"},
		{"fails a sample", firstQuery, func(q Query) {
			q.Complete([]QuerySampleResponse{{ID: q.Samples[0].ID, Err: errors.New("bad tensor")}})
		}, "bad tensor"},
		{"reports tokens that nobody asked for", firstQuery, func(q Query) {
			q.FirstToken([]QuerySampleResponse{{ID: q.Samples[0].ID}})
			answer(q)
		}, "use_token_latencies is off"},
	}
	for _, scenario := range []Scenario{SingleStream, Server} {
		for _, test := range tests {
			t.Run(scenario.String()+" "+test.name, func(t *testing.T) {
				inFakeTime(t, func(t *testing.T) {
					began := time.Now()
					sut := &fakeSUT{issue: test.when(test.wrong)}
					r := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, quick(scenario), timers)
					if r.Valid() {
						t.Error("the run is VALID")
					}
					if text := fmt.Sprint(r.Faults); !strings.Contains(text, test.fault) {
						t.Errorf("faults %s, want %q", text, test.fault)
					}
					if took := time.Since(began); took > 10*time.Minute {
						t.Errorf("the test took %v to notice", took)
					}
					time.Sleep(2 * time.Hour) // a blocked goroutine returns
				})
			})
		}
	}
}

func TestCompletionAfterTheEndChangesNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		var kept []Query
		sut := &fakeSUT{issue: func(q Query) {
			kept = append(kept, q)
			answer(q)
		}}
		s := quick(Offline)
		s.MinDuration = 0
		r := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, timers)
		before := *r.Performance
		time.Sleep(time.Second)
		answer(kept[0])
		if kept[0].to.faults.counts[faultAfterEnd] != 1 || r.Performance.SampleLatency != before.SampleLatency {
			t.Error("an answer after the end was not refused")
		}
	})
}

func TestAnswersToAnEarlierSetAreRefused(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		var first *Query
		s := quick(Offline)
		s.Mode = AccuracyOnly
		sut := &fakeSUT{issue: func(q Query) {
			if first == nil {
				first = &q
			} else {
				stale := q // as if the SUT had mixed up its bookkeeping
				stale.Complete([]QuerySampleResponse{{ID: first.Samples[0].ID}})
			}
			answer(q)
		}}
		r := mustRun(t, sut, &fakeQSL{total: 500, performance: 250}, s, timers)
		if r.Valid() || !strings.Contains(fmt.Sprint(r.Faults), "has not issued") {
			t.Errorf("valid %v, faults %v", r.Valid(), r.Faults)
		}
	})
}

func TestInterruptionKeepsWhatWasMeasured(t *testing.T) {
	for _, scenario := range Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("somebody pressed Ctrl-C")
				time.AfterFunc(2*time.Second, func() { cancel(why) })
				sut := after(time.Millisecond)
				if scenario == Offline {
					sut = after(time.Minute)
				}
				began := time.Now()
				r, err := Run(ctx, sut, &fakeQSL{total: 500, performance: 100}, quick(scenario), timers)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("the test took %v to stop", took)
				}
				if r.Valid() || !errors.Is(r.Interrupted, why) {
					t.Errorf("valid %v, interrupted by %v", r.Valid(), r.Interrupted)
				}
				if got := r.Performance.SampleCount; scenario != Offline && got < 1500/8 {
					t.Errorf("%d samples were kept", got)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestQSLErrorsEndTheTest(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, qsl := range []*fakeQSL{
		{total: 10, performance: 10, loadErr: broken},
		{total: 10, performance: 10, unloadErr: broken},
	} {
		inFakeTime(t, func(t *testing.T) {
			if _, err := Run(t.Context(), after(time.Millisecond), qsl, quick(SingleStream), timers); !errors.Is(err, broken) {
				t.Errorf("error %v, want %v", err, broken)
			}
		})
	}
	if _, err := Run(t.Context(), atOnce(), &fakeQSL{}, quick(SingleStream), timers); err == nil {
		t.Error("an empty QSL is accepted")
	}
}

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

func TestTokenLatencies(t *testing.T) {
	// First token after 20 ms, then 9 more at 5 ms each.
	sut := func() *fakeSUT {
		return &fakeSUT{issue: func(q Query) {
			time.AfterFunc(20*time.Millisecond, func() {
				for _, s := range q.Samples {
					q.FirstToken([]QuerySampleResponse{{ID: s.ID, Data: []byte{1}}})
				}
			})
			time.AfterFunc(65*time.Millisecond, func() {
				for _, s := range q.Samples {
					q.Complete([]QuerySampleResponse{{ID: s.ID, NTokens: 10, Data: []byte{1, 2}}})
				}
			})
		}}
	}
	tokens := func(s TestSettings) TestSettings {
		s.UseTokenLatencies = true
		s.MinQueryCount = 700
		return s
	}
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		t.Run(scenario.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				r := mustRun(t, sut(), &fakeQSL{total: 100, performance: 100}, tokens(quick(scenario)), timers)
				p := r.Performance
				if !r.Valid() {
					t.Errorf("INVALID: %v %v", p.Problems(), r.Faults)
				}
				if p.FirstToken.Mean != 20*time.Millisecond || p.TimePerOutputToken.Mean != 5*time.Millisecond {
					t.Errorf("TTFT %v, TPOT %v, want 20ms and 5ms", p.FirstToken.Mean, p.TimePerOutputToken.Mean)
				}
				if want := int64(10 * p.SampleCount); p.TokenCount != want {
					t.Errorf("%d tokens, want %d", p.TokenCount, want)
				}
			})
		})
	}
	t.Run("Server above its limits", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := tokens(quick(Server))
			s.ServerTTFTLatency, s.ServerTPOTLatency = 19*time.Millisecond, 4*time.Millisecond
			r := mustRun(t, sut(), &fakeQSL{total: 100, performance: 100}, s, timers)
			if p := r.Performance; p.TTFTMet || p.TPOTMet || r.Valid() {
				t.Errorf("TTFT met %v, TPOT met %v", p.TTFTMet, p.TPOTMet)
			}
		})
	})
	t.Run("the accuracy log has the tokens", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := tokens(quick(Server))
			s.Mode = AccuracyOnly
			log := &memoryLog{}
			opts := timers
			opts.AccuracyLog = log
			mustRun(t, sut(), &fakeQSL{total: 10, performance: 10}, s, opts)
			for _, r := range log.records {
				if !r.HasTokens || r.NTokens != 10 || len(r.TokenData) != 1 {
					t.Errorf("record %+v", r)
				}
			}
		})
	})
}

func TestFindPeakPerformance(t *testing.T) {
	// One worker that takes 10 ms a query: 100 queries per second is its end.
	inFakeTime(t, func(t *testing.T) {
		queue := make(chan Query, 1<<20)
		go func() {
			for q := range queue {
				time.Sleep(10 * time.Millisecond)
				answer(q)
			}
		}()
		s := quick(Server)
		s.Mode = FindPeakPerformance
		s.ServerTargetQPS, s.MinDuration, s.ServerTargetLatency = 10, time.Minute, 500*time.Millisecond
		s.ServerFindPeakQPSDecimalsOfPrecision = 0
		r := mustRun(t, &fakeSUT{issue: func(q Query) { queue <- q }}, &fakeQSL{total: 100, performance: 100}, s, timers)
		close(queue)
		if got := r.Performance.Effective.TargetQPS; got < 80 || got > 105 {
			t.Errorf("peak at %g queries per second, want a little below 100", got)
		}
		if len(r.Peak) < 6 || r.Peak[0].TargetQPS != 10 || r.Peak[1].TargetQPS != 20 {
			t.Errorf("tried %v", r.Peak)
		}
		for _, step := range r.Peak {
			if step.TargetQPS > 120 && step.PerfConstraintsMet {
				t.Errorf("%g queries per second met the bound", step.TargetQPS)
			}
		}
	})
}

func TestMultiStreamAtFixedIntervals(t *testing.T) {
	settings := func() TestSettings {
		s := quick(MultiStream)
		s.MultiStreamQPS, s.WithoutEarlyStopping = 20, true // every 50 ms
		s.MinDuration, s.MinQueryCount = 10*time.Second, 200
		return s
	}
	t.Run("a query is issued every interval", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			r := mustRun(t, after(49*time.Millisecond), &fakeQSL{total: 100, performance: 100}, settings(), timers)
			p := r.Performance
			if !r.Valid() || p.Skips != 0 || p.IntervalsTarget != 1 || p.QueryCount != 200 {
				t.Errorf("valid %v, %d skips in %d queries: %v", r.Valid(), p.Skips, p.QueryCount, p.Problems())
			}
			if p.QueryLatency.Max != 49*time.Millisecond {
				t.Errorf("latency %v, want 49ms from the interval on", p.QueryLatency.Max)
			}
		})
	})
	t.Run("a query that is too slow skips the next interval", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			r := mustRun(t, after(60*time.Millisecond), &fakeQSL{total: 100, performance: 100}, settings(), timers)
			p := r.Performance
			if r.Valid() || p.IntervalsTarget != 2 || p.Skips != p.QueryCount-1 {
				t.Errorf("valid %v, %d skips in %d queries", r.Valid(), p.Skips, p.QueryCount)
			}
			if problems := fmt.Sprint(p.Problems()); !strings.Contains(problems, "intervals: 199 of 200") {
				t.Errorf("problems %s", problems)
			}
		})
	})
	t.Run("fewer than 1 in 100 may be too slow", func(t *testing.T) {
		for _, slow := range []int{1, 2} { // of 200
			inFakeTime(t, func(t *testing.T) {
				n := 0
				sut := &fakeSUT{issue: func(q Query) {
					latency := time.Millisecond
					if n++; n <= slow {
						latency = 60 * time.Millisecond
					}
					time.AfterFunc(latency, func() { answer(q) })
				}}
				s := settings()
				s.MinDuration = 0
				r := mustRun(t, sut, &fakeQSL{total: 100, performance: 100}, s, timers)
				if want := slow <= 1; r.Valid() != want {
					t.Errorf("%d slow queries of %d: valid %v, want %v", slow, r.Performance.QueryCount, r.Valid(), want)
				}
			})
		}
	})
}

func TestTwoTestsMayRunAtOnce(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		results := make(chan *Result)
		for _, scenario := range Scenarios() {
			go func() {
				sut := after(time.Millisecond)
				if scenario == Offline {
					sut = after(6 * time.Second)
				}
				r, err := Run(t.Context(), sut, &fakeQSL{total: 500, performance: 100}, quick(scenario), timers)
				if err != nil {
					t.Error(err)
				}
				results <- r
			}()
		}
		for range Scenarios() {
			if r := <-results; !r.Valid() {
				t.Errorf("%v is INVALID: %v %v", r.Effective.Scenario, r.Performance.Problems(), r.Faults)
			}
		}
	})
}

func TestProgressIsReported(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		var seen []Progress
		opts := timers
		opts.Progress = func(p Progress) { seen = append(seen, p) }
		mustRun(t, after(4*time.Millisecond), &fakeQSL{total: 500, performance: 100}, quick(SingleStream), opts)
		if len(seen) < 9 {
			t.Fatalf("%d reports in 5 seconds, want 9", len(seen))
		}
		last := seen[len(seen)-1]
		if last.Completed < 1000 || last.RecentP99 != 4*time.Millisecond || last.Set != 1 || last.Sets != 1 {
			t.Errorf("last report %+v", last)
		}
	})
}

func TestTest05UsesTheAlternativeSeeds(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Offline)
		s.MinDuration = 0
		plain := &fakeQSL{total: 500, performance: 100}
		mustRun(t, atOnce(), plain, s, timers)
		s.Test05, s.Mode, s.Test05QSLRNGSeed = true, AccuracyOnly, 99
		other := &fakeQSL{total: 500, performance: 100}
		r := mustRun(t, atOnce(), other, s, timers)
		if r.Performance == nil || r.Effective.QSLRNGSeed != 99 || slices.Equal(plain.loads[0], other.loads[0]) {
			t.Error("TEST05 did not change mode and seeds")
		}
	})
}

func TestCompletionFromManyGoroutines(t *testing.T) {
	const workers = 8
	work := make(chan Query, 64)
	for range workers {
		go func() {
			for q := range work {
				answer(q)
			}
		}()
	}
	defer close(work)
	s := quick(SingleStream)
	s.MinDuration, s.MinQueryCount = 0, 20000
	r := mustRun(t, &fakeSUT{issue: func(q Query) { work <- q }}, &fakeQSL{total: 500, performance: 100}, s, Options{})
	if !r.Valid() || r.Performance.SampleCount != 20000 {
		t.Errorf("valid %v, %d samples, faults %v", r.Valid(), r.Performance.SampleCount, r.Faults)
	}
}

func TestIssuingAndCompletingAllocateNothing(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		s := quick(scenario)
		s.MinDuration, s.ServerTargetQPS, s.MinQueryCount = 0, 1e9, 5000
		responses := make([]QuerySampleResponse, s.MultiStreamSamplesPerQuery)
		var before, after runtime.MemStats
		n := 0
		sut := nullSUT(func(q Query) {
			if n++; n == 1000 {
				runtime.ReadMemStats(&before)
			} else if n == 5000 {
				runtime.ReadMemStats(&after)
			}
			for i, sample := range q.Samples {
				responses[i].ID = sample.ID
			}
			q.Complete(responses[:len(q.Samples)])
		})
		mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, Options{})
		if got := after.Mallocs - before.Mallocs; n < 5000 || got > 20 { // those of the runtime and of the watchdog
			t.Errorf("%v: 4000 queries made %d allocations", scenario, got)
		}
	}
}

type nullSUT func(Query)

func (nullSUT) Name() string         { return "null SUT" }
func (f nullSUT) IssueQuery(q Query) { f(q) }
func (nullSUT) FlushQueries()        {}
