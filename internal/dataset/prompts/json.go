package prompts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
)

// parseArray reads an array of objects, one at a time.
func (t *Table) parseArray(r *bufio.Reader, count int) error {
	skipMark(r)
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil {
		return err
	}
	for i := 0; d.More(); i++ {
		if count > 0 && i == count {
			return nil
		}
		if err := t.addObject(d); err != nil {
			return &Error{t.name, i, "", shortened(err)}
		}
	}
	return t.parseEnd(d)
}

// parseEnd wants the end of the list, and of the file.
func (t *Table) parseEnd(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return &Error{t.name, len(t.rows), "", shortened(err)}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the list")
	}
	return nil
}

// parseLines reads an object from each line. What is one object as a whole, with a list as
// its only field of that kind, is read as that list.
func (t *Table) parseLines(data []byte, count int) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	number, row := 0, 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if count > 0 && row == count {
			return nil
		}
		err := t.parseLine(line)
		if row == 0 && endsEarly(err) {
			return t.parseWhole(data, count)
		}
		if err != nil {
			return &Error{t.name, row, "", fmt.Errorf("line %d: %w", number, shortened(err))}
		}
		row++
	}
	return nil
}

// parseLine reads the object of a line.
func (t *Table) parseLine(line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	if err := t.addObject(d); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is something after the object")
	}
	return nil
}

func endsEarly(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// parseWhole reads one object over several lines, which may be a list of rows in a field.
func (t *Table) parseWhole(data []byte, count int) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return shortened(err)
	}
	var list json.RawMessage
	for name, field := range fields {
		if len(field) == 0 || field[0] != '[' {
			continue
		}
		if list != nil {
			return fmt.Errorf("the object has several lists, of which %s is one: want a list of rows, or a row per line", name)
		}
		list = field
	}
	if list == nil {
		return errors.New("the object has no list of rows")
	}
	return t.parseArray(bufio.NewReader(bytes.NewReader(list)), count)
}

func skipMark(r *bufio.Reader) {
	if start, err := r.Peek(3); err == nil && string(start) == "\ufeff" {
		_, _ = r.Discard(3)
	}
}

// shortened replaces errors that speak of Go's types.
func shortened(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("want an object, got %s", mismatch.Value)
	}
	if endsEarly(err) {
		return errors.New("the file ends too early")
	}
	return err
}

// addObject reads an object as a row.
func (t *Table) addObject(d *json.Decoder) error {
	var fields map[string]json.RawMessage
	if err := d.Decode(&fields); err != nil {
		return err
	}
	if fields == nil {
		return errors.New("want an object, got null")
	}
	r := make(row, len(fields))
	for name, field := range fields {
		if ids, ok := parseTokens(field); ok {
			r[name] = ids
			continue
		}
		v, err := parseValue(field)
		if err != nil {
			return err
		}
		r[name] = v
	}
	t.rows = append(t.rows, r)
	return nil
}

// parseTokens reads a list of whole numbers, which is most of many files, without a value for
// each.
func parseTokens(text []byte) ([]int32, bool) {
	if len(text) < 2 || text[0] != '[' {
		return nil, false
	}
	text = bytes.TrimSpace(text[1 : len(text)-1])
	ids := make([]int32, 0, bytes.Count(text, []byte(","))+1)
	for len(text) > 0 {
		field, rest, _ := bytes.Cut(text, []byte(","))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(field)), 10, 32)
		if err != nil {
			return nil, false
		}
		ids, text = append(ids, int32(n)), rest
	}
	return ids, true
}

// parseValue reads any value.
func parseValue(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return numbers(v)
}

// numbers makes int64 and float64 of numbers, at any depth.
func numbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		if err := replaceEach(slices.All(v), func(i int, n any) { v[i] = n }); err != nil {
			return nil, err
		}
		return packed(v), nil
	case map[string]any:
		return v, replaceEach(maps.All(v), func(name string, n any) { v[name] = n })
	}
	return v, nil
}

// replaceEach makes int64 and float64 of the numbers in the values of a list or an object.
func replaceEach[K any](values iter.Seq2[K, any], set func(K, any)) error {
	for key, v := range values {
		n, err := numbers(v)
		if err != nil {
			return err
		}
		set(key, n)
	}
	return nil
}
