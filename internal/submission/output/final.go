package output

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/units"
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

var indexColumns = []string{"ID", "Submitter", "Availability", "System", "Nodes", "Processor", "p#", "Accelerator", "a#", "Total Accelerators",
	"Software", "Notes"}

// Final returns the tables of the final report, of the results that pass. A scenario that a round does not ask of a
// benchmark in a suite is not part of them. A system has one ID in all tables.
func Final(r *checker.Report) ([]Sheet, error) {
	round, err := rounds.Find(r.Rules)
	if err != nil {
		return nil, err
	}
	ids := systemIDs(r)
	var sheets []Sheet
	for _, division := range rounds.Divisions() {
		for _, suite := range []string{"datacenter", "edge"} {
			for _, power := range []bool{false, true} {
				results := slices.DeleteFunc(slices.Clone(r.Results), func(one checker.Result) bool {
					return one.Row == nil || !one.Passes || one.Division != division || power && !one.Row.HasPower ||
						!strings.Contains(one.Row.SystemType, suite) || !shown(round.Model(one.Model), suite, rounds.Scenario(one.Scenario))
				})
				if len(results) > 0 {
					sheets = append(sheets, newSheet(results, division, suite, power, ids))
				}
			}
		}
	}
	return sheets, nil
}

// systemIDs gives systems their IDs, in the order of division, availability, submitter and name.
func systemIDs(r *checker.Report) map[string]string {
	var order [][]string
	for _, one := range r.Results {
		if one.Row != nil && one.Passes {
			order = append(order, []string{one.Division, availability(one), one.Submitter, systemKey(one)})
		}
	}
	slices.SortFunc(order, slices.Compare)
	ids := map[string]string{}
	for _, at := range order {
		if key := at[len(at)-1]; ids[key] == "" {
			ids[key] = fmt.Sprintf("%s-%04d", strings.TrimPrefix(r.Rules, "v"), len(ids)+1)
		}
	}
	return ids
}

// systemKey identifies a system; in the open division each of its models counts as one.
func systemKey(one checker.Result) string {
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

// shown reports whether a suite has a scenario of a benchmark.
func shown(m *rounds.Model, suite, scenario string) bool {
	list, ok := m.Shown[suite]
	return !ok || slices.Contains(list, scenario)
}

// A column has the values of a model in a scenario.
type column struct{ model, scenario, unit string }

// newSheet makes the table of some results.
func newSheet(results []checker.Result, division, suite string, power bool, ids map[string]string) Sheet {
	s := Sheet{Title: suite + " - " + division, Header: slices.Clone(indexColumns)}
	if power {
		s.Title += " - power"
	}
	if division == "open" { // which shows the accuracy, so that scenarios of different accuracies are rows
		s.Header = append(s.Header, "UsedModel", "Accuracy")
	}
	type systemRow struct {
		key    []string // by which rows are sorted, the ID first
		cells  []string
		values map[column]string
	}
	var rows []*systemRow
	var columns []column
	for _, one := range results {
		w := one.Row
		key := []string{ids[systemKey(one)]}
		cells := append(slices.Clone(key), systemCells(one)...)
		if division == "open" {
			key = append(key, one.Benchmark, w.Accuracy)
			cells = append(cells, one.Benchmark, w.Accuracy)
		}
		i := slices.IndexFunc(rows, func(row *systemRow) bool { return slices.Equal(row.key, key) })
		if i < 0 {
			i = len(rows)
			rows = append(rows, &systemRow{key, cells, map[column]string{}})
		}
		add := func(unit, value string) {
			c := column{one.Model, rounds.Scenario(one.Scenario), unit}
			rows[i].values[c] = decimals(value)
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
		add(w.Units, w.Result)
		if power {
			add(w.PowerUnits, w.PowerResult)
		}
	}
	slices.SortStableFunc(columns, func(x, y column) int {
		return cmp.Or(byPlace(modelOrder, x.model, y.model), byPlace(scenarioOrder, x.scenario, y.scenario), byPlace(unitOrder, x.unit, y.unit))
	})
	slices.SortStableFunc(rows, func(x, y *systemRow) int { return slices.Compare(x.key, y.key) })
	for _, c := range columns {
		s.Header = append(s.Header, c.model+" "+c.scenario+" "+c.unit)
	}
	for _, row := range rows {
		for _, c := range columns {
			row.cells = append(row.cells, row.values[c])
		}
		s.Rows = append(s.Rows, row.cells)
	}
	return s
}

// systemCells are the columns about a system, without its ID.
func systemCells(one checker.Result) []string {
	known := func(text string) string { // what pandas.read_csv does not take for a missing value (na_values)
		if slices.Contains([]string{"N/A", "n/a", "NA", "NULL", "null", "NaN", "nan"}, text) {
			return ""
		}
		return text
	}
	w := one.Row
	accelerators, accelerator := w.Accelerators, known(w.Accelerator)
	if accelerators == "0" {
		accelerators = ""
	}
	if accelerator == "-" {
		accelerator = ""
	}
	return []string{one.Submitter, availability(one), known(w.SystemName), w.Nodes, known(w.Processor), w.Processors, accelerator, accelerators,
		w.Total, known(w.Framework), known(w.Notes)}
}

// decimals writes a number with three decimals, as the final report shows it.
func decimals(value string) string {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	return strconv.FormatFloat(f, 'f', 3, 64)
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

// A Format is a way to write sheets.
type Format string

// The formats.
const (
	CSV      Format = "csv"
	Markdown Format = "markdown"
)

// Sheets writes the tables of the final report. Texts of submitters are escaped, in CSV as in RFC 4180, and there with an
// apostrophe before what a spreadsheet would take for a formula.
func Sheets(w io.Writer, f Format, sheets []Sheet) error {
	var b strings.Builder
	switch f {
	case CSV:
		out := csv.NewWriter(&b)
		for _, s := range sheets {
			for _, row := range append([][]string{{s.Title}, s.Header}, s.Rows...) {
				safe := make([]string, len(row))
				for i, cell := range row {
					safe[i] = withoutFormula(cell)
				}
				if err := out.Write(safe); err != nil {
					return err
				}
			}
		}
		out.Flush()
	case Markdown:
		for _, s := range sheets {
			fmt.Fprintf(&b, "## %s\n\n", s.Title)
			for i, row := range append([][]string{s.Header}, s.Rows...) {
				for _, c := range row {
					b.WriteString("| " + markdown.Replace(c) + " ")
				}
				b.WriteString("|\n")
				if i == 0 {
					b.WriteString(strings.Repeat("| --- ", len(s.Header)) + "|\n")
				}
			}
			b.WriteString("\n")
		}
	default:
		return userinput.Invalid("format", f, "csv or markdown")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Page writes the tables of the final report as a page.
func Page(w io.Writer, r *checker.Report, sheets []Sheet, program string) error {
	list := make([]page.Sheet, len(sheets))
	for i, s := range sheets {
		list[i] = page.Sheet{Title: s.Title, Header: s.Header, Rows: s.Rows}
	}
	pass, _ := r.Counts()
	sub := fmt.Sprintf("%s, rules %s; results that do not pass the checker are left out", units.Count(pass, "result"), r.Rules)
	return page.Sheets(w, "MLPerf Inference results", sub, list, program)
}

var markdown = strings.NewReplacer(`\`, `\\`, "|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "[", `\[`, "]",
	`\]`, "*", `\*`, "_", `\_`)

// withoutFormula keeps a cell from being a formula. A number may be below 0.
func withoutFormula(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil || cell == "-" {
		return cell
	}
	return "'" + cell
}
