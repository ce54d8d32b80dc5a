package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request is everything that decides the settings of a test. All fields but Scenario may be empty.
type Request struct {
	Model    Model
	Known    []string // further names of models, without a warning
	Scenario loadgen.Scenario

	Rules      *RuleSet // nil: the newest
	MLPerfConf *Conf    // replaces that of the rule set
	UserConf   *Conf
	Options    []Override
	AuditConf  *Conf
}

// An Override is a setting of the command line: a flag, a variable of the environment,
// or a line of mlperf.yaml.
type Override struct {
	Key    string // as in conf files, without model and scenario: target_qps
	Value  string // durations with their unit, modes by name, switches as true or false
	Origin string // e.g. "flag --target-qps"
	Role   limitation.Role
}

// A Setting is a setting that was made, and where. Default settings are not made.
type Setting struct {
	Key      string // target_qps, or Server.target_latency for another scenario's
	Value    string // as files write it
	Unit     string // "ms", "%", "/s", or none
	Origin   string // user.conf:3, rules v6.1, flag --target-qps
	Role     limitation.Role
	Replaces *Setting
	row      *loadgen.Setting
}

// Resolved are the settings of a test.
type Resolved struct {
	Settings loadgen.TestSettings
	// Made are all settings that were made, in the order of the logs, also those of scenarios
	// that do not run.
	Made     []Setting
	Warnings []string
	Rules    *RuleSet
	// ConfName is the name of the model in conf files.
	ConfName string
	model    Model
}

// Default is the origin of the settings of LoadGen.
const Default = "default"

// Origin says who made a setting of the scenario that runs, by its name in files.
func (r *Resolved) Origin(name string) string {
	if s, ok := r.Setting(name); ok {
		return s.Origin
	}
	return Default
}

// Setting returns a setting of the scenario that runs, by its name in files; false: it is LoadGen's default.
func (r *Resolved) Setting(name string) (Setting, bool) {
	for _, s := range r.Made {
		if s.row.Key == name && s.row.In(r.Settings.Scenario) {
			return s, true
		}
	}
	return Setting{}, false
}

// Resolve makes the settings of a test: LoadGen's defaults, overridden by the rule
// set, user.conf, options and audit.config, in this order.
//
// As in the reference, a file that sets a switch decides which keys of later files are
// read: ttft_latency counts only where use_token_latencies is on by then.
func Resolve(q Request) (*Resolved, error) {
	if q.Rules == nil {
		newest, err := Rules(Newest)
		if err != nil {
			return nil, err
		}
		q.Rules = newest
	}
	if err := cmp.Or(q.checkFiles(), q.checkInteractive()); err != nil {
		return nil, err
	}
	return resolve(q)
}

// resolve is Resolve of a request that has rules and was checked.
func resolve(q Request) (*Resolved, error) {
	r := &resolver{request: q, target: loadgen.DefaultSettings(), made: map[*loadgen.Setting]*Setting{}}
	r.target.Scenario = q.Scenario
	if r.model = q.Model.ConfName(); q.interactiveOfRound() {
		r.model = q.Model.Name
	}
	r.rules()
	if q.UserConf != nil {
		r.file(q.UserConf, limitation.UserConf, q.Rules.OpenSeeds)
	}
	r.options()
	if c := q.AuditConf; c != nil {
		// A reference SUT loads it for its model, and then LoadGen for any model.
		asked := r.target.Mode
		r.file(c, limitation.AuditConf, q.Rules.OpenSeeds)
		r.lookUp(c, []string{"*"}, limitation.AuditConf, q.Rules.OpenSeeds, func(e Entry) string { return c.at(e).String() })
		if s := r.made[row("mode")]; s != nil && s.Replaces != nil && r.target.Mode != asked {
			r.warn("%s: the mode is %v, in place of %v (%s)", s.Origin, r.target.Mode, asked, s.Replaces.Origin)
		}
	}
	r.checkMultiStream()
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	result := &Resolved{Settings: r.target, Warnings: r.warnings, Rules: q.Rules, ConfName: r.model, model: q.Model}
	if q.Rules.MultiStream != FixedIntervalQueries {
		result.Settings.MultiStreamQPS, result.Settings.MultiStreamMaxAsyncQueries = 0, 0
	}
	result.Settings.WithoutEarlyStopping = !q.Rules.EarlyStopping
	for _, k := range loadgen.Settings() {
		if s := r.made[k]; s != nil {
			result.Made = append(result.Made, *s)
		}
	}
	return result, nil
}

