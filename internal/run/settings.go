package run

import (
	"os"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// settings merges rules, conf files and what overrides them.
func (r *Resolved) settings() error {
	q := &r.Request
	scenario, interactive, err := config.ParseScenario(q.Scenario)
	if err != nil {
		return userinput.Wrap("scenario", err)
	}
	if err := r.checkMode(scenario); err != nil {
		return err
	}
	r.interactive = interactive && !q.free()
	c := config.Request{
		Model: r.model.Rules, Known: models.RuleNames(), Interactive: r.interactive, Scenario: scenario, Rules: r.rules,
		Options: r.overrides(scenario, interactive),
	}
	q.userConf()
	if err := q.readConfs(&c); err != nil {
		return err
	}
	r.confs = c
	if r.resolved, err = config.Resolve(c); err != nil {
		return err
	}
	r.adopt()
	if err := r.Settings.Validate(); err != nil {
		return userinput.Wrap("settings", err)
	}
	return nil
}

// adopt takes over what came of merging.
func (r *Resolved) adopt() {
	r.Settings, r.Warnings = r.resolved.Settings, r.resolved.Warnings
	if r.Request.free() { // that the rules do not know the model goes without saying
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "have no settings for the model") })
	}
	if s, ok := r.resolved.Setting("mode"); ok && r.Request.Mode == FindPeak && s.Replaces != nil && r.Settings.Mode == loadgen.PerformanceOnly {
		r.Warnings = append(r.Warnings, s.Origin+": the mode is that of each test: find-peak still searches")
	}
	for _, s := range r.resolved.Made {
		r.Made = append(r.Made, report.Setting{Key: s.Key, Value: strings.TrimSpace(s.Value + " " + s.Unit), Origin: s.Origin})
	}
}

// checkMode finds modes that there are not, and bounds to be chosen where there are none.
func (r *Resolved) checkMode(scenario loadgen.Scenario) error {
	if _, err := config.ParseMode(r.Request.loadgenMode()); err != nil {
		return userinput.Errorf("mode", "%w, or find-peak", err)
	}
	if r.Request.AutoLatency && scenario != loadgen.Server && !r.atIntervals(scenario) {
		return userinput.Errorf("target_latency", "auto is for the Server scenario, which has a latency bound, and for MultiStream at the intervals of rules v0.5 to v1.0")
	}
	return nil
}

// readConfs reads the conf files that were given.
func (q *Request) readConfs(c *config.Request) (err error) {
	for _, f := range []struct {
		path string
		conf **config.Conf
	}{{q.MLPerfConf, &c.MLPerfConf}, {q.UserConf, &c.UserConf}, {q.AuditConf, &c.AuditConf}} {
		if f.path == "" {
			continue
		}
		if *f.conf, err = config.ReadConf(f.path, config.ParseOptions{AllowUnknownKeys: q.AllowUnknownKeys}); err != nil {
			return err
		}
	}
	return nil
}

// userConf takes the user.conf that is there if none was given.
func (q *Request) userConf() {
	const here = "user.conf"
	if q.UserConf == "" {
		if _, err := os.Stat(here); err == nil {
			q.UserConf = here
		}
	}
}

// overrides are the settings that do not come from files. Those of a quick run come first,
// so that what somebody gave wins.
func (r *Resolved) overrides(s loadgen.Scenario, interactive bool) []config.Override {
	q := &r.Request
	var list []config.Override
	if q.free() {
		list = q.freeSettings(s, interactive)
	}
	if q.Quick {
		list = append(list, config.QuickRun(s)...)
	}
	list = append(list, config.Override{Key: "mode", Value: q.loadgenMode(), Origin: q.origin("mode")})
	return append(list, q.Settings...)
}

// peak refuses a search without a bound.
func (r *Resolved) peak() error {
	s := r.Settings
	if r.Request.Mode != FindPeak || s.Scenario == loadgen.Server || s.MultiStreamQPS > 0 {
		return nil
	}
	return userinput.Errorf("mode", "find-peak searches the highest load that keeps a bound: Server has one, and MultiStream under rules "+
		"v0.5 to v1.0; %v has none, so measure it in performance mode", s.Scenario)
}

// runs is how many runs make the result: of Server before v1.0, the lowest of five.
func (r *Resolved) runs() int {
	if s := r.Settings; s.Scenario == loadgen.Server && s.Mode == loadgen.PerformanceOnly && !r.Request.Quick && r.Request.Mode != FindPeak {
		return r.rules.ServerRuns
	}
	return 1
}

// needsTarget reports whether nobody but the rules' placeholder gave the rate, or the
// expected latency, of the scenario.
func (r *Resolved) needsTarget() bool {
	key := "target_qps"
	if s := r.Settings.Scenario; s == loadgen.SingleStream || s == loadgen.MultiStream {
		key = "target_latency"
	}
	return r.placeholder(key)
}

// placeholder reports whether nobody but the rules made a setting.
func (r *Resolved) placeholder(key string) bool {
	origin := r.resolved.Origin(key)
	return origin == config.Default || strings.HasPrefix(origin, "rules ")
}

// fewQueries reports whether the quick run, and not the user, chose the number of queries
// and the percentile: then a slow model may have less.
func (r *Resolved) fewQueries() bool {
	return r.resolved.Origin("min_query_count") == config.QuickOrigin && r.resolved.Origin("target_latency_percentile") == config.QuickOrigin
}

// atIntervals reports whether the queries of a scenario come at fixed intervals.
func (r *Resolved) atIntervals(s loadgen.Scenario) bool {
	return s == loadgen.MultiStream && r.rules.MultiStream == config.FixedIntervalQueries
}

// fitStreams reports whether nobody but the rules' placeholder gave the number of samples of a
// query at fixed intervals: then a quick run may have fewer. Find-peak searches their number.
func (r *Resolved) fitStreams() bool {
	return r.Request.Quick && r.Request.Mode != FindPeak && r.atIntervals(r.Settings.Scenario) && r.placeholder("samples_per_query")
}
