package loadgen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The values below are those of the reference LoadGen and of libstdc++: see testdata/README.md.

// eachGolden calls f with the content of each file that matches a pattern.
func eachGolden[T any](t *testing.T, pattern string, f func(name string, golden T)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files match %s", pattern)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		testenv.Must(t, err)
		var v T
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		f(filepath.Base(file), v)
	}
}

// checksum is the form in which the golden data give long lists.
func checksum[T any](list []T) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ",")))
	return hex.EncodeToString(sum[:])
}

func ascending(n uint64) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i)
	}
	return s
}

func TestRandomNumbersEqualLibstdcxx(t *testing.T) {
	// A list is drawn from 0…n-1, or a shuffle of it. NextRaw is the output after it: as many were used up.
	type list struct {
		N       uint64
		Values  []uint64
		NextRaw uint32 `json:"next_raw"`
		SHA256  string `json:"sha256_of_decimal_csv"`
		First20 []uint64
	}
	type golden struct {
		Cases []struct {
			Seed        uint64     `json:",string"`
			First20     []uint32   `json:"mt19937_first20"`
			Draws624    []uint32   `json:"mt19937_draws_624_to_626"`
			Draw10000   uint32     `json:"mt19937_draw_10000"`
			UniformInt  []list     `json:"uniform_int"`
			Shuffle     []list     `json:"shuffle"`
			Reshuffle   [][]uint64 `json:"reshuffle_same_vector_n10_x4"`
			Exponential []struct {
				QPS         float64
				Nanoseconds []int64
				Sum         int64 `json:"sum_ns_of_first_10000"`
			}
			UniformReal []string `json:"uniform_real_0_1_hex"`
		}
	}
	eachGolden(t, "rng/set*.json", func(_ string, golden golden) {
		for _, c := range golden.Cases {
			g := newMT19937(c.Seed)
			var raw []uint32
			for range 10000 {
				raw = append(raw, g.uint32())
			}
			if !slices.Equal(raw[:20], c.First20) || !slices.Equal(raw[623:626], c.Draws624) || raw[9999] != c.Draw10000 {
				t.Errorf("seed %d: raw outputs %v … %v … %d", c.Seed, raw[:20], raw[623:626], raw[9999])
			}
			for _, want := range c.UniformInt {
				g := newMT19937(c.Seed)
				for i, v := range want.Values {
					if got := g.uniformInt(want.N); got != v {
						t.Fatalf("seed %d: uniformInt(%d) draw %d = %d, want %d", c.Seed, want.N, i, got, v)
					}
				}
				if got := g.uint32(); got != want.NextRaw {
					t.Errorf("seed %d: after uniformInt(%d) the next output is %d, want %d", c.Seed, want.N, got, want.NextRaw)
				}
			}
			g = newMT19937(c.Seed)
			for i, want := range c.UniformReal {
				if w, err := strconv.ParseFloat(want, 64); err != nil || g.uniformReal() != w {
					t.Errorf("seed %d: uniformReal draw %d is not %s", c.Seed, i, want)
				}
			}
			for _, want := range c.Shuffle {
				g := newMT19937(c.Seed)
				s := ascending(want.N)
				shuffle(g, s)
				if want.Values != nil && !slices.Equal(s, want.Values) || want.SHA256 != "" && checksum(s) != want.SHA256 {
					t.Errorf("seed %d: shuffle of %d begins %v, want %v", c.Seed, want.N, s[:min(20, want.N)], append(want.First20, want.Values...))
				}
				if got := g.uint32(); got != want.NextRaw {
					t.Errorf("seed %d: after shuffle of %d the next output is %d, want %d", c.Seed, want.N, got, want.NextRaw)
				}
			}
			g, s := newMT19937(c.Seed), ascending(10)
			for i, want := range c.Reshuffle {
				if shuffle(g, s); !slices.Equal(s, want) {
					t.Errorf("seed %d: shuffle %d of the same list = %v, want %v", c.Seed, i, s, want)
				}
			}
			for _, want := range c.Exponential {
				g := newMT19937(c.Seed)
				sum, gaps := int64(0), make([]int64, 10000)
				for i := range gaps {
					gaps[i] = nanoseconds(g.exponential(want.QPS))
					sum += gaps[i]
				}
				if n := len(want.Nanoseconds); !slices.Equal(gaps[:n], want.Nanoseconds) || sum != want.Sum {
					t.Errorf("seed %d: gaps at %g QPS are %v and sum to %d ns, want %v and %d", c.Seed, want.QPS, gaps[:n], sum, want.Nanoseconds, want.Sum)
				}
			}
		}
	})
}

