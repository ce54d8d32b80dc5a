package output

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

// passing is a result that passes, "submitter/system/benchmark/scenario", of a system of a
// type.
func passing(path, model, kind, value, unit string) checker.Result {
	p := strings.Split(path, "/")
	return checker.Result{
		Path: "closed/" + path, Division: "closed", Submitter: p[0], System: p[1], Benchmark: p[2], Scenario: p[3], Model: model, Passes: true,
		Row: &checker.Row{Availability: "available", SystemType: kind, SystemName: p[1], Result: value, Units: unit, Accuracy: "acc: 76", Total: "1"},
	}
}

func finalOf(t *testing.T, results ...checker.Result) []Sheet {
	t.Helper()
	s, err := Final(&checker.Report{Rules: "v6.1", Results: results})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// results are the columns of a sheet behind those of the system.
func resultColumns(s Sheet) []string { return s.Header[len(indexColumns):] }

func TestColumnsAreInTheOrderOfTheFinalReport(t *testing.T) {
	s := finalOf(t,
		passing("Org/box/whisper/Offline", "whisper", "edge", "1", "Samples/s"),
		passing("Org/box/resnet50/Offline", "resnet", "edge", "2", "Samples/s"),
		passing("Org/box/resnet50/multistream", "resnet", "edge", "3", "Latency (ms)"),
		passing("Org/box/zzz/Offline", "zzz", "edge", "4", "Samples/s"),
		passing("Org/box/aaa/Offline", "aaa", "edge", "5", "Samples/s"),
		passing("Org/box/resnet50/SingleStream", "resnet", "edge", "6", "Latency (ms)"),
	)
	want := []string{
		"resnet SingleStream Latency (ms)", "resnet MultiStream Latency (ms)", "resnet Offline Samples/s", "whisper Offline Samples/s", "aaa Offline Samples/s", "zzz Offline Samples/s",
	}
	if diff := cmp.Diff(want, resultColumns(s[0])); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"6.000", "3.000", "2.000", "1.000", "5.000", "4.000"}, s[0].Rows[0][len(indexColumns):]); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestRowsAreSystemsByAvailabilityAndName(t *testing.T) {
	preview := passing("Alpha/a/resnet50/Offline", "resnet", "edge", "1", "Samples/s")
	preview.Row.Availability = "preview"
	premise := passing("Zeta/z/resnet50/Offline", "resnet", "edge", "2", "Samples/s")
	premise.Row.Availability = "on-premise"
	s := finalOf(t, preview, premise, passing("Beta/b/resnet50/Offline", "resnet", "edge", "3", "Samples/s"), passing("Beta/b/whisper/Offline", "whisper", "edge", "4", "Samples/s"))
	var got []string
	for _, row := range s[0].Rows {
		got = append(got, strings.Join(append(row[:3:3], row[len(indexColumns):]...), " "))
	}
	want := []string{"6.1-0001 Beta available 3.000 4.000", "6.1-0002 Zeta available 2.000 ", "6.1-0003 Alpha preview 1.000 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestASystemWithoutAcceleratorsShowsNone(t *testing.T) {
	for accelerator, want := range map[string]string{"N/A": "", "-": "", "GPU": "GPU"} {
		one := passing("Org/box/resnet50/Offline", "resnet", "edge", "1", "Samples/s")
		one.Row.Accelerator, one.Row.Accelerators = accelerator, "0"
		if row := finalOf(t, one)[0].Rows[0]; row[7] != want || row[8] != "" {
			t.Errorf("accelerator %q is shown as %q and %q, want %q and nothing", accelerator, row[7], row[8], want)
		}
	}
}

func TestASuiteShowsTheScenariosThatItHas(t *testing.T) {
	both := "datacenter,edge"
	s := finalOf(t,
		passing("Org/box/resnet50/SingleStream", "resnet", both, "1", "Latency (ms)"),
		passing("Org/box/llama3.1-8b/Server", "llama3.1-8b", both, "2", "Tokens/s"),
		passing("Org/box/own/Server", "own", "datacenter", "3", "Queries/s"),
	)
	got := map[string][]string{}
	for _, one := range s {
		got[one.Title] = resultColumns(one)
	}
	want := map[string][]string{"edge - closed": {"resnet SingleStream Latency (ms)"}, "datacenter - closed": {"llama3.1-8b Server Tokens/s", "own Server Queries/s"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sheets (-want +got):\n%s", diff)
	}
}

func TestOnlyWhatPassesIsShownAndPowerOnlyWhereItWasMeasured(t *testing.T) {
	failed := passing("Org/failed/resnet50/Offline", "resnet", "edge", "1", "Samples/s")
	failed.Passes = false
	without := passing("Org/without/resnet50/Offline", "resnet", "edge", "1", "Samples/s")
	without.Row = nil
	power := passing("Org/power/resnet50/Offline", "resnet", "edge", "2", "Samples/s")
	power.Division, power.Row.HasPower, power.Row.PowerResult, power.Row.PowerUnits = "network", true, "150.0625", "Watts"
	s := finalOf(t, failed, without, power, passing("Org/plain/resnet50/Offline", "resnet", "edge", "3", "Samples/s"))
	var titles []string
	for _, one := range s {
		titles = append(titles, one.Title)
		if len(one.Rows) != 1 {
			t.Errorf("%s has %d rows, want 1", one.Title, len(one.Rows))
		}
	}
	if diff := cmp.Diff([]string{"edge - closed", "edge - network", "edge - network - power"}, titles); diff != "" {
		t.Errorf("sheets (-want +got):\n%s", diff)
	}
	if row := s[2].Rows[0]; row[len(row)-2] != "2.000" || row[len(row)-1] != "150.062" {
		t.Errorf("the result and its power are %q", row[len(indexColumns):])
	}
	if _, err := Final(&checker.Report{Rules: "v1"}); err == nil || !strings.Contains(err.Error(), "v6.1") {
		t.Errorf("a round that is not known: %v", err)
	}
}

func TestAnOpenSystemHasARowForEachOfItsModels(t *testing.T) {
	one, other := passing("Org/box/mine/Offline", "resnet", "edge", "1", "Samples/s"), passing("Org/box/yours/Offline", "resnet", "edge", "many", "Samples/s")
	one.Division, other.Division, other.Row.Accuracy = "open", "open", "acc: 70"
	s := finalOf(t, other, one)
	want := [][]string{{"mine", "acc: 76", "1.000"}, {"yours", "acc: 70", "many"}}
	got := [][]string{s[0].Rows[0][len(indexColumns):], s[0].Rows[1][len(indexColumns):]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestCellsAreNoFormulas(t *testing.T) {
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

func TestSheetsAreTablesOfMarkdownAndHTML(t *testing.T) {
	s := []Sheet{{Title: "edge - closed", Header: []string{"ID", "x_y"}, Rows: [][]string{{"1", "a|b\n*c*"}, {"2", "&"}}}}
	for format, want := range map[Format]string{
		Markdown: "## edge - closed\n\n| ID | x\\_y |\n| --- | --- |\n| 1 | a\\|b \\*c\\* |\n| 2 | &amp; |\n\n",
		HTML: "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>MLPerf Inference results</title></head>\n<body>\n<h2>edge - closed</h2>\n<table>\n" +
			"<tr><th>ID</th><th>x_y</th></tr>\n<tr><td>1</td><td>a|b\n*c*</td></tr>\n<tr><td>2</td><td>&amp;</td></tr>\n</table>\n</body>\n</html>\n",
		CSV: "edge - closed\nID,x_y\n1,\"a|b\n*c*\"\n2,&\n",
	} {
		var b strings.Builder
		if err := Sheets(&b, format, s); err != nil || b.String() != want {
			t.Errorf("%s is\n%s(%v), want\n%s", format, b.String(), err, want)
		}
	}
	if err := Sheets(&strings.Builder{}, "pdf", s); err == nil || !strings.Contains(err.Error(), "summary, csv, markdown or html") {
		t.Errorf("format pdf: %v", err)
	}
}

func TestTextTellsAPersonWhatToDo(t *testing.T) {
	report := &checker.Report{Rules: "v6.1", Profile: checker.Strict, Findings: []checker.Finding{
		{Rule: "tree-name", Level: checker.Notes, Path: "a\u202eb", Message: "the name\x07 é", Found: "\x7f", Fix: "rename it"},
		{Rule: "acc-target", Level: checker.Fails, Path: "x/accuracy.txt", Line: 7, Message: "low", Found: "1", Wanted: "≥ 2"},
	}, Results: []checker.Result{{Path: "x\ny"}}}
	var b strings.Builder
	if err := Text(&b, report); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{}
	for _, r := range checker.Rules() {
		links[r.ID] = r.Link
	}
	want := "does not pass  x\\x0ay\n\n" +
		"a\\u202eb: note: the name\\x07 é\n  found   \\x7f\n  fix     rename it\n  rule    tree-name " + links["tree-name"] + "\n\n" +
		"x/accuracy.txt:7: error: low\n  found   1\n  wanted  ≥ 2\n  rule    acc-target " + links["acc-target"] + "\n\n" +
		"0 of 1 results pass; 1 findings fail the tree.\nThe tree does not pass: rules v6.1, profile strict.\n"
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

func TestJSONIsTheReport(t *testing.T) {
	want := judged("closed")
	var b strings.Builder
	if err := JSON(&b, want); err != nil {
		t.Fatal(err)
	}
	got := &checker.Report{}
	if err := json.Unmarshal([]byte(b.String()), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(b.String(), "<script>") {
		t.Errorf("%s\n(-want +got):\n%s", b.String(), diff)
	}
}

func TestSARIFSaysWhatIsThereAndWhatIsWanted(t *testing.T) {
	for _, c := range []struct {
		finding checker.Finding
		want    string
	}{
		{checker.Finding{Message: "m"}, "m"},
		{checker.Finding{Message: "m", Found: "f"}, "m; found f"},
		{checker.Finding{Message: "m", Wanted: "w"}, "m; wanted w"},
		{checker.Finding{Message: "m", Found: "f", Wanted: "w"}, "m; found f; wanted w"},
	} {
		c.finding.Path, c.finding.Level = "é/100%", checker.Notes
		got := sarifOf(c.finding)
		if got.Message.Text != c.want || got.Level != "note" || got.Locations[0].Physical.Artifact.URI != "%C3%A9/100%25" || got.Locations[0].Physical.Region != nil {
			t.Errorf("%+v, want the text %q, the level note, %%C3%%A9/100%%25 and no line", got, c.want)
		}
	}
}

// full is a disk on which nothing can be written.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	r := judged("closed")
	s := finalOf(t, passing("Org/box/resnet50/Offline", "resnet", "edge", "1", "Samples/s"))
	for name, write := range map[string]func() error{
		"text": func() error { return Text(full{}, r) }, "JSON": func() error { return JSON(full{}, r) }, "SARIF": func() error { return SARIF(full{}, r) },
		"summary": func() error { return Summary(full{}, r) }, "csv": func() error { return Sheets(full{}, CSV, s) },
		"markdown": func() error { return Sheets(full{}, Markdown, s) }, "html": func() error { return Sheets(full{}, HTML, s) },
	} {
		if err := write(); !errors.Is(err, errFull) {
			t.Errorf("%s: %v, want %v", name, err, errFull)
		}
	}
}
