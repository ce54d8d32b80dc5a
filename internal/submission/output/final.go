package output

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Sheet is a table of the final report: the systems of a suite and a division, and
// what they reached in each benchmark and scenario.
type Sheet struct {
	Title  string     `json:"title"`  // "edge - closed", "datacenter - open - power"
	Header []string   `json:"header"` // names of columns
	Rows   [][]string `json:"rows"`   // one a system, in open one a system and model
}

// Orders of columns (generate_final_report.py, columns_order).
var (
	modelOrder = []string{
		"resnet", "retinanet", "yolo-95", "yolo-99", "bert-99", "bert-99.9", "dlrm-v2-99", "dlrm-v2-99.9", "dlrm-v3", "3d-unet-99",
		"3d-unet-99.9", "gptj-99", "gptj-99.9", "llama3.1-8b", "llama3.1-8b-edge", "llama2-70b-99", "llama2-70b-99.9",
		"stable-diffusion-xl", "mixtral-8x7b", "llama3.1-405b", "rgat", "pointpainting", "deepseek-r1", "whisper",
		"wan-2.2-t2v-a14b", "qwen3-vl-235b-a22b", "gpt-oss-120b", "e2e-rag-qna", "e2e-rag-db",
	}
	scenarioOrder = []string{"SingleStream", "MultiStream", "Server", "Offline", "Interactive"}
	unitOrder     = []string{"Latency (ms)", "Latency (s)", "Samples/s", "Queries/s", "Tokens/s", "millijoules", "Watts"}
)

var indexColumns = []string{"ID", "Submitter", "Availability", "System", "Nodes", "Processor", "p#", "Accelerator", "a#", "Total Accelerators", "Software", "Notes"}

// A column of results.
type column struct{ model, scenario, unit string }

// A sheetBuilder gathers the rows of a sheet.
type sheetBuilder struct {
	open    bool
	ids     map[string]string // of systems
	columns []column
	rows    []*systemRow
}

type systemRow struct {
	key    []string // that rows are in the order of, the ID first
	index  []string
	extra  []string // of open: model as it is called, accuracy
	values map[column]string
}

// Final returns the tables of the final report, of the results that pass. A scenario
// that a round does not ask of a benchmark in a suite is not part of them. A system has one ID
// in all tables.
func Final(r *checker.Report) ([]Sheet, error) {
	round, err := rounds.Find(r.Rules)
	if err != nil {
		return nil, err
	}
	ids := number(r)
	var sheets []Sheet
	for _, division := range []string{"closed", "open", "network"} {
		for _, suite := range []string{"datacenter", "edge"} {
			for _, power := range []bool{false, true} {
				c := chapter{suite, division, power}
				if b := c.gather(r, round, ids); len(b.rows) > 0 {
					sheets = append(sheets, b.sheet(c.title()))
				}
			}
		}
	}
	return sheets, nil
}

// A chapter is what one sheet is about.
type chapter struct {
	suite, division string
	power           bool
}

func (c chapter) title() string {
	if c.power {
		return c.suite + " - " + c.division + " - power"
	}
	return c.suite + " - " + c.division
}

// has reports whether a result belongs into the sheet.
func (c chapter) has(one checker.Result, round *rounds.Round) bool {
	if one.Row == nil || !one.Passes || one.Division != c.division || c.power && !one.Row.HasPower {
		return false
	}
	return strings.Contains(one.Row.SystemType, c.suite) && shown(round, one.Model, c.suite, rounds.Scenario(one.Scenario))
}

func (c chapter) gather(r *checker.Report, round *rounds.Round, ids map[string]string) *sheetBuilder {
	b := &sheetBuilder{open: c.division == "open", ids: ids}
	for _, one := range r.Results {
		if !c.has(one, round) {
			continue
		}
		scenario := rounds.Scenario(one.Scenario)
		b.add(one, column{one.Model, scenario, one.Row.Units}, one.Row.Result)
		if c.power {
			b.add(one, column{one.Model, scenario, one.Row.PowerUnits}, one.Row.PowerResult)
		}
	}
	return b
}

