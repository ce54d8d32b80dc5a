package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// sorted are elements in the order of their keys.
func sorted(s *scope, all, keys []any, descending bool) (any, error) {
	if err := s.spend(len(all) * bits.Len(uint(len(all)))); err != nil {
		return nil, err
	}
	return inOrder(all, keys, descending)
}

func inOrder(all, keys []any, descending bool) (list, error) {
	type keyedElement struct{ element, key any }
	pairs := make([]keyedElement, len(all))
	for i := range all {
		pairs[i] = keyedElement{all[i], keys[i]}
	}
	var err error
	slices.SortStableFunc(pairs, func(a, b keyedElement) int {
		n, e := order(a.key, b.key)
		err = cmp.Or(err, e)
		if descending {
			return -n
		}
		return n
	})
	l := make(list, len(all))
	for i, p := range pairs {
		l[i] = p.element
	}
	return l, err
}

// sortElements is sort.
func sortElements(s *scope, value any, a given) (any, error) {
	v, err := a.bind("reverse", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	paths := []any{v[2]}
	if text, ok := v[2].(string); ok {
		paths = texts(strings.Split(text, ","))
	}
	all, err := s.elements(value)
	if err != nil {
		return nil, err
	}
	keys := make([]tuple, len(paths))
	for i, path := range paths {
		if _, keys[i], err = keysOf(s, list(all), path, v[1]); err != nil {
			return nil, err
		}
	}
	together := make([]any, len(all))
	for i := range all {
		of := make(tuple, len(paths)) // equal ones need no order
		for k := range keys {
			of[k] = keys[k][i]
		}
		together[i] = of
	}
	return sorted(s, all, together, flag(v[0]))
}

// sortDict is dictsort: the items in the order of their keys, or their values.
func sortDict(s *scope, value any, a given) (any, error) {
	v, err := a.bind("case_sensitive", "by", "reverse")
	if err != nil {
		return nil, err
	}
	d, ok := value.(*dict)
	by, err := textOr(v[1], "key")
	at, known := map[string]int64{"key": 0, "value": 1}[by]
	if err != nil || !ok || !known {
		return nil, errors.Join(err, fmt.Errorf("want a dict by key or value, not %s by %q", kindOf(value), by))
	}
	all, keys, err := keysOf(s, d.items(), at, v[0])
	if err != nil {
		return nil, err
	}
	return sorted(s, all, keys, flag(v[2]))
}
