package checker

import (
	"os"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

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
		Rule: "log-format", Path: results + "SingleStream/performance/run_1/mlperf_log_detail.txt", Message: "cannot be read: line is longer than 64 MiB",
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

func TestFaultsAreNamedPrecisely(t *testing.T) {
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
