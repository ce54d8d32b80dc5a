package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

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
		if near := userinput.Nearest(name, known); near != "" {
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
	asked := r.target.Mode
	r.file(c, r.request.Rules.OpenSeeds)
	r.lookUp(c, []string{"*"}, r.request.Rules.OpenSeeds, func(e Entry) string { return c.at(e).String() })
	r.otherMode(asked)
}

// otherMode warns of a test in another mode than the one that was asked for. LoadGen warns of the file.
func (r *resolver) otherMode(asked loadgen.Mode) {
	i := slices.IndexFunc(r.keys, func(k key) bool { return k.name == "mode" })
	if s := r.made[&r.keys[i]]; s != nil && s.Replaces != nil && r.target.Mode != asked {
		r.warn("%s: the mode is %v, in place of %v (%s)", s.Origin, r.target.Mode, asked, s.Replaces.Origin)
	}
}

// lookUp applies what a file has for the model, by any of its names, and the scenarios.
func (r *resolver) lookUp(c *Conf, names []string, builtIn bool, origin func(Entry) string) {
	for i := range r.keys {
		k := &r.keys[i]
		scenario := cmp.Or(k.scenario, r.request.Scenario.String())
		e, ok := c.Lookup(scenario, k.name, names...)
		switch {
		case !ok || k.optionOnly:
		case k.builtIn && !builtIn:
			r.warnOnce("%v: %s has no effect: since v5.0 LoadGen reads it from its built-in mlperf.conf only", c.at(e), k.name)
		case !k.enabled(&r.target):
			r.warnOnce("%v: %s has no effect: %s is off", c.at(e), k.name, k.needs)
		default:
			r.errOnce(r.apply(k, e, c.at(e), origin(e)))
		}
	}
}

// apply makes a setting of an entry of a file. ParseConf has checked what is wrong for every benchmark.
func (r *resolver) apply(k *key, e Entry, at Place, origin string) error {
	v, err := parseValue(k.kind, e.Value)
	if err != nil {
		return &syntaxError{at, fmt.Sprintf("%s: %v", e.Name(), err)}
	}
	r.assign(k, v, e.Value, origin)
	return nil
}

// errOnce notes an error, if it is one. An entry for any scenario would give it in each.
func (r *resolver) errOnce(err error) {
	same := func(e error) bool { return e.Error() == err.Error() }
	if err != nil && !slices.ContainsFunc(r.errs, same) {
		r.errs = append(r.errs, err)
	}
}

func (r *resolver) warnOnce(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}
