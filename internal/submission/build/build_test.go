package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/description"
	"github.com/mlperf-go/mlperf/internal/submission/fields"
)

// extract writes a tree of the checker's testdata, whose logs are those of the C++ LoadGen,
// and returns its folder.
func extract(t *testing.T, version string) string {
	t.Helper()
	packed, err := os.ReadFile("../checker/testdata/" + version + ".tar.gz")
	ok(t, err)
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	ok(t, err)
	dir := t.TempDir()
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		ok(t, err)
		data, err := io.ReadAll(r)
		ok(t, err)
		write(t, filepath.Join(dir, header.Name), string(data))
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Dir(path), 0o755))
	ok(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	ok(t, err)
	return string(data)
}

const home = "closed/ExampleOrg"

// whole is a description in which nothing is left to fill in.
func whole(t *testing.T, division, systemType string) description.Description {
	t.Helper()
	values := map[string]string{}
	for _, f := range fields.System() {
		if f.Filled {
			values[f.Name] = "x"
		}
	}
	for name, value := range map[string]string{"number_of_nodes": "1", "accelerators_per_node": "0", "host_processors_per_node": "1"} {
		values[name] = value
	}
	for name, value := range map[string]string{"division": division, "submitter": "ExampleOrg", "system_type": systemType, "status": "available"} {
		values[name] = value
	}
	d, err := description.Of(machine.Machine{}, machine.Inventory{}, description.Request{Values: values})
	ok(t, err)
	return d
}

var allMeasured = map[string]string{
	"input_data_types": "fp32", "retraining": "no", "starting_weights_filename": "resnet50_v1.onnx", "weight_data_types": "fp32", "weight_transformations": "none",
}

// foreign asks for a tree of the golden logs, with everything that somebody has to say.
func foreign(t *testing.T, version string) Request {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "calibration.md"), "FP32, nothing was calibrated.\n")
	write(t, filepath.Join(dir, "src", "main.cc"), "int main() {}\n")
	return Request{
		Tree: filepath.Join(dir, "tree"), Runs: []string{extract(t, version)}, Rules: version, Division: "closed", Submitter: "ExampleOrg", System: "board1",
		Description: whole(t, "closed", "edge"), Model: "resnet50", Measurements: allMeasured,
		Calibration: filepath.Join(dir, "calibration.md"), Source: filepath.Join(dir, "src"),
	}
}

// rulesOf lists the rules that a tree breaks, once each.
func rulesOf(r *checker.Report) []string {
	var names []string
	add := func(list []checker.Finding) {
		for _, f := range list {
			if f.Level == checker.Fails {
				names = append(names, f.Rule)
			}
		}
	}
	add(r.Findings)
	for _, one := range r.Results {
		add(one.Findings)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestLogsOfAnotherLoadGenMakeATreeThatPasses(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v6.1", "v5.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			q := foreign(t, version)
			built, err := Build(t.Context(), q)
			ok(t, err)
			want := []string{"text-placeholder"} // how the benchmark was run, which only a person can say
			if diff := cmp.Diff(want, rulesOf(built.Check)); diff != "" {
				t.Errorf("rules that the tree breaks (-want +got):\n%s", diff)
			}
			for _, one := range built.Results {
				for _, folder := range []string{"results", "measurements"} {
					if path := filepath.Join(q.Tree, strings.Replace(one.Path, "/results/", "/"+folder+"/", 1), "README.md"); there(path) {
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

func TestTheTreeIsOfTheRoundsLayout(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][]string{
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
		q := foreign(t, version)
		_, err := Build(t.Context(), q)
		ok(t, err)
		for _, path := range want {
			if !there(filepath.Join(q.Tree, home+path)) {
				t.Errorf("%s: there is no %s", version, path)
			}
		}
		if version == "v6.1" && there(filepath.Join(q.Tree, home, "measurements")) || version == "v5.1" && there(filepath.Join(q.Tree, home, "src")) {
			t.Errorf("%s has folders of the other layout", version)
		}
	}
}

func TestResultsAreInferredByTheRulesFormulas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		remove []string // scenarios that nobody ran
		from   map[string]string
	}{
		"both from SingleStream":   {[]string{"MultiStream", "Offline"}, map[string]string{"MultiStream": "SingleStream", "Offline": "SingleStream"}},
		"MultiStream alone":        {[]string{"MultiStream"}, map[string]string{"MultiStream": "SingleStream"}},
		"Offline from MultiStream": {[]string{"Offline"}, map[string]string{"Offline": "MultiStream"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := foreign(t, "v6.1")
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
				t.Errorf("README.md does not say what it was inferred from:\n%s", text)
			}
		})
	}
}

// trim writes a number as Python does.
func trim(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func checkRows(t *testing.T, q Request) map[string]*checker.Row {
	t.Helper()
	r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: q.Rules})
	ok(t, err)
	rows := map[string]*checker.Row{}
	for _, one := range r.Results {
		rows[one.Scenario] = one.Row
	}
	return rows
}

func TestNothingIsInferredForADatacenter(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	q.Infer, q.Description = true, whole(t, "closed", "datacenter")
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), `system_type is "datacenter"`) {
		t.Errorf("error %v", err)
	}
}

