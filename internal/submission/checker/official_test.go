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

	"github.com/mlperf-go/mlperf/internal/longtest"
)

var keepTrees = flag.String("trees", "", "write the changed trees into this folder, for testdata/make_verdicts.py")

// A verdict is what the official checker said of a tree.
type verdict struct {
	Passes    bool              `json:"passes"`    // its exit status was 0
	Exception string            `json:"exception"` // that ended it, or ""
	Results   map[string]string `json:"results"`   // pass or fail; none where it ended with an exception
}

// noResults are trees in which the official checker finds nothing to judge, and which
// it accepts.
var noResults = []string{"v6.1 division in capitals"}

// TestTheTableOfSingleChanges compares what we say of each row of the table, and of its
// results, with what the official checker said.
func TestTheTableOfSingleChanges(t *testing.T) {
	t.Parallel()
	compareAll(t, tableChanges)
}

// TestReferenceAgreesWithTheOfficialChecker does the same for all other changes.
func TestReferenceAgreesWithTheOfficialChecker(t *testing.T) {
	t.Parallel()
	longtest.Skip(t, "hundreds of trees")
	compareAll(t, slices.Concat(logChanges, treeChanges, auditChanges))
}

func compareAll(t *testing.T, changes []change) {
	t.Helper()
	var verdicts map[string]verdict
	data, err := os.ReadFile("testdata/verdicts.json")
	if err == nil {
		err = json.Unmarshal(data, &verdicts)
	}
	if err != nil && *keepTrees == "" {
		t.Fatal(err)
	}
	base := map[string]string{"v6": extract(t, "v6.1"), "v5": extract(t, "v5.1")}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if *keepTrees != "" {
				root = filepath.Join(*keepTrees, c.name)
			}
			e := &edit{t, root}
			e.link(base[c.name[:2]])
			c.make(e)
			if *keepTrees != "" {
				return
			}
			want, known := verdicts[c.name]
			if !known {
				t.Fatal("testdata/verdicts.json has no such change: make_verdicts.py adds it")
			}
			compare(t, c.name, root, want)
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
	if report.Passes != want.Passes {
		t.Errorf("passes: %v, the official checker says %v (%s); %s", report.Passes, want.Passes, want.Exception, findingsOf(report))
	}
	for _, r := range report.Results {
		official, judged := want.Results[r.Path]
		// A result whose metric is 0 is in neither of its lists.
		if judged && r.Passes != (official == "pass") || !judged && want.Exception == "" && r.Passes {
			t.Errorf("%s passes: %v, the official checker says %q; %v", r.Path, r.Passes, official, r.Findings)
		}
	}
	if len(report.Results) < len(want.Results) {
		t.Errorf("%d results, the official checker has %d", len(report.Results), len(want.Results))
	}
	if !report.Passes && report.Failing() == 0 {
		t.Error("the tree does not pass and no finding says why")
	}
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
