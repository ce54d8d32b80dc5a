package importlog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A client is the folder of a run of mlcommons/endpoints (report_dir), or what a submission has of it.
type client struct {
	*logs   // without logs: the folder, and what was found
	config  *endpoints.Config
	summary *endpoints.Summary // nil: there is none
	scores  *endpoints.Scores  // nil: there are none
}

// OfClient reports whether a folder is that of a run of mlcommons/endpoints, without results.json. Phases of an audit are no runs of
// their own.
func OfClient(dir string) bool {
	if fileio.Exists(filepath.Join(dir, report.FileName)) || len(fileio.Glob(filepath.Dir(dir), "audit_*.json")) > 0 {
		return false
	}
	return fileio.Exists(filepath.Join(dir, endpoints.SummaryFile)) || fileio.Exists(filepath.Join(dir, endpoints.ScoresFile))
}

// readClient reads the folder of a run of mlcommons/endpoints. Files that are there must be whole.
func readClient(dir string, about About) (*report.Results, error) {
	c := &client{logs: &logs{dir: dir, detail: &mlperflog.Detail{}, summary: &mlperflog.Summary{}}}
	var errs [3]error
	c.config, errs[0] = endpoints.ReadConfig(filepath.Join(dir, endpoints.ConfigFile))
	if c.summary, errs[1] = endpoints.ReadSummary(filepath.Join(dir, endpoints.SummaryFile)); errors.Is(errs[1], fs.ErrNotExist) {
		c.summary, errs[1] = nil, nil
	}
	if c.scores, errs[2] = endpoints.ReadScores(filepath.Join(dir, endpoints.ScoresFile)); errors.Is(errs[2], fs.ErrNotExist) {
		c.scores, errs[2] = nil, nil
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	rules, err := c.rules(about)
	if err != nil {
		return nil, err
	}
	return c.results(rules)
}

// rules are those that the run is compared with: without a round by name or path that of its seeds, or the newest, and without a model
// by name or path that of the names in the configuration.
func (c *client) rules(about About) (context, error) {
	rules, err := c.context(about)
	if err != nil {
		return rules, err
	}
	run := &c.config.Settings.Runtime
	if rules.rules == nil {
		version, why := config.Newest, "the newest: the seeds are those of no round"
		if run.DataSeed == config.NewestSeeds().SampleIndex {
			why = "by its seeds"
		}
		c.setRules(&rules, version, why)
	}
	names := []string{c.config.Name, path.Base(c.config.Model.Name)}
	for _, official := range rounds.Benchmarks(rules.rules.Version) {
		for _, name := range names {
			if m, ok := models.RulesIn(rules.rules.Version, official); rules.model == nil && ok && strings.HasPrefix(strings.ToLower(name), official) {
				rules.model = &m
				c.note("the model is %s, by the name %s in %s", official, name, endpoints.ConfigFile)
			}
		}
	}
	return rules, nil
}

// scenario is the one that the official checker takes: by the name of the folder, or else by the type of the run.
func (c *client) scenario(rules context) loadgen.Scenario {
	if strings.EqualFold(filepath.Base(c.dir), "singlestream") {
		return loadgen.SingleStream
	}
	switch load := c.config.Settings.LoadPattern; {
	case rules.interactive:
		return loadgen.Server
	case load.Type == "max_throughput", strings.EqualFold(c.config.Type, "offline"):
		return loadgen.Offline
	case load.Type != "poisson" && load.Concurrency != nil && *load.Concurrency == 1:
		return loadgen.SingleStream
	}
	return loadgen.Server
}

// results makes the document.
func (c *client) results(rules context) (*report.Results, error) {
	scenario := c.scenario(rules)
	r := &report.Results{
		Schema: report.Schema, Program: "mlcommons/endpoints", Model: cmp.Or(c.config.Name, report.NotKnown), Rules: rules.rules.Version,
		Scenario: scenario.String(), Mode: loadgen.PerformanceOnly.String(), Interactive: rules.interactive, Result: report.Valid,
		Problems: []string{}, Settings: c.settings(),
		Backend: report.Backend{Engine: report.NotKnown, Devices: map[string]int{report.NotKnown: -1}, Facts: map[string]string{
			"endpoint_model": cmp.Or(c.config.Model.Name, report.NotKnown), "endpoints": strings.Join(c.config.Endpoints.URLs, ", "),
		}},
	}
	if rules.model != nil {
		r.Model = rules.model.Name
	}
	for _, name := range []string{endpoints.SummaryFile, endpoints.ScoresFile} {
		if info, err := fileio.Stat(filepath.Join(c.dir, name)); err == nil {
			r.Created = info.ModTime()
		}
	}
	c.note("the files do not say when the run was made: the time is that of a file")
	c.note("times count from when requests were issued, not from when they were due")
	if c.summary == nil {
		r.Mode = loadgen.AccuracyOnly.String()
	} else {
		c.perform(r, scenario, rules)
	}
	if err := c.score(r, rules); err != nil {
		return nil, err
	}
	if len(r.Problems) > 0 && r.Result == report.Valid {
		r.Result = report.Invalid
	}
	c.differences(r, scenario, rules)
	r.Notes = append(r.Notes, c.notes...)
	r.Warnings = append([]string{}, c.findings...)
	return r, nil
}

// settings are those of config.yaml.
func (c *client) settings() []report.Setting {
	list := []report.Setting{}
	add := func(key, value string) {
		list = append(list, report.Setting{Key: key, Value: value, Origin: endpoints.ConfigFile, Role: limitation.Log})
	}
	run, load := &c.config.Settings.Runtime, &c.config.Settings.LoadPattern
	add("min_duration", milliseconds(run.MinDurationMS).String())
	add("max_duration", milliseconds(run.MaxDurationMS).String())
	if run.Samples != nil {
		add("n_samples_to_issue", strconv.FormatInt(*run.Samples, 10))
	}
	add("schedule_rng_seed", strconv.FormatUint(run.ScheduleSeed, 10))
	add("sample_index_rng_seed", strconv.FormatUint(run.DataSeed, 10))
	add("load_pattern", shorten(load.Type))
	if load.TargetQPS != nil {
		add("target_qps", strconv.FormatFloat(*load.TargetQPS, 'g', -1, 64))
	}
	if load.Concurrency != nil {
		add("target_concurrency", strconv.Itoa(*load.Concurrency))
	}
	add("streaming", shorten(c.config.Model.Streaming))
	return list
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// The percentile by which the official checker judges, and how the files call it.
const (
	judgedPercentile = 0.99
	judgedKey        = "99.0"
)

// perform adds the measurements, and judges them as the official checker does, and failed requests and a run that did not end, too.
func (c *client) perform(r *report.Results, scenario loadgen.Scenario, rules context) {
	s := c.summary
	r.Program = strings.TrimSpace("mlcommons/endpoints " + s.Version)
	if strings.HasPrefix(s.Version, "mlperf ") { // files that this program has written
		r.Program = s.Version
	} else if s.GitSHA != nil {
		r.Program += " @ " + *s.GitSHA
	}
	p := &report.Performance{Queries: uint64(max(0, s.Issued)), Samples: uint64(max(0, s.Issued)), LatencyNS: latencies(s.Latency),
		FirstTokenNS: latencies(s.TTFT), TimePerOutputTokenNS: latencies(s.TPOT)}
	r.Performance = p
	if s.Output.Spread != nil {
		p.Tokens = int64(s.Output.Total)
	}
	lasted := time.Duration(0)
	if s.Duration != nil && *s.Duration > 0 {
		lasted = time.Duration(*s.Duration)
		p.SamplesPerSecond = float64(s.Issued) / lasted.Seconds()
	}
	p.DurationNS = int64(lasted)
	if scenario == loadgen.Offline {
		p.Queries = 1
	}
	c.judge(r, scenario, rules, lasted)
	switch {
	case s.State == "interrupted":
		r.Result = report.Interrupted
		r.Problems = append(r.Problems, "state is interrupted: the run was stopped early")
	case !s.Complete:
		r.Problems = append(r.Problems, fmt.Sprintf("complete is false: the run ended in the state %q before all was measured", s.State))
	}
	if s.Failed > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d of %d requests failed", s.Failed, s.Issued))
	}
	r.Metric = c.metric(scenario, rules, p)
}

// metric is the number by which the official checker compares results (ENDPOINTS_RESULT_FIELD): of SingleStream the mean latency.
func (c *client) metric(scenario loadgen.Scenario, rules context, p *report.Performance) *report.Metric {
	rate := func(v *float64, name, unit string) *report.Metric {
		if v == nil || *v <= 0 {
			return nil
		}
		return &report.Metric{Name: name, Value: *v, Unit: unit}
	}
	switch s := c.summary; {
	case scenario == loadgen.SingleStream && s.Latency.Spread != nil:
		return rate(new(s.Latency.Avg/1e6), "mean latency", "ms")
	case scenario == loadgen.SingleStream:
		return nil
	case scenario == loadgen.Offline:
		return rate(&p.SamplesPerSecond, "samples", "samples/s")
	case rules.tokens():
		return rate(s.TPS, "completed tokens", "tokens/s")
	default:
		return rate(s.QPS, "completed samples", "samples/s")
	}
}

// asked is what the round asks of the model.
func (rules context) asked() *rounds.Model {
	if rules.model != nil {
		if m, ok := rounds.ModelOf(rules.rules.Version, append([]string{rules.model.Name}, rules.model.Listed()...)...); ok {
			return m
		}
	}
	return &rounds.Model{}
}

// tokens reports whether the round bounds the latencies of tokens.
func (rules context) tokens() bool { return rules.asked().UsesTokens }

// judge adds the constraints.
func (c *client) judge(r *report.Results, scenario loadgen.Scenario, rules context, lasted time.Duration) {
	add := func(one loadgen.Constraint) {
		if one.Met {
			one.Advice = ""
		}
		r.Constraints = append(r.Constraints, report.Constraint{Constraint: one})
		if !one.Met {
			r.Problems = append(r.Problems, one.String())
		}
	}
	ns := func(d time.Duration) loadgen.Quantity { return loadgen.Quantity{Value: float64(d), Unit: "ns"} }
	bound := func(id loadgen.ConstraintID, setting string, limit int64, series endpoints.Series, atMost bool) {
		one := loadgen.Constraint{ID: id, Bound: loadgen.AtMost, Required: ns(time.Duration(limit)), Percentile: judgedPercentile, Setting: setting,
			Advice: "lower the target QPS, or make the system faster; without an estimate, run longer"}
		if v := series.EarlyStopping[judgedKey]; v != nil {
			one.Observed = new(ns(time.Duration(*v)))
			one.Met = *v < float64(limit) || atMost && *v <= float64(limit) // the checker wants less of tokens
		}
		add(one)
	}
	asked, folder := rules.asked(), scenario.String()
	if rules.interactive {
		folder = "Interactive"
	}
	if limits, ok := asked.TokenLimitsNS[folder]; scenario == loadgen.Server && ok && asked.UsesTokens {
		bound(loadgen.ConstraintFirstToken, "ttft_latency", int64(limits.TTFT), c.summary.TTFT, false)
		bound(loadgen.ConstraintPerToken, "tpot_latency", int64(limits.TPOT), c.summary.TPOT, false)
	} else if limit := asked.LatencyNS[folder]; scenario == loadgen.Server && limit > 0 {
		bound(loadgen.ConstraintLatency, "target_latency", limit, c.summary.Latency, true)
	}
	least := milliseconds(c.config.Settings.Runtime.MinDurationMS)
	add(loadgen.Constraint{ID: loadgen.ConstraintDuration, Bound: loadgen.AtLeast, Required: ns(least), Observed: new(ns(lasted)), Met: lasted >= least,
		Setting: "min_duration", Advice: "issue more requests"})
	if n := asked.PerformanceSamples; n != nil && scenario == loadgen.Offline {
		add(loadgen.Constraint{ID: loadgen.ConstraintSamples, Bound: loadgen.AtLeast, Required: loadgen.Quantity{Value: float64(*n), Unit: "samples"},
			Observed: &loadgen.Quantity{Value: float64(c.summary.Issued), Unit: "samples"}, Met: int64(c.summary.Issued) >= *n, Setting: "n_samples_to_issue",
			Advice: "issue each sample of the data set"})
	}
}

// latencies are those of a series; nil: it has no values.
func latencies(s endpoints.Series) *report.Latencies {
	if s.Spread == nil {
		return nil
	}
	at := func(key string) int64 { return int64(s.Percentiles[key]) }
	return &report.Latencies{Min: int64(s.Min), Mean: int64(s.Avg), P50: at("50.0"), P90: at("90.0"), P95: at("95.0"), P97: at("97.0"), P99: at("99.0"),
		P999: at("99.9"), Max: int64(s.Max)}
}

// score adds the accuracy: the mean over all questions of the data sets that are for accuracy.
func (c *client) score(r *report.Results, rules context) error {
	if c.scores == nil {
		return nil
	}
	where := filepath.Join(c.dir, endpoints.ScoresFile)
	asked := rules.asked()
	metric := rounds.Metric{Name: "score"}
	folder := r.Scenario
	if r.Interactive {
		folder = "Interactive"
	}
	if list := asked.AccuracyOf(folder); len(list) > 0 {
		metric = list[0]
	}
	a := &report.Accuracy{Metric: metric.Name, Target: metric.Bound, Lines: []string{}}
	scale, unit := 1.0, ""
	if metric.Bound > 1 {
		unit = "%"
		if rules.model != nil && rounds.InFractions(rules.model.Name) {
			scale = 100
		}
	}
	sum, questions := 0.0, 0.0
	for i, set := range c.scores.Sets {
		value, err := number(set.Score, metric.Name)
		if err != nil {
			return fmt.Errorf("%s: accuracy_scores %d, %s: score: %w", where, i, shorten(set.Dataset), err)
		}
		n := set.Units * max(1, set.Repeats)
		if set.Samples != nil {
			n = *set.Samples
		}
		inline := set.Type != "" && set.Type != "accuracy"
		line := fmt.Sprintf("%s: %s, %s", shorten(set.Dataset), units.Score(value), units.Count(n, "sample"))
		if inline {
			line += ", of the performance run itself"
		}
		if k := set.Counts; k != nil && k.Empty+k.Missing > 0 {
			line += fmt.Sprintf(", %d empty, %d missing", k.Empty, k.Missing)
		}
		a.Lines = append(a.Lines, line)
		if inline {
			continue
		}
		if set.Whole != nil && !*set.Whole || set.Counts != nil && set.Counts.Missing > 0 {
			a.Partial = true
		}
		weight := float64(max(1, n)) / float64(max(1, set.Repeats))
		sum, questions = sum+value*weight, questions+weight
		a.Samples += uint64(max(0, n))
	}
	if questions == 0 {
		c.findings = append(c.findings, where+": accuracy_scores has no data set of the type accuracy")
		return nil
	}
	a.Value, a.Unit = scale*sum/questions, unit
	if m, err := models.LookupAny(r.Model); err == nil {
		m.Rules.Interactive = r.Interactive
		a.Reference = m.QualityIn(r.Rules).Reference
	}
	if a.Target == 0 {
		a.NoTarget = "none is known"
	}
	a.Met = a.NoTarget == "" && !a.Partial && a.Value >= a.Target
	r.Accuracy = a
	return nil
}

// number is a score: a number or its text, or by name that of a metric.
func number(score json.RawMessage, metric string) (float64, error) {
	var found any
	if err := json.Unmarshal(score, &found); err != nil {
		return 0, fmt.Errorf("is missing: expected a number")
	}
	if byName, ok := found.(map[string]any); ok {
		parts := strings.Split(metric, "_")
		for _, name := range []string{metric, strings.ToLower(metric), strings.ToLower(parts[len(parts)-1]), "f1", "score", "accuracy"} {
			if v, ok := byName[name]; ok {
				found = v
				break
			}
		}
	}
	switch v := found.(type) {
	case float64:
		return v, nil
	case string:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%s is not a number", shorten(string(score)))
}

// differences adds the settings that are easier than the rules'.
func (c *client) differences(r *report.Results, scenario loadgen.Scenario, rules context) {
	if rules.model == nil {
		c.note("the settings are not compared with rules: the model is not known")
		return
	}
	m := *rules.model
	m.Interactive = rules.interactive
	official, err := config.Resolve(config.Request{Model: m, Scenario: scenario, Rules: rules.rules})
	if err != nil {
		c.note("the settings are not compared with rules: %v", err)
		return
	}
	s, run := official.Settings, &c.config.Settings.Runtime
	s.MinDuration, s.MaxDuration = milliseconds(run.MinDurationMS), milliseconds(run.MaxDurationMS)
	s.ScheduleRNGSeed, s.SampleIndexRNGSeed = run.ScheduleSeed, run.DataSeed
	if q := c.config.Settings.LoadPattern.TargetQPS; q != nil && scenario == loadgen.Server {
		s.ServerTargetQPS = *q
	}
	list, err := official.Differences(s, rules.division)
	if err != nil {
		c.note("the settings are not compared with rules: %v", err)
		return
	}
	limitations, notes := rules.remarks(list, func(string) string { return endpoints.ConfigFile })
	r.Limitations, r.Notes = append(r.Limitations, limitations...), append(r.Notes, notes...)
}
