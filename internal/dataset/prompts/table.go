package prompts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf/internal/dataset/pickle"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Options choose what is read.
type Options struct {
	Count int // the first rows only; 0: all
}

// A Table is rows with columns that have names. It may be read by several goroutines.
type Table struct {
	name    string
	columns []string
	rows    []row
}

// A row has strings, []int32, int64, float64, bool, nil, []any and map[string]any by column.
type row map[string]any

// An Error says where a data set is wrong.
type Error struct {
	File   string
	Row    int    // -1: the file as a whole
	Column string // empty: the row as a whole
	Err    error
}

// Error is the place and what is wrong there.
func (e *Error) Error() string {
	place := e.File
	if e.Row >= 0 {
		place += fmt.Sprintf(": row %d", e.Row)
	}
	if e.Column != "" {
		place += ", column " + e.Column
	}
	return place + ": " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Most bytes of a file, and of what a .gz may hold: the largest published has 1.2 GB.
const maxFile = 4 << 30

// Read reads a file.
func Read(path string, o Options) (*Table, error) {
	data, err := fileio.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading prompts: %w", err)
	}
	return Parse(data, path, o)
}

// Parse reads the content of a file, whose name appears in errors.
func Parse(data []byte, name string, o Options) (*Table, error) {
	t := &Table{name: name}
	data, err := unzip(data)
	if err == nil {
		err = t.parse(data, o.Count)
	}
	if err == nil && len(t.rows) == 0 {
		err = errors.New("there is no row")
	}
	var placed *Error
	switch {
	case errors.As(err, &placed):
		return nil, err
	case err != nil:
		return nil, &Error{File: name, Row: -1, Err: err}
	}
	t.columns = t.names()
	return t, nil
}

// unzip returns what is in a .gz, and other data as it is.
func unzip(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, maxFile+1))
	if err == nil && len(out) > maxFile {
		err = fmt.Errorf("it unpacks to more than the %d bytes that are read", maxFile)
	}
	return out, err
}

// parse reads a file of any kind.
func (t *Table) parse(data []byte, count int) error {
	start := bytes.TrimLeft(data[:min(len(data), 4096)], " \t\r\n\ufeff")
	switch {
	case bytes.HasPrefix(data, []byte("PAR1")):
		return t.parseParquet(data, count)
	case bytes.HasPrefix(data, []byte{0x80}) && len(data) > 1 && data[1] <= 5:
		return t.parsePickle(data, count)
	case bytes.HasPrefix(start, []byte("[")):
		return t.parseArray(bufio.NewReader(bytes.NewReader(data)), count)
	case bytes.HasPrefix(start, []byte("{")):
		return t.parseLines(data, count)
	}
	return errors.New("this is neither JSON, JSONL, Parquet nor a pickle of pandas")
}

// parsePickle reads a table of pandas, or a list of dictionaries.
func (t *Table) parsePickle(data []byte, count int) error {
	v, err := pickle.Read(data)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *pickle.Frame:
		return t.parseFrame(v, count)
	case []any:
		return t.parseList(v, count)
	}
	return errors.New("the pickle is neither a table of pandas nor a list")
}

func (t *Table) parseFrame(f *pickle.Frame, count int) error {
	t.addRows(limit(f.Rows, count))
	for k, name := range f.Names {
		for i, r := range t.rows {
			v, err := plain(f.Columns[k][i])
			if err != nil {
				return &Error{t.name, i, name, err}
			}
			r[name] = v
		}
	}
	return nil
}

func (t *Table) parseList(items []any, count int) error {
	for i, item := range items[:limit(len(items), count)] {
		fields, ok := item.(map[string]any)
		if !ok {
			return &Error{t.name, i, "", errors.New("want a dictionary")}
		}
		r := make(row, len(fields))
		for name, v := range fields {
			var err error
			if r[name], err = plain(v); err != nil {
				return &Error{t.name, i, name, err}
			}
		}
		t.rows = append(t.rows, r)
	}
	return nil
}

func limit(n, count int) int {
	if count > 0 {
		return min(n, count)
	}
	return n
}

// plain makes lists of whole numbers []int32 where they fit, and arrays lists.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case *pickle.Array:
		n, err := v.Integers()
		if err != nil {
			return nil, err
		}
		items := make([]any, len(n))
		for i := range n {
			items[i] = n[i]
		}
		return packed(items), nil
	case []any:
		return packed(v), nil
	case []byte:
		return string(v), nil
	}
	return v, nil
}

// packed makes a list of whole numbers []int32, if they fit.
func packed(items []any) any {
	if len(items) == 0 {
		return []int32{}
	}
	ids := make([]int32, 0, len(items))
	for _, item := range items {
		n, ok := small(item)
		if !ok {
			return items
		}
		ids = append(ids, n)
	}
	return ids
}

// small returns a whole number of 32 bits, if a value is one.
func small(v any) (int32, bool) {
	n, ok := v.(int64)
	return int32(n), ok && n == int64(int32(n))
}
