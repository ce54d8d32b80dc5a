package prompts

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Columns are the names of all columns that a row has, sorted.
func (t *Table) Columns() []string { return t.columns }

func (t *Table) names() []string {
	seen := make(map[string]bool)
	for _, r := range t.rows {
		for name := range r {
			seen[name] = true
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (t *Table) errorf(i int, column, format string, args ...any) error {
	return &Error{t.name, i, column, fmt.Errorf(format, args...)}
}

// value returns what a row has in a column.
func (t *Table) value(i int, column string) (any, error) {
	v, ok := t.rows[i][column]
	if !ok || v == nil {
		return nil, t.errorf(i, column, "there is no value; the columns of the file are %s", strings.Join(t.columns, ", "))
	}
	return v, nil
}

// Value returns what a row has in a column, and whether there is anything: a string, []int32, int64,
// float64, bool, []any or map[string]any.
func (t *Table) Value(i int, column string) (any, bool) {
	v := t.rows[i][column]
	return v, v != nil
}

// Text returns a text of a row. Numbers are texts too, as Python writes them.
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
		return decimal(v), nil
	}
	return "", t.errorf(i, column, "want a text, got %s", kind(v))
}

// decimal is a number as Python's str writes it: 2.0, 1000000.0, 1e+16.
func decimal(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(text, "e")
	if n, _ := strconv.Atoi(exponent); n < -4 || n >= 16 {
		return text
	}
	if text = strconv.FormatFloat(f, 'f', -1, 64); !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// Tokens returns the numbers of tokens that a row has.
func (t *Table) Tokens(i int, column string) ([]int32, error) {
	v, err := t.value(i, column)
	if err != nil {
		return nil, err
	}
	ids, ok := v.([]int32)
	if !ok {
		return nil, t.errorf(i, column, "want a list of tokens, got %s", kind(v))
	}
	for k, id := range ids {
		if id < 0 {
			return nil, t.errorf(i, column, "token %d is %d", k, id)
		}
	}
	return ids, nil
}

// kind says in words what a value is.
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
