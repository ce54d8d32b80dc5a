package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/units"
)

// nextCommand is the command to try after a run that is not VALID, made of the arguments of the run, or whose integers
// cost too much accuracy; "" after others.
func nextCommand(args []string, r *report.Results, dir string) string {
	if a := r.Accuracy; r.Input.Precision == convert.INT8 && a.Below() && a.Reference != 0 {
		return fmt.Sprintf("Next: mlperf quantize --model %s --target %s\n  which leaves the most sensitive layers in FP32; run takes its "+
			"file with --model-path", r.Model, units.Exact(units.Rounded(a.Target/a.Reference, 4)))
	}
	if r.Result != report.Invalid {
		return ""
	}
	if changes := changesFor(r); len(changes) > 0 {
		return "Next: " + changes[0].of(args)
	}
	return fmt.Sprintf("Next: mlperf %s\n  which shows why", report.CommandLine([]string{"explain", dir}))
}

// A change of a request may make the next run VALID.
type change struct{ field, value, effect string } // as errors name the field; a switch has no value

// of is the command line with the change, and what comes of it.
func (c change) of(args []string) string {
	command := withFlag(withoutSetting(args, c.field), strings.ReplaceAll(c.field, "_", "-"), c.value)
	if slices.ContainsFunc(args, func(a string) bool { return a == "--output" || strings.HasPrefix(a, "--output=") }) &&
		!slices.Contains(args, "--force") && args[0] != "submission" {
		command = append(command, "--force") // the same folder takes the results; submission run replaces those that are not VALID anyway
	}
	return fmt.Sprintf("mlperf %s\n  which %s", report.CommandLine(command), c.effect)
}

// changesFor are the changes for the constraints that a run broke, as far as they are known, the first constraint first.
func changesFor(r *report.Results) (list []change) {
	if r.Test != nil && r.Test.ServerArrivals.Replay != "" { // the file says how many queries come when
		return nil
	}
	for _, c := range r.Constraints {
		stopping := c.ID == loadgen.ConstraintEarlyStopping || c.ID == loadgen.ConstraintFirstTokenStopping
		if c.Met || c.ReferenceOnly || stopping && len(list) > 0 { // beyond the bound a longer run would need more queries again
			continue
		}
		if new := changeFor(c, r); new != nil && !slices.ContainsFunc(list, func(o change) bool { return o.field == new.field }) {
			list = append(list, *new)
		}
	}
	return list
}

// changeFor is the change for a constraint that a run broke; nil: none is known.
func changeFor(c report.Constraint, r *report.Results) *change {
	server := r.Scenario == loadgen.Server.String()
	peak := &change{"mode", run.FindPeak, "searches the highest load that keeps the bound"}
	p := r.Performance
	switch c.ID {
	case loadgen.ConstraintDuration, loadgen.ConstraintQueries, loadgen.ConstraintSamples, loadgen.ConstraintEarlyStopping,
		loadgen.ConstraintFirstTokenStopping:
		if t := r.Test; t != nil && p != nil && t.MaxQueryCount > 0 && p.Queries >= t.MaxQueryCount {
			return &change{"max_query_count", "0", "is not ended by a number of queries"}
		}
	}
	switch c.ID {
	case loadgen.ConstraintLatency:
		if server && p != nil && p.LatencyNS != nil && float64(p.LatencyNS.Min) > c.Required.Value {
			return &change{"target_latency", autoLatency, "chooses a bound that can be met, of the open division"}
		}
		return peak
	case loadgen.ConstraintFirstToken, loadgen.ConstraintPerToken, loadgen.ConstraintIntervals:
		return peak
	case loadgen.ConstraintDuration:
		if r.Scenario == loadgen.Offline.String() && p != nil && p.SamplesPerSecond > 0 { // a fifth more, for a faster run
			return &change{"target_qps", units.Exact(units.Rounded(1.2*p.SamplesPerSecond, units.Digits)), "has enough samples for the time"}
		}
	case loadgen.ConstraintGenerator:
		if server {
			return &change{"reserve_core", "", "leaves a core to the load generator, which was late"}
		}
	case loadgen.ConstraintSamples, loadgen.ConstraintQueries, loadgen.ConstraintEarlyStopping, loadgen.ConstraintFirstTokenStopping:
		if c.ID == loadgen.ConstraintSamples && !server { // only in Server a query is a sample
			return nil
		}
		if c.Words == nil && c.Required.Value > 0 { // a tenth more than the constraint asks for
			return &change{"min_query_count", units.Exact(c.Required.Value + math.Ceil(c.Required.Value/10)), "runs until it has enough queries"}
		}
	}
	return nil
}

// withFlag sets a flag in arguments, in place of the value that they have for it.
func withFlag(args []string, name, value string) []string {
	list := append(withoutFlag(args, name, value != ""), "--"+name)
	if value != "" {
		list = append(list, value)
	}
	return list
}

// withoutFlag removes a flag from arguments.
func withoutFlag(args []string, name string, hasValue bool) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		word, _, inWord := strings.Cut(args[i], "=")
		if !strings.HasPrefix(word, "--") || strings.ReplaceAll(word[2:], "_", "-") != name {
			list = append(list, args[i])
		} else if hasValue && !inWord {
			i++
		}
	}
	return list
}

// withoutSetting removes a key that --set gives.
func withoutSetting(args []string, key string) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		switch {
		case strings.HasPrefix(args[i], "--set="+key+"="):
		case args[i] == "--set" && i+1 < len(args) && strings.HasPrefix(args[i+1], key+"="):
			i++
		default:
			list = append(list, args[i])
		}
	}
	return list
}
