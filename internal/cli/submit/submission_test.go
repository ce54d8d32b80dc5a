package submit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/build"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// inTree goes to a folder with a tree that the official checker passes, as submission.
func inTree(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	testenv.Extract(t, "../../submission/checker/testdata/v6.1.tar.gz", filepath.Join(dir, "submission"))
	t.Chdir(dir)
	write(t, "folder/x", "")
	write(t, "page.html", "<html>")
}

// broken takes from the tree of inTree what makes its results complete.
func broken(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll("submission/closed/ExampleOrg/results/board1/resnet50/Offline/accuracy"); err != nil {
		t.Fatal(err)
	}
}

func TestATreeIsJudgedInThreeForms(t *testing.T) {
	inTree(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "in words", Args: []string{"submission", "check", "submission"}, Want: []string{"The tree passes: rules v6.1, profile reference"}},
		{Name: "as JSON", Args: []string{"submission", "check", "submission", "--json"}, Want: []string{`"passes": true`}},
		{Name: "of one submitter", Args: []string{"submission", "check", "submission", "--submitter", "ExampleOrg"}, Want: []string{"The tree passes"}},
		{Name: "of a submitter that is none", Args: []string{"submission", "check", "submission", "--submitter", "Nobody"}, Status: cli.ExitError, Want: []string{"no results"}},
		{Name: "by rules that are none", Args: []string{"submission", "check", "submission", "--rules", "v4.0"}, Status: cli.ExitUsage, Want: []string{"v4.0", "v5.0"}},
		{Name: "by a profile that is none", Args: []string{"submission", "check", "submission", "--profile", "lax"}, Status: cli.ExitUsage, Want: []string{"lax"}},
		{Name: "a folder without results", Args: []string{"submission", "check", "folder"}, Status: cli.ExitError, Want: []string{"no results"}},
		{Name: "a file", Args: []string{"submission", "check", "page.html"}, Status: cli.ExitError, Want: []string{"page.html", "not a folder"}},
		{Name: "nothing", Args: []string{"submission", "check", "nowhere"}, Status: cli.ExitError, Want: []string{"nowhere"}},
		{Name: "no tree", Args: []string{"submission", "check"}, Status: cli.ExitUsage, Want: []string{"check: want TREE"}},
		{Name: "a verb that is none", Args: []string{"submission", "chek", "x"}, Status: cli.ExitUsage, Want: []string{`unknown command "chek"`}},
	})
	broken(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "what is wrong, in words", Args: []string{"submission", "check", "submission"}, Status: cli.ExitInvalid, Want: []string{"resnet50/Offline", "error: "}},
		{Name: "what is wrong, as JSON", Args: []string{"submission", "check", "submission", "--json"}, Status: cli.ExitInvalid, Want: []string{`"passes": false`}},
	})
}

func TestTheResultsThatPassAreListed(t *testing.T) {
	inTree(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "as the official summary", Args: []string{"submission", "report", "submission"}, Want: []string{"Organization,Availability,Division,", `"ExampleOrg","available","closed","edge"`}, Not: []string{"do not pass"}},
		{Name: "as tables of the final report", Args: []string{"submission", "report", "submission", "--format", "markdown"}, Want: []string{"ExampleOrg", "|"}},
		{Name: "as CSV", Args: []string{"submission", "report", "submission", "--format", "csv"}, Want: []string{"ExampleOrg"}},
		{Name: "as a page", Args: []string{"submission", "report", "submission", "--format", "html"}, Want: []string{"<table", "ExampleOrg"}},
		{Name: "as JSON", Args: []string{"submission", "report", "submission", "--json"}, Want: []string{`"schema": "mlperf-go/submission-report/1"`, "ExampleOrg"}},
		{Name: "in a form that is none", Args: []string{"submission", "report", "submission", "--format", "pdf"}, Status: cli.ExitUsage, Want: []string{`--format is "pdf", want summary, csv, markdown or html, or json`}},
		{Name: "of no results", Args: []string{"submission", "report", "folder"}, Status: cli.ExitError, Want: []string{"no results"}},
	})
	broken(t)
	o := clitest.Run(t, Commands(), "submission", "report", "submission")
	if want := " results do not pass and are left out: mlperf submission check says why\n"; o.Status != cli.ExitDone || !strings.HasSuffix(o.Stderr, want) {
		t.Errorf("status %d, %q, want …%s", o.Status, o.Stderr, want)
	}
}

func TestLogsAreMadeShortOnce(t *testing.T) {
	inTree(t)
	log := write(t, "submission/closed/ExampleOrg/results/board1/resnet50/Offline/accuracy/mlperf_log_accuracy.json", "["+strings.Repeat(`{ "seq_id" : 0, "qsl_idx" : 1, "data" : "00000000" },`, 4000)+"]")
	write(t, filepath.Join(filepath.Dir(log), "accuracy.txt"), "accuracy=76.012%, good=38006, total=50000")
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	o := clitest.Run(t, Commands(), "submission", "pack", "submission/")
	if o.Status != cli.ExitDone || !strings.Contains(o.Stdout, "cut ") || !strings.HasSuffix(o.Stdout, "Originals are in submission.originals.\n") {
		t.Fatalf("status %d: %s%s", o.Status, o.Stdout, o.Err)
	}
	kept, err := os.ReadFile(strings.Replace(log, "submission/", "submission.originals/", 1))
	if err != nil || string(kept) != string(whole) {
		t.Errorf("the original has %d bytes, %v, want %d", len(kept), err, len(whole))
	}
	if short, err := os.ReadFile(log); err != nil || len(short) >= len(whole) {
		t.Errorf("the log has %d bytes, %v", len(short), err)
	}
	o = clitest.Run(t, Commands(), "submission", "pack", "submission", "--json")
	var d struct {
		Schema string
		Rows   []struct{ What, Path string }
	}
	if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil || d.Schema != "mlperf-go/submission-pack/1" || len(d.Rows) == 0 {
		t.Errorf("%v: %s%s", err, o.Stdout, o.Err)
	}
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "nothing to make short", Args: []string{"submission", "pack", "folder"}, Status: cli.ExitError, Want: []string{"no accuracy logs"}},
		{Name: "a backup inside of the tree", Args: []string{"submission", "pack", "submission", "--backup", "submission/closed"}, Status: cli.ExitError, Want: []string{"inside"}},
	})
}

