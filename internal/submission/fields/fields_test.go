package fields

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// official are the lists of the official checker, see testdata/make_fields.py.
func official(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/fields.json")
	if err != nil {
		t.Fatal(err)
	}
	var lists map[string][]string
	if err := json.Unmarshal(data, &lists); err != nil {
		t.Fatal(err)
	}
	return lists
}

func sorted(names []string) []string { slices.Sort(names); return names }

func TestFieldsAreThoseThatTheOfficialCheckerAsksFor(t *testing.T) {
	want := official(t)
	for _, c := range []struct {
		list string
		have []string
	}{
		{"SYSTEM_DESC_REQUIRED_FIELDS", Names(System(), false)},
		{"SYSTEM_DESC_MEANINGFUL_RESPONSE_REQUIRED_FIELDS", Names(System(), true)},
		{"SYSTEM_DESC_REQUIRED_FIELDS_NETWORK_MODE", Names(Network(), false)},
		{"SYSTEM_DESC_REQUIRED_FIELDS_POWER", Names(Power(), false)},
		{"SYSTEM_IMP_REQUIRED_FILES", Names(Measurements(), false)},
		{"SYSTEM_IMP_REQUIRED_FILES", Names(Measurements(), true)},
	} {
		if diff := cmp.Diff(sorted(want[c.list]), sorted(c.have)); diff != "" {
			t.Errorf("%s (-official +ours):\n%s", c.list, diff)
		}
	}
}

func TestWhatMustSaySomethingSaysWhatItIs(t *testing.T) {
	for _, list := range [][]Field{System(), Network(), Power(), Measurements()} {
		for _, f := range list {
			if f.Filled && f.Hint == "" || HasPlaceholder(f.Hint) {
				t.Errorf("%s has the hint %q, want what belongs into it", f.Name, f.Hint)
			}
		}
	}
}

func TestAListMayBeChangedByWhoAskedForIt(t *testing.T) {
	System()[0].Name = "changed"
	if System()[0].Name != "division" {
		t.Error("the next one has the change")
	}
	if names := Names(nil, false); names == nil || len(names) != 0 {
		t.Errorf("names of nothing are %v, want a list of none", names)
	}
}

func TestThePlaceholderOfALineIsFound(t *testing.T) {
	for _, c := range []struct {
		text  string
		line  int
		found string
	}{
		{"", 0, ""},
		{"nothing\nto do\n", 0, ""},
		{Placeholder("cooling"), 1, "FILL IN: cooling"},
		{"# README\r\n\r\n  - " + Placeholder("how") + "\r\n", 3, "- FILL IN: how"},
		{"a\nFILL IN\nFILL IN: b", 2, "FILL IN"},
		{"REFILL IN TIME", 0, ""},
		{"FILL INN", 0, ""},
		{"fill in: x", 0, ""},
		{"(FILL IN)", 1, "(FILL IN)"},
	} {
		if line, found := FirstPlaceholder(c.text); line != c.line || found != c.found || HasPlaceholder(c.text) != (c.line > 0) {
			t.Errorf("FirstPlaceholder(%q) = %d, %q, want %d, %q", c.text, line, found, c.line, c.found)
		}
	}
	if !strings.Contains(Placeholder("x"), "x") {
		t.Error("a placeholder has no hint")
	}
}
