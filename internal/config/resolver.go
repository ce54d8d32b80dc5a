package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

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
	kind := r.request.Rules.MultiStream
	if r.request.Scenario == loadgen.MultiStream {
		switch {
		case kind == NoMultiStream:
			r.warn("rules %s have no MultiStream scenario", r.request.Rules.Version)
		case kind == FixedIntervalQueries && r.target.runningAtOnce > 1:
			r.errs = append(r.errs, fmt.Errorf("max_async_queries is %d: MultiStream can have one query running at a time, as the rules ask",
				r.target.runningAtOnce))
		}
	}
	if kind == BackToBackQueries {
		r.dropIntervals()
	}
}

// dropIntervals forgets the settings of queries at intervals, which there are no more.
func (r *resolver) dropIntervals() {
	for i := range r.keys {
		k := &r.keys[i]
		s := r.made[k]
		if s == nil || !k.fixedInterval {
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
