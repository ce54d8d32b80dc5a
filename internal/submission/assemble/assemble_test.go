package assemble

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestTreeOfGoldenLogsPasses(t *testing.T) {
	t.Parallel()
	for version, files := range map[string][]string{
		"v6.1": {
			"/documentation/calibration.md", "/results/board1/resnet/Offline/README.md", "/results/board1/resnet/Offline/TEST04/verify_performance.txt",
			"/results/board1/resnet/Offline/TEST01/accuracy/accuracy.txt", "/results/board1/resnet/Offline/measurements.json", "/results/board1/resnet/Offline/user.conf",
			"/results/board1/resnet/Offline/performance/run_1/mlperf_log_detail.txt", "/src/main.cc", "/systems/board1.json",
		},
		"v5.1": {
			"/documentation/calibration.md", "/measurements/board1/resnet/Offline/README.md", "/compliance/board1/resnet/Offline/TEST04/verify_performance.txt",
			"/compliance/board1/resnet/Offline/TEST01/accuracy/accuracy.txt", "/measurements/board1/resnet/Offline/board1_mlperf_Offline.json",
			"/measurements/board1/resnet/Offline/user.conf", "/results/board1/resnet/Offline/accuracy/mlperf_log_accuracy.json", "/code/main.cc",
		},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			q := golden(t, version)
			latest := filepath.Join(t.TempDir(), "latest") // a link, as runs leave one
			ok(t, os.Symlink(q.Runs[0], latest))
			q.Runs[0] = latest
			built, err := Build(t.Context(), q)
			ok(t, err)
			want := []string{"text-placeholder"} // how the benchmark was run
			if diff := cmp.Diff(want, rulesOf(built.Check)); diff != "" {
				t.Errorf("rules that the tree breaks (-want +got):\n%s", diff)
			}
			for _, path := range files {
				if !fileio.Exists(filepath.Join(q.Tree, home+path)) {
					t.Errorf("%s is missing", path)
				}
			}
			for _, one := range built.Results {
				for _, folder := range []string{"results", "measurements"} {
					if path := filepath.Join(q.Tree, strings.Replace(one.Path, "/results/", "/"+folder+"/", 1), "README.md"); fileio.Exists(path) {
						write(t, path, "Run as the reference does.\n")
					}
				}
			}
			for _, profile := range []checker.Profile{checker.Reference, checker.Strict} {
				r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: version, Profile: profile})
				ok(t, err)
				if !r.Passes || len(r.Results) != 3 {
					t.Errorf("%s: %d results, passes %v, rules %v", profile, len(r.Results), r.Passes, rulesOf(r))
				}
			}
		})
	}
}

func TestInferredResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		remove []string // scenarios
		from   map[string]string
	}{
		"both from SingleStream":   {[]string{"MultiStream", "Offline"}, map[string]string{"MultiStream": "SingleStream", "Offline": "SingleStream"}},
		"MultiStream alone":        {[]string{"MultiStream"}, map[string]string{"MultiStream": "SingleStream"}},
		"Offline from MultiStream": {[]string{"Offline"}, map[string]string{"Offline": "MultiStream"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := golden(t, "v6.1")
			for _, s := range c.remove {
				ok(t, os.RemoveAll(filepath.Join(q.Runs[0], home, "results/board1/resnet50", s)))
			}
			q.Infer = true
			built, err := Build(t.Context(), q)
			ok(t, err)
			rows := checkRows(t, q)
			for _, one := range built.Results {
				if one.InferredFrom != c.from[one.Scenario] {
					t.Errorf("%s is inferred from %q, want %q", one.Scenario, one.InferredFrom, c.from[one.Scenario])
				}
				if row := rows[one.Scenario]; row == nil || row.Result != trim(one.Value) || row.Units != one.Unit || row.Inferred != (one.InferredFrom != "") {
					t.Errorf("%s: %v %s, the checker has %+v", one.Scenario, one.Value, one.Unit, row)
				}
			}
			if text := read(t, q.Tree, home, "results/board1/resnet", c.remove[0], "README.md"); !strings.Contains(text, "Inferred from "+c.from[c.remove[0]]) {
				t.Errorf("README.md does not name the scenario that it was inferred from:\n%s", text)
			}
		})
	}
}

