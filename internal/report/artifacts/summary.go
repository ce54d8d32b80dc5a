package artifacts

import (
	"time"

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

// A runConfig is what identifies a run.
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

// A tally is what is gathered of samples.
type tally struct {
	ttft, tpot, latency, output []float64
	issued                      int
	first, last, lastIssued     time.Duration // issue of the first; the last completion; that of the request that was issued last
}

// add adds a sample. Times count from its issue, as in this program.
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
		t.tpot = append(t.tpot, float64(s.Completed-s.FirstToken)/float64(s.Tokens-1))
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

// summary gathers what there is.
func (r *Run) summary() summary {
	var t tally
	r.each(t.add)
	s := summary{
		Version: r.Program, Started: r.Test.StartTime.UnixNano(), Issued: t.issued, Completed: len(t.latency), Failed: t.issued - len(t.latency), State: "complete",
		TTFT: orNothing(newSeries(t.ttft, true)), TPOT: orNothing(newSeries(t.tpot, true)), Latency: orNothing(newSeries(t.latency, true)),
		Output: orNothing(newSeries(t.output, false)), Input: orNothing(newSeries(r.inputs(), false)),
		Finished:  r.finished(),
		RunConfig: runConfig{r.pattern(), r.Test.Effective.ScheduleRNGSeed, r.Test.Effective.SampleIndexRNGSeed},
	}
	if r.Test.Interrupted != nil {
		s.State = "interrupted"
	}
	s.Complete = r.Test.Interrupted == nil
	if len(t.latency) == 0 {
		return s
	}
	duration := int64(t.last)
	s.Duration = &duration
	r.rates(&s, &t)
	return s
}

// rates are those of answers and tokens, over the whole test or, where requests arrive by themselves, between
// the first and the last that were issued.
func (r *Run) rates(s *summary, t *tally) {
	window := int64(t.last)
	answers := float64(len(t.latency))
	if w := int64(t.lastIssued - t.first); r.pattern().Type == poisson && w > 0 && len(t.latency) > 1 {
		s.Window, window, answers = &w, w, answers-1
	}
	if window <= 0 { // no time has passed: there is no rate
		return
	}
	tokens := 0.0
	for _, n := range t.output {
		tokens += n
	}
	qps, tps := answers/time.Duration(window).Seconds(), tokens/time.Duration(window).Seconds()
	s.QPS, s.TPS = &qps, &tps
}

// orNothing is an empty object where there are no values.
func orNothing(s *series) any {
	if s == nil {
		return struct{}{}
	}
	return s
}

// finished counts answers by the program's words for why they ended.
func (r *Run) finished() map[string]int64 {
	known := map[string]int64{"stop": 0, "length": 0, "tool_calls": 0, "content_filter": 0, "function_call": 0, "other": 0}
	if r.Results.Generation == nil {
		return known
	}
	for why, n := range r.Results.Generation.Finished {
		if _, ok := known[why]; !ok {
			why = "other"
		}
		known[why] += n
	}
	return known
}
