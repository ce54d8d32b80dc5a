package jinja

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// equal compares as Python does: numbers by value, lists by what they have.
func equal(left, right any) bool {
	a, x, float1, ok1 := number(left)
	b, y, float2, ok2 := number(right)
	switch {
	case ok1 && ok2 && (float1 || float2):
		return x == y
	case ok1 && ok2:
		return a == b
	case kindOf(left) != kindOf(right):
		return false
	}
	return equalParts(left, right)
}

// equalParts is equal of values of one kind, which are no numbers.
func equalParts(left, right any) bool {
	switch l := left.(type) {
	case nil, undefined:
		return true
	case string:
		return l == right
	case list:
		return slices.EqualFunc(l, right.(list), equal)
	case tuple:
		return slices.EqualFunc(l, right.(tuple), equal)
	case *dict:
		return equalDicts(l, right.(*dict))
	}
	return false
}

func equalDicts(a, b *dict) bool {
	for _, k := range a.keys {
		v, _ := a.get(k)
		w, ok := b.get(k)
		if !ok || !equal(v, w) {
			return false
		}
	}
	return len(a.keys) == len(b.keys)
}

// order compares values that have one: numbers, texts, lists.
func order(left, right any) (int, error) {
	if err := checkDefined(left, right); err != nil {
		return 0, err
	}
	a, x, float1, ok1 := number(left)
	b, y, float2, ok2 := number(right)
	if ok1 && ok2 {
		if float1 || float2 {
			return cmp.Compare(x, y), nil
		}
		return cmp.Compare(a, b), nil
	}
	switch l := left.(type) {
	case string:
		if r, ok := right.(string); ok {
			return cmp.Compare(l, r), nil
		}
	case list:
		if r, ok := right.(list); ok {
			return orderLists(l, r)
		}
	case tuple:
		if r, ok := right.(tuple); ok {
			return orderLists(l, r)
		}
	}
	return 0, fmt.Errorf("%s and %s have no order", kindOf(left), kindOf(right))
}

func orderLists(a, b []any) (int, error) {
	for i := range min(len(a), len(b)) {
		if !equal(a[i], b[i]) {
			return order(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}

// contains is whether a value is in another: a part of a text, a key of a dict, an element.
func contains(in, value any) (bool, error) {
	switch v := in.(type) {
	case string:
		s, ok := value.(string)
		if !ok {
			return false, errOperands("in", value, in)
		}
		return strings.Contains(v, s), nil
	case *dict:
		if _, err := hashed(value); err != nil {
			return false, err
		}
		_, ok := v.get(value)
		return ok, nil
	}
	all, err := elements(in)
	if err != nil {
		return false, errOperands("in", value, in)
	}
	return slices.ContainsFunc(all, func(e any) bool { return equal(e, value) }), nil
}
