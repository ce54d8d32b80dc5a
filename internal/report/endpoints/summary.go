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

// A summary is result_summary.json (metrics/report.py, Report).
type summary struct {
	Version   string  `json:"version"`
	GitSHA    *string `json:"git_sha"`
	Started   int64   `json:"test_started_at"`
	Issued    int     `json:"n_samples_issued"`
	Completed int     `json:"n_samples_completed"`
	Failed    int     `json:"n_samples_failed"`
	Duration  *int64  `json:"duration_ns"`
	State     string  `json:"state"`
	Complete  bool    `json:"complete"`

	TTFT    any `json:"ttft"`
	TPOT    any `json:"tpot"`
	Latency any `json:"latency"`
	Output  any `json:"output_sequence_lengths"`
	Input   any `json:"input_sequence_lengths"`

	Window    *int64           `json:"legacy_loadgen_window_duration_ns"`
	QPS       *float64         `json:"qps"`
	TPS       *float64         `json:"tps"`
	Finished  map[string]int64 `json:"finish_reason_counts"`
	RunConfig runConfig        `json:"run_config"`
}

// A runConfig identifies a run.
type runConfig struct {
	LoadPattern   loadPattern `json:"load_pattern"`
	SchedulerSeed uint64      `json:"scheduler_random_seed"`
	DataSeed      uint64      `json:"dataloader_random_seed"`
}

type loadPattern struct {
	Type        string   `json:"type"`
	TargetQPS   *float64 `json:"target_qps"`
	Concurrency *int     `json:"target_concurrency"`
}

// The words of the program for how requests are issued.
const (
	poisson       = "poisson"
	concurrency   = "concurrency"
	maxThroughput = "max_throughput"
)

// pattern is the program's word for a scenario.
func (r *Run) pattern() loadPattern {
	s := &r.Test.Effective
	one := 1
	switch s.Scenario {
	case loadgen.Server:
		return loadPattern{Type: poisson, TargetQPS: &s.TargetQPS}
	case loadgen.Offline:
		return loadPattern{Type: maxThroughput}
	}
	return loadPattern{Type: concurrency, Concurrency: &one}
}

// A tally gathers the numbers of samples.
type tally struct {
	ttft, tpot, latency, output []float64
	issued                      int
	first, last, lastIssued     time.Duration // issue of the first request; the last completion; completion of the request that was issued last
}

// add adds a sample. Times count from its issue.
func (t *tally) add(s loadgen.SampleRecord) {
	if t.issued == 0 {
		t.first = s.Issued
	}
	t.issued++
	if failed(s) {
		t.lastIssued = 0
		return
	}
	t.last, t.lastIssued = max(t.last, s.Completed), s.Completed
	t.latency = append(t.latency, float64(s.Completed-s.Issued))
	t.output = append(t.output, float64(s.Tokens))
	if s.FirstToken < 0 {
		return
	}
	t.ttft = append(t.ttft, float64(s.FirstToken-s.Issued))
	if s.Tokens > 1 {
		t.tpot = append(t.tpot, float64(s.Completed-s.FirstToken-s.Paused)/float64(s.Tokens-1))
	}
}

// failed reports whether a request has no answer.
func failed(s loadgen.SampleRecord) bool { return s.Completed < 0 || s.Tokens < 1 }

// each passes the samples of the test.
func (r *Run) each(f func(loadgen.SampleRecord)) {
	if p := r.Test.Performance; p != nil {
		p.EachSample(f)
		return
	}
	r.Test.EachAccuracySample(f)
}

// summary gathers the numbers of a run.
func (r *Run) summary() summary {
	var t tally
	r.each(t.add)
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
	s := summary{
		Version: r.Program, Started: r.Test.StartTime.UnixNano(), Issued: t.issued, Completed: len(t.latency), Failed: t.issued - len(t.latency),
		State: "complete",
		TTFT:  newSeries(t.ttft, true), TPOT: newSeries(t.tpot, true), Latency: newSeries(t.latency, true),
		Output: newSeries(t.output, false), Input: newSeries(inputs, false),
		Finished:  map[string]int64{"stop": 0, "length": 0, "tool_calls": 0, "content_filter": 0, "function_call": 0, "other": 0},
		RunConfig: runConfig{r.pattern(), r.Test.Effective.ScheduleRNGSeed, r.Test.Effective.SampleIndexRNGSeed},
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
		qps, tps := answers/time.Duration(window).Seconds(), floats.Sum(t.output)/time.Duration(window).Seconds()
		s.QPS, s.TPS = &qps, &tps
	}
	return s
}

// A series is the spread of values (Report, _series_to_metric_dict).
type series struct {
	Total       float64            `json:"total"`
	Min         float64            `json:"min"`
	Max         float64            `json:"max"`
	Median      float64            `json:"median"`
	Avg         float64            `json:"avg"`
	StdDev      float64            `json:"std_dev"`
	Percentiles map[string]float64 `json:"percentiles"`
	// EarlyStopping are LoadGen's estimates at the percentiles from the median on; nil of one: too few values.
	EarlyStopping map[string]*float64 `json:"early_stopping_percentiles,omitempty"`
	Histogram     buckets             `json:"histogram"`
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

// newSeries describes values, which it sorts; an empty object without values. Tails have early stopping.
func newSeries(values []float64, tail bool) any {
	n := len(values)
	if n == 0 {
		return struct{}{}
	}
	slices.Sort(values)
	s := &series{Min: values[0], Max: values[n-1], Percentiles: map[string]float64{}, Histogram: histogram(values)}
	s.Total = floats.Sum(values)
	s.Avg, s.StdDev = stat.MeanStdDev(values, nil)
	if n == 1 {
		s.StdDev = 0
	}
	for _, p := range percentiles {
		s.Percentiles[key(p)] = values[int(math.Floor(p/100*float64(n-1)))] // numpy's "lower"
	}
	s.Median = s.Percentiles[key(median)]
	if !tail {
		return s
	}
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
