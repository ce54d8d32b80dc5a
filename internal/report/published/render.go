package published

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Footnotes are the sentences that MLCommons wants beside such a comparison (github.com/mlcommons/policies,
// MLPerf_Results_Messaging_Guidelines.adoc, sections 1, 3 and 5), and where the results are from.
func Footnotes() []string {
	return []string{
		"Result not verified by MLCommons Association.",
		"Unverified results have not been through an MLPerf® review and may use measurement methodologies and/or workload implementations " +
			"that are inconsistent with the MLPerf specification for verified results.",
		"The MLPerf name and logo are registered and unregistered trademarks of MLCommons Association in the United States and other " +
			"countries. All rights reserved. Unauthorized use strictly prohibited. See www.mlcommons.org for more information.",
		"Published results: MLPerf Inference, closed division, from github.com/mlcommons/inference_results_ROUND, by the id.",
	}
}

// Title names the run and its result.
func (s *Standing) Title() string {
	r := s.Run.Results
	return fmt.Sprintf("%s %s: %s, unverified", r.Model, r.ScenarioName(), units.Text(s.Value, s.Unit))
}

// Header are the columns of Cells.
func (s *Standing) Header() []string {
	return []string{"round", "id", "submitter", "system", "suite", "chips", "result, " + s.Unit, "per chip", "× this run"}
}

// Cells are a result in columns.
func (r Result) Cells() []string {
	each := ""
	if r.PerChip > 0 {
		each = units.Number(r.PerChip)
	}
	return []string{r.Round, r.ID, r.Submitter, r.System, r.Suite, fmt.Sprintf("%d × %s", r.Chips, r.Chip), units.Number(r.Value), each,
		units.Number(r.Times)}
}

// Text prints a table for a terminal.
func (s *Standing) Text(w io.Writer) error {
	width := tables.Width(w)
	return s.print(w, width, func(t *tables.Table) string { return t.Text(width) }, "")
}

// Markdown prints it for an issue or a page.
func (s *Standing) Markdown(w io.Writer) error {
	return s.print(w, 0, (*tables.Table).Markdown, "### ")
}

func (s *Standing) print(w io.Writer, width int, draw func(*tables.Table) string, head string) error {
	t := tables.New(s.Header()...)
	for _, r := range s.Results {
		var cells []any
		for _, c := range r.Cells() {
			cells = append(cells, c)
		}
		t.Row(cells...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n\n%s\n", head, s.Title(), draw(t))
	if n := len(s.Results); n < s.Of {
		fmt.Fprintf(&b, "%d of %d results: --all shows all, --system TEXT those with a text in their names\n", n, s.Of)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	b.WriteString("\n")
	for _, n := range Footnotes() {
		fmt.Fprintf(&b, "%s\n", n)
	}
	_, err := io.WriteString(w, tables.Wrap(userinput.PrintableText(b.String()), width))
	return err
}

// CSV prints the results with all digits.
func (s *Standing) CSV(w io.Writer) error {
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	records := [][]string{{"round", "id", "submitter", "suite", "division", "availability", "system", "chip", "chips", "benchmark", "scenario",
		"value", "unit", "per_chip", "precision", "times_this_run"}}
	for _, r := range s.Results {
		records = append(records, []string{r.Round, r.ID, r.Submitter, r.Suite, r.Division, r.Availability, r.System, r.Chip, strconv.Itoa(r.Chips),
			r.Benchmark, r.Scenario,
			exact(r.Value), r.Unit, exact(r.PerChip), r.Precision, exact(r.Times)})
	}
	return report.WriteCSV(w, records)
}
