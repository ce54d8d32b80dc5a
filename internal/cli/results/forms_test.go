package results

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestTheFormsOfAListSayTheSame: each row of the CSV is one of the JSON, in the same order, with the same numbers.
func TestTheFormsOfAListSayTheSame(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 5 {
		keep(t, fmt.Sprintf("results/%c, \"quoted\"", 'a'+i), slower(1+float64(i), time.Duration(i)*time.Hour))
	}
	keep(t, "results/broken", invalid)
	asCSV, asJSON := clitest.Run(t, Commands(), "report", "--format", "csv"), clitest.Run(t, Commands(), "report", "--json")
	table, err := csv.NewReader(strings.NewReader(asCSV.Stdout)).ReadAll()
	if err != nil || len(table) != 7 {
		t.Fatalf("%d lines, %v:\n%s", len(table), err, asCSV.Stdout)
	}
	var doc struct {
		Schema string
		Rows   []map[string]any
	}
	if err := json.Unmarshal([]byte(asJSON.Stdout), &doc); err != nil || len(doc.Rows) != 6 {
		t.Fatalf("%d rows, %v", len(doc.Rows), err)
	}
	column := map[string]int{}
	for i, name := range table[0] {
		column[name] = i
	}
	for i, row := range doc.Rows {
		for _, name := range []string{"folder", "model", "scenario", "result"} {
			if got := table[i+1][column[name]]; got != row[name] {
				t.Errorf("row %d: %s is %q in the CSV and %v in the JSON", i, name, got, row[name])
			}
		}
	}
	if again := clitest.Run(t, Commands(), "report", "--format", "csv", "--output", "list.csv"); again.Status != cli.ExitDone {
		t.Fatal(again.Err)
	}
	if file, err := os.ReadFile("list.csv"); err != nil || string(file) != asCSV.Stdout {
		t.Errorf("the file is not what is printed: %v", err)
	}
}

// published unpacks logs of published results into a folder of its own, each in one of its name.
func published(t *testing.T, names ...string) (folder string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt"} {
			text := testenv.Read(t, filepath.Join("..", "..", "report", "importlog", "testdata", name, file+".gz"))
			if err := os.WriteFile(filepath.Join(dir, name, file), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir + "/"
}

// TestLogsOfAnotherLoadGenAreExplained by the rules that are named, or those of their version.
func TestLogsOfAnotherLoadGenAreExplained(t *testing.T) {
	logs := published(t, "v4.1-offline", "v5.1-offline-invalid", "v2.0-multistream")
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "of a version", Args: []string{"explain", logs + "v4.1-offline"}, Want: []string{"Offline"}},
		{Name: "under a round and for a model", Args: []string{"explain", "--model", "resnet50", "--rules", "v5.1", logs + "v5.1-offline-invalid"}, Want: []string{"INVALID", "v5.1"}},
		{Name: "as JSON", Args: []string{"explain", "--json", "--model", "resnet50", logs + "v4.1-offline"}, Want: []string{`"schema": "mlperf-go/results/`, `"scenario": "Offline"`, `"model": "resnet50"`}},
		{Name: "of a model that is none", Args: []string{"explain", "--model", "alexnet", logs + "v4.1-offline"}, Status: cli.ExitUsage, Want: []string{`unknown model "alexnet"`}},
		{Name: "under rules that are none", Args: []string{"explain", "--rules", "v99", logs + "v4.1-offline"}, Status: cli.ExitUsage, Want: []string{`unknown rules "v99"`}},
		{Name: "side by side", Args: []string{"report", "--format", "csv", logs + "v4.1-offline", logs + "v2.0-multistream"}, Want: []string{",Offline,", ",MultiStream,"}},
	})
}

// TestWordsForLimitsDoNotSayMoreThanIsKnown: what nobody can tell is no success.
func TestWordsForLimitsDoNotSayMoreThanIsKnown(t *testing.T) {
	t.Chdir(t.TempDir())
	keep(t, "base", nil)
	keep(t, "new", slower(3, time.Minute))
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "not enough runs", Args: []string{"compare", "--fail-if", "p50>+5%", "base", "new"}, Want: []string{"\n? p50>+5%: "}, Not: []string{"\nok p50", "\nFAIL p50"}},
		{Name: "a metric that no run has", Args: []string{"compare", "--fail-if", "ttft p99>+5%", "base", "new"}, Status: cli.ExitError, Want: []string{"none of the runs that were compared has ttft p99, so it can never fail"}},
		{Name: "a percentage that is none", Args: []string{"compare", "--fail-if", "p50>much", "base", "new"}, Status: cli.ExitUsage, Want: []string{`--fail-if "p50>much"`}},
		{Name: "two formats", Args: []string{"compare", "--json", "--format", "csv", "base", "new"}, Status: cli.ExitUsage, Want: []string{"--json and --format csv are two formats, want one"}},
	})
}
