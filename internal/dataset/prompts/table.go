package prompts

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/tensor/pickle"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// Options choose rows.
type Options struct {
	Count int // use only the first rows; 0: all
}

// A Table has rows with values in named columns. Several goroutines may read it.
type Table struct {
	name    string
	columns []string
	rows    []row
	lines   []int // where each row begins; nil: the file has no lines

	cells     [][]string // of CSV, instead of rows
	positions map[string]int
	failed    int // requests of a trace that are left out
}

// A row has strings, []int32, int64, float64, bool, nil, []any and map[string]any by column.
type row map[string]any

// An Error is a fault in a data set with its place.
type Error struct {
	File   string
	Line   int    // from 1; 0: the file has no lines, and Row counts
	Row    int    // -1: the whole file
	Column string // empty: the whole row
	Err    error
}

// Error returns the place and the fault.
func (e *Error) Error() string {
	place := e.File
	switch {
	case e.Line > 0 && e.Line > e.Row:
		place += fmt.Sprintf(": line %d", e.Line)
	case e.Line > 0: // a line has several rows
		place += fmt.Sprintf(": line %d, row %d", e.Line, e.Row)
	case e.Row >= 0:
		place += fmt.Sprintf(": row %d", e.Row)
	}
	if e.Column != "" {
		place += ", column " + e.Column
	}
	return place + ": " + e.Err.Error()
}

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Err }

// maxFile limits files in bytes, also after unpacking. The largest published one has 1.2 GB.
const maxFile = 4 << 30

// mostBytes is how long a file may be, also after unpacking: it and its rows take about three times as much memory.
func mostBytes() int64 {
	if free := machine.AvailableMemory(); free > 0 {
		return int64(min(maxFile, free/3))
	}
	return maxFile
}

// Read reads a file.
func Read(path string, o Options) (*Table, error) {
	data, err := fileio.ReadFile(path, mostBytes())
	if err != nil {
		return nil, fmt.Errorf("reading prompts: %w", err)
	}
	return Parse(data, path, o)
}

// Parse reads the content of a file; errors have its name.
func Parse(data []byte, name string, o Options) (*Table, error) {
	t := &Table{name: name}
	err := t.parse(data, o.Count)
	if err == nil && t.Len() == 0 {
		err = errors.New("no rows")
	}
	var placed *Error
	switch {
	case errors.As(err, &placed):
		return nil, err
	case err != nil:
		return nil, &Error{File: name, Row: -1, Err: err}
	}
	names := row{}
	for name := range t.positions {
		names[name] = nil
	}
	for _, r := range t.rows {
		maps.Copy(names, r)
	}
	t.columns = slices.Sorted(maps.Keys(names))
	return t, nil
}

func (t *Table) parse(data []byte, count int) error {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		var err error
		if data, err = unpack(data, mostBytes()); err != nil {
			return err
		}
	}
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	line := 1 + bytes.Count(text[:len(text)-len(trimmed)], []byte("\n"))
	text = bytes.TrimRight(trimmed, " \t\r\n")
	header, _, _ := bytes.Cut(text, []byte("\n"))
	switch {
	case bytes.HasPrefix(data, []byte("PAR1")):
		return t.parseParquet(data, count)
	case bytes.HasPrefix(data, []byte{0x80}) && len(data) > 1 && data[1] <= 5:
		return t.parsePickle(data, count)
	case bytes.HasPrefix(text, []byte("[")), bytes.HasPrefix(text, []byte("{")):
		return t.parseJSON(text, line, count)
	case bytes.Contains(header, []byte(",")):
		return t.parseCSV(text, line, count)
	}
	return errors.New("neither JSON, JSONL, CSV, Parquet nor a pickle of pandas")
}

// unpack returns the content of a gzip file of at most so many bytes. It counts them first: a buffer that grows takes three times
// as much memory, and the size in the file may be wrong.
func unpack(data []byte, most int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(io.Discard, io.LimitReader(z, most+1))
	switch {
	case err != nil:
		return nil, err
	case size > most:
		return nil, fmt.Errorf("it has more than %d bytes after unpacking: expected fewer, or a machine with more free memory", most)
	}
	if err := z.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	plain := make([]byte, size)
	_, err = io.ReadFull(z, plain)
	return plain, err
}

