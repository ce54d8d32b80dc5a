package captions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// tables are the places of the table: those of the reference's scripts, and of its repository.
var tables = []string{"captions/captions.tsv", "captions/captions_source.tsv", "captions.tsv", "captions_source.tsv"}

const (
	column   = "caption"
	maxTable = 1 << 30
)

// Read reads the captions of a folder, only the first ones if count is not 0.
func Read(dir string, count int) ([]string, error) {
	for _, name := range tables {
		path := filepath.Join(dir, filepath.FromSlash(name))
		data, err := fileio.ReadFile(path, maxTable)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("opening the captions: %w", err)
		}
		list, err := parse(data, count)
		if err != nil {
			return nil, fmt.Errorf("opening the captions: %s: %w", path, err)
		}
		return list, nil
	}
	return nil, fmt.Errorf("opening the captions: %s has none of %s", dir, strings.Join(tables, ", "))
}

func parse(data []byte, count int) ([]string, error) {
	if !utf8.Valid(data) {
		line := 1
		for text := range bytes.Lines(data) {
			if !utf8.Valid(text) {
				break
			}
			line++
		}
		return nil, fmt.Errorf("line %d: not UTF-8", line)
	}
	t := &tableReader{data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	header, err := t.row()
	if err == nil && header == nil {
		err = errors.New("the table is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the names of columns: %w", err)
	}
	at := slices.Index(header, column)
	if at < 0 {
		return nil, fmt.Errorf("the columns are %s: must be one %q", strings.Join(header, ", "), column)
	}
	var list []string
	for count == 0 || len(list) < count {
		row, err := t.row()
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
		switch {
		case len(row) > len(header):
			return nil, fmt.Errorf("line %d has %d cells, expected %d", t.begin, len(row), len(header))
		case at >= len(row) || strings.TrimSpace(row[at]) == "":
			return nil, fmt.Errorf("line %d: the caption of sample %d is empty", t.begin, len(list))
		}
		list = append(list, row[at])
	}
	if want := max(count, 1); len(list) < want {
		return nil, fmt.Errorf("%d captions, expected %d", len(list), want)
	}
	return list, nil
}

// A tableReader reads rows of cells as pandas' read_csv does (its tokenizer.c), which differs from encoding/csv: a quote at
// the beginning of a cell opens it, and the next one that is not doubled closes it; tabs and line ends between them are text,
// and so is all that follows in the cell. All other quotes are text. Empty and blank lines do not count.
type tableReader struct {
	data  []byte
	pos   int
	line  int // of pos, from 0
	begin int // first line of the last row, from 1
	cell  []byte
}

// row returns the next row; nil: the table has ended.
func (t *tableReader) row() ([]string, error) {
	for rest := t.data[t.pos:]; ; rest = t.data[t.pos:] {
		text := bytes.TrimLeft(rest, " ")
		if len(text) > 0 && text[0] != '\n' && text[0] != '\r' {
			break
		}
		if t.pos = len(t.data) - len(text); len(text) == 0 {
			return nil, nil
		}
		t.endLine()
	}
	t.begin = t.line + 1
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

// next reads a cell and reports whether it is the last of its row.
func (t *tableReader) next() (last bool, err error) {
	t.cell = t.cell[:0]
	if t.pos < len(t.data) && t.data[t.pos] == '"' {
		for t.pos++; ; t.pos++ {
			if t.pos == len(t.data) {
				return false, errors.New("the quote that opens a cell is not closed")
			}
			c := t.data[t.pos]
			if c == '"' {
				if t.pos++; t.pos == len(t.data) || t.data[t.pos] != '"' {
					break
				}
			}
			if c == '\n' {
				t.line++
			}
			t.cell = append(t.cell, c)
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

// endLine skips the end of a line: \n, \r\n or \r.
func (t *tableReader) endLine() {
	if t.data[t.pos] == '\r' && t.pos+1 < len(t.data) && t.data[t.pos+1] == '\n' {
		t.pos++
	}
	t.pos++
	t.line++
}
