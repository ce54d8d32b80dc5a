package checker

import (
	"cmp"
	"slices"
)

// A Level says what a finding means for the verdict.
type Level string

// The levels.
const (
	Fails Level = "error" // the result, or the tree, does not pass
	Notes Level = "note"  // worth knowing; the verdict does not depend on it
)

// A Finding is one thing that is not as it should be.
type Finding struct {
	Rule    string `json:"rule"`             // identifies a rule of Rules
	Level   Level  `json:"level"`            // what it means for the verdict
	Path    string `json:"path"`             // the file or folder, from the root of the tree
	Line    int    `json:"line,omitempty"`   // from 1; 0: not one line
	Message string `json:"message"`          // what is wrong
	Found   string `json:"found,omitempty"`  // what is there
	Wanted  string `json:"wanted,omitempty"` // what would be right
	Fix     string `json:"fix"`              // what to do
}

// A Result is what was judged of one scenario of a benchmark on a system.
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
	Findings []Finding `json:"findings"` // that are not of one result
}

// Counts returns how many results pass and how many do not.
func (r *Report) Counts() (pass, fail int) {
	for _, one := range r.Results {
		if one.Passes {
			pass++
		} else {
			fail++
		}
	}
	return pass, fail
}

// Failing returns how many findings make the tree fail.
func (r *Report) Failing() int {
	n := failing(r.Findings)
	for _, one := range r.Results {
		n += failing(one.Findings)
	}
	return n
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

// notebook gathers findings.
type notebook struct{ findings []Finding }

// problem is what a check says of a file; the rule adds the rest.
type problem struct {
	path          string
	line          int
	message       string
	found, wanted string
}

func (n *notebook) fail(rule string, p problem) { n.add(rule, Fails, p) }

func (n *notebook) note(rule string, p problem) { n.add(rule, Notes, p) }

func (n *notebook) add(rule string, level Level, p problem) {
	n.findings = append(n.findings, Finding{
		Rule: rule, Level: level, Path: p.path, Line: p.line,
		Message: p.message, Found: shorten(p.found), Wanted: p.wanted, Fix: rules[rule].Fix,
	})
}

// sorted returns findings in the order of path, line and rule, each once.
func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return slices.Compact(findings)
}

// shorten keeps what is quoted of a file short.
func shorten(s string) string {
	runes := []rune(s)
	if len(runes) <= 120 {
		return s
	}
	return string(runes[:119]) + "…"
}
