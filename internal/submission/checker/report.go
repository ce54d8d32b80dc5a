package checker

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Level says what a finding means for the verdict.
type Level string

// The levels.
const (
	Fails Level = "error" // the result, or the tree, does not pass
	Notes Level = "note"  // does not change the verdict
)

// A Finding is one thing that is not as it should be.
type Finding struct {
	Rule    string `json:"rule"`             // identifies the rule
	Level   Level  `json:"level"`            // what it means for the verdict
	Path    string `json:"path"`             // the file or folder, from the root of the tree
	Line    int    `json:"line,omitempty"`   // from 1; 0: not one line
	Message string `json:"message"`          // what is wrong
	Found   string `json:"found,omitempty"`  // what is there
	Wanted  string `json:"wanted,omitempty"` // what would be right
	Fix     string `json:"fix"`              // what to do
}

// A Result is the judgement of one scenario of a benchmark on a system.
type Result struct {
	Path      string    `json:"path"` // of its folder, from the root of the tree
	Division  string    `json:"division"`
	Submitter string    `json:"submitter"`
	System    string    `json:"system"`
	Benchmark string    `json:"benchmark"` // the folder
	Model     string    `json:"model"`     // the official name
	Scenario  string    `json:"scenario"`  // the folder
	Passes    bool      `json:"passes"`
	Findings  []Finding `json:"findings"`

	// Row is what the summary has of a result that passes, else nil.
	Row *Row `json:"row,omitempty"`
}

// A Row is what the official summary has of a result.
type Row struct {
	Availability string `json:"availability"`
	SystemType   string `json:"system_type"`
	SystemName   string `json:"system_name"`
	Result       string `json:"result"` // the number as Python prints it
	Units        string `json:"units"`
	Accuracy     string `json:"accuracy"`
	Nodes        string `json:"number_of_nodes"`
	Processor    string `json:"host_processor_model_name"`
	Processors   string `json:"host_processors_per_node"`
	Cores        string `json:"host_processor_core_count"`
	Accelerator  string `json:"accelerator_model_name"`
	Accelerators string `json:"accelerators_per_node"`
	Total        string `json:"total_accelerators"`
	Location     string `json:"location"`
	Framework    string `json:"framework"`
	System       string `json:"operating_system"`
	Notes        string `json:"notes"`
	Inferred     bool   `json:"inferred"`
	HasPower     bool   `json:"has_power"`
	Weights      string `json:"weight_data_types"`
	DesignWatts  string `json:"design_power_watts"`
	PowerResult  string `json:"power_result,omitempty"`
	PowerUnits   string `json:"power_units,omitempty"`
}

// A Report is the judgement of a tree.
type Report struct {
	Tree     string    `json:"tree"`
	Rules    string    `json:"rules"`
	Profile  Profile   `json:"profile"`
	Passes   bool      `json:"passes"`
	Results  []Result  `json:"results"`  // in the order in which the official checker takes them
	Findings []Finding `json:"findings"` // about the tree, not about one result
}

// Counts returns how many results pass and how many do not.
func (r *Report) Counts() (pass, fail int) {
	for _, one := range r.Results {
		if one.Passes {
			pass++
		}
	}
	return pass, len(r.Results) - pass
}

// Failing returns how many findings make the tree fail.
func (r *Report) Failing() int {
	n := failing(r.Findings)
	for _, one := range r.Results {
		n += failing(one.Findings)
	}
	return n
}

// Columns are the columns of the official summary.
var Columns = []string{
	"Organization", "Availability", "Division", "SystemType", "SystemName", "Platform", "Model", "MlperfModel", "Scenario",
	"Result", "Accuracy", "number_of_nodes", "host_processor_model_name", "host_processors_per_node",
	"host_processor_core_count", "accelerator_model_name", "accelerators_per_node", "total_accelerators", "Location",
	"framework", "operating_system", "notes", "compliance", "errors", "version", "inferred", "has_power", "Units",
	"weight_data_types", "design_power_watts", "PrivateID",
}

// Summary returns the rows of the official summary: one for each result that passes, and a second one for its power.
func (r *Report) Summary() [][]string {
	rows := [][]string{}
	for _, one := range r.Results {
		w := one.Row
		if !one.Passes || w == nil {
			continue
		}
		inferred, power := "0", "False"
		if w.Inferred {
			inferred = "1"
		}
		if w.HasPower {
			power = "True"
		}
		add := func(result, units string) {
			rows = append(rows, []string{
				one.Submitter, w.Availability, one.Division, w.SystemType, w.SystemName, one.System, one.Benchmark, one.Model, one.Scenario,
				result, w.Accuracy, w.Nodes, w.Processor, w.Processors,
				w.Cores, w.Accelerator, w.Accelerators, w.Total, w.Location,
				w.Framework, w.System, w.Notes, one.Division, "0", r.Rules, inferred, power, units,
				w.Weights, w.DesignWatts, "",
			})
		}
		add(w.Result, w.Units)
		if w.HasPower {
			add(w.PowerResult, w.PowerUnits)
		}
	}
	return rows
}

func failing(findings []Finding) int {
	n := 0
	for _, f := range findings {
		if f.Level == Fails {
			n++
		}
	}
	return n
}

// findings collects what checks find.
type findings struct{ found []Finding }

// A problem is what a check says of a file; its rule adds the rest.
type problem struct {
	path          string
	line          int
	message       string
	found, wanted string
}

func (f *findings) fail(rule string, p problem) { f.add(rule, Fails, p) }

func (f *findings) note(rule string, p problem) { f.add(rule, Notes, p) }

func (f *findings) add(rule string, level Level, p problem) {
	f.found = append(f.found, Finding{
		Rule: rule, Level: level, Path: p.path, Line: p.line,
		Message: p.message, Found: shorten(p.found), Wanted: p.wanted, Fix: rules[rule].fix,
	})
}

// unreadable is a finding about a file that cannot be read.
func (f *findings) unreadable(rule, path string, err error, wanted string) {
	f.fail(rule, problem{path: path, line: lineOf(err), message: "cannot be read: " + cause(err).Error(), wanted: wanted})
}

// sorted returns findings in the order of path, line and rule, each once.
func sorted(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule))
	})
	return slices.Compact(list)
}

// shorten cuts what a finding quotes of a file.
func shorten(s string) string { return userinput.Cut(s, 119) }
