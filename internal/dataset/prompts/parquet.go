package prompts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
)

// parseParquet reads columns of texts, numbers and lists of them. Columns of other types are
// left out.
func (t *Table) parseParquet(data []byte, count int) (err error) {
	defer func() { // the library panics on some files that are damaged
		if v := recover(); v != nil {
			err = fmt.Errorf("the file is damaged: %v", v)
		}
	}()
	if err := checkFooter(data); err != nil {
		return err
	}
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	n := file.NumRows()
	if n < 0 || n > int64(len(data))*1000 { // runs of one value take little room, but some
		return fmt.Errorf("the file says that it has %d rows", n)
	}
	t.rows = make([]row, limit(int(n), count))
	for i := range t.rows {
		t.rows[i] = make(row)
	}
	for _, column := range file.Root().Columns() {
		leaf, list := leafOf(column)
		if leaf == nil {
			continue
		}
		if err := t.addColumn(file, column.Name(), leaf, list); err != nil {
			return &Error{t.name, -1, column.Name(), err}
		}
	}
	return nil
}

// checkFooter wants a footer that fits into the file: the library makes room for what its length says, up to 4 GB.
func checkFooter(data []byte) error {
	const end = 8 // the length, and PAR1
	if len(data) < end {
		return errors.New("the file ends too early")
	}
	n := binary.LittleEndian.Uint32(data[len(data)-end:])
	if uint64(n) > uint64(len(data)-end) {
		return fmt.Errorf("the file says that its footer has %d bytes, and has %d in all", n, len(data))
	}
	return nil
}

// leafOf returns where the values of a column are, if it is one of single values or of lists
// of them.
func leafOf(column *parquet.Column) (leaf *parquet.Column, list bool) {
	for !column.Leaf() {
		if len(column.Columns()) != 1 {
			return nil, false
		}
		list = list || column.Repeated()
		column = column.Columns()[0]
	}
	list = list || column.Repeated()
	return column, list && column.MaxRepetitionLevel() == 1
}

// addColumn reads the values of a column, row group by row group.
func (t *Table) addColumn(file *parquet.File, name string, leaf *parquet.Column, list bool) error {
	at := -1
	memory := make([]parquet.Value, 512)
	for _, group := range file.RowGroups() {
		pages := group.ColumnChunks()[leaf.Index()].Pages()
		for at < len(t.rows) {
			page, err := pages.ReadPage()
			if err == io.EOF {
				break
			}
			if err == nil {
				at, err = t.addPage(page, memory, at, name, leaf, list)
				parquet.Release(page)
			}
			if err != nil {
				_ = pages.Close() // the first error counts
				return err
			}
		}
		if err := pages.Close(); err != nil {
			return err
		}
	}
	if at+1 < len(t.rows) {
		return fmt.Errorf("there are values of %d rows, want %d", at+1, len(t.rows))
	}
	return nil
}

// addPage reads the values of a page; at is the row of the value before.
func (t *Table) addPage(page parquet.Page, memory []parquet.Value, at int, name string, leaf *parquet.Column, list bool) (int, error) {
	values := page.Values()
	for {
		n, err := values.ReadValues(memory)
		for _, v := range memory[:n] {
			if v.RepetitionLevel() == 0 {
				at++
				if at >= len(t.rows) {
					return at, nil
				}
				if list {
					t.rows[at][name] = []int32{}
				}
			}
			if at < 0 {
				return at, fmt.Errorf("the first value goes on with a row that has not begun")
			}
			if v.DefinitionLevel() < leaf.MaxDefinitionLevel() {
				continue // there is no value, or the list is empty
			}
			t.rows[at].add(name, goValue(v), list)
		}
		if err == io.EOF {
			return at, nil
		}
		if err != nil {
			return at, err
		}
	}
}

// add puts a value into a row, or appends it to the list there.
func (r row) add(name string, v any, list bool) {
	if !list {
		r[name] = v
		return
	}
	switch items := r[name].(type) {
	case []int32:
		if n, ok := v.(int64); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			r[name] = append(items, int32(n))
			return
		}
		all := make([]any, len(items), len(items)+1)
		for i := range items {
			all[i] = int64(items[i])
		}
		r[name] = append(all, v)
	case []any:
		r[name] = append(items, v)
	}
}

// goValue makes a value one of those that a row has.
func goValue(v parquet.Value) any {
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Int32:
		return int64(v.Int32())
	case parquet.Int64:
		return v.Int64()
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	}
	return string(v.ByteArray())
}
