package output

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

// hostile are texts as a submitter may write them.
func hostile(rnd *rand.Rand) string {
	parts := []string{"=", "+", "-", "@", "\t", "\r", "\n", "|", "\\", "`", "*", "_", "[x](y)", "<b>", "&amp;", "&", "\"", "'", ",", ";", "1", "2.5", "e3", "SUM(A1)", "é", "\u202e", " ", "#"}
	var b strings.Builder
	for range rnd.IntN(6) {
		b.WriteString(parts[rnd.IntN(len(parts))])
	}
	return b.String()
}

func hostileSheet(rnd *rand.Rand) Sheet {
	s := Sheet{Title: "edge - closed", Header: []string{"ID", "System", "Notes"}}
	for range 1 + rnd.IntN(4) {
		s.Rows = append(s.Rows, []string{hostile(rnd), hostile(rnd), hostile(rnd)})
	}
	return s
}

func written(t *testing.T, f Format, s Sheet) string {
	t.Helper()
	var b strings.Builder
	if err := Sheets(&b, f, []Sheet{s}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// No cell begins as a formula does, and all that a cell was is there, behind the apostrophe.
func TestSpreadsheetsReadCellsAsTexts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		s := hostileSheet(rnd)
		r := csv.NewReader(strings.NewReader(written(t, CSV, s)))
		r.FieldsPerRecord = -1
		records, err := r.ReadAll()
		if err != nil || len(records) != 2+len(s.Rows) || records[0][0] != s.Title {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for i, row := range s.Rows {
			for j, cell := range row {
				got := records[2+i][j]
				if _, err := strconv.ParseFloat(got, 64); err != nil && got != "-" && got != "" && strings.ContainsRune("=+-@\t\r", rune(got[0])) {
					t.Errorf("%q is read as the formula %q", cell, got)
				}
				if want := strings.ReplaceAll(cell, "\r\n", "\n"); strings.TrimPrefix(got, "'") != strings.TrimPrefix(want, "'") {
					t.Errorf("%q is read as %q", cell, got)
				}
			}
		}
	}
}

// A row of Markdown stays one, with as many cells as the header has.
func TestRowsOfMarkdownHaveTheCellsOfTheHeader(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	for range 300 {
		s := hostileSheet(rnd)
		lines := strings.Split(strings.TrimRight(written(t, Markdown, s), "\n"), "\n")
		if len(lines) != 4+len(s.Rows) || lines[0] != "## edge - closed" || lines[2] != "| ID | System | Notes |" || lines[3] != "| --- | --- | --- |" {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), 4+len(s.Rows), strings.Join(lines, "\n"))
		}
		for _, line := range lines[4:] {
			if cells := strings.Count(strings.NewReplacer(`\\`, "", `\|`, "").Replace(line), "|") - 1; cells != 3 {
				t.Errorf("%q has %d cells, want 3", line, cells)
			}
			if strings.ContainsAny(line, "<>") {
				t.Errorf("%q has an element", line)
			}
		}
	}
}

// A reader of XML, which is stricter than browsers, finds the texts as they were.
func TestHTMLHasTheTextsAndNoOtherElements(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	for range 100 {
		s := hostileSheet(rnd)
		_, body, _ := strings.Cut(written(t, HTML, s), "<body>")
		d := xml.NewDecoder(strings.NewReader("<body>" + strings.TrimSuffix(body, "</html>\n")))
		var cells []string
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			switch e := token.(type) {
			case xml.StartElement:
				if name := e.Name.Local; !strings.Contains(" body h2 table tr th td ", " "+name+" ") {
					t.Fatalf("there is a %s", name)
				} else if name == "td" {
					cells = append(cells, "")
				}
			case xml.CharData:
				if n := len(cells); n > 0 && len(cells) <= 3*len(s.Rows) {
					cells[n-1] += string(e)
				}
			}
		}
		for i, row := range s.Rows {
			for j, cell := range row {
				got := strings.TrimRight(cells[3*i+j], "\n")
				if want := strings.TrimRight(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(cell), "\n"); got != want {
					t.Errorf("%q is shown as %q", cell, got)
				}
			}
		}
	}
}

func TestPlacesOfSARIFLeadToTheFile(t *testing.T) {
	for path, want := range map[string]string{
		"closed/Org/a.txt": "closed/Org/a.txt", "a b/c#d?e": "a%20b/c%23d%3Fe", "é/100%": "%C3%A9/100%25", "a/../b": "a/../b", "x:y": "x:y",
	} {
		r := sarifOf(checker.Finding{Rule: "r", Level: checker.Fails, Path: path, Line: 7, Message: "m", Found: "f", Wanted: "w"})
		at := r.Locations[0].Physical
		if back, err := url.PathUnescape(at.Artifact.URI); err != nil || back != path || at.Artifact.URI != want || at.Region == nil || at.Region.StartLine != 7 {
			t.Errorf("%s leads to %+v, %v, want %s", path, at, err, want)
		}
		if r.Message.Text != "m; found f; wanted w" || r.Level != "error" {
			t.Errorf("it says %+v", r)
		}
	}
	note := sarifOf(checker.Finding{Level: checker.Notes, Message: "m"})
	if note.Level != "note" || note.Message.Text != "m" || note.Locations[0].Physical.Region != nil {
		t.Errorf("a note without a line is %+v", note)
	}
	text, err := json.Marshal(note)
	if err != nil || strings.Contains(string(text), "region") {
		t.Errorf("%s, %v, want no region", text, err)
	}
}

func TestFindingsOfASystemAreListedOnce(t *testing.T) {
	shared := checker.Finding{Rule: "system-field", Path: "systems/box.json", Message: "m"}
	own := checker.Finding{Rule: "acc-hash", Path: "accuracy.txt", Message: "n"}
	r := &checker.Report{Findings: []checker.Finding{own}, Results: []checker.Result{{Findings: []checker.Finding{shared}}, {Findings: []checker.Finding{shared, own}}}}
	if got := findings(r); len(got) != 2 || got[0] != own || got[1] != shared {
		t.Errorf("%+v, want each once, those of the tree first", got)
	}
	if got := findings(&checker.Report{}); got == nil || len(got) != 0 {
		t.Errorf("of nothing: %#v, want an empty list", got)
	}
}

func TestNumbersOfTheFinalReportHaveThreeDecimals(t *testing.T) {
	for value, want := range map[string]string{
		"1": "1.000", "0.0005": "0.001", "1234.56789": "1234.568", "-1": "-1.000", "1e3": "1000.000", "": "", "None": "None", "N/A": "N/A", "1e999": "1e999",
	} {
		if got := decimals(value); got != want {
			t.Errorf("decimals(%q) = %q, want %q", value, got, want)
		}
	}
}
