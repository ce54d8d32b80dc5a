package endpoints

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Summary is result_summary.json (metrics/report.py, Report).
type Summary struct {
	Version   string  `json:"version"`
	GitSHA    *string `json:"git_sha"`
	Started   int64   `json:"test_started_at"` // always 0 in that program
	Issued    int     `json:"n_samples_issued"`
	Completed int     `json:"n_samples_completed"`
	Failed    int     `json:"n_samples_failed"`
	Duration  *int64  `json:"duration_ns"`
	State     string  `json:"state"`
	Complete  bool    `json:"complete"`

	TTFT    Series `json:"ttft"`
	TPOT    Series `json:"tpot"`
	Latency Series `json:"latency"`
	Output  Series `json:"output_sequence_lengths"`
	Input   Series `json:"input_sequence_lengths"`

	Window    *int64           `json:"legacy_loadgen_window_duration_ns"`
	QPS       *float64         `json:"qps"`
	TPS       *float64         `json:"tps"`
	Finished  map[string]int64 `json:"finish_reason_counts"`
	RunConfig RunConfig        `json:"run_config"`
}

// A RunConfig identifies a run.
type RunConfig struct {
	LoadPattern   LoadPattern `json:"load_pattern"`
	WarmUp        warmUp      `json:"warmup"`
	SchedulerSeed uint64      `json:"scheduler_random_seed"`
	DataSeed      uint64      `json:"dataloader_random_seed"`
}

// A LoadPattern says how requests are issued.
type LoadPattern struct {
	Type        string   `json:"type"`
	TargetQPS   *float64 `json:"target_qps"`
	Concurrency *int     `json:"target_concurrency"`
	LegacyRates *bool    `json:"use_legacy_loadgen_qps_metrics,omitempty"` // of poisson
}

// A warmUp is the requests before the clock. Here they are those of the harness, which are answered before the test begins, and
// which no seed draws.
type warmUp struct {
	Enabled  bool   `json:"enabled"`
	Requests *int   `json:"n_requests"`
	Salt     bool   `json:"salt"`
	Drain    bool   `json:"drain"`
	Seed     uint64 `json:"warmup_random_seed"`
}

// warmUp is that of the run.
func (r *Run) warmUp() warmUp {
	n := r.Results.Backend.WarmUp.Runs
	if n == 0 {
		return warmUp{}
	}
	return warmUp{Enabled: true, Requests: &n, Drain: true}
}

// The words of the program for how requests are issued.
const (
	poisson       = "poisson"
	concurrency   = "concurrency"
	replay        = "agentic_inference" // of recorded conversations
	maxThroughput = "max_throughput"
)

// pattern is the program's word for a scenario.
func (r *Run) pattern() LoadPattern {
	s := &r.Test.Effective
	one, yes := 1, true
	if r.replays() {
		return LoadPattern{Type: replay, Concurrency: &one}
	}
	switch s.Scenario {
	case loadgen.Server:
		return LoadPattern{Type: poisson, TargetQPS: &s.TargetQPS, LegacyRates: &yes}
	case loadgen.Offline:
		return LoadPattern{Type: maxThroughput}
	}
	return LoadPattern{Type: concurrency, Concurrency: &one}
}

// A tally gathers the numbers of samples.
type tally struct {
	ttft, tpot, latency, output []float64
	issued                      int
	first, last, lastIssued     time.Duration // issue of the first request; the last completion; completion of the request that was issued last
	failed                      func(loadgen.SampleRecord) bool
}

// add adds a sample. Times count from its issue.
func (t *tally) add(s loadgen.SampleRecord) {
	if t.issued == 0 {
		t.first = s.Issued
	}
	t.issued++
	if t.failed(s) {
		t.lastIssued = 0
		return
	}
	t.last, t.lastIssued = max(t.last, s.Completed), s.Completed
	t.latency = append(t.latency, float64(s.Completed-s.Issued))
	if s.Tokens > 0 {
		t.output = append(t.output, float64(s.Tokens))
	}
	if s.FirstToken < 0 {
		return
	}
	t.ttft = append(t.ttft, float64(s.FirstToken-s.Issued))
	if s.Tokens > 1 {
		t.tpot = append(t.tpot, float64(s.Completed-s.FirstToken-s.Paused)/float64(s.Tokens-1))
	}
}

// failed reports whether a request has no answer: it was never completed or, where answers are tokens, has none.
func (r *Run) failed(s loadgen.SampleRecord) bool {
	return s.Completed < 0 || r.Test.Effective.UseTokenLatencies && r.Results.Generation != nil && s.Tokens < 1
}

// replays reports whether the requests are turns of recorded conversations.
func (r *Run) replays() bool { g := r.Results.Generation; return g != nil && g.Replay != nil }

// measure gathers the numbers of the samples of the test.
func (r *Run) measure() *tally {
	t := &tally{failed: r.failed}
	r.each(t.add)
	return t
}

// each passes the samples of the test.
func (r *Run) each(f func(loadgen.SampleRecord)) {
	if p := r.Test.Performance; p != nil {
		n := uint64(0)
		p.EachSample(func(s loadgen.SampleRecord) {
			if r.Order != nil {
				s.Index = loadgen.QuerySampleIndex(r.Order(n))
			}
			n++
			f(s)
		})
		return
	}
	r.Test.EachAccuracySample(f)
}

