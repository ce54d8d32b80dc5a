package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/names"
)

// A Request is everything that decides the settings of a test. The zero value of each
// field means that there is nothing of the kind.
type Request struct {
	Model       Model
	Known       []string // further names of models, which no warning is worth
	Interactive bool     // the stricter limits of the model's interactive variant
	Scenario    loadgen.Scenario

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
}

// field names what was wrong with the setting.
func (o Override) field(err error) error {
	return &field.Error{Field: o.Key, Origin: o.Origin, Err: err}
}

// A Setting is a setting that was made, and where. Default settings are not made.
type Setting struct {
	Key      string // target_qps, or Server.target_latency for another scenario's
	Value    string // as files write it
	Unit     string // "ms", "%", "/s", or none
	Origin   string // user.conf:3, rules v6.1, flag --target-qps
	Replaces *Setting
	key      *key
}

// Resolved are the settings of a test.
type Resolved struct {
	Settings loadgen.TestSettings
	// Made are all settings that were made, in LoadGen's order, also those of scenarios
	// that do not run.
	Made     []Setting
	Warnings []string
	Rules    *RuleSet
	// ConfName is the name of the model in conf files.
	ConfName string
	model    Model
}

// Default is the origin of settings that nobody made.
const Default = "default"

// Origin says who made a setting of the scenario that runs, by its name in files.
func (r *Resolved) Origin(name string) string {
	if s, ok := r.Setting(name); ok {
		return s.Origin
	}
	return Default
}