func TestATreeIsNeverReplacedWithoutBeingAsked(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	_, err := Build(t.Context(), q)
	ok(t, err)
	path := filepath.Join(q.Tree, home, "systems/board1.json")
	write(t, path, "mine")
	var exists *ExistsError
	if _, err := Build(t.Context(), q); !errors.As(err, &exists) {
		t.Errorf("a second build: error %v, want one that says that the tree is there", err)
	}
	q.Add = true
	if _, err := Build(t.Context(), q); !errors.As(err, &exists) || !strings.Contains(exists.Path, "resnet/MultiStream") {
		t.Errorf("the same results once more: error %v, want one that names them", err)
	}
	q.System = "board2"
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.Check.Results) != 6 || read(t, path) != "mine" {
		t.Errorf("after adding a system: %d results, want 6; the other system is %.10q", len(built.Check.Results), read(t, path))
	}
	q.Add, q.Force = false, true
	built, err = Build(t.Context(), q)
	ok(t, err)
	if len(built.Check.Results) != 3 || there(path) {
		t.Errorf("after replacing: %d results, board1 there: %v", len(built.Check.Results), there(path))
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(q.Tree), "*tree*")); err != nil || len(left) != 1 {
		t.Errorf("beside the tree lie %v", left)
	}
}

func TestOnlySubmissionsAreReplaced(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	q.Force = true
	write(t, filepath.Join(q.Tree, "thesis.tex"), "years of work")
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "it has thesis.tex") {
		t.Errorf("error %v", err)
	}
	if read(t, q.Tree, "thesis.tex") != "years of work" {
		t.Error("it is gone")
	}
}

