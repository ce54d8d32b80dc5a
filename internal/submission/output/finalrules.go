package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/rounds"
)

// number gives systems their IDs, in the order of division, availability, submitter and name. In the
// open division each model of a system has its own.
func number(r *checker.Report) map[string]string {
	var order [][]string
	for _, one := range r.Results {
		if one.Row != nil && one.Passes {
			order = append(order, []string{one.Division, availability(one), one.Submitter, unique(one)})
		}
	}
	slices.SortFunc(order, slices.Compare)
	ids := map[string]string{}
	for _, at := range order {
		if name := at[len(at)-1]; ids[name] == "" {
			ids[name] = fmt.Sprintf("%s-%04d", strings.TrimPrefix(r.Rules, "v"), len(ids)+1)
		}
	}
	return ids
}

// unique names what has an ID.
func unique(one checker.Result) string {
	parts := []string{one.Row.SystemType, one.Division, one.Submitter, one.System}
	if one.Division == "open" {
		parts = append(parts, one.Benchmark)
	}
	return strings.Join(parts, "/")
}

func availability(one checker.Result) string {
	if one.Row.Availability == "on-premise" {
		return "available"
	}
	return one.Row.Availability
}

// inFull are benchmarks that a suite of a round shows in all scenarios, although it asks for none
// (generate_final_report.py, filter_scenarios, which does not list them).
var inFull = map[string][]string{
	"v6.1 datacenter": {"qwen3.6-27b"}, "v6.1 edge": {"qwen3.6-27b"},
	"v6.0 datacenter": {"llama3.1-8b-edge", "retinanet"},
	"v6.0 edge":       {"deepseek-r1", "dlrm-v3", "gpt-oss-120b", "llama3.1-8b", "mixtral-8x7b", "qwen3-vl-235b-a22b", "retinanet", "wan-2.2-t2v-a14b"},
	"v5.1 datacenter": {"llama3.1-8b-edge"}, "v5.1 edge": {"deepseek-r1", "llama3.1-8b", "mixtral-8x7b"},
	"v5.0 edge": {"mixtral-8x7b"},
}

// besides are scenarios that a suite of a round shows and does not ask for.
var besides = map[string][]string{
	"v6.0 datacenter qwen3-vl-235b-a22b": {"Interactive"},
	"v5.1 datacenter resnet":             {"Server", "Offline"},
}

// shown reports whether a suite has a scenario of a benchmark.
func shown(round *rounds.Round, model, suite, scenario string) bool {
	m, where := round.Model(model), round.Version+" "+suite
	if len(m.Required) == 0 && len(m.Optional) == 0 || slices.Contains(inFull[where], model) {
		return true
	}
	return slices.Contains(m.Required[suite], scenario) || slices.Contains(m.Optional[suite], scenario) || slices.Contains(besides[where+" "+model], scenario)
}
