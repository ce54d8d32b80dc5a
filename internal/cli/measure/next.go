package measure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// next is the command that comes next after a run that is not VALID; empty after others. args
// are those of the run.
func next(args []string, r *report.Results, dir string) string {
	if r.Result != report.Invalid {
		return ""
	}
	what, command := "shows why", []string{"explain", dir}
	if change := run.ChangeFor(r); change != nil {
		args = withoutSetting(args, change.Field)
		what, command = effects[change.Field], again(withFlag(args, strings.ReplaceAll(change.Field, "_", "-"), change.Value))
	}
	return fmt.Sprintf("Next: mlperf %s\n  which %s\n", report.CommandLine(command), what)
}

// effects are the changes in words, by field.
var effects = map[string]string{
	"mode":            "searches the highest load that keeps the bound",
	"target_qps":      "has enough samples for the time",
	"min_query_count": "runs until there are enough queries",
	"reserve_core":    "leaves a core to the load generator, which was late",
}

// withFlag sets a flag in arguments, in place of what they say of it.
func withFlag(args []string, name, value string) []string {
	list := withoutFlag(args, name, value != "")
	list = append(list, "--"+name)
	if value != "" {
		list = append(list, value)
	}
	return list
}

// withoutFlag removes a flag, and the word after it if it has a value.
func withoutFlag(args []string, name string, hasValue bool) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		word, _, inWord := strings.Cut(args[i], "=")
		if strings.HasPrefix(word, "--") && strings.ReplaceAll(word[2:], "_", "-") == name {
			if hasValue && !inWord {
				i++
			}
			continue
		}
		list = append(list, args[i])
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

// again lets the same folder take the results of another run.
func again(args []string) []string {
	i := slices.IndexFunc(args, func(a string) bool { return a == "--output" || strings.HasPrefix(a, "--output=") })
	if i < 0 || slices.Contains(args, "--force") {
		return args
	}
	return append(slices.Clip(args), "--force")
}