func TestValueOfEachScenario(t *testing.T) {
	log := runOf(t, "early_stopping_latency_ss 2500000", "early_stopping_latency_ms 0", "result_completed_samples_per_sec 80.25", "result_tokens_per_second 5000",
		"result_completed_tokens_per_second 4000", "result_90.00_percentile_latency_ns 1500000")
	for _, c := range []struct {
		benchmark, scenario string
		value               float64
		unit                string
	}{
		{"resnet", "Server", 80.25, "Queries/s"}, {"llama3.1-8b", "Offline", 5000, "Tokens/s"}, {"llama3.1-8b", "Server", 4000, "Tokens/s"},
		{"llama3.1-8b-edge", "SingleStream", 1.5, "Latency (ms)"}, {"wan-2.2-t2v-a14b", "SingleStream", 0.0025, "Latency (s)"},
	} {
		r := &result{benchmark: c.benchmark, scenario: c.scenario, performance: log}
		value, unit, err := r.value(builderOf(t, "v6.1"))
		if err != nil || fmt.Sprintf("%.9g", value) != fmt.Sprintf("%.9g", c.value) || unit != c.unit {
			t.Errorf("%s %s: %v %s, %v, want %v %s", c.benchmark, c.scenario, value, unit, err, c.value, c.unit)
		}
	}
	r := &result{benchmark: "resnet", scenario: "MultiStream", from: &result{scenario: "SingleStream"}, performance: log}
	if v, _, err := r.value(builderOf(t, "v6.1")); !testenv.Names(err, "resnet MultiStream … SingleStream") {
		t.Errorf("an early-stopping estimate of 0: %v, %v", v, err)
	}
}

func TestNewestRun(t *testing.T) {
	t.Parallel()
	q := golden(t, "v6.1")
	runs := filepath.Join(q.Runs[0], home, "results/board1/resnet50")
	ok(t, os.CopyFS(runs+"/again", os.DirFS(runs+"/Offline/performance")))
	log := runs + "/again/run_1/mlperf_log_detail.txt"
	lines := strings.SplitAfter(read(t, log), "\n")
	write(t, log, strings.Join(lines, "")+lines[len(lines)-2])
	q.Newest = true
	_, err := Build(t.Context(), q)
	ok(t, err)
	if read(t, q.Tree, home, "results/board1/resnet/Offline/performance/run_1/mlperf_log_detail.txt") != read(t, log) {
		t.Error("the older run was taken")
	}
}

// LoadGen calls Interactive Server, and the official checker reads the keys of Server.
func TestInteractive(t *testing.T) {
	round, err := rounds.Find("v6.1")
	ok(t, err)
	limits := round.Model("llama3.1-8b").TokenLimitsNS
	for _, c := range []struct {
		name, folder, ttft, tpot string
		results                  *report.Results
		limits                   map[string]rounds.TokenLimits
		want                     bool
	}{
		{"own results of Interactive", "server", "2000000000", "100000000", &report.Results{Interactive: true}, limits, true},
		{"own results of Server in a folder interactive", "interactive", "500000000", "30000000", &report.Results{}, limits, false},
		{"others' logs with the bounds of Interactive", "run_1", "500000000", "30000000", nil, limits, true},
		{"others' logs with the bounds of Server", "run_1", "2000000000", "100000000", nil, limits, false},
		{"others' logs with one bound of Interactive", "run_1", "500000000", "100000000", nil, limits, false},
		{"others' logs in a folder Interactive", "Interactive", "2000000000", "100000000", nil, limits, true},
		{"a model without Interactive", "run_1", "500000000", "30000000", nil, nil, false},
	} {
		r := runOf(t, "requested_server_ttft_latency "+c.ttft, "requested_server_tpot_latency "+c.tpot)
		r.folder, r.results = c.folder, c.results
		if got := r.isInteractive(c.limits); got != c.want {
			t.Errorf("%s: Interactive is %v, want %v", c.name, got, c.want)
		}
	}

	q := golden(t, "v6.1")
	from := filepath.Join(q.Runs[0], home, "results/board1/resnet50/SingleStream")
	runs := t.TempDir()
	values := map[string]string{
		"effective_scenario": `"Server"`, "requested_server_ttft_latency": "500000000", "requested_server_tpot_latency": "30000000", "requested_server_target_qps": "12.5",
		"result_completed_samples_per_sec": "10.5", "result_completed_tokens_per_second": "1234.5", "requested_use_token_latencies": "true", "effective_target_latency_ns": "0",
		"result_first_token_99.00_percentile_latency_ns": "400000000", "result_time_per_output_token_99.00_percentile_ns": "25000000",
		"effective_performance_sample_count": "13368", "effective_accuracy_sample_count": "13368",
	}
	for _, part := range []string{"performance/run_1", "accuracy"} {
		ok(t, os.CopyFS(filepath.Join(runs, part), os.DirFS(filepath.Join(from, part))))
		write(t, filepath.Join(runs, part, mlperflog.DetailFile), setKeys(read(t, from, part, mlperflog.DetailFile), values))
	}
	q.Runs, q.Model, q.Division, q.Description, q.Bandwidth = []string{runs}, "llama3.1-8b", "open", complete(t, "open", "datacenter"), "one cable"
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.Results) != 1 || built.Results[0].Scenario != "Interactive" || built.Results[0].Value != 1234.5 || built.Results[0].Unit != "Tokens/s" {
		t.Errorf("built %+v, want Interactive with 1234.5 Tokens/s", built.Results)
	}
	if row := checkRows(t, q)["Interactive"]; row == nil || row.Result != "1234.5" {
		t.Errorf("the official summary has %+v, want 1234.5; %s", row, rulesOf(built.Check))
	}
	if text := read(t, q.Tree, "open/ExampleOrg/documentation/bandwidth.md"); !strings.Contains(text, "llama3.1-8b Interactive: 10.5 samples/s") {
		t.Errorf("bandwidth.md does not have the rate in samples:\n%s", text)
	}
}

