package build

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

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
	if text := read(t, q.Tree, path); !strings.Contains(text, q.Bandwidth) || checker.HasPlaceholder(text) {
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

func TestSourcesAreAFolderWithFiles(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	dir := t.TempDir()
	file, empty := filepath.Join(dir, "main.cc"), filepath.Join(dir, "empty")
	write(t, file, "int main() {}\n")
	write(t, filepath.Join(empty, ".git/config"), "x")
	for source, want := range map[string]string{
		file: file + " is not a folder", filepath.Join(dir, "none"): "no such file or directory", empty: empty + " has no files for a tree",
	} {
		q.Source = source
		_, err := Build(t.Context(), q)
		var wrong *userinput.Error
		if !errors.As(err, &wrong) || wrong.Field != "source" || !strings.Contains(err.Error(), want) || there(q.Tree) {
			t.Errorf("%s: %v, want %s, and no tree", source, err, want)
		}
	}
	q.Source = filepath.Join(dir, "link")
	ok(t, os.Symlink(filepath.Join(q.Runs[0], home, "src"), q.Source))
	if _, err := Build(t.Context(), q); err != nil {
		t.Errorf("a link to a folder: %v", err)
	}
}
