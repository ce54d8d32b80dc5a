package prompts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// options read data sets as leniently as Python, and their values into the types of a row.
var options = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(readValue)))

// parseJSON reads objects, which are rows: in a list, line by line, or in the only list of an object. The data begin in a line.
func (t *Table) parseJSON(data []byte, line, count int) error {
	if head, more, _ := bytes.Cut(data, []byte("\n")); len(more) > 0 && data[0] == '{' && !jsontext.Value(head).IsValid(options) {
		rows, err := listOfRows(data)
		if err != nil {
			return err
		}
		line += bytes.Count(data[:bytes.Index(data, rows)], []byte("\n"))
		data = rows
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data), options)
	list := d.PeekKind() == '['
	if list {
		_, _ = d.ReadToken()
	}
	counted := 0 // bytes whose lines are in line
	for count == 0 || len(t.rows) < count {
		if list && d.PeekKind() == ']' {
			_, _ = d.ReadToken()
			if _, err := d.ReadToken(); err != io.EOF {
				return errors.New("more data after the list of rows")
			}
			return nil
		}
		begin := len(data) - len(bytes.TrimLeft(data[d.InputOffset():], " \t\r\n,"))
		line += bytes.Count(data[counted:begin], []byte("\n"))
		counted = begin
		var r row
		err := json.UnmarshalDecode(d, &r)
		if !list && err == io.EOF {
			return nil
		}
		var mismatch *json.SemanticError
		switch {
		case errors.As(err, &mismatch) && mismatch.GoType == reflect.TypeFor[row]():
			err = fmt.Errorf("expected an object, got %v", mismatch.JSONKind)
		case err == nil && r == nil:
			err = errors.New("expected an object, got null")
		}
		t.lines = append(t.lines, line)
		if err != nil {
			return t.At(len(t.rows), "", err)
		}
		t.rows = append(t.rows, r)
	}
	return nil
}

// listOfRows returns the only list of an object.
func listOfRows(data []byte) (list []byte, err error) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(data, &fields, options); err != nil {
		return nil, err
	}
	for name, field := range fields {
		if field.Kind() != '[' {
			continue
		}
		if list != nil {
			return nil, fmt.Errorf("%s is one of several lists in the object: must be one list of rows, or a row per line", name)
		}
		list = field
	}
	if list == nil {
		return nil, errors.New("the object has no list of rows")
	}
	return list, nil
}

// readValue reads integers as int64, other numbers as float64, and lists of 32-bit integers as []int32, without a value
// for each: most of many files are tokens.
func readValue(d *jsontext.Decoder, v *any) error {
	switch d.PeekKind() {
	case '0':
		text, err := d.ReadValue()
		if err != nil {
			return err
		}
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			*v = n
			return nil
		}
		*v, err = strconv.ParseFloat(string(text), 64)
		return err
	case '[':
		text, err := d.ReadValue()
		if err != nil {
			return err
		}
		if ids, ok := parseTokens(text); ok {
			*v = ids
			return nil
		}
		var items []any
		err = json.Unmarshal(text, &items, d.Options())
		*v = items
		return err
	}
	return errors.ErrUnsupported
}

// parseTokens reads a list of 32-bit integers.
func parseTokens(list []byte) ([]int32, bool) {
	list = bytes.TrimSpace(list[1 : len(list)-1])
	ids := make([]int32, 0, bytes.Count(list, []byte(","))+1)
	for len(list) > 0 {
		field, rest, _ := bytes.Cut(list, []byte(","))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(field)), 10, 32)
		if err != nil {
			return nil, false
		}
		ids, list = append(ids, int32(n)), rest
	}
	return ids, true
}
