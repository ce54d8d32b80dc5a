package jinja

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Values are nil (None), bool, int64, float64, string, list, tuple, *dict, *namespace, *object,
// function, view, span, *iterator and undefined.
type (
	list  []any
	tuple []any

	// undefined is what is not there. It is written as nothing; its text says why it is not.
	undefined string

	// A function is what a template can call.
	function func(s *scope, a given) (any, error)

	// A namespace has attributes that a template can set.
	namespace struct{ values map[string]any }
)

// A dict keeps its keys in the order in which they came.
type dict struct {
	keys   []any
	values map[any]any // by hashed keys
}

func newDict() *dict { return &dict{values: make(map[any]any)} }

var errUnhashable = errors.New("want a key that is a text, a number or a tuple of those")

// hashed is what a key is looked for by: 1, 1.0 and true are the same.
func hashed(key any) (any, error) {
	switch k := key.(type) {
	case nil, string, int64:
		return k, nil
	case bool:
		return integer(k), nil
	case float64:
		if n := int64(k); math.Abs(k) < 1<<63 && float64(n) == k {
			return n, nil
		}
		return k, nil
	case undefined:
		return undefined(""), nil // whatever is not there
	case tuple:
		return hashedTuple(k)
	}
	return nil, errUnhashable
}

// tupleKey is what a tuple is looked for by: two are the same if they have as many parts, which are the same.
type tupleKey string

func hashedTuple(parts tuple) (any, error) {
	var b strings.Builder
	for _, part := range parts {
		h, err := hashed(part)
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("%T %v", h, h)
		fmt.Fprintf(&b, "%d %s", len(text), text)
	}
	return tupleKey(b.String()), nil
}

func (d *dict) get(key any) (any, bool) {
	h, err := hashed(key)
	if err != nil {
		return nil, false
	}
	v, ok := d.values[h]
	return v, ok
}

func (d *dict) set(key, value any) error {
	h, err := hashed(key)
	if err != nil {
		return err
	}
	if _, ok := d.values[h]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[h] = value
	return nil
}

// drop takes a key away.
func (d *dict) drop(key string) (any, bool) {
	v, ok := d.values[key]
	delete(d.values, key)
	d.keys = slices.DeleteFunc(d.keys, func(k any) bool { return k == any(key) })
	return v, ok
}

// items are the keys with their values.
func (d *dict) items() list {
	items := make(list, len(d.keys))
	for i, k := range d.keys {
		v, _ := d.get(k)
		items[i] = tuple{k, v}
	}
	return items
}

// usualKeys come first in maps of Go, which have no order: they are those of messages.
var usualKeys = []string{"role", "content"}

// valueOf is a value of Go as one of a template.
func valueOf(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, int64, float64:
		return v, nil
	case string:
		return strings.ToValidUTF8(v, "\ufffd"), nil // as JSON is read
	case int:
		return int64(v), nil
	case []any:
		return listOfValues(v)
	case []map[string]any:
		return listOfValues(v)
	case []string:
		return listOfValues(v)
	case map[string]any:
		return dictOfValues(v)
	}
	return nil, fmt.Errorf("a template cannot have a %T", value)
}

func listOfValues[T any](values []T) (any, error) {
	l := make(list, len(values))
	for i, v := range values {
		var err error
		if l[i], err = valueOf(v); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func dictOfValues(values map[string]any) (any, error) {
	keys := slices.Sorted(maps.Keys(values))
	slices.SortStableFunc(keys, func(a, b string) int { return place(a) - place(b) })
	d := newDict()
	for _, k := range keys {
		v, err := valueOf(values[k])
		if err != nil {
			return nil, err
		}
		_ = d.set(strings.ToValidUTF8(k, "\ufffd"), v) // a text is a key
	}
	return d, nil
}

// place is where a key comes: the usual ones first.
func place(key string) int {
	if i := slices.Index(usualKeys, key); i >= 0 {
		return i
	}
	return len(usualKeys)
}

// kindOf is what Python calls the type of a value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case list:
		return "list"
	case tuple:
		return "tuple"
	case *dict:
		return "dict"
	case undefined:
		return "undefined"
	case *namespace:
		return "namespace"
	}
	return kindOfMade(value)
}

// kindOfMade is the kind of what functions and filters make.
func kindOfMade(value any) string {
	switch v := value.(type) {
	case *object:
		return v.kind
	case view:
		return v.kind
	case span:
		return "range"
	case *iterator:
		return "generator"
	}
	return "function"
}
