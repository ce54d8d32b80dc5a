package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// joinElements is join.
func joinElements(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("d", "attribute")
	if err != nil {
		return nil, err
	}
	all, err := attributesOf(value, v[1])
	if err != nil {
		return nil, err
	}
	between, err := textOr(v[0], "")
	if err != nil {
		return nil, err
	}
	return joined(all, between)
}

// attributesOf are the elements of a value, or of each what an attribute names.
func attributesOf(value, path any) ([]any, error) {
	all, err := elements(value)
	if err != nil || path == any(missing) || path == nil {
		return all, err
	}
	found := make([]any, len(all))
	for i, e := range all {
		if found[i], err = follow(e, path); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// follow is what an attribute names, with points between its parts.
func follow(value, path any) (any, error) {
	names, ok := path.(string)
	if !ok {
		return element(value, path), checkDefined(value)
	}
	for name := range strings.SplitSeq(names, ".") {
		if err := checkDefined(value); err != nil {
			return nil, err
		}
		if n, err := strconv.ParseInt(name, 10, 64); err == nil {
			value = element(value, n)
		} else {
			value = element(value, name)
		}
	}
	return value, nil
}

// folded is a value as it is compared where capitals do not count.
func folded(value any) any {
	if s, ok := value.(string); ok {
		return pytext.Lower(s)
	}
	return value
}

// sorted are elements in the order of their keys.
func sorted(all, keys []any, descending bool) (list, error) {
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

// flag is an argument that is true or false.
func flag(value any) bool { return value != any(missing) && truth(value) }

// keysOf are elements, and by what they are compared.
func keysOf(value, path, exact any) (all, keys []any, err error) {
	if all, err = elements(value); err != nil {
		return nil, nil, err
	}
	if keys, err = attributesOf(value, path); err != nil {
		return nil, nil, err
	}
	keys = slices.Clone(keys)
	for i := range keys {
		if !flag(exact) {
			keys[i] = folded(keys[i])
		}
	}
	return all, keys, nil
}

// sortElements is sort.
func sortElements(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("reverse", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	all, keys, err := keysOf(value, v[2], v[1])
	if err != nil {
		return nil, err
	}
	return sorted(all, keys, flag(v[0]))
}

// uniqueElements is unique: the first of equal ones stays.
func uniqueElements(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	all, keys, err := keysOf(value, v[1], v[0])
	if err != nil {
		return nil, err
	}
	seen, l := newDict(), list{}
	for i, k := range keys {
		if _, ok := seen.get(k); ok {
			continue
		}
		if err := seen.set(k, true); err != nil {
			return nil, err
		}
		l = append(l, all[i])
	}
	return l, nil
}

// extreme is min or max, the first of equal ones.
func extreme(direction int) filterFunc {
	return func(_ *scope, value any, a given) (any, error) {
		v, err := a.bind("case_sensitive", "attribute")
		if err != nil {
			return nil, err
		}
		all, keys, err := keysOf(value, v[1], v[0])
		if err != nil {
			return nil, err
		}
		best := -1
		for i, k := range keys {
			if best < 0 {
				best = i
				continue
			}
			n, err := order(k, keys[best])
			if err != nil {
				return nil, err
			}
			if n*direction > 0 {
				best = i
			}
		}
		if best < 0 {
			return undefined("there is no element"), nil
		}
		return all[best], nil
	}
}

// sumElements is sum.
func sumElements(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("attribute", "start")
	if err != nil {
		return nil, err
	}
	all, err := attributesOf(value, v[0])
	if err != nil {
		return nil, err
	}
	total := v[1]
	if total == any(missing) {
		total = int64(0)
	}
	for _, e := range all {
		if total, err = calculate("+", total, e); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// sortDict is dictsort: the items in the order of their keys, or their values.
func sortDict(_ *scope, value any, a given) (any, error) {
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
	all, keys, err := keysOf(d.items(), at, v[0])
	if err != nil {
		return nil, err
	}
	return sorted(all, keys, flag(v[2]))
}