// checkFiles refuses a file that is used twice.
func (q *Request) checkFiles() error {
	role := map[string]string{}
	for _, f := range []struct {
		role string
		conf *Conf
	}{{"mlperf.conf", q.MLPerfConf}, {"user.conf", q.UserConf}, {"audit.config", q.AuditConf}} {
		if f.conf == nil {
			continue
		}
		if other, twice := role[f.conf.Name]; twice {
			return fmt.Errorf("%s is used both as %s and as %s: give each file once", f.conf.Name, other, f.role)
		}
		role[f.conf.Name] = f.role
	}
	return nil
}

// interactiveOfRound reports whether the conf of the round does not have the Interactive that is asked for, and its checker has a bound.
func (q *Request) interactiveOfRound() bool {
	minima, _ := q.Rules.Minima(q.Model)
	return q.Model.Interactive && minima.ServerLatency > 0 && !q.Rules.Conf.Knows(q.Model.ConfName())
}

// checkInteractive refuses Interactive for a model without such a variant in the round: it would be Server with a bound that
// no rule has.
func (q *Request) checkInteractive() error {
	if !q.Model.Interactive || q.interactiveOfRound() {
		return nil
	}
	for _, c := range []*Conf{q.Rules.Conf, q.MLPerfConf, q.UserConf} {
		if c != nil && slices.ContainsFunc(q.Model.confNames(), c.Knows) {
			return nil
		}
	}
	var have []string
	for _, model := range q.Rules.Conf.models() {
		if base, ok := strings.CutSuffix(model, interactiveSuffix); ok {
			have = append(have, base)
		}
	}
	among := "no model has one"
	if len(have) > 0 {
		among = "those of " + strings.Join(have, ", ") + " have"
	}
	return userinput.Errorf("scenario", "rules %s have no Interactive for the model %s; %s", q.Rules.Version, q.Model.Name, among)
}

type resolver struct {
	request  Request
	model    string // in conf files
	target   loadgen.TestSettings
	made     map[*loadgen.Setting]*Setting
	warnings []string
	errs     []error
}

func (r *resolver) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// rules applies the rule set, or the file that replaces its conf.
func (r *resolver) rules() {
	rules := r.request.Rules
	origin := "rules " + rules.Version
	if r.request.MLPerfConf != nil {
		r.file(r.request.MLPerfConf, limitation.MLPerfConf, true)
		r.interactive(origin)
		return
	}
	r.lookUp(rules.Conf, []string{r.model}, limitation.RuleSet, true, func(Entry) string { return origin })
	for _, k := range loadgen.Settings() { // seeds of TEST05 that older confs do not have
		seed := map[string]uint64{
			"test05_qsl_rng_seed": rules.Test05.QSL, "test05_sample_index_rng_seed": rules.Test05.SampleIndex,
			"test05_schedule_rng_seed": rules.Test05.Schedule,
		}[k.Key]
		if seed != 0 {
			r.assign(k, value{whole: seed}, fmt.Sprint(seed), origin, limitation.RuleSet)
		}
	}
	r.offlineSamples(origin)
	r.interactive(origin)
	if r.request.Model.Once {
		r.assign(row("min_duration"), value{}, "0", origin, limitation.RuleSet)
		least := rules.MinQueries(r.request.Scenario, r.request.Model)
		r.assign(row("min_query_count"), value{whole: least}, fmt.Sprint(least), origin, limitation.RuleSet)
	}
	if !rules.Conf.Knows(r.model) && r.model != "" {
		r.warn("rules %s have no settings for the model %s: those for any model apply", rules.Version, r.model)
	}
}

