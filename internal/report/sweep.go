package report

import "time"

// SweepSchema names the form of sweep.json, which a sweep writes into the folder that has those of its runs.
const SweepSchema = "mlperf-go/sweep/2"

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

	Points []SweepPoint `json:"points"` // in the order of the loads
}

// A SweepPoint is the result of a load. Times are milliseconds. With rates they count from the schedule; in Offline, where
// all samples are due at once, from sending. Absent: not known; Offline has no bounds that tell which requests are good.
type SweepPoint struct {
	Load   float64 `json:"load"`
	Unit   string  `json:"unit"` // of the load
	Folder string  `json:"folder"`
	Result string  `json:"result"`

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
