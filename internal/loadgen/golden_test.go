package loadgen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A goldenList is a list of the golden data: whole, or its beginning and a checksum.
type goldenList struct {
	Count  *int    `json:"count"`
	SHA256 string  `json:"sha256"`
	First  []int64 `json:"first"`
}

func readGolden(t *testing.T, pattern string, into func(name string, data []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files match %s", pattern)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		into(filepath.Base(file), data)
	}
}

func unmarshal[T any](t *testing.T, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// checksum is the form in which the golden data give long lists.
func checksum[T any](list []T) string {
	var b strings.Builder
	for i, x := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, x)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

func ascending(n uint64) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i)
	}
	return s
}

func TestTracesEqualTheReference(t *testing.T) {
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
		Loads       []goldenList
		Samples     goldenList
		QuerySizes  goldenList `json:"query_sizes"`
		ScheduledNS goldenList `json:"scheduled_ns"`
	}
	readGolden(t, "traces/*.json", func(name string, data []byte) {
		for i, c := range unmarshal[[]golden](t, data) {
			g := c.Settings
			t.Run(fmt.Sprintf("%s case %d: %s %s", name, i, g.Scenario, g.Mode), func(t *testing.T) {
				s := DefaultSettings()
				var err error
				if s.Scenario, err = ParseScenario(g.Scenario); err != nil {
					t.Fatal(err)
				}
				if g.Mode != "" {
					if s.Mode, err = ParseMode(g.Mode); err != nil {
						t.Fatal(err)
					}
				}
				if g.TargetQPS != 0 {
					s.ServerTargetQPS, s.OfflineExpectedQPS = g.TargetQPS, g.TargetQPS
					s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = 1e9/g.TargetQPS, 1e9/g.TargetQPS
				}
				s.MinDuration = time.Duration(g.MinDurationMS) * time.Millisecond
				if g.MinQueryCount != nil {
					s.MinQueryCount = *g.MinQueryCount
				}
				if g.SamplesPerQuery != 0 {
					s.MultiStreamSamplesPerQuery = g.SamplesPerQuery
				}
				s.SampleConcatenatePermutation = g.Permutation == 1
				s.PerformanceIssueUnique, s.PerformanceIssueSame, s.PerformanceIssueSameIndex = g.Unique == 1, g.Same == 1, g.SameIndex
				s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = g.QSLSeed, g.SampleSeed, g.ScheduleSeed

				got, err := NewTrace(s, g.Perf, g.Total)
				if err != nil {
					t.Fatal(err)
				}
				if got.Queries != c.Queries {
					t.Errorf("%d queries, want %d", got.Queries, c.Queries)
				}
				if len(got.Loads) != len(c.Loads) {
					t.Fatalf("%d loaded sets, want %d", len(got.Loads), len(c.Loads))
				}
				for i := range got.Loads {
					compareGolden(t, fmt.Sprintf("loaded set %d", i), got.Loads[i], c.Loads[i])
				}
				compareGolden(t, "samples", got.Samples, c.Samples)
				compareGolden(t, "query sizes", got.QuerySizes, c.QuerySizes)
				compareGolden(t, "schedule", got.ScheduledNS, c.ScheduledNS)
			})
		}
	})
}

func compareGolden[T ~int | ~int64 | ~uint32](t *testing.T, what string, got []T, want goldenList) {
	t.Helper()
	if want.Count != nil && len(got) != *want.Count {
		t.Errorf("%s: %d elements, want %d", what, len(got), *want.Count)
	}
	for i, w := range want.First {
		if i < len(got) && int64(got[i]) != w {
			t.Errorf("%s: element %d = %d, want %d", what, i, got[i], w)
			return
		}
	}
	if want.SHA256 != "" && checksum(got) != want.SHA256 {
		t.Errorf("%s: the checksum differs", what)
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
	readGolden(t, "early-stopping.json", func(_ string, data []byte) {
		g := unmarshal[golden](t, data)
		for _, c := range g.MinPassing {
			if got := minPassing(c.Overlatency, c.Percentile); got != c.MinUnderlatency {
				t.Errorf("minPassing(%d, %g) = %d, want %d", c.Overlatency, c.Percentile, got, c.MinUnderlatency)
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
}

func TestRandomNumbersAtTheEdges(t *testing.T) {
	// The whole range of the engine is the engine's output (bits/uniform_int_dist.h).
	g, raw := newMT19937(7), newMT19937(7)
	for range 100 {
		if got, want := g.uniformInt(1<<32), uint64(raw.uint32()); got != want {
			t.Fatalf("uniformInt(1<<32) = %d, want %d", got, want)
		}
	}
	// Nothing to shuffle, nothing drawn.
	shuffle(g, []int{})
	shuffle(g, []int{1})
	if got, want := g.uint32(), raw.uint32(); got != want {
		t.Errorf("after shuffling nothing the next output is %d, want %d", got, want)
	}
}
