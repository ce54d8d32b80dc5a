package prompts

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
)

// parseCSV reads a table with a head of names. The data begin in a line. Requests of a trace that failed, which have no answer, are left out.
func (t *Table) parseCSV(data []byte, line, count int) error {
	r := csv.NewReader(bytes.NewReader(data))
	for {
		record, err := r.Read()
		at := line - 1
		if len(record) > 0 {
			field, _ := r.FieldPos(0)
			at += field
		}
		var wrong *csv.ParseError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &wrong):
			return &Error{t.name, wrong.Line + line - 1, t.Len(), "", wrong.Err}
		case err != nil:
			return err
		case t.positions == nil:
			t.positions = map[string]int{}
			for i, name := range record {
				if _, twice := t.positions[name]; twice || name == "" {
					return &Error{t.name, at, -1, "", errors.New("the head must have a different name for each column")}
				}
				t.positions[name] = i
			}
			continue
		}
		t.cells, t.lines = append(t.cells, record), append(t.lines, at)
		_, column, _ := t.traceColumns(len(t.cells) - 1)
		switch answer, _ := t.Value(len(t.cells)-1, column); {
		case answer == "0":
			t.cells, t.lines, t.failed = t.cells[:len(t.cells)-1], t.lines[:len(t.lines)-1], t.failed+1
		case len(t.cells) == count:
			return nil
		}
	}
}
