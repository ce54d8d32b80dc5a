package checker

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var keepTrees = flag.String("trees", "", "write the changed trees into this folder, for testdata/make_verdicts.py")

// A verdict is what the official checker makes of a tree.
type verdict struct {
	Passes    bool              `json:"passes"`    // its exit status was 0
	Exception string            `json:"exception"` // that ended it, or ""
	Results   map[string]string `json:"results"`   // pass or fail; none where it ended with an exception
	Rows      []string          `json:"rows"`      // of its summary, those of columns that a change may change
}

// noResults are trees in which the official checker finds nothing to judge, and which
// it accepts.
var noResults = []string{"v6.1 division in capitals"}

// TestOfficialVerdicts compares our verdict of each changed tree, and
// of its results, with the verdict of the official checker.
func TestOfficialVerdicts(t *testing.T) {
	t.Parallel()
	v6, v5 := extract(t, "v6.1"), extract(t, "v5.1")
	one := t.TempDir()
	e := &edit{t, one}
	e.link(v6)
	alone(e, "Offline")
	for _, group := range []struct {
		name, base string
		changes    []change
	}{
		{"table", v6, tableChanges}, {"logs", v6, logChanges}, {"tree", v6, treeChanges}, {"audits", v6, auditChanges}, {"v5.1", v5, olderChanges},
		{"scenarios", v6, scenarioChanges}, {"closed", v6, closedChanges}, {"power", one, powerChanges},
		{"daemon", one, daemonChanges}, {"nameplate", one, plateChanges}, {"endpoints", one, endpointsChanges},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			compareAll(t, group.base, group.changes)
		})
	}
}

func compareAll(t *testing.T, base string, changes []change) {
	t.Helper()
	var verdicts map[string]verdict
	data, err := os.ReadFile("testdata/verdicts.json")
	if err == nil {
		err = json.Unmarshal(data, &verdicts)
	}
	if err != nil && *keepTrees == "" {
		t.Fatal(err)
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if *keepTrees != "" {
				e := &edit{t, filepath.Join(*keepTrees, c.name)}
				e.link(base)
				c.make(e)
				return
			}
			e := &edit{t, t.TempDir()}
			e.borrow(base)
			c.make(e)
			want, known := verdicts[c.name]
			if !known {
				t.Fatal("testdata/verdicts.json has no such change: make_verdicts.py adds it")
			}
			compare(t, c.name, e.root, want)
		})
	}
}

func compare(t *testing.T, name, root string, want verdict) {
	t.Helper()
	version, _, _ := strings.Cut(name, " ")
	if strings.HasSuffix(name, " as v6.1") {
		version = "v6.1"
	}
	report, err := Check(context.Background(), Options{Tree: root, Rules: version})
	if slices.Contains(noResults, name) {
		if !errors.Is(err, errNoResults) || !want.Passes || len(want.Results) > 0 {
			t.Errorf("error %v, want %v where the official checker says that all is well", err, errNoResults)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, root, report)
	if report.Passes != want.Passes {
		t.Errorf("passes: %v, the official checker says %v (%s); %s", report.Passes, want.Passes, want.Exception, findingsOf(report))
	}
	compareResults(t, report, want)
	if !report.Passes && report.Failing() == 0 {
		t.Error("the tree does not pass and no finding says why")
	}
}

// compareResults compares the verdict of each result, and the summary.
func compareResults(t *testing.T, report *Report, want verdict) {
	t.Helper()
	for _, r := range report.Results {
		official, judged := want.Results[r.Path]
		// A result whose metric is 0 is in neither of its lists.
		if judged && r.Passes != (official == "pass") || !judged && want.Exception == "" && r.Passes {
			t.Errorf("%s passes: %v, the official checker says %q; %v", r.Path, r.Passes, official, r.Findings)
		}
	}
	if rows := rowsOf(report); report.Passes && want.Passes && !slices.Equal(rows, want.Rows) {
		t.Errorf("the summary is\n%s\nthe official checker writes\n%s", strings.Join(rows, "\n"), strings.Join(want.Rows, "\n"))
	}
	if len(report.Results) < len(want.Results) {
		t.Errorf("%d results, the official checker has %d", len(report.Results), len(want.Results))
	}
}

// rowsOf returns the summary as make_verdicts.py keeps it.
func rowsOf(r *Report) []string {
	var rows []string
	for _, row := range r.Summary() {
		var kept []string
		for _, column := range []string{"Scenario", "Result", "Units", "Accuracy", "total_accelerators", "notes", "inferred", "has_power", "design_power_watts"} {
			kept = append(kept, row[slices.Index(Columns, column)])
		}
		rows = append(rows, strings.Join(kept, " | "))
	}
	return rows
}

func findingsOf(r *Report) string {
	all := r.Findings
	for _, one := range r.Results {
		all = append(all, one.Findings...)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// What the official checker writes of the unchanged tree of v6.1, and of one with power.
// Locations are those that the tree had.
const officialRows = `"ExampleOrg","available","closed","edge","Example CPU board","board1","resnet50","resnet","Offline","41.2485","acc: 76.012","1","Example CPU","1","2","N/A","0","0","TREE/closed/ExampleOrg/results/board1/resnet50/Offline/performance/run_1","Example runtime 1.0","Linux","","closed","0","v6.1","0","False","Samples/s","fp32","None",""
"ExampleOrg","available","open","edge","Example CPU board","board1","resnet50","resnet","Offline","41.2485","acc: 76.012","1","Example CPU","1","2","N/A","0","0","TREE/open/ExampleOrg/results/board1/resnet50/Offline/performance/run_1","Example runtime 1.0","Linux","","open","0","v6.1","0","True","Samples/s","fp32","None",""
"ExampleOrg","available","open","edge","Example CPU board","board1","resnet50","resnet","Offline","100.0","acc: 76.012","1","Example CPU","1","2","N/A","0","0","TREE/open/ExampleOrg/results/board1/resnet50/Offline/performance/run_1","Example runtime 1.0","Linux","","open","0","v6.1","0","True","Watts","fp32","None",""`

func TestOfficialSummary(t *testing.T) {
	t.Parallel()
	plain := extract(t, "v6.1")
	tree := &edit{t, t.TempDir()}
	tree.borrow(plain)
	offline(func(*powered) {})(tree)
	var got []string
	for _, root := range []string{plain, tree.root} {
		for _, row := range check(t, root, Reference).Summary() {
			line := strings.ReplaceAll(`"`+strings.Join(row, `","`)+`"`, root, "TREE")
			if strings.Contains(line, `"Offline"`) {
				got = append(got, line)
			}
		}
	}
	if diff := cmp.Diff(strings.Split(officialRows, "\n"), got); diff != "" {
		t.Errorf("rows (-official +ours):\n%s", diff)
	}
	if n := len(strings.Split(strings.Split(officialRows, "\n")[0], ",")); n != len(Columns) || slices.Contains(Columns, "") {
		t.Errorf("%d columns, want %d with names", len(Columns), n)
	}
}
