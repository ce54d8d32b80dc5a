package output

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

const evil = `<script>|=1"x`

// judged is a report with a result that passes, with power, and one that does not.
func judged(division string) *checker.Report {
	row := &checker.Row{
		Availability: "available", SystemType: "edge", SystemName: evil, Result: "12.3456", Units: "Samples/s", Accuracy: "acc: 76.0", Nodes: "1",
		Processors: "1", Accelerators: "0", Accelerator: "N/A", Total: "0", HasPower: true, PowerResult: "7.5", PowerUnits: "Watts",
	}
	system := checker.Finding{Rule: "system-field", Level: checker.Fails, Path: "systems/a b.json", Line: 3, Message: "field \x1b is missing", Fix: "add it"}
	return &checker.Report{Rules: "v6.1", Profile: checker.Reference, Results: []checker.Result{
		{Path: "a", Division: division, Submitter: "=Org", System: "box", Benchmark: "resnet50", Model: "resnet", Scenario: "offline", Passes: true, Row: row},
		{Path: "b", Division: division, Findings: []checker.Finding{system}},
		{Path: "c", Division: division, Findings: []checker.Finding{system}},
	}}
}

func TestTextNamesEveryFindingOnce(t *testing.T) {
	var b strings.Builder
	if err := Text(&b, judged("closed")); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "systems/a b.json:3: error: field \\x1b is missing") != 1 || !strings.Contains(b.String(), "1 of 3 results pass; 2 findings fail the tree.\nThe tree does not pass") {
		t.Error(b.String())
	}
}

func TestSARIFHasRulesAndPlaces(t *testing.T) {
	var b strings.Builder
	if err := SARIF(&b, judged("closed")); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal([]byte(b.String()), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != 1 || run.Results[0].RuleID != "system-field" || run.Results[0].Locations[0].Physical.Artifact.URI != "systems/a%20b.json" ||
		run.Results[0].Locations[0].Physical.Region.StartLine != 3 || len(run.Tool.Driver.Rules) != len(checker.Rules()) {
		t.Errorf("%+v", run.Results)
	}
}

func TestTheSummaryHasARowForPower(t *testing.T) {
	var b strings.Builder
	if err := Summary(&b, judged("closed")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || len(strings.Split(lines[0], ",")) != 31 || !strings.Contains(lines[1], `"12.3456"`) || !strings.Contains(lines[2], `"7.5"`) || !strings.Contains(lines[2], `"Watts"`) {
		t.Errorf("%q", lines)
	}
}

func sheets(t *testing.T, division string, f Format) string {
	t.Helper()
	s, err := Final(judged(division))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Sheets(&b, f, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTablesHaveASuiteADivisionAndPower(t *testing.T) {
	s, err := Final(judged("open"))
	if err != nil || len(s) != 2 || s[0].Title != "edge - open" || s[1].Title != "edge - open - power" {
		t.Fatalf("%+v, %v", s, err)
	}
	if h := strings.Join(s[1].Header, ";"); !strings.HasSuffix(h, "Notes;UsedModel;Accuracy;resnet Offline Samples/s;resnet Offline Watts") {
		t.Error(h)
	}
	if row := s[1].Rows[0]; row[0] != "6.1-0001" || row[len(row)-2] != "12.346" || row[len(row)-1] != "7.500" {
		t.Error(row)
	}
}

func TestWhatSubmittersWroteIsEscaped(t *testing.T) {
	if text := sheets(t, "closed", HTML); strings.Contains(text, "<script>") || !strings.Contains(text, "&lt;script&gt;|=1&#34;x") {
		t.Error(text)
	}
	if text := sheets(t, "closed", Markdown); strings.Contains(text, "<script>") || !strings.Contains(text, `&lt;script&gt;\|=1`) {
		t.Error(text)
	}
	r := csv.NewReader(strings.NewReader(sheets(t, "closed", CSV)))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil || records[2][1] != "'=Org" || records[2][3] != evil {
		t.Errorf("%q, %v", records, err)
	}
}
