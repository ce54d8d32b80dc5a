package prompts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// openParquet opens a file that has a believable number of rows.
func openParquet(data []byte) (*parquet.File, error) {
	if err := checkFooter(data); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	n := file.NumRows()
	if most := int64(len(data)) + moreRows; n < 0 || n > most {
		return nil, fmt.Errorf("the file says that it has %d rows, want at most %d", n, most)
	}
	return file, nil
}

// parseParquet reads columns of texts, numbers and lists of them. Columns of other types are
// left out.
func (t *Table) parseParquet(data []byte, count int) (err error) {
	defer func() { // the library panics on some files that are damaged
		if v := recover(); v != nil {
			err = fmt.Errorf("the file is damaged: %v", v)
		}
	}()
	file, err := openParquet(data)
	if err != nil {
		return err
	}
	t.addRows(limit(int(file.NumRows()), count))
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

// addRows makes rows that have nothing yet.
func (t *Table) addRows(n int) {
	t.rows = make([]row, n)
	for i := range t.rows {
		t.rows[i] = make(row)
	}
}

// moreRows is how many rows more than bytes a file may have: runs of one value take little room,
// but each row takes memory.
const moreRows = 1 << 20

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
	c := &columnReader{rows: t.rows, name: name, level: leaf.MaxDefinitionLevel(), list: list, at: -1, memory: make([]parquet.Value, 512)}
	for _, group := range file.RowGroups() {
		pages := group.ColumnChunks()[leaf.Index()].Pages()
		if err := errors.Join(c.readPages(pages), pages.Close()); err != nil {
			return err
		}
	}
	if c.at+1 < len(t.rows) {
		return fmt.Errorf("there are values of %d rows, want %d", c.at+1, len(t.rows))
	}
	return nil
}

// A columnReader puts the values of a column into rows.
type columnReader struct {
	rows   []row
	name   string
	level  int // of a value that is there
	list   bool
	at     int // the row of the value before
	memory []parquet.Value
}

func (c *columnReader) readPages(pages parquet.Pages) error {
	for c.at < len(c.rows) {
		page, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		err = c.readPage(page.Values())
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *columnReader) readPage(values parquet.ValueReader) error {
	for {
		n, err := values.ReadValues(c.memory)
		for _, v := range c.memory[:n] {
			if err := c.add(v); err != nil {
				return err
			}
		}
		if err == io.EOF || c.at >= len(c.rows) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add puts a value into its row. Those behind the last row that is wanted are left out.
func (c *columnReader) add(v parquet.Value) error {
	begins := v.RepetitionLevel() == 0
	if begins {
		c.at++
	}
	switch {
	case c.at < 0:
		return errors.New("the first value goes on with a row that has not begun")
	case c.at >= len(c.rows):
		return nil
	case begins && c.list:
		c.rows[c.at][c.name] = []int32{}
	}
	if v.DefinitionLevel() < c.level {
		return nil // there is no value, or the list is empty
	}
	c.rows[c.at].add(c.name, goValue(v), c.list)
	return nil
}

// add puts a value into a row, or appends it to the list there.
func (r row) add(name string, v any, list bool) {
	if !list {
		r[name] = v
		return
	}
	switch items := r[name].(type) {
	case []int32:
		if n, ok := small(v); ok {
			r[name] = append(items, n)
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