func TestNamesOfTheOpenDivision(t *testing.T) {
	t.Parallel()
	q := golden(t, "v6.1")
	q.Division, q.Name, q.Description = "open", "myresnet", complete(t, "open", "edge")
	built, err := Build(t.Context(), q)
	ok(t, err)
	if got := read(t, q.Tree, "open/ExampleOrg/model_mapping.json"); got != "{\n  \"myresnet\": \"resnet\"\n}\n" {
		t.Errorf("model_mapping.json is %q", got)
	}
	if built.Results[0].Path != "open/ExampleOrg/results/board1/myresnet/MultiStream" || built.Check.Results[0].Model != "resnet" {
		t.Errorf("placed at %s, as %s", built.Results[0].Path, built.Check.Results[0].Model)
	}
	b := builderOf(t, "v6.1")
	b.Division, b.Name, b.root = "open", "mine", t.TempDir()
	if err := b.mapping(t.Context(), []*result{{benchmark: "resnet"}, {benchmark: "bert-99"}}); !testenv.Names(err, "mine … resnet … bert-99") {
		t.Errorf("of two models: %v", err)
	}
}

func TestBandwidthOfDatacenters(t *testing.T) {
	t.Parallel()
	q := golden(t, "v6.1")
	q.Division, q.Description = "open", complete(t, "open", "datacenter")
	built, err := Build(t.Context(), q)
	ok(t, err)
	path := "open/ExampleOrg/documentation/bandwidth.md"
	text := read(t, q.Tree, path)
	if !strings.Contains(text, "resnet Offline: ") || !strings.Contains(text, "B/s in") || !slices.Contains(rulesOf(built.Check), "text-placeholder") {
		t.Errorf("the statement is\n%s", text)
	}
	q.Bandwidth, q.Force = "Two links of 100 Gb/s, measured with iperf.", true
	_, err = Build(t.Context(), q)
	ok(t, err)
	if text := read(t, q.Tree, path); !strings.Contains(text, q.Bandwidth) || checker.HasPlaceholder(text) {
		t.Errorf("the statement is\n%s", text)
	}
}

func TestSourceIsCopied(t *testing.T) {
	t.Parallel()
	q := golden(t, "v6.1")
	write(t, filepath.Join(q.Source, ".git/config"), "x")
	write(t, filepath.Join(q.Source, "__pycache__/a.pyc"), "x")
	link := filepath.Join(t.TempDir(), "link")
	ok(t, os.Symlink(q.Source, link))
	q.Source = link
	_, err := Build(t.Context(), q)
	ok(t, err)
	if entries, err := os.ReadDir(filepath.Join(q.Tree, home, "src")); err != nil || len(entries) != 1 {
		t.Errorf("src has %v, %v, want main.cc", entries, err)
	}
}

// powered are the files that power_checker.py asks for.
var powered = []string{
	"power/client.json", "power/client.log", "power/ptd_logs.txt", "power/server.json", "power/server.log",
	"ranging/mlperf_log_detail.txt", "ranging/mlperf_log_summary.txt", "ranging/spl.txt",
	"run_1/mlperf_log_detail.txt", "run_1/mlperf_log_summary.txt", "run_1/spl.txt",
}

