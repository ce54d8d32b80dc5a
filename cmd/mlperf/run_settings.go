package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// autoLatency is the value of --target-latency that has the bound measured.
const autoLatency = "auto"

// resolve merges rules, conf files and flags.
func (o *runOptions) resolve(model workload.Model, flags *pflag.FlagSet, merged *config.Merged) (*config.Resolved, error) {
	scenario, interactive, err := config.ParseScenario(o.scenario)
	if err != nil {
		return nil, usage("%w", err)
	}
	rules, err := config.Rules(o.rules)
	if err != nil {
		return nil, usage("%w", err)
	}
	if _, err := config.ParseMode(o.loadgenMode()); err != nil {
		return nil, usage("%w, or find-peak", err)
	}
	if o.targetLatency == autoLatency && scenario != loadgen.Server {
		return nil, usage("--target-latency auto is for the Server scenario, the only one with a latency bound")
	}
	request := config.Request{Model: model.Rules, Known: models.RuleNames(), Interactive: interactive, Scenario: scenario, Rules: rules}
	for _, f := range []struct {
		path string
		conf **config.Conf
	}{{o.mlperfConf, &request.MLPerfConf}, {o.userConfPath(), &request.UserConf}, {o.auditConf, &request.AuditConf}} {
		if f.path == "" {
			continue
		}
		if *f.conf, err = config.ReadConf(f.path, config.ParseOptions{AllowUnknownKeys: o.allowUnknownKeys}); err != nil {
			return nil, err
		}
	}
	if request.Options, err = o.overrides(scenario, flags, merged); err != nil {
		return nil, err
	}
	return config.Resolve(request)
}

// userConfPath is the user.conf to read: the one that was given, or the one that is there.
func (o *runOptions) userConfPath() string {
	const here = "user.conf"
	if o.userConf == "" {
		if _, err := os.Stat(here); err == nil {
			return here
		}
	}
	return o.userConf
}

// originQuick is the origin of the settings of --quick.
const originQuick = "--quick"

// overrides are the settings that flags make. Those of --quick come first, so that an
// explicit flag wins.
func (o *runOptions) overrides(scenario loadgen.Scenario, flags *pflag.FlagSet, merged *config.Merged) ([]config.Override, error) {
	var list []config.Override
	add := func(key, value, origin string) {
		list = append(list, config.Override{Key: key, Value: value, Origin: origin})
	}
	if o.quick {
		for _, s := range quickSettings(scenario) {
			add(s[0], s[1], originQuick)
		}
	}
	add("mode", o.loadgenMode(), merged.Origin("mode"))
	for _, s := range settingFlags {
		value := flags.Lookup(s.flag).Value.String()
		if value == "" {
			continue
		}
		if s.kind == "duration" {
			d, err := parseDuration(value)
			if err != nil {
				return nil, usage("--%s: %w", s.flag, err)
			}
			value = d.String()
		}
		add(s.key, value, merged.Origin(s.flag))
	}
	if o.targetLatency != "" && o.targetLatency != autoLatency {
		d, err := parseDuration(o.targetLatency)
		if err != nil {
			return nil, usage("--target-latency: %w", err)
		}
		add("target_latency", d.String(), merged.Origin("target-latency"))
	}
	for _, s := range o.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usage("--set %s: want key=value", s)
		}
		add(key, value, "flag --set")
	}
	return list, nil
}

// findPeak is the mode that searches the highest load. It consists of tests in
// LoadGen's performance mode.
const findPeak = "find-peak"

func (o *runOptions) loadgenMode() string {
	if o.mode == findPeak {
		return "performance"
	}
	return o.mode
}

// chooseRuns says how many runs make the result, and refuses a search without a bound.
func (o *runOptions) chooseRuns(r *config.Resolved, cfg *bench.Config) error {
	s := r.Settings
	if cfg.FindPeak {
		if s.Scenario == loadgen.Server || s.MultiStreamQPS > 0 {
			return nil
		}
		return usage("--mode find-peak searches the highest load that keeps a bound: Server has one, and MultiStream under rules "+
			"v0.5 to v1.0; %v has none, so measure it with --mode performance", s.Scenario)
	}
	if s.Scenario == loadgen.Server && s.Mode == loadgen.PerformanceOnly && !o.quick {
		cfg.Runs = r.Rules.ServerRuns
	}
	return nil
}

// quickSettings make a run of about ten seconds that can be VALID: the 90th percentile
// needs 64 queries to be known, the 99th would need 662.
func quickSettings(s loadgen.Scenario) [][2]string {
	settings := [][2]string{{"min_duration", "10s"}}
	switch s {
	case loadgen.Offline:
		return append(settings, [2]string{"min_query_count", "1"})
	case loadgen.SingleStream, loadgen.MultiStream:
		settings = append(settings, [2]string{"min_query_count", "64"})
	case loadgen.Server:
		settings = append(settings, [2]string{"min_query_count", "100"})
	}
	return append(settings, [2]string{"target_latency_percentile", "90"})
}

// fewQueries says whether --quick, and not the user, chose the number of queries and the
// percentile: then a slow model may have less.
func (o *runOptions) fewQueries(r *config.Resolved) bool {
	return o.quick && r.Origin("min_query_count") == originQuick && r.Origin("target_latency_percentile") == originQuick
}

// needsTarget says whether nobody but the rules' placeholder gave the rate, or the
// expected latency, of the scenario.
func needsTarget(r *config.Resolved) bool {
	key := "target_qps"
	if s := r.Settings.Scenario; s == loadgen.SingleStream || s == loadgen.MultiStream {
		key = "target_latency"
	}
	origin := r.Origin(key)
	return origin == config.Default || strings.HasPrefix(origin, "rules ")
}

// marks say which of the settings make a run something else than the rules want.
func (o *runOptions) marks(r *config.Resolved) []string {
	var marks []string
	if o.quick {
		marks = append(marks, "a run under the rules: --quick is shorter and judged by a lower percentile")
	} else if r.Settings.MinDuration < r.Rules.MinDuration {
		marks = append(marks, fmt.Sprintf("a run under the rules: min_duration is %v, rules %s want %v",
			r.Settings.MinDuration, r.Rules.Version, r.Rules.MinDuration))
	}
	if n := r.Rules.ServerRuns; n > 1 && r.Settings.Scenario == loadgen.Server && (o.quick || o.mode == findPeak) {
		marks = append(marks, fmt.Sprintf("a run under the rules: %s want the lowest of %d Server runs", r.Rules.Version, n))
	}
	for _, key := range []string{"qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"} {
		if origin := r.Origin(key); !strings.HasPrefix(origin, "rules ") {
			marks = append(marks, fmt.Sprintf("a run under the rules: %s was changed (%s)", key, origin))
		}
	}
	return marks
}

// confFiles are the conf files that were used, to be kept with the results.
func (o *runOptions) confFiles() (map[string][]byte, error) {
	rules, err := config.Rules(o.rules)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"mlperf.conf": rules.Conf.Format()}
	for name, path := range map[string]string{"mlperf.conf": o.mlperfConf, "user.conf": o.userConfPath(), "audit.config": o.auditConf} {
		if path == "" {
			continue
		}
		if files[name], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return files, nil
}
