package jinja

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// equal compares as Python does: numbers by value, lists by what they have.
func equal(left, right any) bool {
	a, x, float1, ok1 := number(left)
	b, y, float2, ok2 := number(right)
	switch {
	case ok1 && ok2:
		return orderNumbers(a, x, float1, b, y, float2) == 0
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
	case *namespace, *object, *iterator:
		return l == right
	case view:
		return l.equal(right.(view))
	case span:
		return l.equal(right.(span))
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
		return orderNumbers(a, x, float1, b, y, float2), nil
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

// unordered is the order of what is no number and any number: neither is less, and they are not equal.
const unordered = 2

// orderNumbers compares whole numbers and floats, each by its exact value.
func orderNumbers(a int64, x float64, float1 bool, b int64, y float64, float2 bool) int {
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return unordered
	case float1 == float2 && !float1:
		return cmp.Compare(a, b)
	case x != y || math.Abs(x) < exactFloats || float1 && float2:
		return cmp.Compare(x, y)
	case float1:
		return new(big.Float).SetFloat64(x).Cmp(new(big.Float).SetInt64(b))
	}
	return new(big.Float).SetInt64(a).Cmp(new(big.Float).SetFloat64(y))
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
	if r, ok := in.(span); ok {
		return r.contains(value), nil
	}
	if v, ok := in.(view); ok && v.kind == "dict_keys" {
		return contains(v.of, value)
	}
	if !iterable(in) {
		return false, errOperands("in", value, in)
	}
	all, err := elements(in)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(all, func(e any) bool { return equal(e, value) }), nil
}