func TestATreeIsBuiltOfLogs(t *testing.T) {
	inTree(t)
	clitest.Run(t, Commands(), "system", "--submitter", "ExampleOrg", "--division", "closed", "--system-type", "edge", "--status", "available", "--output", "board1.json")
	base := []string{"submission", "build", "tree", "submission", "--description", "board1.json", "--system", "board1", "--model", "resnet50"}
	o := clitest.Run(t, Commands(), append(base, "--set", "cooling=air", "--system-name", "Renamed", "--measurement", "retraining=no")...)
	if o.Status != cli.ExitInvalid {
		t.Fatalf("status %d: %s%s", o.Status, o.Stdout, o.Err)
	}
	for _, want := range []string{"BENCHMARK", "resnet", "To fill in: ", "\nThe tree is tree.\n\n", "a placeholder was not filled in"} {
		if !strings.Contains(o.Stdout, want) {
			t.Errorf("no %q in\n%s", want, o.Stdout)
		}
	}
	if d := described(t, "tree/closed/ExampleOrg/systems/board1.json"); d["cooling"] != "air" || d["system_name"] != "Renamed" {
		t.Errorf("cooling %q of %q", d["cooling"], d["system_name"])
	}
	o = clitest.Run(t, Commands(), base...)
	if want := "tree already exists: --add adds to a tree, --force replaces it or the results that it has"; o.Status != cli.ExitError || o.Err != want {
		t.Errorf("status %d: %s, want %s", o.Status, o.Err, want)
	}
	o = clitest.Run(t, Commands(), append(base, "--force", "--json")...)
	var d struct {
		Schema string
		build.Built
	}
	if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil || d.Schema != "mlperf-go/submission-build/1" || len(d.Results) == 0 || o.Status != cli.ExitInvalid {
		t.Errorf("status %d, %v: %d results", o.Status, err, len(d.Results))
	}
}

func TestWrongFlagsOfABuildAreNamed(t *testing.T) {
	inTree(t)
	base := func(flags ...string) []string {
		return append([]string{"submission", "build", "tree", "submission", "--system", "board1", "--model", "resnet50"}, flags...)
	}
	var cases []clitest.Case
	for _, c := range []struct {
		name, want string
		args       []string
		status     int
	}{
		{"no runs", "build: want TREE RUNS...", []string{"submission", "build", "tree"}, cli.ExitUsage},
		{"a measurement without a value", `--measurement is "retraining", want FIELD=VALUE`, base("--measurement", "retraining"), cli.ExitUsage},
		{"a measurement with two values", `--measurement gives retraining twice: "no" and "yes"`, base("--measurement", "retraining=no", "--measurement", "retraining=yes"), cli.ExitUsage},
		{"a field without a value", `--set is "cooling", want FIELD=VALUE`, base("--set", "cooling"), cli.ExitUsage},
		{"a field without a value, of a description", `--set is "cooling", want FIELD=VALUE`, base("--description", "page.json", "--set", "cooling"), cli.ExitUsage},
		{"a submitter that is no name", `submitter is "Org/x", want the name of a folder`, base("--submitter", "Org/x", "--division", "closed"), cli.ExitUsage},
		{"no division", `division is "", want closed, open or network`, base("--submitter", "Org"), cli.ExitUsage},
		{"a description that is none", "page.html", base("--description", "page.html"), cli.ExitError},
		{"runs that are not there", "nowhere", []string{"submission", "build", "tree", "nowhere", "--system", "b", "--submitter", "Org", "--division", "closed"}, cli.ExitError},
	} {
		cases = append(cases, clitest.Case{Name: c.name, Args: c.args, Status: c.status, Want: []string{c.want}})
	}
	write(t, "page.json", `{"submitter": "Org", "division": "closed"}`)
	clitest.Check(t, Commands, cases)
	if _, err := os.Stat("tree"); err == nil {
		t.Error("there is a tree")
	}
}

func TestTheNewestRoundIsTheDefault(t *testing.T) {
	all := rounds.Versions()
	for _, path := range [][]string{{"check"}, {"report"}, {"build"}} {
		cmd, _, err := newSubmission().Find(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := cmd.Flag("rules").DefValue; got != all[len(all)-1] {
			t.Errorf("%s: --rules is %s, want %s", path, got, all[len(all)-1])
		}
		for _, v := range all {
			if !strings.Contains(cmd.Flag("rules").Usage, v) {
				t.Errorf("%s: --rules does not name %s", path, v)
			}
		}
	}
}