// Setting returns a setting of the scenario that runs, by its name in files; false if
// nobody made it.
func (r *Resolved) Setting(name string) (Setting, bool) {
	scenario := r.Settings.Scenario.String()
	for _, s := range r.Made {
		if s.key.name == name && (s.key.scenario == "" || s.key.scenario == scenario) {
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
	if err := q.conflicts(); err != nil {
		return nil, err
	}
	if err := q.checkInteractive(); err != nil {
		return nil, err
	}
	r := &resolver{request: q, keys: keys(), made: map[*key]*Setting{}}
	r.target.TestSettings = loadgen.DefaultSettings()
	r.target.Scenario = q.Scenario
	r.model = q.Model.ConfName(q.Interactive)
	r.rules()
	if q.UserConf != nil {
		r.file(q.UserConf, q.Rules.OpenSeeds)
	}
	r.options()
	if q.AuditConf != nil {
		r.audit(q.AuditConf)
	}
	r.remarks()
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.resolved(), nil
}

// conflicts reports a file that is used twice.
func (q *Request) conflicts() error {
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

// checkInteractive refuses Interactive for a model that has no such variant in the round:
// it would be Server with a bound that no rule has.
func (q *Request) checkInteractive() error {
	names := q.Model.confNames(q.Interactive)
	if !q.Interactive {
		return nil
	}
	for _, c := range []*Conf{q.Rules.Conf, q.MLPerfConf, q.UserConf} {
		if c != nil && slices.ContainsFunc(names, c.Knows) {
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
	return field.Errorf("scenario", "rules %s have no Interactive for the model %s; %s", q.Rules.Version, q.Model.Name, among)
}

type resolver struct {
	request  Request
	model    string // in conf files
	target   target
	keys     []key
	made     map[*key]*Setting
	warnings []string
	errs     []error
}

func (r *resolver) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

func (r *resolver) assign(k *key, v value, text, origin string) {
	if k.set == nil {
		return
	}
	k.set(&r.target, v)
	before := r.made[k]
	if before != nil && before.Origin == origin && before.Value == text {
		return // the second pass over audit.config
	}
	r.made[k] = &Setting{
		Key: r.title(k), Value: text, Unit: k.kind.unit(), Origin: origin, Replaces: before, key: k,
	}
}

// title leaves out the scenario that runs.
func (r *resolver) title(k *key) string {
	if k.scenario == r.request.Scenario.String() {
		return k.name
	}
	return k.title()
}

// rules applies the rule set, or the file that replaces its conf.
func (r *resolver) rules() {
	rules := r.request.Rules
	if r.request.MLPerfConf != nil {
		r.file(r.request.MLPerfConf, true)
		return
	}
	r.lookUp(rules.Conf, []string{r.model}, true, func(Entry) string { return "rules " + rules.Version })
	r.test05()
	if !rules.Conf.Knows(r.model) && r.model != "" {
		r.warn("rules %s have no settings for the model %s: those for any model apply", rules.Version, r.model)
	}
}

// test05 sets the seeds of TEST05 that older confs do not have.
func (r *resolver) test05() {
	seeds := r.request.Rules.Test05
	for i := range r.keys {
		k, v := &r.keys[i], uint64(0)
		switch k.name {
		case "test05_qsl_rng_seed":
			v = seeds.QSL
		case "test05_sample_index_rng_seed":
			v = seeds.SampleIndex
		case "test05_schedule_rng_seed":
			v = seeds.Schedule
		}
		if v != 0 {
			r.assign(k, value{whole: v}, fmt.Sprint(v), "rules "+r.request.Rules.Version)
		}
	}
}

// file applies a file that a user gave.
func (r *resolver) file(c *Conf, builtIn bool) {
	r.warnings = append(r.warnings, c.Warnings...)
	r.strangers(c)
	r.lookUp(c, r.request.Model.confNames(r.request.Interactive), builtIn, func(e Entry) string { return c.at(e).String() })
}

// strangers warns of models that no round knows: their lines will never apply.
func (r *resolver) strangers(c *Conf) {
	own := r.request.Model.confNames(r.request.Interactive)
	var known []string
	for _, name := range c.models() {
		if slices.Contains(own, name) || r.request.Rules.Conf.Knows(name) {
			continue
		}
		if known == nil {
			known = sortedUnique(append(allModels(), r.request.Known...))
		}
		if slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("%s has settings of the model %q, which no rules know: they do not apply to %s", c.Name, name, r.model)
		if near := names.Nearest(name, known); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		r.warnings = append(r.warnings, text)
	}
}

// allModels are those that the conf of any round has settings for.
func allModels() []string {
	var names []string
	for _, version := range Versions() {
		if rules, err := Rules(version); err == nil {
			names = append(names, rules.Conf.models()...)
		}
	}
	return sortedUnique(names)
}

// audit applies an audit.config in two passes, as a reference SUT and LoadGen together
// do: the SUT loads it for its model, and then LoadGen once more for any model.
func (r *resolver) audit(c *Conf) {
	r.file(c, r.request.Rules.OpenSeeds)
	r.lookUp(c, []string{"*"}, r.request.Rules.OpenSeeds, func(e Entry) string { return c.at(e).String() })
}

// lookUp applies what a file has for the model, by any of its names, and the scenarios.
func (r *resolver) lookUp(c *Conf, names []string, builtIn bool, origin func(Entry) string) {
	for i := range r.keys {
		k := &r.keys[i]
		scenario := k.scenario
		if scenario == "" {
			scenario = r.request.Scenario.String()
		}
		e, ok := c.Lookup(scenario, k.name, names...)
		switch {
		case !ok || k.optionOnly:
		case k.builtIn && !builtIn:
			r.warnOnce("%v: %s has no effect: since v5.0 LoadGen reads it from its built-in mlperf.conf only", c.at(e), k.name)
		case !k.enabled(&r.target):
			r.warnOnce("%v: %s has no effect: %s is off", c.at(e), k.name, k.needs)
		default:
			v, err := parseValue(k.kind, e.Value)
			if err != nil { // ParseConf has checked it
				r.errs = append(r.errs, &SyntaxError{c.at(e), err.Error()})
				continue
			}
			r.assign(k, v, e.Value, origin(e))
		}
	}
}

func (r *resolver) warnOnce(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// options applies the command line. What has no effect there is an error.
func (r *resolver) options() {
	var names []string
	for i := range r.keys {
		if r.keys[i].set != nil {
			names = append(names, r.keys[i].name)
		}
	}
	known := sortedUnique(slices.Clone(names))
	// Switches come first in the table, so the keys that need them find them set.
	options := slices.Clone(r.request.Options)
	slices.SortStableFunc(options, func(a, b Override) int {
		return slices.Index(names, a.Key) - slices.Index(names, b.Key)
	})
	for _, o := range options {
		err := r.option(o)
		if !slices.Contains(known, o.Key) {
			err = o.field(newKeyError(Place{}, "setting", o.Key, known))
		}
		if err != nil {
			r.errs = append(r.errs, err)
		}
	}
}

func (r *resolver) option(o Override) error {
	scenario := r.request.Scenario.String()
	fail := func(format string, args ...any) error {
		return o.field(fmt.Errorf(format, args...))
	}
	var elsewhere []string
	for i := range r.keys {
		k := &r.keys[i]
		if k.name != o.Key || k.set == nil {
			continue
		}
		if k.scenario != "" && k.scenario != scenario {
			elsewhere = append(elsewhere, k.scenario)
			continue
		}
		if !k.enabled(&r.target) {
			return fail("%s has no effect: %s is off", o.Key, k.needs)
		}
		v, text, err := parseOption(k.kind, o.Value)
		if err != nil {
			return fail("%v", err)
		}
		r.assign(k, v, text, o.Origin)
		return nil
	}
	return fail("%s has no effect in %s, only in %s", o.Key, scenario, strings.Join(elsewhere, ", "))
}

// remarks warns of what was asked for and cannot be.
func (r *resolver) remarks() {
	rules := r.request.Rules
	if r.request.Scenario == loadgen.MultiStream && rules.MultiStream == NoMultiStream {
		r.warn("rules %s have no MultiStream scenario", rules.Version)
	}
	if r.request.Scenario == loadgen.MultiStream && rules.MultiStream == FixedIntervalQueries && r.target.runningAtOnce > 1 {
		r.errs = append(r.errs, fmt.Errorf("max_async_queries is %d: MultiStream can have one query running at a time, as the rules ask",
			r.target.runningAtOnce))
	}
	for i := range r.keys {
		k := &r.keys[i]
		s := r.made[k]
		if s == nil || !k.fixedInterval || rules.MultiStream != BackToBackQueries {
			continue
		}
		if r.request.Scenario == loadgen.MultiStream {
			r.warn("%s: %s has no effect in MultiStream since v2.0", s.Origin, k.name)
		}
		delete(r.made, k)
	}
}

func (r *resolver) resolved() *Resolved {
	result := &Resolved{
		Settings: r.target.TestSettings,
		Warnings: r.warnings,
		Rules:    r.request.Rules,
		ConfName: r.model,
		model:    r.request.Model,
	}
	if r.request.Rules.MultiStream != FixedIntervalQueries {
		result.Settings.MultiStreamQPS = 0
	}
	result.Settings.WithoutEarlyStopping = !r.request.Rules.EarlyStopping
	for i := range r.keys {
		if s := r.made[&r.keys[i]]; s != nil {
			result.Made = append(result.Made, *s)
		}
	}
	return result
}
