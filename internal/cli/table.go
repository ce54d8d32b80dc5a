package cli

import (
	"io"
	"math"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
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

// PrintTable prints rows in columns.
func PrintTable[T any](w io.Writer, header Row, rows []T, columns func(T) Row) error {
	t := NewTable(header)
	for _, r := range rows {
		t.AppendRow(columns(r))
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