// parsePickle reads a table of pandas, or a list of dictionaries.
func (t *Table) parsePickle(data []byte, count int) error {
	v, err := pickle.Read(data)
	if err != nil {
		return err
	}
	set := func(i int, column string, v any) (err error) {
		switch list := v.(type) {
		case *pickle.Array:
			var numbers []int64
			if numbers, err = list.Integers(); err == nil {
				v = compact(numbers)
			}
		case []int64:
			v = compact(list)
		case []any:
			if len(list) == 0 {
				v = []int32{}
			}
		case []byte:
			v = string(list)
		}
		if err != nil {
			return t.errorf(i, column, "%w", err)
		}
		t.rows[i][column] = v
		return nil
	}
	switch v := v.(type) {
	case *pickle.Frame:
		t.addRows(limit(v.Rows, count))
		for k, name := range v.Names {
			for i := range t.rows {
				if err := set(i, name, v.Columns[k][i]); err != nil {
					return err
				}
			}
		}
	case []any:
		t.addRows(limit(len(v), count))
		for i := range t.rows {
			fields, ok := v[i].(map[string]any)
			if !ok {
				return t.errorf(i, "", "expected a dictionary")
			}
			for name, v := range fields {
				if err := set(i, name, v); err != nil {
					return err
				}
			}
		}
	default:
		return errors.New("the pickle is neither a table of pandas nor a list of dictionaries")
	}
	return nil
}

// addRows makes empty rows.
func (t *Table) addRows(n int) {
	t.rows = make([]row, n)
	for i := range t.rows {
		t.rows[i] = make(row)
	}
}

func limit(n, count int) int {
	if count > 0 {
		return min(n, count)
	}
	return n
}

// compact returns []int32 if all numbers fit, or else []any.
func compact(numbers []int64) any {
	ids := make([]int32, len(numbers))
	for i, n := range numbers {
		if ids[i] = int32(n); int64(ids[i]) != n {
			items := make([]any, len(numbers))
			for k, n := range numbers {
				items[k] = n
			}
			return items
		}
	}
	return ids
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) + len(t.cells) }

// Columns returns the names of all columns, sorted.
func (t *Table) Columns() []string { return t.columns }

// Value returns the value in a column of a row, and whether it exists: a string, []int32, int64, float64, bool, []any
// or map[string]any. Those of CSV are strings.
func (t *Table) Value(i int, column string) (any, bool) {
	if t.cells != nil {
		k, ok := t.positions[column]
		if !ok || t.cells[i][k] == "" {
			return nil, false
		}
		return t.cells[i][k], true
	}
	v := t.rows[i][column]
	return v, v != nil
}

// value is Value, with an error for a missing value.
func (t *Table) value(i int, column string) (any, error) {
	v, ok := t.Value(i, column)
	if !ok {
		return nil, t.errorf(i, column, "no value; the columns of the file are %s", strings.Join(t.columns, ", "))
	}
	return v, nil
}

// At is an error about a row.
func (t *Table) At(i int, column string, err error) error {
	line := 0
	if i < len(t.lines) {
		line = t.lines[i]
	}
	return &Error{t.name, line, i, column, err}
}

func (t *Table) errorf(i int, column, format string, args ...any) error {
	return t.At(i, column, fmt.Errorf(format, args...))
}

// Text returns the text in a column of a row. It writes numbers as Python does.
func (t *Table) Text(i int, column string) (string, error) {
	v, err := t.value(i, column)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return pytext.Float(v), nil
	}
	return "", t.errorf(i, column, "expected a text, got %s", kind(v))
}

// Tokens returns the tokens in a column of a row.
func (t *Table) Tokens(i int, column string) ([]int32, error) {
	v, err := t.value(i, column)
	if err != nil {
		return nil, err
	}
	ids, ok := v.([]int32)
	if !ok {
		return nil, t.errorf(i, column, "expected a list of tokens, got %s", kind(v))
	}
	for k, id := range ids {
		if id < 0 {
			return nil, t.errorf(i, column, "token %d is %d", k, id)
		}
	}
	return ids, nil
}

// kind describes a value for errors.
func kind(v any) string {
	switch v := v.(type) {
	case string:
		return "a text"
	case []int32:
		return fmt.Sprintf("a list of %d numbers", len(v))
	case []any:
		return fmt.Sprintf("a list of %d values", len(v))
	case map[string]any:
		return "an object"
	case bool:
		return "a truth value"
	}
	return fmt.Sprintf("the number %v", v)
}
