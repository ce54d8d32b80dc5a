package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request is everything that decides the settings of a test. All fields but Scenario may be empty.
type Request struct {
	Model       Model
	Known       []string // further names of models, without a warning
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
	if err := cmp.Or(q.checkFiles(), q.checkInteractive()); err != nil {
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
	if c := q.AuditConf; c != nil {
		// A reference SUT loads it for its model, and then LoadGen for any model.
		asked := r.target.Mode
		r.file(c, q.Rules.OpenSeeds)
		r.lookUp(c, []string{"*"}, q.Rules.OpenSeeds, func(e Entry) string { return c.at(e).String() })
		i := slices.IndexFunc(r.keys, func(k key) bool { return k.name == "mode" })
		if s := r.made[&r.keys[i]]; s != nil && s.Replaces != nil && r.target.Mode != asked {
			r.warn("%s: the mode is %v, in place of %v (%s)", s.Origin, r.target.Mode, asked, s.Replaces.Origin)
		}
	}
	r.checkMultiStream()
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	result := &Resolved{Settings: r.target.TestSettings, Warnings: r.warnings, Rules: q.Rules, ConfName: r.model, model: q.Model}
	if q.Rules.MultiStream != FixedIntervalQueries {
		result.Settings.MultiStreamQPS = 0
	}
	result.Settings.WithoutEarlyStopping = !q.Rules.EarlyStopping
	for i := range r.keys {
		if s := r.made[&r.keys[i]]; s != nil {
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

// checkInteractive refuses Interactive for a model without such a variant in the round: it would be Server with a bound that
// no rule has.
func (q *Request) checkInteractive() error {
	if !q.Interactive {
		return nil
	}
	for _, c := range []*Conf{q.Rules.Conf, q.MLPerfConf, q.UserConf} {
		if c != nil && slices.ContainsFunc(q.Model.confNames(true), c.Knows) {
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
	target   target
	keys     []key
	made     map[*key]*Setting
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
	if r.request.MLPerfConf != nil {
		r.file(r.request.MLPerfConf, true)
		return
	}
	origin := "rules " + rules.Version
	r.lookUp(rules.Conf, []string{r.model}, true, func(Entry) string { return origin })
	for i := range r.keys { // seeds of TEST05 that older confs do not have
		k := &r.keys[i]
		seed := map[string]uint64{
			"test05_qsl_rng_seed": rules.Test05.QSL, "test05_sample_index_rng_seed": rules.Test05.SampleIndex, "test05_schedule_rng_seed": rules.Test05.Schedule,
		}[k.name]
		if seed != 0 {
			r.assign(k, value{whole: seed}, fmt.Sprint(seed), origin)
		}
	}
	r.offlineSamples(origin)
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
	i := slices.IndexFunc(r.keys, func(k key) bool { return k.name == "min_query_count" })
	r.assign(&r.keys[i], value{whole: least}, fmt.Sprint(least), origin)
}

// file applies a file of the user, and warns of models that no round knows: their lines never apply.
func (r *resolver) file(c *Conf, builtIn bool) {
	r.warnings = append(r.warnings, c.Warnings...)
	own := r.request.Model.confNames(r.request.Interactive)
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
	r.lookUp(c, own, builtIn, func(e Entry) string { return c.at(e).String() })
}

// lookUp applies the settings of a file for the model, by any of its names, and the scenarios.
func (r *resolver) lookUp(c *Conf, names []string, builtIn bool, origin func(Entry) string) {
	for i := range r.keys {
		k := &r.keys[i]
		e, ok := c.Lookup(cmp.Or(k.scenario, r.request.Scenario.String()), k.name, names...)
		switch {
		case !ok || k.optionOnly:
			continue
		case k.builtIn && !builtIn:
			r.warn("%v: %s has no effect: since v5.0 LoadGen reads it from its built-in mlperf.conf only", c.at(e), k.name)
			continue
		case !k.enabled(&r.target):
			r.warn("%v: %s has no effect: %s is off", c.at(e), k.name, k.needs)
			continue
		}
		v, err := parseValue(k.kind, e.Value)
		if err == nil {
			r.assign(k, v, e.Value, origin(e))
			continue
		}
		err = &syntaxError{c.at(e), fmt.Sprintf("%s: %v", e.Name(), err)}
		if !slices.ContainsFunc(r.errs, func(e error) bool { return e.Error() == err.Error() }) { // an entry for any scenario is looked up in each
			r.errs = append(r.errs, err)
		}
	}
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
	title := k.name
	if k.scenario != "" && k.scenario != r.request.Scenario.String() {
		title = k.scenario + "." + k.name
	}
	r.made[k] = &Setting{Key: title, Value: text, Unit: k.kind.unit(), Origin: origin, Replaces: before, key: k}
}

// options applies the command line. An option without effect is an error.
func (r *resolver) options() {
	var names []string
	for i := range r.keys {
		if r.keys[i].set != nil {
			names = append(names, r.keys[i].name)
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
	scenario := r.request.Scenario.String()
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
			return fmt.Errorf("%s has no effect: %s is off", o.Key, k.needs)
		}
		v, text, err := parseOption(k.kind, o.Value)
		if err == nil {
			r.assign(k, v, text, o.Origin)
		}
		return err
	}
	return fmt.Errorf("%s has no effect in %s, only in %s", o.Key, scenario, strings.Join(elsewhere, ", "))
}

// checkMultiStream checks the settings of a scenario that changed from round to round.
func (r *resolver) checkMultiStream() {
	kind, runs := r.request.Rules.MultiStream, r.request.Scenario == loadgen.MultiStream
	switch {
	case runs && kind == NoMultiStream:
		r.warn("rules %s have no MultiStream scenario", r.request.Rules.Version)
	case runs && kind == FixedIntervalQueries && r.target.runningAtOnce > 1:
		r.errs = append(r.errs, fmt.Errorf("max_async_queries is %d: MultiStream can have one query running at a time, as the rules ask", r.target.runningAtOnce))
	case kind == BackToBackQueries:
		for i := range r.keys {
			k := &r.keys[i]
			s := r.made[k]
			if s == nil || !k.fixedInterval {
				continue
			}
			if runs {
				r.warn("%s: %s has no effect in MultiStream since v2.0", s.Origin, k.name)
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
