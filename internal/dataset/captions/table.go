package captions

import (
	"bytes"
	"errors"
	"fmt"
)

// A tableReader takes rows of cells out of a table as pandas' read_csv does (its tokenizer.c). A quote at the beginning of a
// cell opens it, and the next one that is not doubled closes it: tabs and ends of lines in between are text, and what follows
// goes on in the same cell. All other quotes are text. Lines of nothing or of blanks are passed over.
type tableReader struct {
	data  []byte
	pos   int
	line  int // of pos, from 1
	begin int // line in which the row before began
	cell  []byte
}

func newTableReader(data []byte) *tableReader {
	return &tableReader{data: bytes.TrimPrefix(data, []byte("\ufeff")), line: 1}
}

// errOpen is the error for a quote without another one behind it.
var errOpen = errors.New("the quote that opens a cell is not closed")

// row returns the next row; nil: there is none.
func (t *tableReader) row() ([]string, error) {
	t.skipBlank()
	if t.pos == len(t.data) {
		return nil, nil
	}
	t.begin = t.line
	var cells []string
	for {
		end, err := t.next()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", t.begin, err)
		}
		if cells = append(cells, string(t.cell)); end {
			return cells, nil
		}
	}
}

// skipBlank passes over lines that have nothing but spaces.
func (t *tableReader) skipBlank() {
	for {
		rest := bytes.TrimLeft(t.data[t.pos:], " ")
		at := len(t.data) - len(rest)
		if len(rest) > 0 && rest[0] != '\n' && rest[0] != '\r' {
			return
		}
		if t.pos = at; len(rest) == 0 {
			return
		}
		t.endLine()
	}
}

// next reads a cell, and reports whether it is the last of its row.
func (t *tableReader) next() (last bool, err error) {
	t.cell = t.cell[:0]
	if t.pos < len(t.data) && t.data[t.pos] == '"' {
		if err := t.quoted(); err != nil {
			return false, err
		}
	}
	for t.pos < len(t.data) {
		switch c := t.data[t.pos]; c {
		case '\t':
			t.pos++
			return false, nil
		case '\n', '\r':
			t.endLine()
			return true, nil
		default:
			t.cell = append(t.cell, c)
			t.pos++
		}
	}
	return true, nil
}

// quoted reads up to the quote that closes a cell.
func (t *tableReader) quoted() error {
	for t.pos++; t.pos < len(t.data); t.pos++ {
		c := t.data[t.pos]
		if c == '"' {
			if t.pos++; t.pos == len(t.data) || t.data[t.pos] != '"' {
				return nil
			}
		}
		if c == '\n' {
			t.line++
		}
		t.cell = append(t.cell, c)
	}
	return errOpen
}

// endLine passes over the end of a line: \n, \r\n or \r.
func (t *tableReader) endLine() {
	if t.data[t.pos] == '\r' && t.pos+1 < len(t.data) && t.data[t.pos+1] == '\n' {
		t.pos++
	}
	t.pos++
	t.line++
}
