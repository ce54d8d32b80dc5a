// Package tables draws tables for screens, all in one style, as wide as the terminal:
//
//	t := tables.New("model", "result")
//	t.Row("resnet50", "VALID")
//	text := t.Text(tables.Width(os.Stdout))
//
// A table that is wider than the terminal gets narrower columns, the widest first, whose cells break between words and never
// inside of one. Where that is not enough, or a column would be too narrow to read, rows become blocks: the first cell, and below it
// a line for each other cell with its name. Wrap does for sentences what Text does for tables.
package tables

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Table has a name for each column, and rows.
type Table struct {
	Most  int // columns that a cell may have, whatever the terminal has; 0: any number
	names []string
	rows  [][]string
}

// New begins a table.
func New(names ...string) *Table { return &Table{names: names} }

// Row adds a row, with a cell for each of the first columns. Numbers and durations are written as units
// does. A column that is empty in all rows is left out. Texts of others become printable lines.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case Painted:
			row[i] = string(c)
		case int:
			row[i] = units.Number(float64(c))
		case int64:
			row[i] = units.Number(float64(c))
		case uint64:
			row[i] = units.Number(float64(c))
		case float64:
			row[i] = units.Number(c)
		case time.Duration:
			row[i] = units.Duration(c)
		default:
			row[i] = userinput.PrintableLine(fmt.Sprint(c))
		}
	}
	t.rows = append(t.rows, row)
}

// Painted is the text of a cell with escape sequences, which stay.
type Painted string

// between is the room between two columns, readable the least width of a column whose text is wider.
const between, readable = 2, 12

// shown are the names and rows without the columns that have no text in any row.
func (t *Table) shown() *Table {
	out := &Table{Most: t.Most, rows: make([][]string, len(t.rows))}
	for i, name := range t.names {
		if len(t.rows) > 0 && !slices.ContainsFunc(t.rows, func(row []string) bool { return i < len(row) && row[i] != "" }) {
			continue
		}
		out.names = append(out.names, name)
		for k, row := range t.rows {
			if i < len(row) {
				out.rows[k] = append(out.rows[k], row[i])
			}
		}
	}
	return out
}

// Text draws the table for a number of columns of a terminal; 0: as wide as it is.
func (t *Table) Text(width int) string {
	t = t.shown()
	widths, fits := t.widths(width)
	if !fits {
		return t.blocks(width)
	}
	w := t.writer()
	var configs []table.ColumnConfig
	for i, width := range widths {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft})
	}
	w.SetColumnConfigs(configs)
	return trimmed(w.Render())
}

// Markdown draws the table for a review.
func (t *Table) Markdown() string { return t.shown().writer().RenderMarkdown() + "\n" }

func (t *Table) writer() table.Writer {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Options.DrawBorder = false
	w.Style().Options.SeparateColumns = false
	w.AppendHeader(rowOf(t.names))
	for _, r := range t.rows {
		w.AppendRow(rowOf(r))
	}
	return w
}

func rowOf(cells []string) table.Row {
	var row table.Row
	for _, c := range cells {
		row = append(row, c)
	}
	return row
}

// widths are those of the columns. False: there is no room for them.
func (t *Table) widths(room int) (widths []int, fits bool) {
	least := make([]int, len(t.names))
	widths = make([]int, len(t.names))
	for _, row := range append([][]string{t.names}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], text.LongestLineLen(cell))
			for _, word := range strings.Fields(cell) {
				least[i] = max(least[i], text.StringWidthWithoutEscSequences(word))
			}
		}
	}
	for i := range widths {
		if t.Most > 0 {
			widths[i] = min(widths[i], max(t.Most, least[i]))
		}
	}
	if room <= 0 {
		return widths, true
	}
	for i, width := range widths {
		least[i] = max(least[i], min(width, readable))
		room -= width + between
	}
	for ; room < 0; room++ {
		widest := -1
		for i, width := range widths {
			if width > least[i] && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
	}
	return widths, true
}

// blocks draws a block for each row. Empty cells are left out.
func (t *Table) blocks(width int) string {
	longest := 0
	for _, name := range t.names[1:] {
		longest = max(longest, text.StringWidthWithoutEscSequences(name))
	}
	var b strings.Builder
	for _, row := range t.rows {
		b.WriteString(Wrap(row[0], width) + "\n")
		for i, cell := range row[1:] {
			if cell != "" {
				head := fmt.Sprintf("  %-*s  ", longest, t.names[i+1])
				lines := strings.ReplaceAll(wrap(cell, width-len(head)), "\n", "\n"+strings.Repeat(" ", len(head)))
				b.WriteString(strings.TrimRight(head+lines, " ") + "\n")
			}
		}
	}
	return b.String()
}

// Wrap breaks the lines of a text between words where they are wider than so many columns; 0: nowhere. What follows a break stands
// below the text of its line, and a list's below that of its item.
func Wrap(long string, width int) string {
	lines := strings.Split(long, "\n")
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if strings.HasPrefix(line[indent:], "- ") {
			indent += 2
		}
		if indent < width && text.StringWidthWithoutEscSequences(line) > width {
			lines[i] = line[:indent] + strings.ReplaceAll(wrap(line[indent:], width-indent), "\n", "\n"+strings.Repeat(" ", indent))
		}
	}
	return strings.Join(lines, "\n")
}

// wrap breaks a line between words. A word that is wider stands alone.
func wrap(line string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Split(line, " ") {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case i == 0:
		case width > 0 && at+1+n > width:
			b.WriteString("\n")
			at = 0
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// trimmed has no blanks at the ends of lines.
func trimmed(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// Width is the number of columns of a terminal, or of what tells its Columns; 0: out is neither, or its width is not known.
func Width(out io.Writer) int {
	switch out := out.(type) {
	case interface{ Columns() int }:
		return out.Columns()
	case *os.File:
		if width, _, err := term.GetSize(int(out.Fd())); err == nil {
			return max(width, 0)
		}
	}
	return 0
}
