package request

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// settingFlags are the flags that set one key of conf files.
var settingFlags = []struct{ flag, key, text string }{
	{"target-qps", "target_qps", "Server: `rate` of queries per second; Offline: of samples, expected"},
	{"min-duration", "min_duration", "shortest test, a `duration` such as 60s or 10m"},
	{"max-duration", "max_duration", "longest test, a `duration`"},
	{"min-query-count", "min_query_count", "least `number` of queries; in Offline of samples"},
	{"max-query-count", "max_query_count", "greatest `number` of queries"},
	{"samples-per-query", "samples_per_query", ""},
	{"performance-sample-count", "performance_sample_count_override", "`number` of samples to keep in memory"},
	{"target-latency", "target_latency", ""},
	{"ttft", "ttft_latency", "Server and Interactive: greatest `time` to the first token, such as 500ms"},
	{"tpot", "tpot_latency", "Server and Interactive: greatest `time` per further token, such as 50ms"},
}

// DefineSettings defines the flags that set a key and are not there yet.
func DefineSettings(f *pflag.FlagSet) {
	for _, s := range settingFlags {
		if f.Lookup(s.flag) == nil {
			f.String(s.flag, "", s.text)
		}
	}
}

// overrides are the settings that flags make.
func (q *Flags) overrides(flags *pflag.FlagSet) ([]config.Override, error) {
	var list []config.Override
	for _, s := range settingFlags {
		measured := s.flag == "target-latency" && q.targetLatency == AutoLatency
		f := flags.Lookup(s.flag)
		if f == nil || !f.Changed || measured {
			continue
		}
		value := f.Value.String()
		if value == "" { // a variable of a shell that is not set
			return nil, userinput.Invalid(strings.ReplaceAll(s.flag, "-", "_"), "", "a value")
		}
		list = append(list, config.Override{Key: s.key, Value: value, Origin: cli.OriginOf(flags, s.flag)})
	}
	free, err := q.freeOverrides(cli.OriginOf(flags, "set"))
	if err != nil {
		return nil, err
	}
	return once(append(list, free...))
}

// once leaves of a key that was given in several ways the one that goes before: on the command line, then in the
// environment, then in mlperf.yaml. Two values from one place are one too many.
func once(list []config.Override) ([]config.Override, error) {
	var chosen []config.Override
	for _, o := range list {
		i := slices.IndexFunc(chosen, func(c config.Override) bool { return c.Key == o.Key })
		switch {
		case i < 0:
			chosen = append(chosen, o)
		case cli.Rank(o.Origin) > cli.Rank(chosen[i].Origin):
			chosen[i] = o
		case cli.Rank(o.Origin) == cli.Rank(chosen[i].Origin) && o.Value != chosen[i].Value:
			return nil, cli.Usage("%s is given twice: %s by %s, and %s by %s", o.Key, chosen[i].Value, chosen[i].Origin, o.Value, o.Origin)
		}
	}
	return chosen, nil
}

// freeOverrides are the settings of --set, which takes any key.
func (q *Flags) freeOverrides(origin string) ([]config.Override, error) {
	var list []config.Override
	for _, text := range q.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, cli.Usage("--set %s: want key=value", text)
		}
		list = append(list, config.Override{Key: key, Value: value, Origin: origin})
	}
	return list, nil
}
