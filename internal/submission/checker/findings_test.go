package checker

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allOf are the findings of a report, in its order.
func allOf(r *Report) [][]Finding {
	lists := [][]Finding{r.Findings}
	for _, one := range r.Results {
		lists = append(lists, one.Findings)
	}
	return lists
}

// wellFormed checks what holds for every report: that findings say what, where and what to do, that
// lines are those of the file, and that verdicts follow from them.
func wellFormed(t *testing.T, root string, r *Report) {
	t.Helper()
	pass, fail := r.Counts()
	for _, one := range r.Results {
		if one.Passes != (failing(one.Findings) == 0) || (one.Row != nil) != one.Passes {
			t.Errorf("%s passes: %v, a row: %v, with %d findings that fail", one.Path, one.Passes, one.Row != nil, failing(one.Findings))
		}
	}
	if r.Passes != (fail == 0 && failing(r.Findings) == 0) || pass+fail != len(r.Results) {
		t.Errorf("the tree passes: %v, %d results do and %d do not", r.Passes, pass, fail)
	}
	for _, list := range allOf(r) {
		if !slices.IsSortedFunc(list, func(a, b Finding) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule))
		}) {
			t.Errorf("findings are not in their order: %+v", list)
		}
		for i, f := range list {
			if i > 0 && f == list[i-1] {
				t.Errorf("twice: %+v", f)
			}
			if why := f.wrong(root, r.Profile); why != "" {
				t.Errorf("%s: %+v", why, f)
			}
		}
	}
}

// ownName is the key of a log, at the start of a message.
var ownName = regexp.MustCompile(`^(?:effective|result|early_stopping|requested|num)_[a-zA-Z0-9_.]+`)

// wrong says what a finding should not be; empty: nothing.
func (f Finding) wrong(root string, p Profile) string {
	rule, known := rules[f.Rule]
	switch {
	case !known || f.Fix != rule.fix:
		return "not as the table of rules has it"
	case f.Level != Fails && f.Level != Notes, rule.strict && p != Strict:
		return "not of this profile"
	case f.Message == "" || strings.ContainsAny(f.Message, "\n"), strings.HasSuffix(f.Message, ": "), strings.Contains(f.Message, root):
		return "the message says nothing, too much, or where the tree is"
	case f.Path == "" || !filepath.IsLocal(f.Path):
		return "not a path of the tree"
	case len([]rune(f.Found)) > 120:
		return "it quotes too much"
	}
	return f.misplaced(root)
}

// misplaced says what is wrong with the line of a finding; empty: nothing, or it has none.
func (f Finding) misplaced(root string) string {
	if f.Line == 0 {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, f.Path))
	if err != nil || f.Line < 0 {
		return "a line of what is no file"
	}
	lines := strings.Split(string(text), "\n")
	if f.Line > len(lines) {
		return "the file has no such line"
	}
	if key := ownName.FindString(f.Message); key != "" && !strings.Contains(lines[f.Line-1], `"`+key+`"`) {
		return "the line is not that of " + key
	}
	return ""
}

// The rest of the findings are those that strict adds.
func TestStrictFindsWhatReferenceFinds(t *testing.T) {
	t.Parallel()
	base := extract(t, "v6.1")
	for i, c := range slices.Concat(tableChanges, logChanges, treeChanges, auditChanges) {
		if i%6 != 0 || !strings.HasPrefix(c.name, "v6.1") { // each takes a while
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := &edit{t, t.TempDir()}
			e.borrow(base)
			c.make(e)
			strict := check(t, e.root, Strict)
			wellFormed(t, e.root, strict)
			found := slices.Concat(allOf(strict)...)
			for _, f := range slices.Concat(allOf(check(t, e.root, Reference))...) {
				if !slices.ContainsFunc(found, func(g Finding) bool {
					return g.Rule == f.Rule && g.Path == f.Path && g.Line == f.Line && g.Message == f.Message
				}) {
					t.Errorf("strict does not find %+v", f)
				}
			}
		})
	}
}
