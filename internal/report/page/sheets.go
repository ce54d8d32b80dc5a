package page

import (
	"io"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/units"
)

// A Sheet is a table with a title.
type Sheet struct {
	Title  string
	Header []string
	Rows   [][]string // as long as the header
}

type sheetTable struct {
	Title string
	sortable
}

type sheetsPage struct {
	shell
	Title, Sub string
	Tables     []sheetTable
}

// Sheets writes a page of tables that sort. Columns without any text are left out.
func Sheets(w io.Writer, title, sub string, sheets []Sheet, program string) error {
	shell, err := newShell(nil, program)
	if err != nil {
		return err
	}
	p := sheetsPage{shell: shell, Title: title, Sub: sub}
	for _, s := range sheets {
		t := sheetTable{Title: s.Title, sortable: sortable{Rows: make([][]cell, len(s.Rows))}}
		for i, head := range s.Header {
			column, filled, numbers := make([]cell, len(s.Rows)), false, true
			for j, row := range s.Rows {
				column[j] = cell{Text: row[i]}
				if row[i] == "" {
					continue
				}
				filled = true
				if v, err := strconv.ParseFloat(row[i], 64); err == nil && units.Finite(v) {
					column[j].Number, column[j].Sort = true, row[i]
				} else {
					numbers = false
				}
			}
			if !filled {
				continue
			}
			t.Heads = append(t.Heads, pair{Name: head, Key: numbers})
			for j, c := range column {
				c.Number = numbers
				t.Rows[j] = append(t.Rows[j], c)
			}
		}
		p.Tables = append(p.Tables, t)
	}
	return render(w, "sheets.html", p)
}