func (b *sheetBuilder) add(one checker.Result, c column, value string) {
	w := one.Row
	key := []string{b.ids[unique(one)]}
	if b.open { // which shows the accuracy, of each scenario its own
		key = append(key, one.Benchmark, w.Accuracy)
	}
	i := slices.IndexFunc(b.rows, func(row *systemRow) bool { return slices.Equal(row.key, key) })
	if i < 0 {
		i = len(b.rows)
		b.rows = append(b.rows, &systemRow{key: key, index: indexOf(one), extra: []string{one.Benchmark, w.Accuracy}, values: map[column]string{}})
	}
	b.rows[i].values[c] = decimals(value)
	if !slices.Contains(b.columns, c) {
		b.columns = append(b.columns, c)
	}
}

func indexOf(one checker.Result) []string {
	w := one.Row
	accelerators, accelerator := w.Accelerators, said(w.Accelerator)
	if accelerators == "0" {
		accelerators = ""
	}
	if accelerator == "-" {
		accelerator = ""
	}
	return []string{one.Submitter, availability(one), said(w.SystemName), w.Nodes, said(w.Processor), w.Processors, accelerator, accelerators, w.Total, said(w.Framework), said(w.Notes)}
}

// said is a text, or nothing where it says that there is nothing to say.
func said(text string) string {
	if slices.Contains([]string{"N/A", "n/a", "NA", "NULL", "null", "NaN", "nan"}, text) { // pandas.read_csv, na_values
		return ""
	}
	return text
}

// decimals writes a number with three decimals, as the final report shows it.
func decimals(value string) string {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	return strconv.FormatFloat(f, 'f', 3, 64)
}

func (b *sheetBuilder) sheet(title string) Sheet {
	slices.SortStableFunc(b.columns, func(x, y column) int {
		return cmp.Or(byPlace(modelOrder, x.model, y.model), byPlace(scenarioOrder, x.scenario, y.scenario), byPlace(unitOrder, x.unit, y.unit))
	})
	slices.SortStableFunc(b.rows, func(x, y *systemRow) int { return slices.Compare(x.key, y.key) })
	s := Sheet{Title: title, Header: slices.Clone(indexColumns)}
	if b.open {
		s.Header = append(s.Header, "UsedModel", "Accuracy")
	}
	for _, c := range b.columns {
		s.Header = append(s.Header, c.model+" "+c.scenario+" "+c.unit)
	}
	for _, row := range b.rows {
		line := append([]string{row.key[0]}, row.index...)
		if b.open {
			line = append(line, row.extra...)
		}
		for _, c := range b.columns {
			line = append(line, row.values[c])
		}
		s.Rows = append(s.Rows, line)
	}
	return s
}

// byPlace compares two names by their places in a list; others come last, by name.
func byPlace(order []string, x, y string) int {
	at := func(s string) int {
		if i := slices.Index(order, s); i >= 0 {
			return i
		}
		return len(order)
	}
	return cmp.Or(cmp.Compare(at(x), at(y)), cmp.Compare(x, y))
}

// number gives systems their IDs, in the order of division, availability, submitter and name. In the
// open division each model of a system has its own.
func number(r *checker.Report) map[string]string {
	var order [][]string
	for _, one := range r.Results {
		if one.Row != nil && one.Passes {
			order = append(order, []string{one.Division, availability(one), one.Submitter, unique(one)})
		}
	}
	slices.SortFunc(order, slices.Compare)
	ids := map[string]string{}
	for _, at := range order {
		if name := at[len(at)-1]; ids[name] == "" {
			ids[name] = fmt.Sprintf("%s-%04d", strings.TrimPrefix(r.Rules, "v"), len(ids)+1)
		}
	}
	return ids
}

// unique names what has an ID.
func unique(one checker.Result) string {
	parts := []string{one.Row.SystemType, one.Division, one.Submitter, one.System}
	if one.Division == "open" {
		parts = append(parts, one.Benchmark)
	}
	return strings.Join(parts, "/")
}

func availability(one checker.Result) string {
	if one.Row.Availability == "on-premise" {
		return "available"
	}
	return one.Row.Availability
}