func TestTracesEqualTheReference(t *testing.T) {
	type list struct {
		Count  *int
		SHA256 string
		First  []int64
	}
	type golden struct {
		Settings struct {
			Scenario, Mode  string
			TargetQPS       float64 `json:"target_qps"`
			MinDurationMS   int64   `json:"min_duration_ms"`
			MinQueryCount   *uint64 `json:"min_query_count"`
			Total, Perf     uint64
			SamplesPerQuery uint64 `json:"samples_per_query"`
			Permutation     int
			Unique, Same    int
			SameIndex       uint64 `json:"same_index"`
			QSLSeed         uint64 `json:"qsl_seed"`
			SampleSeed      uint64 `json:"sample_seed"`
			ScheduleSeed    uint64 `json:"schedule_seed"`
		}
		Queries     uint64
		Loads       []list
		Samples     list
		QuerySizes  list `json:"query_sizes"`
		ScheduledNS list `json:"scheduled_ns"`
	}
	compare := func(t *testing.T, what string, got []int64, want list) {
		t.Helper()
		n := min(len(got), len(want.First))
		if want.Count != nil && len(got) != *want.Count || !slices.Equal(got[:n], want.First[:n]) || want.SHA256 != "" && checksum(got) != want.SHA256 {
			t.Errorf("%s: %d elements %v…, want %v…", what, len(got), got[:n], want.First)
		}
	}
	eachGolden(t, "traces/*.json", func(name string, cases []golden) {
		for i, c := range cases {
			g := c.Settings
			t.Run(fmt.Sprintf("%s case %d: %s %s", name, i, g.Scenario, g.Mode), func(t *testing.T) {
				s := referenceSettings(t, g.Scenario, g.Mode, g.TargetQPS, g.MinDurationMS, g.SamplesPerQuery)
				if g.MinQueryCount != nil {
					s.MinQueryCount = *g.MinQueryCount
				}
				s.SampleConcatenatePermutation = g.Permutation == 1
				s.PerformanceIssueUnique, s.PerformanceIssueSame, s.PerformanceIssueSameIndex = g.Unique == 1, g.Same == 1, g.SameIndex
				s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = g.QSLSeed, g.SampleSeed, g.ScheduleSeed

				got, err := NewTrace(t.Context(), s, g.Perf, g.Total)
				testenv.Must(t, err)
				if got.Queries != c.Queries || len(got.Loads) != len(c.Loads) {
					t.Fatalf("%d queries and %d loaded sets, want %d and %d", got.Queries, len(got.Loads), c.Queries, len(c.Loads))
				}
				for i := range got.Loads {
					compare(t, fmt.Sprintf("loaded set %d", i), integers(got.Loads[i]), c.Loads[i])
				}
				compare(t, "samples", integers(got.Samples), c.Samples)
				compare(t, "query sizes", integers(got.QuerySizes), c.QuerySizes)
				compare(t, "schedule", got.ScheduledNS, c.ScheduledNS)
			})
		}
	})
}

func integers[T ~int | ~uint32](list []T) []int64 {
	out := make([]int64, len(list))
	for i, x := range list {
		out[i] = int64(x)
	}
	return out
}

// referenceSettings are the defaults with what both kinds of traces change.
func referenceSettings(t *testing.T, scenario, mode string, qps float64, minDurationMS int64, samplesPerQuery uint64) TestSettings {
	t.Helper()
	s := DefaultSettings()
	var err error
	if s.Scenario, err = ParseScenario(scenario); err != nil {
		t.Fatal(err)
	}
	if mode != "" {
		if s.Mode, err = ParseMode(mode); err != nil {
			t.Fatal(err)
		}
	}
	if qps != 0 {
		s.SetTargetQPS(qps)
	}
	s.MinDuration = time.Duration(minDurationMS) * time.Millisecond
	if samplesPerQuery != 0 {
		s.MultiStreamSamplesPerQuery = samplesPerQuery
	}
	return s
}

