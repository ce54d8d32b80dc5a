package cli

import (
	"io"
	"math"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
)

// A Row is one of a table: a value for each column.
type Row = table.Row

// NewTable makes a table that looks as those of all commands do.
func NewTable(header Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.Style().Options.SeparateColumns = false
	t.AppendHeader(header)
	return t
}

// PrintTable prints rows in columns. On a terminal that is narrower than they are, the widest cells are broken into lines.
func PrintTable[T any](w io.Writer, header Row, rows []T, columns func(T) Row) error {
	t := NewTable(header)
	widths := widest(nil, header)
	for _, r := range rows {
		row := columns(r)
		t.AppendRow(row)
		widths = widest(widths, row)
	}
	if width := progress.Width(w); width > 0 {
		t.SetColumnConfigs(broken(widths, width))
	}
	return Say(w, "%s\n", t.Render())
}

// Digits writes a number with four digits, or all of those before the point: 12346, and not 1.235e+04.
func Digits(v float64) string {
	if math.Abs(v) >= 9999.5 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
