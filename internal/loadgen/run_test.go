package loadgen

import (
	"fmt"
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

func TestServerKeepsRunningInFakeTime(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.MinDuration, s.ServerTargetQPS = 10*time.Minute, 50
		begin := time.Now()
		r := mustRun(t, after(3*time.Millisecond), &fakeQSL{total: 500, performance: 100}, s, timers)
		if took := time.Since(begin); took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("the test took %v, want 10 minutes", took)
		}
		if qps := r.Performance.CompletedQPS(); qps < 49 || qps > 51 {
			t.Errorf("%g queries per second, want about 50", qps)
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