func TestRunsEqualTheReference(t *testing.T) {
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
	eachGolden(t, "rng/loadgen_sequences_*.json", func(name string, g golden) {
		for i, c := range g.Cases {
			t.Run(fmt.Sprintf("%s case %d: %s %s %s", name, i, c.Scenario, c.Mode, c.Option), func(t *testing.T) {
				s := referenceSettings(t, c.Scenario, c.Mode, c.QPS, c.MinDurationMS, c.SamplesPerQuery)
				s.MinQueryCount, s.MaxQueryCount = c.MinQueries, c.MaxQueries
				s.PerformanceIssueUnique = c.Option == "performance_issue_unique"
				s.SampleConcatenatePermutation = c.Option == "sample_concatenate_permutation"
				if rest, ok := strings.CutPrefix(c.Option, "performance_issue_same index "); ok {
					s.PerformanceIssueSame = true
					fmt.Sscan(rest, &s.PerformanceIssueSameIndex)
				}
				s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = g.Seeds.QSL, g.Seeds.Sample, g.Seeds.Schedule

				qsl, sut := &fakeQSL{total: c.Total, performance: c.Performance}, atOnce()
				var r *Result
				inFakeTime(t, func(t *testing.T) { r = mustRun(t, sut, qsl, s, timers) })
				compareNested(t, "loaded sets", qsl.loads, c.Loads)
				compareNested(t, "issued queries", sut.queries, c.Issued)
				for key, want := range map[string][]int64{
					"generated_query_count": c.Count, "generated_samples_per_query": c.PerQuery, "generated_query_duration": c.Length,
				} {
					var got []int64
					for _, e := range r.Events {
						if e.Key == key {
							n, _ := strconv.ParseInt(fmt.Sprint(e.Value), 10, 64)
							got = append(got, n)
						}
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s = %v, want %v", key, got, want)
					}
				}
				if len(r.Faults) > 0 {
					t.Errorf("faults: %v", r.Faults)
				}
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
			if sum := checksum(got[i]); sum != long["sha256_of_decimal_csv"] && sum != long["sha256"] {
				t.Errorf("%s: list %d has another checksum", what, i)
			}
		} else if g, w := fmt.Sprint(got[i]), fmt.Sprint(want[i]); g != w {
			t.Fatalf("%s: list %d = %s, want %s", what, i, g, w)
		}
	}
}

func TestEarlyStoppingEqualsTheReference(t *testing.T) {
	type golden struct {
		MinPassing []struct {
			Percentile      float64
			Overlatency     uint64
			MinUnderlatency uint64 `json:"min_underlatency"`
		} `json:"min_passing"`
		Discard []struct {
			Percentile float64
			Queries    uint64
			Enough     bool
			Need       uint64
			FromTop    uint64 `json:"rank_from_top"`
		}
	}
	eachGolden(t, "early-stopping.json", func(_ string, g golden) {
		for _, c := range g.MinPassing {
			if got := NeededQueries(c.Overlatency, c.Percentile) - c.Overlatency; got != c.MinUnderlatency {
				t.Errorf("NeededQueries(%d, %g) are %d under the limit, want %d", c.Overlatency, c.Percentile, got, c.MinUnderlatency)
			}
		}
		for _, c := range g.Discard {
			rank, discarded, ok := EstimateRank(c.Queries, c.Percentile)
			if ok != c.Enough {
				t.Errorf("EstimateRank(%d, %g) finds enough queries: %v, want %v", c.Queries, c.Percentile, ok, c.Enough)
			}
			if ok && (rank != c.Queries-c.FromTop || discarded != c.FromTop-1) {
				t.Errorf("EstimateRank(%d, %g) = %d, %d, want %d from the top", c.Queries, c.Percentile, rank, discarded, c.FromTop)
			}
			if need := NeededQueries(1, c.Percentile); !c.Enough && need != c.Need {
				t.Errorf("NeededQueries(1, %g) = %d, want %d", c.Percentile, need, c.Need)
			}
		}
	})
	// Of the reference's MinPassingQueriesFinder too. For small percentiles it matters that 1-0.99 is not 0.01.
	for _, c := range []struct {
		over       uint64
		percentile float64
		want       uint64
	}{{0, 0.9, 44}, {0, 0.99, 459}, {0, 0.1, 2}, {0, 0.01, 1}, {1, math.NaN(), math.MaxUint64}, {1, 1, math.MaxUint64}, {1, -0.1, math.MaxUint64}} {
		if got := NeededQueries(c.over, c.percentile); got != c.want {
			t.Errorf("NeededQueries(%d, %g) = %d, want %d", c.over, c.percentile, got, c.want)
		}
	}
}