func TestPowerMeasurement(t *testing.T) {
	t.Parallel()
	q := golden(t, "v6.1")
	from := filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/performance")
	ok(t, os.CopyFS(from+"/ranging", os.DirFS(from+"/run_1"))) // a run that does not count
	for _, path := range append(powered, "power/notes.txt") {
		if !fileio.Exists(filepath.Join(from, path)) {
			write(t, filepath.Join(from, path), "of "+path)
		}
	}
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.LeftOut) > 0 || len(built.Results) != 3 {
		t.Errorf("%d results, left out %q, want 3 results and nothing left out", len(built.Results), built.LeftOut)
	}
	to := filepath.Join(q.Tree, home, "results/board1/resnet/Offline/performance")
	for _, path := range powered {
		if got, want := read(t, to, path), read(t, from, path); got != want {
			t.Errorf("%s has %d bytes, want the %d of the run", path, len(got), len(want))
		}
	}
	if fileio.Exists(filepath.Join(to, "power/notes.txt")) {
		t.Error("the tree has power/notes.txt")
	}
	missing := filepath.Join(from, "power", "server.json")
	ok(t, os.Remove(missing))
	q.Tree += "2"
	if _, err := Build(t.Context(), q); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) || fileio.Exists(q.Tree) {
		t.Errorf("error %v, want one about %s, and no tree", err, missing)
	}
	ok(t, os.RemoveAll(from+"/power"))
	ok(t, os.RemoveAll(from+"/run_1"))
	built, err = Build(t.Context(), q)
	ok(t, err)
	if len(built.Results) != 3 {
		t.Errorf("ranging is the only run: %d results, want 3", len(built.Results))
	}
}

func TestComplianceTestsAreCut(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("x", 20000)
	from := t.TempDir()
	write(t, from+"/accuracy/mlperf_log_accuracy.json", log)
	write(t, from+"/accuracy/accuracy.txt", "score\n")
	write(t, from+"/accuracy/baseline_accuracy.txt", "a\n")
	write(t, from+"/verify_accuracy.txt", "TEST PASS\n")
	write(t, from+"/notes.txt", "x")
	for test, want := range map[string]struct{ size, lines int }{"TEST01": {8199, 3}, "TEST07": {8199, 1}, "TEST09": {8199, 1}, "TEST06": {20000, 0}} {
		b := &builder{root: t.TempDir()}
		ok(t, b.placeTest(t.Context(), &run{folder: from, test: test}, "to"))
		if got := read(t, b.at("to/accuracy/mlperf_log_accuracy.json")); len(got) != want.size {
			t.Errorf("%s: the log has %d bytes, want %d", test, len(got), want.size)
		}
		text, _ := os.ReadFile(b.at("to/accuracy/accuracy.txt"))
		if n := strings.Count(string(text), "\n"); n != want.lines || want.lines > 0 && !strings.HasSuffix(string(text), "hash="+hashOf(log)+"\n") {
			t.Errorf("%s: accuracy.txt is %q, want %d lines, the last with the hash", test, text, want.lines)
		}
		if fileio.Exists(b.at("to/notes.txt")) || read(t, b.at("to/verify_accuracy.txt")) != "TEST PASS\n" || read(t, b.at("to/accuracy/baseline_accuracy.txt")) != "a\n" {
			t.Errorf("%s: files are missing or too many", test)
		}
	}
	ok(t, os.Remove(from+"/accuracy/accuracy.txt"))
	b := &builder{root: t.TempDir()}
	ok(t, b.placeTest(t.Context(), &run{folder: from, test: "TEST01"}, "to"))
	if got := read(t, b.at("to/accuracy/accuracy.txt")); got != "\nhash="+hashOf(log)+"\n" {
		t.Errorf("TEST01 without a score has %q", got)
	}
}

