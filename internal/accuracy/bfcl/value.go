package bfcl

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A value is one of Python's: nil, bool, *big.Int, float64, string, list or dict.
type value any

type list []value

// A dict keeps the order of its keys. Of several values of a key the last counts, at the place of the first.
type dict struct {
	keys   []string
	values map[string]value
}

func (d *dict) set(key string, v value) {
	if d.values == nil {
		d.values = map[string]value{}
	}
	if _, there := d.values[key]; !there {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

func (d *dict) has(key string) bool {
	_, ok := d.values[key]
	return ok
}

// A kind is the type of a value. Bool is not an integer.
type kind string

const (
	kindNone  kind = "NoneType"
	kindBool  kind = "bool"
	kindInt   kind = "int"
	kindFloat kind = "float"
	kindText  kind = "str"
	kindList  kind = "list"
	kindDict  kind = "dict"
)

func kindOf(v value) kind {
	switch v.(type) {
	case bool:
		return kindBool
	case *big.Int:
		return kindInt
	case float64:
		return kindFloat
	case string:
		return kindText
	case list:
		return kindList
	case *dict:
		return kindDict
	}
	return kindNone
}

// equal is Python's ==: 1 == 1.0 == True, and dicts are equal in any order.
func equal(a, b value) bool {
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case float64:
		y, ok := b.(float64)
		return ok && x == y // infinities and NaN, which are no numbers
	case string:
		y, ok := b.(string)
		return ok && x == y
	case list:
		y, ok := b.(list)
		return ok && slices.EqualFunc(x, y, equal)
	case *dict:
		y, ok := b.(*dict)
		if !ok || len(x.keys) != len(y.keys) {
			return false
		}
		for _, key := range x.keys {
			if !y.has(key) || !equal(x.values[key], y.values[key]) {
				return false
			}
		}
		return true
	}
	return false
}

// number is the exact value of a finite number or a bool; nil: it is none.
func number(v value) *big.Rat {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewRat(1, 1)
		}
		return new(big.Rat)
	case *big.Int:
		return new(big.Rat).SetInt(v)
	case float64:
		return new(big.Rat).SetFloat64(v) // nil where it is not finite
	}
	return nil
}

// in reports whether a list has an equal value.
func in(v value, values []value) bool {
	return slices.ContainsFunc(values, func(other value) bool { return equal(v, other) })
}

// maxDepth bounds nested values, as Python's stack does.
const maxDepth = 500

var errTooDeep = errors.New("the values are nested too deeply")

// parseJSON is json.loads.
func parseJSON(text []byte) (value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := readJSON(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

func readJSON(d *jsontext.Decoder, depth int) (value, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		return parseNumber(t.String()), nil
	case '[':
		items := list{}
		for d.PeekKind() != ']' {
			item, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err := d.ReadToken()
		return items, err
	case '{':
		object := &dict{}
		for d.PeekKind() != '}' {
			key, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			name := key.String()
			item, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			object.set(name, item)
		}
		_, err := d.ReadToken()
		return object, err
	}
	return nil, nil
}

// mostDigits is how many digits Python reads as an integer (sys.get_int_max_str_digits).
const mostDigits = 4300

// parseNumber reads a number of JSON: an integer unless it has a point or an exponent.
func parseNumber(text string) value {
	if !strings.ContainsAny(text, ".eE") && len(text) <= mostDigits {
		n, _ := new(big.Int).SetString(text, 10) // JSON has only digits here
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return text
	}
	return f
}
