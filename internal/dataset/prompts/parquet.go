package prompts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// moreRows limits the rows of a file, beyond its bytes: runs of one value take few bytes, but each row takes memory.
const moreRows = 1 << 20

// A parquetColumn is a column of texts, numbers or lists of them, or such a field of a column of structs, which is named as
// image.bytes. Others are left out.
type parquetColumn struct {
	name  string
	level int // definition level of an existing value
	list  bool
}

func (t *Table) parseParquet(data []byte, count int) (err error) {
	defer func() { // the library panics on some damaged files
		if v := recover(); v != nil {
			err = fmt.Errorf("the file is damaged: %v", v)
		}
	}()
	const end = 8 // the length of the footer, and PAR1; the library allocates up to 4 GB for what the length claims
	if len(data) < end {
		return errors.New("the file ends too early")
	}
	if n := binary.LittleEndian.Uint32(data[len(data)-end:]); uint64(n) > uint64(len(data)-end) {
		return fmt.Errorf("the footer claims %d bytes, the file has %d", n, len(data))
	}
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	n := file.NumRows()
	if most := int64(len(data)) + moreRows; n < 0 || n > most {
		return fmt.Errorf("the file claims %d rows, expected at most %d", n, most)
	}
	columns := make(map[int]parquetColumn)
	for _, column := range file.Root().Columns() {
		addColumn(columns, column.Name(), column, column.Repeated())
	}
	t.addRows(limit(int(n), count))
	at, rows := 0, make([]parquet.Row, 64)
	for _, group := range file.RowGroups() {
		reader := group.Rows()
		for err == nil && at < len(t.rows) {
			var k int
			k, err = reader.ReadRows(rows)
			for _, values := range rows[:min(k, len(t.rows)-at)] {
				t.rows[at].addParquet(values, columns)
				at++
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err = errors.Join(err, reader.Close()); err != nil {
			return err
		}
	}
	if at < len(t.rows) {
		return fmt.Errorf("the file claims %d rows, but has %d", n, at)
	}
	return nil
}

// addColumn adds a column, or the fields of one of structs.
func addColumn(columns map[int]parquetColumn, name string, c *parquet.Column, list bool) {
	fields := c.Columns()
	switch {
	case c.Leaf():
		columns[c.Index()] = parquetColumn{name, c.MaxDefinitionLevel(), list && c.MaxRepetitionLevel() == 1}
	case len(fields) == 1:
		addColumn(columns, name, fields[0], list || fields[0].Repeated())
	case !list:
		for _, field := range fields {
			addColumn(columns, name+"."+field.Name(), field, field.Repeated())
		}
	}
}

// addParquet adds the values of a row.
func (r row) addParquet(values parquet.Row, columns map[int]parquetColumn) {
	for _, v := range values {
		c, ok := columns[v.Column()]
		if !ok {
			continue
		}
		if c.list && v.RepetitionLevel() == 0 {
			r[c.name] = []int32{}
		}
		if v.DefinitionLevel() < c.level {
			continue // null, or an empty list
		}
		var item any
		switch v.Kind() {
		case parquet.Boolean:
			item = v.Boolean()
		case parquet.Int32:
			item = int64(v.Int32())
		case parquet.Int64:
			item = v.Int64()
		case parquet.Float:
			item = float64(v.Float())
		case parquet.Double:
			item = v.Double()
		default:
			item = string(v.ByteArray())
		}
		if !c.list {
			r[c.name] = item
			continue
		}
		switch items := r[c.name].(type) {
		case []int32:
			if n, ok := item.(int64); ok && n == int64(int32(n)) {
				r[c.name] = append(items, int32(n))
				continue
			}
			all := make([]any, len(items), len(items)+1)
			for i := range items {
				all[i] = int64(items[i])
			}
			r[c.name] = append(all, item)
		case []any:
			r[c.name] = append(items, item)
		}
	}
}
