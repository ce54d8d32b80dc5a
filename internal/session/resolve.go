package session

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/power"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// A Resolved request has a model, rules and settings. Nothing was opened or made for it.
type Resolved struct {
	// Request has the defaults filled in, and what a profile gave.
	Request  Request
	Settings loadgen.TestSettings
	Made     []report.Setting // settings that somebody made, with where
	Warnings []string
	Notes    []string // what a user should know before the run

	model    workload.Model
	rules    *config.RuleSet
	resolved *config.Resolved
	division config.Division
	// interactive: Server with the bounds of the model's Interactive
	interactive bool
	taken       []report.Setting // from a profile

	chosenFolder bool // nobody gave one for the results
}

// Resolve finds out what a request means. It reads files of settings and a profile, and
// looks at nothing else.
func Resolve(q Request) (*Resolved, error) {
	r, err := meaningOf(q)
	if err != nil {
		return nil, err
	}
	if err := r.output(); err != nil {
		return nil, err
	}
	return r, nil
}

// meaningOf finds out everything but where results go.
func meaningOf(q Request) (*Resolved, error) {
	r := &Resolved{Request: q}
	for _, step := range []func() error{r.names, r.Request.check, r.options, r.settings, r.forServers, r.profile, r.peak} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// names looks the model, the rules and the division up.
func (r *Resolved) names() (err error) {
	q := &r.Request
	if q.Model == "" && !q.free() {
		return field.Missing("model", "want a model of the catalogue")
	}
	if q.Scenario == "" {
		return field.Missing("scenario", "want SingleStream, MultiStream, Server, Offline or Interactive")
	}
	if r.model, err = q.model(); err != nil {
		return field.Wrap("model", err)
	}
	if r.rules, err = config.Rules(q.Rules); err != nil {
		return field.Wrap("rules", err)
	}
	r.division, err = config.ParseDivision(q.Division)
	return field.Wrap("division", err)
}

// ScenarioName is the scenario as users call it: Interactive, too.
func (r *Resolved) ScenarioName() string {
	if r.interactive {
		return "Interactive"
	}
	return r.Settings.Scenario.String()
}

// model is that of the catalogue, or prompts that belong to none.
func (q *Request) model() (workload.Model, error) {
	switch {
	case q.free():
		return q.freeModel(), nil
	case !q.asksServers():
		return q.here()
	}
	m, err := models.LookupAsked(q.Model)
	if err == nil && m.Ask == nil {
		err = fmt.Errorf("%s takes no prompts: servers of text are asked for language models only", m.Name)
	}
	return m.Asked(), err
}

// here is a model that runs from files.
func (q *Request) here() (workload.Model, error) {
	m, err := models.Lookup(q.Model)
	if err == nil {
		return m, nil
	}
	if m, other := models.LookupAsked(q.Model); other == nil {
		return m, fmt.Errorf("%s does not run here: servers of text are asked (backend %s)", m.Name, OpenAI)
	}
	return m, err
}

func (r *Resolved) options() error {
	if q := &r.Request; q.Rows != 0 {
		if err := checkRows(r.model, q.Rows); err != nil {
			return err
		}
		if q.ModelPath != "" {
			return field.Errorf("rows", "is of built-in models, the model is %s", q.ModelPath)
		}
	}
	return r.model.CheckOptions(r.Request.Options)
}

// fewestRows are those below which a table is none that tells anything of a real one.
const fewestRows = 1000

// checkRows wants a number of rows that the tables of a built-in model can have.
func checkRows(m workload.Model, rows int64) error {
	recipe, ok := m.BuiltIn.(workload.Recipe)
	if !ok || !recipe.Tables() {
		return field.Errorf("rows", "%s has no tables of categories", m.Name)
	}
	if rows < fewestRows {
		return field.Invalid("rows", rows, fmt.Sprintf("%d or more rows of each table", fewestRows))
	}
	return nil
}

// settings merges rules, conf files and what overrides them.
func (r *Resolved) settings() error {
	q := &r.Request
	scenario, interactive, err := config.ParseScenario(q.Scenario)
	if err != nil {
		return field.Wrap("scenario", err)
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
	if r.resolved, err = config.Resolve(c); err != nil {
		return err
	}
	r.adopt()
	if err := r.Settings.Validate(); err != nil {
		return field.Wrap("settings", err)
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
		return field.Errorf("mode", "%w, or find-peak", err)
	}
	if r.Request.AutoLatency && scenario != loadgen.Server && !r.atIntervals(scenario) {
		return field.Errorf("target_latency", "auto is for the Server scenario, which has a latency bound, and for MultiStream at the intervals of rules v0.5 to v1.0")
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

// originQuick is the origin of the settings of a quick run.
const originQuick = "quick run"

// overrides are the settings that do not come from files. Those of a quick run come first,
// so that what somebody gave wins.
func (r *Resolved) overrides(s loadgen.Scenario, interactive bool) []config.Override {
	q := &r.Request
	var list []config.Override
	if q.free() {
		list = q.freeSettings(s, interactive)
	}
	if q.Quick {
		list = append(list, quickSettings(s)...)
	}
	list = append(list, config.Override{Key: "mode", Value: q.loadgenMode(), Origin: q.origin("mode")})
	return append(list, q.Settings...)
}

// quickSettings make a run of about ten seconds that can be VALID: the 90th percentile
// needs 64 queries to be known, the 99th would need 662.
func quickSettings(s loadgen.Scenario) []config.Override {
	least := map[loadgen.Scenario]string{loadgen.Offline: "1", loadgen.SingleStream: "64", loadgen.MultiStream: "64", loadgen.Server: "100"}
	list := []config.Override{
		{Key: "min_duration", Value: "10s", Origin: originQuick},
		{Key: "min_query_count", Value: least[s], Origin: originQuick},
	}
	if s == loadgen.Offline {
		return list
	}
	return append(list, config.Override{Key: "target_latency_percentile", Value: "90", Origin: originQuick})
}

// peak refuses a search without a bound.
func (r *Resolved) peak() error {
	s := r.Settings
	if r.Request.Mode != FindPeak || s.Scenario == loadgen.Server || s.MultiStreamQPS > 0 {
		return nil
	}
	return field.Errorf("mode", "find-peak searches the highest load that keeps a bound: Server has one, and MultiStream under rules "+
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
	return r.resolved.Origin("min_query_count") == originQuick && r.resolved.Origin("target_latency_percentile") == originQuick
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

// KeptRuns is the folder of runs that nobody gave a folder for.
const KeptRuns = "results"

// output chooses the folder, and refuses one that has results already.
func (r *Resolved) output() error {
	q := &r.Request
	given := q.Output != ""
	if !given {
		q.Output = filepath.Join(KeptRuns, r.model.Name, strings.ToLower(r.ScenarioName()), cmp.Or(q.Mode, "performance"), time.Now().Format("20060102-150405"))
	}
	if q.Ranging {
		q.Output = filepath.Join(q.Output, power.Testing)
	}
	r.chosenFolder = !given && !q.Ranging // whose runs lie a folder below
	if !given || q.Force || !hasResults(q.Output) || q.goesOn() {
		return nil
	}
	return &ExistsError{Folder: q.Output}
}

// goesOn reports whether the request is a search that was interrupted in its folder.
func (q *Request) goesOn() bool {
	_, err := os.Stat(filepath.Join(q.Output, bench.PeakFile))
	return err == nil && q.Mode == FindPeak
}

// An ExistsError says that a folder has the results of a run already.
type ExistsError struct{ Folder string }

func (e *ExistsError) Error() string {
	return e.Folder + " has the results of a run already: choose another folder, or have them replaced"
}
