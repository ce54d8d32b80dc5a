package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/units"
)

// SweepSchema names the form of sweep.json, which a sweep writes into the folder that has those of its runs.
const SweepSchema = "mlperf-go/sweep/2"

// The units of loads: rates, and numbers of requests under way.
const (
	PerSecond = "queries/s"
	AtATime   = "requests under way"
)

// A Sweep is runs at one load after the other, at servers.
type Sweep struct {
	Schema  string    `json:"schema"`
	Program string    `json:"program"` // name and version
	Created time.Time `json:"created"`
	Command []string  `json:"command,omitempty"` // argument by argument

	Model   string   `json:"model"` // as the servers call it, or a benchmark
	Servers []string `json:"servers"`
	Lengths string   `json:"lengths,omitempty"` // of prompts and answers; absent: of tensors
	SLO     []string `json:"slo"`               // bounds; none: nothing is bounded

	Points []SweepPoint `json:"points"` // in the order of the loads; of a search for the highest rate: one at a time, as many as it takes, and rates

	// Of a search for the highest rate.
	Search   bool         `json:"search,omitempty"`
	Highest  *HighestRate `json:"highest,omitempty"`  // absent: no rate kept the bounds, or the search has not ended
	Sentence string       `json:"sentence,omitempty"` // the outcome; absent: the search has not ended
}

// A HighestRate is the highest rate that keeps the bounds, in requests/s.
type HighestRate struct {
	Bound string  `json:"bound,omitempty"` // that decides; absent: that the queue does not grow
	Rate  float64 `json:"rate"`
	// Low and High are the ends of the 95 % interval of the rate, or where the queue decides, the highest rate at which it did not grow
	// and the lowest at which it did; absent: not known.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// A SweepPoint is the result of a load. Times are milliseconds. With rates they count from the schedule; in Offline, where
// all samples are due at once, from sending. Absent: not known; Offline has no bounds that tell which requests are good.
type SweepPoint struct {
	Load   float64 `json:"load"`
	Unit   string  `json:"unit"` // of the load
	Folder string  `json:"folder"`
	Result string  `json:"result"`
	Kept   string  `json:"kept,omitempty"` // yes, or why a rate did not keep the bounds; absent: it has none

	RequestsPerSecond float64  `json:"requests_per_second"`
	TokensPerSecond   *float64 `json:"tokens_per_second,omitempty"`
	GoodPerSecond     *float64 `json:"goodput_requests_per_second,omitempty"`
	FirstTokenP50     *float64 `json:"first_token_p50_ms,omitempty"`
	FirstTokenP99     *float64 `json:"first_token_p99_ms,omitempty"`
	PerTokenP50       *float64 `json:"per_token_p50_ms,omitempty"`
	PerTokenP99       *float64 `json:"per_token_p99_ms,omitempty"`
	BetweenP99        *float64 `json:"inter_token_p99_ms,omitempty"`
	LatencyP50        *float64 `json:"latency_p50_ms,omitempty"`
	LatencyP99        *float64 `json:"latency_p99_ms,omitempty"`
	RoundTripMean     *float64 `json:"round_trip_mean_ms,omitempty"` // of a request to a server of tensors
	Failures          int64    `json:"failures"`
}

// Ordered are the points as screens and pages have them: of a search, one request at a time, as many as it takes, and the rates in
// their order.
func (s *Sweep) Ordered() []SweepPoint {
	list := slices.Clone(s.Points)
	if s.Search {
		slices.SortStableFunc(list[min(2, len(list)):], func(a, b SweepPoint) int { return cmp.Compare(a.Load, b.Load) })
	}
	return list
}

// Name is the load in words.
func (p *SweepPoint) Name() string {
	if p.Unit == AtATime {
		return units.Number(p.Load) + " at a time"
	}
	return units.Number(p.Load) + "/s"
}

// ReadSweep reads sweep.json. An error of the file system is that of a file that is not there, too.
func ReadSweep(path string) (*Sweep, error) {
	const most = 16 << 20
	data, err := fileio.ReadFile(path, most)
	if err != nil {
		return nil, err
	}
	var s Sweep
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if s.Schema != SweepSchema {
		return nil, fmt.Errorf("reading %s: the schema is %q: must be %q", path, s.Schema, SweepSchema)
	}
	return &s, nil
}