func TestAddToATree(t *testing.T) {
	t.Parallel()
	q := golden(t, "v6.1")
	q.Division, q.Name, q.Description = "open", "first", complete(t, "open", "datacenter")
	q.Calibration, q.Source, q.Bandwidth = "", "", "a cable"
	_, err := Build(t.Context(), q)
	ok(t, err)
	kept := map[string]string{"systems/board1.json": "{}", "src/README.md": "# Mine\n", "documentation/bandwidth.md": "mine\n"}
	for path, text := range kept {
		write(t, filepath.Join(q.Tree, "open/ExampleOrg", path), text)
	}
	q.Add, q.Name, q.Bandwidth = true, "second", "another cable"
	_, err = Build(t.Context(), q)
	ok(t, err)
	for path, want := range kept {
		if got := read(t, q.Tree, "open/ExampleOrg", path); got != want {
			t.Errorf("%s has become %q", path, got)
		}
	}
	if got := read(t, q.Tree, "open/ExampleOrg/model_mapping.json"); got != "{\n  \"first\": \"resnet\",\n  \"second\": \"resnet\"\n}\n" {
		t.Errorf("model_mapping.json is %s", got)
	}
	var exists *ExistsError
	if _, err := Build(t.Context(), q); !errors.As(err, &exists) || !strings.Contains(exists.Path, "second/MultiStream") {
		t.Errorf("the same results again: error %v, want one that names them", err)
	}
	q.Force = true
	_, err = Build(t.Context(), q)
	ok(t, err)
	if got := read(t, q.Tree, "open/ExampleOrg/systems/board1.json"); got == "{}" {
		t.Error("with force the description of the system is not replaced")
	}
	write(t, filepath.Join(q.Tree, "open/ExampleOrg/model_mapping.json"), `["resnet"]`)
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "model_mapping.json: ") {
		t.Errorf("a list in model_mapping.json: %v", err)
	}
}

func TestReplaceATree(t *testing.T) {
	t.Parallel()
	q := golden(t, "v6.1")
	_, err := Build(t.Context(), q)
	ok(t, err)
	var there *ExistsError
	if _, err := Build(t.Context(), q); !errors.As(err, &there) {
		t.Errorf("a second build: error %v, want one that says that the tree exists", err)
	}
	q.System, q.Force = "board2", true
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.Check.Results) != 3 || fileio.Exists(filepath.Join(q.Tree, home, "systems/board1.json")) {
		t.Errorf("%d results, want 3 of board2 alone", len(built.Check.Results))
	}
	if !fileio.Exists(filepath.Join(built.Former, home, "systems/board1.json")) {
		t.Errorf("the former tree, which had files that this one does not have, is %q", built.Former)
	}
	built, err = Build(t.Context(), q)
	ok(t, err)
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(q.Tree), "*tree*")); err != nil || len(left) != 2 || built.Former != "" {
		t.Errorf("beside the tree are %v", left)
	}
	if _, err := publish(filepath.Join(t.TempDir(), "missing"), q.Tree); err == nil || !fileio.Exists(filepath.Join(q.Tree, home)) {
		t.Errorf("after the error %v the old tree is gone", err)
	}
	write(t, filepath.Join(q.Tree, "thesis.tex"), "years of work")
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "it has thesis.tex") || !fileio.Exists(filepath.Join(q.Tree, "thesis.tex")) {
		t.Errorf("a folder with another file: error %v", err)
	}
}

// The results of several nodes, each in a folder of its own as an Indexed Job leaves them, become one tree. Nodes that differ
// are no system.
func TestResultsOfSeveralNodes(t *testing.T) {
	t.Parallel()
	node := func(cores int) func(*report.Results) {
		return func(r *report.Results) {
			r.System = machine.Machine{CPU: machine.CPU{Model: "Example CPU", Cores: cores}, GPUs: []machine.GPU{{Name: "A"}, {Name: "A"}}}
		}
	}
	q := withResults(t, golden(t, "v6.1"), "", node(64))
	volume := t.TempDir()
	for i, scenario := range []string{"SingleStream", "MultiStream", "Offline"} {
		ok(t, os.CopyFS(filepath.Join(volume, "runs", strconv.Itoa(i), "resnet50", scenario), os.DirFS(filepath.Join(q.Runs[0], home, "results/board1/resnet50", scenario))))
	}
	q.Runs = []string{filepath.Join(volume, "runs")}
	q.Tree = filepath.Join(volume, "tree")
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.Results) != 3 || !built.Check.Passes {
		t.Errorf("%d results, rules %v", len(built.Results), rulesOf(built.Check))
	}

	other := withResults(t, golden(t, "v6.1"), "Offline/accuracy", node(32))
	other.Runs = append(other.Runs, filepath.Join(volume, "runs", "0"))
	ok(t, os.RemoveAll(filepath.Join(other.Runs[0], home, "results/board1/resnet50/SingleStream")))
	other.Model = ""
	if _, err := Build(t.Context(), other); !testenv.Names(err, "different machines … Example CPU") {
		t.Errorf("nodes of 64 and 32 cores: %v", err)
	}
}
