package jinja

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// joinElements is join.
func joinElements(s *scope, value any, a given) (any, error) {
	v, err := a.bind("d", "attribute")
	if err != nil {
		return nil, err
	}
	all, err := attributesOf(s, value, v[1])
	if err != nil {
		return nil, err
	}
	between := ""
	if v[0] != any(missing) {
		between = str(v[0])
	}
	return joined(all, between)
}

// attributesOf are the elements of a value, or of each what an attribute names.
func attributesOf(s *scope, value, path any) ([]any, error) {
	all, err := s.elements(value)
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

// flag is an argument that is true or false.
func flag(value any) bool { return value != any(missing) && truth(value) }

// keysOf are elements, and by what they are compared.
func keysOf(s *scope, value, path, exact any) (all, keys []any, err error) {
	if all, err = s.elements(value); err != nil {
		return nil, nil, err
	}
	if keys, err = attributesOf(s, value, path); err != nil {
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

// uniqueElements is unique: the first of equal ones stays.
func uniqueElements(s *scope, value any, a given) (any, error) {
	v, err := a.bind("case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	all, keys, err := keysOf(s, value, v[1], v[0])
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
	return func(s *scope, value any, a given) (any, error) {
		v, err := a.bind("case_sensitive", "attribute")
		if err != nil {
			return nil, err
		}
		all, keys, err := keysOf(s, value, v[1], v[0])
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
			if n == direction {
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
func sumElements(s *scope, value any, a given) (any, error) {
	v, err := a.bind("attribute", "start")
	if err != nil {
		return nil, err
	}
	all, err := attributesOf(s, value, v[0])
	if err != nil {
		return nil, err
	}
	total := v[1]
	if total == any(missing) {
		total = int64(0)
	}
	if _, ok := total.(string); ok {
		return nil, errors.New("want no text to begin with: join is for texts")
	}
	for _, e := range all {
		if total, err = calculate("+", total, e); err != nil {
			return nil, err
		}
		if err := s.made(total); err != nil {
			return nil, err
		}
	}
	return total, nil
}
