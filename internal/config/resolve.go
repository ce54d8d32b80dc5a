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
	return &userinput.Error{Field: o.Key, Origin: o.Origin, Err: err}
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
	if err := cmp.Or(q.conflicts(), q.checkInteractive()); err != nil {
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
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
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
	among := "no model has one"
	if have := q.Rules.interactive(); len(have) > 0 {
		among = "those of " + strings.Join(have, ", ") + " have"
	}
	return userinput.Errorf("scenario", "rules %s have no Interactive for the model %s; %s", q.Rules.Version, q.Model.Name, among)
}

// interactive lists the models that have an interactive variant in the round.
func (r *RuleSet) interactive() (list []string) {
	for _, model := range r.Conf.models() {
		if base, ok := strings.CutSuffix(model, interactiveSuffix); ok {
			list = append(list, base)
		}
	}
	return list
}
