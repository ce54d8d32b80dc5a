package checker

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
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
		return "a line, but not of a file"
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
func TestStrictHasTheFindingsOfReference(t *testing.T) {
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

// A fault is what goes wrong in practice, and all that a finding says of it.
type fault struct {
	name    string
	profile Profile
	make    func(e *edit)
	want    Finding // Line -1: any but none
}

const results = home + "/results/board1/resnet50/"

var faults = []fault{
	{"the seed of another round", Reference, func(e *edit) { e.set(perf("S"), "effective_qsl_rng_seed", "1780908523862526354") }, Finding{
		Rule: "perf-seeds", Path: results + "SingleStream/performance/run_1/mlperf_log_detail.txt", Line: -1, Found: "1780908523862526354", Wanted: "2085463073848966840",
		Message: "effective_qsl_rng_seed is not the seed of v6.1, but of v5.1",
	}},
	{"a run that is INVALID", Strict, func(e *edit) { e.set(perf("O"), "result_validity", `"INVALID"`) }, Finding{
		Rule: "perf-validity", Path: results + "Offline/performance/run_1/mlperf_log_detail.txt", Line: -1, Found: "INVALID", Wanted: "VALID", Message: "the run is not VALID",
	}},
	{"an accuracy of 75.600", Reference, func(e *edit) { e.sub("S/accuracy/accuracy.txt", "76.012", "75.600") }, Finding{
		Rule: "acc-target", Path: results + "SingleStream/accuracy/accuracy.txt", Line: 1, Found: "75.600", Wanted: "≥ 75.6954", Message: "acc is below its target",
	}},
	{"a broken hash", Reference, func(e *edit) { e.sub("M/accuracy/accuracy.txt", "hash=", "hash =") }, Finding{
		Rule: "acc-hash", Path: results + "MultiStream/accuracy/accuracy.txt", Wanted: "hash= and 64 hex digits", Message: "no line has the hash of the accuracy log",
	}},
	{"a hash of another log", Strict, func(e *edit) { e.write("S/accuracy/mlperf_log_accuracy.json", "[\n]\n") }, Finding{
		Rule: "acc-digest", Path: results + "SingleStream/accuracy/accuracy.txt", Line: -1, Message: "the hash is not that of mlperf_log_accuracy.json",
	}},
	{"a missing MultiStream", Reference, func(e *edit) { e.remove("R/MultiStream") }, Finding{
		Rule: "scenario-missing", Path: strings.TrimSuffix(results, "/"), Found: "Offline, SingleStream", Wanted: "SingleStream, MultiStream, Offline", Message: "MultiStream is missing",
	}},
	{"a caching system", Reference, func(e *edit) { e.sub("O/TEST04/verify_performance.txt", "TEST PASS", "TEST FAIL") }, Finding{
		Rule: "audit-result", Path: results + "Offline/TEST04/verify_performance.txt", Wanted: "TEST PASS", Message: "the performance of TEST04 did not pass",
	}},
	{"other answers in performance mode", Reference, func(e *edit) { e.sub("S/TEST01/verify_accuracy.txt", "TEST PASS", "TEST FAIL") }, Finding{
		Rule: "audit-accuracy", Path: results + "SingleStream/TEST01/accuracy/baseline_accuracy.txt", Message: "the file is missing",
	}},
	{"a link out of the tree", Strict, func(e *edit) { e.symlink("/etc/hostname", home+"/src/link") }, Finding{
		Rule: "tree-link-outside", Path: home + "/src/link", Found: "/etc/hostname", Wanted: "a file of the tree", Message: "the link leaves the tree",
	}},
	{"an accuracy log of 5 GB", Reference, func(e *edit) { e.grow("S/accuracy/mlperf_log_accuracy.json", 5<<30) }, Finding{
		Rule: "acc-log", Path: results + "SingleStream/accuracy/mlperf_log_accuracy.json", Found: "5368709120 bytes", Wanted: "≤ 10240 bytes", Message: "the accuracy log is not cut",
	}},
	{"a description above 16 MiB", Reference, func(e *edit) { e.grow(home+"/systems/board1.json", 16<<20+1) }, Finding{
		Rule: "system-json", Path: home + "/systems/board1.json", Message: "cannot be read: is longer than",
	}},
	{"a nameplate above 1 MiB", Reference, func(e *edit) {
		plate("", "a: b\n")(e)
		e.grow("open/ExampleOrg/systems/board1_power.yaml", 1<<20+1)
	}, Finding{
		Rule: "system-nameplate", Path: "open/ExampleOrg/systems/board1_power.yaml", Message: "cannot be read: is longer than",
	}},
	{"a detail log of 5 GB without an end of line", Reference, func(e *edit) { e.grow(perf("S"), 5<<30) }, Finding{
		Rule: "log-format", Path: results + "SingleStream/performance/run_1/mlperf_log_detail.txt", Line: -1, Message: "cannot be read: the line is longer than 64 MiB",
	}},
}

// grow makes a file longer, with nothing in it.
func (e *edit) grow(path string, size int64) {
	e.t.Helper()
	e.write(path, e.read(path)) // the others keep theirs
	e.ok(os.Truncate(e.at(path), size))
}

// has reports whether a finding says what is wanted, as far as that is given.
func (f fault) has(r *Report) bool {
	all := r.Findings
	for _, one := range r.Results {
		all = append(all, one.Findings...)
	}
	for _, got := range all {
		want := f.want
		if want.Line == -1 && got.Line > 0 {
			want.Line = got.Line
		}
		if got.Rule == want.Rule && got.Path == want.Path && got.Line == want.Line &&
			(want.Found == "" || got.Found == want.Found) && (want.Wanted == "" || got.Wanted == want.Wanted) && strings.HasPrefix(got.Message, want.Message) {
			return got.Level == Fails && rules[got.Rule].fix != ""
		}
	}
	return false
}

func TestFindings(t *testing.T) {
	t.Parallel()
	base := extract(t, "v6.1")
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if strings.Contains(f.name, "5 GB") {
				testenv.SkipLong(t, "long lines are read")
			}
			t.Parallel()
			e := &edit{t, t.TempDir()}
			e.link(base)
			f.make(e)
			r := check(t, e.root, f.profile)
			if r.Passes || !f.has(r) {
				t.Errorf("want %+v; the findings are\n%s", f.want, findingsOf(r))
			}
		})
	}
}