// offlineSamples raises the query of Offline to the samples that the rules want, where the conf of the round leaves its size to
// the submitter: v0.5 has a min_query_count of 1.
func (r *resolver) offlineSamples(origin string) {
	_, inRound := r.request.Rules.Minima(r.request.Model)
	least := r.request.Rules.MinQueries(loadgen.Offline, r.request.Model)
	if r.request.Scenario != loadgen.Offline || !inRound || r.target.MinQueryCount >= least {
		return
	}
	r.assign(row("min_query_count"), value{whole: least}, fmt.Sprint(least), origin, limitation.RuleSet)
}

// interactive makes Server Interactive by the numbers of the round's checker, where its conf has none.
func (r *resolver) interactive(origin string) {
	if !r.request.interactiveOfRound() || r.request.Scenario != loadgen.Server {
		return
	}
	minima, _ := r.request.Rules.Minima(r.request.Model)
	for _, k := range loadgen.Settings() {
		whole := map[string]uint64{
			"target_latency": uint64(minima.ServerLatency.Milliseconds()), "performance_sample_count_override": minima.PerformanceSamples,
		}[k.Key]
		if v, err := parseValue(k.Kind, fmt.Sprint(whole)); whole > 0 && k.In(loadgen.Server) && err == nil {
			r.assign(k, v, fmt.Sprint(whole), origin, limitation.RuleSet)
		}
	}
}

// file applies a file of the user, and warns of models that no round knows: their lines never apply.
func (r *resolver) file(c *Conf, role limitation.Role, builtIn bool) {
	r.warnings = append(r.warnings, c.Warnings...)
	own := r.request.Model.confNames()
	if r.request.interactiveOfRound() {
		own = append(own, r.request.Model.Names()...)
	}
	var known []string
	for _, name := range c.models() {
		if slices.Contains(own, name) || r.request.Rules.Conf.Knows(name) {
			continue
		}
		if known == nil {
			known = slices.Clone(r.request.Known)
			for _, version := range Versions() {
				if rules, err := Rules(version); err == nil {
					known = append(known, rules.Conf.models()...)
				}
			}
			known = sortedUnique(known)
		}
		if slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("%s has settings of the model %q, which no rules know: they do not apply to %s", c.Name, name, r.model)
		if near := userinput.Nearest(name, known); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		r.warnings = append(r.warnings, text)
	}
	r.lookUp(c, own, role, builtIn, func(e Entry) string { return c.at(e).String() })
}

// lookUp applies the settings of a file for the model, by any of its names, and the scenarios.
func (r *resolver) lookUp(c *Conf, names []string, role limitation.Role, builtIn bool, origin func(Entry) string) {
	for _, k := range loadgen.Settings() {
		e, ok := c.Lookup(cmp.Or(k.Scenario, r.request.Scenario.String()), k.Key, names...)
		switch {
		case !ok || !inFiles(k):
			continue
		case k.Source == loadgen.FromMLPerfConf && !builtIn:
			r.warn("%v: %s has no effect: since v5.0 LoadGen reads it from its built-in mlperf.conf only", c.at(e), k.Key)
			continue
		case !r.enabled(k):
			r.warn("%v: %s has no effect: %s is off", c.at(e), k.Key, k.Needs)
			continue
		}
		v, err := parseValue(k.Kind, e.Value)
		if err == nil {
			r.assign(k, v, e.Value, origin(e), role)
			continue
		}
		err = &syntaxError{c.at(e), fmt.Sprintf("%s: %v", e.Name(), err)}
		if !slices.ContainsFunc(r.errs, func(e error) bool { return e.Error() == err.Error() }) { // an entry for any scenario is looked up in each
			r.errs = append(r.errs, err)
		}
	}
}