func TestABuildThatEndsEarlyLeavesNothing(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	write(t, filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/accuracy/accuracy.txt"), "accuracy=76.012%\nhash=abc\n")
	ok(t, os.Truncate(filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/accuracy/mlperf_log_accuracy.json"), 100))
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "has the hash of another log, abc") {
		t.Errorf("a broken hash: error %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(q.Tree))
	ok(t, err)
	for _, e := range entries {
		if e.Name() != "src" && e.Name() != "calibration.md" {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func TestWrongRequestsAreRefused(t *testing.T) {
	t.Parallel()
	right := foreign(t, "v6.1")
	for name, change := range map[string]func(*Request){
		"rules": func(q *Request) { q.Rules = "v9" }, "division": func(q *Request) { q.Division = "Closed" },
		"submitter": func(q *Request) { q.Submitter = "../x" }, "system": func(q *Request) { q.System = "" },
		"implementation": func(q *Request) { q.Implementation = ".x" }, "measurement": func(q *Request) { q.Measurements = map[string]string{"weights": "x"} },
		"name": func(q *Request) { q.Name = "mine" }, "add": func(q *Request) { q.Add = true }, "model": func(q *Request) { q.Model = "" },
	} {
		q := right
		change(&q)
		_, err := Build(t.Context(), q)
		var of *field.Error
		if !errors.As(err, &of) || of.Field != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, runs string, q *Request)
		want   string
	}{
		"a folder":            {func(_ *testing.T, _ string, q *Request) { q.Runs = []string{"nowhere"} }, "nowhere"},
		"all runs":            {func(t *testing.T, _ string, q *Request) { q.Runs = []string{t.TempDir()} }, "no runs in"},
		"the accuracy run":    {func(t *testing.T, runs string, _ *Request) { ok(t, os.RemoveAll(runs+"/Offline/accuracy")) }, "resnet Offline: there is no accuracy run"},
		"the performance run": {func(t *testing.T, runs string, _ *Request) { ok(t, os.RemoveAll(runs+"/Offline/performance")) }, "resnet Offline: there is no performance run"},
		"the score":           {func(t *testing.T, runs string, _ *Request) { ok(t, os.Remove(runs+"/Offline/accuracy/accuracy.txt")) }, "score the run first"},
		"the hash of cut logs": {func(t *testing.T, runs string, _ *Request) {
			write(t, runs+"/Offline/accuracy/accuracy.txt", "accuracy=76.012%\n")
		}, "the log was cut already"},
		"logs of a test":  {func(t *testing.T, runs string, _ *Request) { ok(t, os.RemoveAll(runs+"/Offline/TEST04/performance")) }, "TEST04 has no logs of its run"},
		"a model":         {func(_ *testing.T, _ string, q *Request) { q.Model = "alexnet" }, `rules v6.1 have no benchmark "alexnet"`},
		"another network": {func(_ *testing.T, _ string, q *Request) { q.Model = "mobilenet" }, "mobilenet is not resnet: the division closed has the reference's model"},
		"a detector":      {func(_ *testing.T, _ string, q *Request) { q.Model = "ssd-mobilenet" }, `rules v6.1 have no benchmark "ssd-mobilenet"`},
		"a name of its own": {func(t *testing.T, _ string, q *Request) {
			q.Model, q.Division, q.Description = "mobilenet", "open", whole(t, "open", "edge")
		}, "name: "},
		"a choice": {func(t *testing.T, runs string, _ *Request) {
			ok(t, os.CopyFS(runs+"/again", os.DirFS(runs+"/Offline/performance")))
		}, "resnet Offline: performance: 2 runs could be it"},
		"validity": {func(t *testing.T, runs string, _ *Request) {
			log := runs + "/Offline/performance/run_1/mlperf_log_detail.txt"
			write(t, log, strings.Replace(read(t, log), `"result_validity", "value": "VALID"`, `"result_validity", "value": "INVALID"`, 1))
		}, "may not enter the division closed: the run is INVALID"},
		"who made them": {func(t *testing.T, runs string, _ *Request) {
			log := runs + "/Offline/accuracy/mlperf_log_detail.txt"
			write(t, log, strings.Replace(read(t, log), `"loadgen_version", "value": "`, `"loadgen_version", "value": "mlperf 1 `, 1))
		}, "results.json is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := foreign(t, "v6.1")
			c.change(t, filepath.Join(q.Runs[0], home, "results/board1/resnet50"), &q)
			if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if _, err := os.Lstat(q.Tree); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a tree: %v", err)
			}
		})
	}
}

func TestTheNewestRunIsTakenIfThatIsWanted(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
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

func TestAFolderMayBeALink(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	link := filepath.Join(t.TempDir(), "latest")
	ok(t, os.Symlink(q.Runs[0], link))
	q.Runs = []string{link}
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.Results) != 3 {
		t.Errorf("%d results, want 3", len(built.Results))
	}
}

func TestModelsOfTheOpenDivisionHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	q.Division, q.Name, q.Description = "open", "myresnet", whole(t, "open", "edge")
	built, err := Build(t.Context(), q)
	ok(t, err)
	if got := read(t, q.Tree, "open/ExampleOrg/model_mapping.json"); got != "{\n  \"myresnet\": \"resnet\"\n}\n" {
		t.Errorf("model_mapping.json is %q", got)
	}
	if built.Results[0].Path != "open/ExampleOrg/results/board1/myresnet/MultiStream" || built.Check.Results[0].Model != "resnet" {
		t.Errorf("placed at %s, as %s", built.Results[0].Path, built.Check.Results[0].Model)
	}
}

func TestDatacentersSayWhichBandwidthTheyNeed(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	q.Division, q.Description = "open", whole(t, "open", "datacenter")
	built, err := Build(t.Context(), q)
	ok(t, err)
	path := "open/ExampleOrg/documentation/bandwidth.md"
	text := read(t, q.Tree, path)
	if !strings.Contains(text, "resnet Offline: ") || !strings.Contains(text, "bytes/s in") || !slices.Contains(rulesOf(built.Check), "text-placeholder") {
		t.Errorf("the statement is\n%s", text)
	}
	q.Bandwidth, q.Force = "Two links of 100 Gb/s, measured with iperf.", true
	_, err = Build(t.Context(), q)
	ok(t, err)
	if text := read(t, q.Tree, path); !strings.Contains(text, q.Bandwidth) || fields.HasPlaceholder(text) {
		t.Errorf("the statement is\n%s", text)
	}
}

func TestSourcesAreCopiedWithoutWhatNoTreeMayHave(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	write(t, filepath.Join(q.Source, ".git/config"), "x")
	write(t, filepath.Join(q.Source, "__pycache__/a.pyc"), "x")
	_, err := Build(t.Context(), q)
	ok(t, err)
	if entries, err := os.ReadDir(filepath.Join(q.Tree, home, "src")); err != nil || len(entries) != 1 {
		t.Errorf("src has %v, %v", entries, err)
	}
	ok(t, os.Symlink("/etc/hostname", filepath.Join(q.Source, "link")))
	q.Force = true
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "link is a link or no file") {
		t.Errorf("a link: error %v", err)
	}
}
