package output

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestSummaryPowerRow(t *testing.T) {
	var b strings.Builder
	if err := Summary(&b, judged("closed")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || len(strings.Split(lines[0], ",")) != 31 || !strings.Contains(lines[1], `"12.3456"`) || !strings.Contains(lines[2], `"7.5"`) || !strings.Contains(lines[2], `"Watts"`) {
		t.Errorf("%q", lines)
	}
}

func TestCSVHasNoFormulas(t *testing.T) {
	sheet := Sheet{Title: "t", Header: []string{"h"}}
	cells := map[string]string{
		"=1": "'=1", "+cmd": "'+cmd", "-2+3": "'-2+3", "@x": "'@x", "\tx": "'\tx", "-1.5": "-1.5", "+2": "+2", "-": "-", "": "", "a=b": "a=b", "7": "7",
	}
	var order []string
	for cell := range cells {
		order = append(order, cell)
		sheet.Rows = append(sheet.Rows, []string{cell, "x"})
	}
	var b strings.Builder
	if err := Sheets(&b, CSV, []Sheet{sheet}); err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(strings.NewReader(b.String()))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, cell := range order {
		if got := records[i+2][0]; got != cells[cell] {
			t.Errorf("%q is written as %q, want %q", cell, got, cells[cell])
		}
	}
}

func TestSheetFormats(t *testing.T) {
	s := []Sheet{{Title: "edge - closed", Header: []string{"ID", "x_y"}, Rows: [][]string{{"1", "a|b\n*c*"}, {"2", "&"}}}}
	for format, want := range map[Format]string{
		Markdown: "## edge - closed\n\n| ID | x\\_y |\n| --- | --- |\n| 1 | a\\|b \\*c\\* |\n| 2 | &amp; |\n\n",
		CSV:      "edge - closed\nID,x_y\n1,\"a|b\n*c*\"\n2,&\n",
	} {
		var b strings.Builder
		if err := Sheets(&b, format, s); err != nil || b.String() != want {
			t.Errorf("%s is\n%s(%v), want\n%s", format, b.String(), err, want)
		}
	}
	if err := Sheets(&strings.Builder{}, "pdf", s); err == nil || !strings.Contains(err.Error(), "csv or markdown") {
		t.Errorf("format pdf: %v", err)
	}
}

func TestText(t *testing.T) {
	report := &checker.Report{Rules: "v6.1", Profile: checker.Strict, Findings: []checker.Finding{
		{Rule: "tree-name", Level: checker.Notes, Path: "a\u202eb", Message: "the name\x07 é", Found: "\x7f", Fix: "rename it"},
		{Rule: "acc-target", Level: checker.Fails, Path: "x/accuracy.txt", Line: 7, Message: "low", Found: "1", Wanted: "≥ 2"},
	}, Results: []checker.Result{{Path: "x\ny"}}}
	report.Results = append(report.Results, checker.Result{Path: "z", Findings: report.Findings[1:]}) // which are shown once
	var b strings.Builder
	if err := Text(&b, report); err != nil {
		t.Fatal(err)
	}
	want := "does not pass  x\\x0ay\ndoes not pass  z\n\n" +
		"a\\u202eb: note: the name\\x07 é\n  found   \\x7f\n  fix     rename it\n  rule    tree-name " + checker.Link("tree-name") + "\n\n" +
		"x/accuracy.txt:7: error: low\n  found   1\n  wanted  ≥ 2\n  rule    acc-target " + checker.Link("acc-target") + "\n\n" +
		"0 of 2 results pass; 2 findings fail the tree.\nThe tree does not pass: rules v6.1, profile strict.\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	b.Reset()
	if err := Text(&b, &checker.Report{Rules: "v6.1", Profile: checker.Reference, Passes: true, Results: []checker.Result{{Path: "x", Passes: true}}}); err != nil {
		t.Fatal(err)
	}
	if want := "1 of 1 results pass; 0 findings fail the tree.\nThe tree passes: rules v6.1, profile reference.\n"; b.String() != want {
		t.Errorf("text %q, want %q", b.String(), want)
	}
}

// full is a disk on which nothing can be written.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	r := judged("closed")
	s, err := Final(r)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() error{
		"text":    func() error { return Text(full{}, r) },
		"summary": func() error { return Summary(full{}, r) }, "csv": func() error { return Sheets(full{}, CSV, s) },
		"markdown": func() error { return Sheets(full{}, Markdown, s) }, "html": func() error { return Page(full{}, r, s, "p") },
	} {
		if err := write(); !errors.Is(err, errFull) {
			t.Errorf("%s: %v, want %v", name, err, errFull)
		}
	}
}

// An official is the rows of a summary, and the sheets that generate_final_report.py makes of them;
// see testdata/make_final.py.
type official struct {
	Version string
	Results []map[string]any
	Sheets  []Sheet
}

func TestOfficialFinalReport(t *testing.T) {
	data, err := os.ReadFile("testdata/final.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []official
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for i, o := range all {
		got, err := Final(o.report())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o.Sheets, got); diff != "" {
			t.Errorf("report %d of %s (-official +here):\n%s", i, o.Version, diff)
		}
	}
}

// report is what the checker would say: a row with power follows that without.
func (o official) report() *checker.Report {
	r := &checker.Report{Rules: "v" + o.Version}
	for _, row := range o.Results {
		text := func(name string) string {
			if n, isNumber := row[name].(json.Number); isNumber {
				return n.String()
			}
			s, _ := row[name].(string)
			return s
		}
		if unit := text("Units"); unit == "Watts" || unit == "millijoules" {
			last := r.Results[len(r.Results)-1].Row
			last.PowerResult, last.PowerUnits = text("Result"), unit
			continue
		}
		power, _ := row["has_power"].(bool)
		r.Results = append(r.Results, checker.Result{
			Division: text("Division"), Submitter: text("Organization"), System: text("Platform"), Benchmark: text("Model"), Model: text("MlperfModel"), Scenario: text("Scenario"), Passes: true,
			Row: &checker.Row{
				Availability: text("Availability"), SystemType: text("SystemType"), SystemName: text("SystemName"), Result: text("Result"), Units: text("Units"), Accuracy: text("Accuracy"),
				Nodes: text("number_of_nodes"), Processor: text("host_processor_model_name"), Processors: text("host_processors_per_node"), Accelerator: text("accelerator_model_name"),
				Accelerators: text("accelerators_per_node"), Total: text("total_accelerators"), Framework: text("framework"), Notes: text("notes"), HasPower: power,
			},
		})
	}
	return r
}
