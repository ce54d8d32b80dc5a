package checker

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// row returns what the official summary has of a result, and finds what cannot be
// written into it.
func (g *judgement) row() *Row {
	folder := g.scenarioFolder()
	scenario := rounds.Scenario(folder)
	if folder != scenario && folder != strings.ToLower(scenario) {
		g.fail("scenario-unknown", problem{path: g.folder, message: "the folder's name is spelled in a way that the official summary does not know", found: folder, wanted: scenario})
		return nil
	}
	field := func(name string) string {
		v, _ := g.description.dict.Get(name)
		return str(v)
	}
	weights, _ := g.measurements.Get("weight_data_types")
	measured, _ := g.performance.text("effective_scenario")
	r := &Row{
		Availability: field("status"), SystemType: field("system_type"), SystemName: field("system_name"),
		Result: str(g.metric), Units: g.rule.UnitOf(scenario), Accuracy: g.accuracyText(),
		Nodes: field("number_of_nodes"), Processor: field("host_processor_model_name"),
		Processors: field("host_processors_per_node"), Cores: field("host_processor_core_count"),
		Accelerator: field("accelerator_model_name"), Accelerators: field("accelerators_per_node"),
		Total:     g.totalAccelerators(),
		Location:  g.location(),
		Framework: field("framework"), System: field("operating_system"), Notes: g.notes(),
		Inferred: folder != measured, HasPower: g.hasPower(), Weights: str(weights),
	}
	if g.round.Version >= "v6.1" {
		r.DesignWatts = "None"
	}
	if r.HasPower {
		r.PowerResult, r.PowerUnits = str(g.power), powerUnit(scenario)
		if g.round.Version >= "v6.1" {
			r.DesignWatts = g.watts
		}
	}
	return r
}

// location is the folder of the run, as reached from where the tree is.
func (g *judgement) location() string {
	root := g.tree.Root
	if !strings.HasSuffix(root, "/") {
		root += "/"
	}
	return root + g.folder + "/performance/run_1"
}

func powerUnit(scenario string) string {
	if scenario == "SingleStream" || scenario == "MultiStream" {
		return "millijoules"
	}
	return "Watts"
}

// accuracyText is what the official summary has of the accuracy: as JSON, without most
// of what makes it JSON.
func (g *judgement) accuracyText() string {
	var all python.Value = &g.accuracies
	if g.endpoints {
		all = g.score
	}
	text := strings.NewReplacer(",", " ", `"`, "", "{", "", "}", "").Replace(python.EncodeJSON(all))
	return strings.TrimFunc(text, python.IsSpace)
}

func (g *judgement) totalAccelerators() string {
	total := big.NewInt(1)
	for _, name := range []string{"number_of_nodes", "accelerators_per_node"} {
		v, _ := g.description.dict.Get(name)
		n, err := python.Int(v)
		if err != nil {
			return "" // which the description's own check has found
		}
		total.Mul(total, n)
	}
	return total.String()
}

func (g *judgement) notes() string {
	hw, _ := g.description.dict.Get("hw_notes")
	sw, _ := g.description.dict.Get("sw_notes")
	switch {
	case !python.Truth(sw):
		return str(hw)
	case !python.Truth(hw):
		return str(sw)
	}
	return str(hw) + ". " + str(sw)
}

// Columns are the columns of the official summary.
var Columns = []string{
	"Organization", "Availability", "Division", "SystemType", "SystemName", "Platform", "Model", "MlperfModel", "Scenario",
	"Result", "Accuracy", "number_of_nodes", "host_processor_model_name", "host_processors_per_node",
	"host_processor_core_count", "accelerator_model_name", "accelerators_per_node", "total_accelerators", "Location",
	"framework", "operating_system", "notes", "compliance", "errors", "version", "inferred", "has_power", "Units",
	"weight_data_types", "design_power_watts", "PrivateID",
}

// Summary returns the rows of the official summary: one for each result that passes,
// and one more for its power.
func (r *Report) Summary() [][]string {
	rows := [][]string{}
	for _, one := range r.Results {
		if !one.Passes || one.Row == nil {
			continue
		}
		w := one.Row
		rows = append(rows, one.fields(r.Rules, w.Result, w.Units))
		if w.HasPower {
			rows = append(rows, one.fields(r.Rules, w.PowerResult, w.PowerUnits))
		}
	}
	return rows
}

func (one *Result) fields(version, result, units string) []string {
	w := one.Row
	inferred, power := "0", "False"
	if w.Inferred {
		inferred = "1"
	}
	if w.HasPower {
		power = "True"
	}
	return []string{
		one.Submitter, w.Availability, one.Division, w.SystemType, w.SystemName, one.System, one.Benchmark, one.Model, one.Scenario,
		result, w.Accuracy, w.Nodes, w.Processor, w.Processors,
		w.Cores, w.Accelerator, w.Accelerators, w.Total, w.Location,
		w.Framework, w.System, w.Notes, one.Division, strconv.Itoa(0), version, inferred, power, units,
		w.Weights, w.DesignWatts, "",
	}
}