func (r *resolver) assign(k *loadgen.Setting, v value, text, origin string, role limitation.Role) {
	field := k.Requested(&r.target)
	if field == nil {
		return
	}
	v.store(k.Kind, field)
	before := r.made[k]
	if before != nil && before.Origin == origin && before.Value == text {
		return // the second pass over audit.config
	}
	title := k.Key
	if !k.In(r.request.Scenario) {
		title = k.Scenario + "." + k.Key
	}
	r.made[k] = &Setting{Key: title, Value: text, Unit: unit(k.Kind), Origin: origin, Role: role, Replaces: before, row: k}
}

// row returns the row of a setting that all scenarios have.
func row(key string) *loadgen.Setting {
	table := loadgen.Settings()
	return table[slices.IndexFunc(table, func(k *loadgen.Setting) bool { return k.Key == key })]
}

// enabled reports whether the switch that a setting needs is on.
func (r *resolver) enabled(k *loadgen.Setting) bool {
	return k.Needs == "" || row(k.Needs).IsSet(&r.target)
}

// isOption reports whether the command line may have a setting.
func (r *resolver) isOption(k *loadgen.Setting) bool {
	return k.Source != loadgen.FromNowhere && k.Requested(&r.target) != nil
}

// options applies the command line. An option without effect is an error.
func (r *resolver) options() {
	var names []string
	for _, k := range loadgen.Settings() {
		if r.isOption(k) {
			names = append(names, k.Key)
		}
	}
	// Switches come first in the table, so the keys that need them find them set.
	options := slices.Clone(r.request.Options)
	slices.SortStableFunc(options, func(a, b Override) int {
		return slices.Index(names, a.Key) - slices.Index(names, b.Key)
	})
	for _, o := range options {
		err := r.option(o)
		if !slices.Contains(names, o.Key) {
			err = &KeyError{Kind: "setting", Name: o.Key, Choices: sortedUnique(slices.Clone(names))}
		}
		if err != nil {
			r.errs = append(r.errs, &userinput.Error{Field: o.Key, Origin: o.Origin, Err: err})
		}
	}
}

func (r *resolver) option(o Override) error {
	var elsewhere []string
	for _, k := range loadgen.Settings() {
		if k.Key != o.Key || !r.isOption(k) {
			continue
		}
		if !k.In(r.request.Scenario) {
			elsewhere = append(elsewhere, k.Scenario)
			continue
		}
		if !r.enabled(k) {
			return fmt.Errorf("%s has no effect: %s is off", o.Key, k.Needs)
		}
		v, text, err := parseOption(k.Kind, o.Value)
		if err == nil {
			r.assign(k, v, text, o.Origin, o.Role)
		}
		return err
	}
	return fmt.Errorf("%s has no effect in %v, only in %s", o.Key, r.request.Scenario, strings.Join(elsewhere, ", "))
}

// checkMultiStream checks the settings of a scenario that changed from round to round.
func (r *resolver) checkMultiStream() {
	kind, runs := r.request.Rules.MultiStream, r.request.Scenario == loadgen.MultiStream
	switch {
	case runs && kind == NoMultiStream:
		r.warn("rules %s have no MultiStream scenario", r.request.Rules.Version)
	case runs && kind == FixedIntervalQueries && r.target.MultiStreamMaxAsyncQueries > 1:
		r.errs = append(r.errs, fmt.Errorf("max_async_queries is %d: MultiStream can have one query running at a time, as the rules ask",
			r.target.MultiStreamMaxAsyncQueries))
	case kind == BackToBackQueries:
		for _, k := range loadgen.Settings() {
			s := r.made[k]
			if s == nil || !k.FixedInterval {
				continue
			}
			if runs {
				r.warn("%s: %s has no effect in MultiStream since v2.0", s.Origin, k.Key)
			}
			delete(r.made, k)
		}
	}
}

// sortedUnique returns the names in alphabetical order, each once.
func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
