package python

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A Value is a value of Python; the package comment says which types it may have.
type Value = any

// A Dict is a dict with text keys. It keeps the order of its keys.
type Dict struct {
	keys   []string
	values map[string]Value
}

// Get returns a member.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

// Keys lists the keys in order. It must not be changed.
func (d *Dict) Keys() []string { return d.keys }

// Set sets a member.
func (d *Dict) Set(key string, v Value) {
	if d.values == nil {
		d.values = map[string]Value{}
	}
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

// Truth is bool(v).
func Truth(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []Value:
		return len(v) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	return true // a *big.Int is never 0
}

// Str is str(v).
func Str(v Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return Repr(v)
}

// Repr is repr(v).
func Repr(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case *big.Int:
		return v.String()
	case float64:
		return reprFloat(v)
	case string:
		return reprText(v)
	case []Value:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = Repr(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *Dict:
		parts := make([]string, len(v.keys))
		for i, k := range v.keys {
			parts[i] = reprText(k) + ": " + Repr(v.values[k])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "" // there are no other types
}

func reprText(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	return quote + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, quote, `\`+quote).Replace(s) + quote
}

func reprFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(s, "e")
	if n, _ := strconv.Atoi(exponent); n < -4 || n >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