// summary gathers the numbers of a run.
func (r *Run) summary() *Summary {
	t := r.measure()
	var inputs []float64 // lengths of prompts, as far as they are known
	r.each(func(s loadgen.SampleRecord) {
		p := r.prompt(s)
		switch {
		case p == nil:
		case len(p.IDs) > 0:
			inputs = append(inputs, float64(len(p.IDs)))
		default:
			if n := atomic.LoadInt32(&p.Told); n > 0 { // by the server
				inputs = append(inputs, float64(n))
			}
		}
	})
	s := &Summary{
		Version: r.Program, Issued: t.issued, Completed: len(t.latency), Failed: t.issued - len(t.latency),
		State: "complete",
		TTFT:  newSeries(t.ttft, r.Streams), TPOT: newSeries(t.tpot, r.Streams), Latency: newSeries(t.latency, true),
		Output: newSeries(t.output, false), Input: newSeries(inputs, false),
		Finished:  map[string]int64{"stop": 0, "length": 0, "tool_calls": 0, "content_filter": 0, "function_call": 0, "other": 0},
		RunConfig: RunConfig{r.pattern(), r.warmUp(), r.Test.Effective.ScheduleRNGSeed, r.Test.Effective.SampleIndexRNGSeed},
	}
	if r.Test.Interrupted != nil {
		s.State = "interrupted"
	}
	s.Complete = r.Test.Interrupted == nil
	if g := r.Results.Generation; g != nil {
		for why, n := range g.Finished {
			if _, ok := s.Finished[why]; !ok {
				why = "other"
			}
			s.Finished[why] += n
		}
	}
	if len(t.latency) == 0 {
		return s
	}
	duration := int64(t.last)
	s.Duration = &duration
	// Rates are over the whole test or, where requests arrive by themselves, between the first request and the answer to the one
	// that was issued last.
	window, answers := duration, float64(len(t.latency))
	if w := int64(t.lastIssued - t.first); s.RunConfig.LoadPattern.Type == poisson && w > 0 && len(t.latency) > 1 {
		s.Window, window, answers = &w, w, answers-1
	}
	if window > 0 {
		qps := answers / time.Duration(window).Seconds()
		s.QPS = &qps
		if len(t.output) > 0 {
			tps := floats.Sum(t.output) / time.Duration(window).Seconds()
			s.TPS = &tps
		}
	}
	return s
}

// A Series is the spread of values (Report, _series_to_metric_dict).
type Series struct {
	*Spread // nil: there were no values
	// EarlyStopping are LoadGen's estimates at the percentiles from the median on, of tails; nil of one: too few values.
	EarlyStopping map[string]*float64 `json:"early_stopping_percentiles,omitempty"`
}

// A Spread has numbers of values. Times are nanoseconds.
type Spread struct {
	Total       float64            `json:"total"`
	Min         float64            `json:"min"`
	Max         float64            `json:"max"`
	Median      float64            `json:"median"`
	Avg         float64            `json:"avg"`
	StdDev      float64            `json:"std_dev"`
	Percentiles map[string]float64 `json:"percentiles"` // by "99.9", "99.0", …
	Histogram   buckets            `json:"histogram"`
}

// buckets are the values between edges that grow by the same factor.
type buckets struct {
	Buckets [][2]float64 `json:"buckets"`
	Counts  []int        `json:"counts"`
}

const (
	bucketCount = 30 // registry.py, n_histogram_buckets
	median      = 50
)

// percentiles are DEFAULT_PERCENTILES of registry.py.
var percentiles = []float64{99.9, 99, 97, 95, 90, 80, 75, median, 25, 10, 5, 1}

// key is a percentile as Python writes it.
func key(p float64) string {
	text := strconv.FormatFloat(p, 'f', -1, 64)
	if p == math.Trunc(p) {
		text += ".0"
	}
	return text
}

// newSeries describes values, which it sorts. Tails have early stopping.
func newSeries(values []float64, tail bool) (s Series) {
	n := len(values)
	slices.Sort(values)
	if tail {
		s.EarlyStopping = map[string]*float64{}
		for _, p := range percentiles {
			if p < median {
				continue
			}
			s.EarlyStopping[key(p)] = nil
			if rank, _, ok := loadgen.EstimateRank(uint64(n), p/100); ok { // as SingleStream
				s.EarlyStopping[key(p)] = &values[rank]
			}
		}
	}
	if n == 0 {
		return s
	}
	s.Spread = &Spread{Total: floats.Sum(values), Min: values[0], Max: values[n-1], Percentiles: map[string]float64{}, Histogram: histogram(values)}
	s.Avg, s.StdDev = stat.MeanStdDev(values, nil)
	if n == 1 {
		s.StdDev = 0
	}
	for _, p := range percentiles {
		s.Percentiles[key(p)] = values[int(math.Floor(p/100*float64(n-1)))] // numpy's "lower"
	}
	s.Median = s.Percentiles[key(median)]
	return s
}

// histogram counts sorted values between edges from the least, or 1, to the greatest.
func histogram(sorted []float64) buckets {
	low := max(sorted[0], 1)
	high := max(sorted[len(sorted)-1], 10*low)
	step := math.Log(high/low) / bucketCount
	edge := func(i int) float64 { return math.Exp(math.Log(low) + float64(i)*step) }
	b := buckets{}
	below := 0
	for i := range bucketCount {
		upTo := len(sorted)
		if i < bucketCount-1 {
			upTo = sort.SearchFloat64s(sorted, edge(i+1))
		}
		b.Buckets, b.Counts = append(b.Buckets, [2]float64{edge(i), edge(i + 1)}), append(b.Counts, upTo-below)
		below = upTo
	}
	return b
}