// inFull are benchmarks that a suite of a round shows in all scenarios, although it asks for none
// (generate_final_report.py, filter_scenarios, which does not list them).
var inFull = map[string][]string{
	"v6.1 datacenter": {"qwen3.6-27b"}, "v6.1 edge": {"qwen3.6-27b"},
	"v6.0 datacenter": {"llama3.1-8b-edge", "retinanet"},
	"v6.0 edge":       {"deepseek-r1", "dlrm-v3", "gpt-oss-120b", "llama3.1-8b", "mixtral-8x7b", "qwen3-vl-235b-a22b", "retinanet", "wan-2.2-t2v-a14b"},
	"v5.1 datacenter": {"llama3.1-8b-edge"}, "v5.1 edge": {"deepseek-r1", "llama3.1-8b", "mixtral-8x7b"},
	"v5.0 edge": {"mixtral-8x7b"},
}

// besides are scenarios that a suite of a round shows and does not ask for.
var besides = map[string][]string{
	"v6.0 datacenter qwen3-vl-235b-a22b": {"Interactive"},
	"v5.1 datacenter resnet":             {"Server", "Offline"},
}

// shown reports whether a suite has a scenario of a benchmark.
func shown(round *rounds.Round, model, suite, scenario string) bool {
	m, where := round.Model(model), round.Version+" "+suite
	if len(m.Required) == 0 && len(m.Optional) == 0 || slices.Contains(inFull[where], model) {
		return true
	}
	return slices.Contains(m.Required[suite], scenario) || slices.Contains(m.Optional[suite], scenario) || slices.Contains(besides[where+" "+model], scenario)
}

// A Format is a way to write sheets.
type Format string

// The formats.
const (
	CSV      Format = "csv"
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// Sheets writes the tables of the final report. What submitters wrote is escaped, in
// CSV as in RFC 4180, and there with an apostrophe before what a spreadsheet would take
// for a formula.
func Sheets(w io.Writer, f Format, sheets []Sheet) error {
	switch f {
	case CSV:
		return csvSheets(w, sheets)
	case Markdown:
		return markdownSheets(w, sheets)
	case HTML:
		return htmlSheets(w, sheets)
	}
	return userinput.Invalid("format", f, "summary, csv, markdown or html")
}

func csvSheets(w io.Writer, sheets []Sheet) error {
	out := csv.NewWriter(w)
	for _, s := range sheets {
		// Errors stay with the writer.
		_ = out.Write([]string{s.Title})
		_ = out.Write(s.Header)
		for _, row := range s.Rows {
			safe := make([]string, len(row))
			for i, cell := range row {
				safe[i] = inert(cell)
			}
			_ = out.Write(safe)
		}
	}
	out.Flush()
	return out.Error()
}

// inert keeps a cell from being a formula. A number may be below 0.
func inert(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil || cell == "-" {
		return cell
	}
	return "'" + cell
}

var markdown = strings.NewReplacer(`\`, `\\`, "|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`)

func markdownSheets(w io.Writer, sheets []Sheet) error {
	var b strings.Builder
	for _, s := range sheets {
		fmt.Fprintf(&b, "## %s\n\n", s.Title)
		line := func(cells []string) {
			for _, c := range cells {
				b.WriteString("| " + markdown.Replace(c) + " ")
			}
			b.WriteString("|\n")
		}
		line(s.Header)
		b.WriteString(strings.Repeat("| --- ", len(s.Header)) + "|\n")
		for _, row := range s.Rows {
			line(row)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func htmlSheets(w io.Writer, sheets []Sheet) error {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>MLPerf Inference results</title></head>\n<body>\n")
	for _, s := range sheets {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<table>\n", html.EscapeString(s.Title))
		line := func(tag string, cells []string) {
			b.WriteString("<tr>")
			for _, c := range cells {
				fmt.Fprintf(&b, "<%s>%s</%s>", tag, html.EscapeString(c), tag)
			}
			b.WriteString("</tr>\n")
		}
		line("th", s.Header)
		for _, row := range s.Rows {
			line("td", row)
		}
		b.WriteString("</table>\n")
	}
	b.WriteString("</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
