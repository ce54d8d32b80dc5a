package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the official checker writes of the unchanged tree of v6.1, and of one with power.
// Locations are those that the tree had.
const officialRows = `"ExampleOrg","available","closed","edge","Example CPU board","board1","resnet50","resnet","Offline","41.2485","acc: 76.012","1","Example CPU","1","2","N/A","0","0","TREE/closed/ExampleOrg/results/board1/resnet50/Offline/performance/run_1","Example runtime 1.0","Linux","","closed","0","v6.1","0","False","Samples/s","fp32","None",""
"ExampleOrg","available","open","edge","Example CPU board","board1","resnet50","resnet","Offline","41.2485","acc: 76.012","1","Example CPU","1","2","N/A","0","0","TREE/open/ExampleOrg/results/board1/resnet50/Offline/performance/run_1","Example runtime 1.0","Linux","","open","0","v6.1","0","True","Samples/s","fp32","None",""
"ExampleOrg","available","open","edge","Example CPU board","board1","resnet50","resnet","Offline","100.0","acc: 76.012","1","Example CPU","1","2","N/A","0","0","TREE/open/ExampleOrg/results/board1/resnet50/Offline/performance/run_1","Example runtime 1.0","Linux","","open","0","v6.1","0","True","Watts","fp32","None",""`

func TestRowsOfTheSummaryAreTheOfficialOnes(t *testing.T) {
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
