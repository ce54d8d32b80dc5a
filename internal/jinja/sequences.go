package jinja

import (
	"errors"
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
	if err != nil {
		return nil, err
	}
	found := make([]any, len(all))
	for i, e := range all {
		if found[i], err = keyOf(e, path, true); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// follow is what an attribute names, with points between its parts. Where one of them is not there it is the fallback, unless that is None.
func follow(value, path, fallback any) (any, error) {
	if path == nil {
		return value, nil
	}
	for _, part := range partsOf(path) {
		if err := checkDefined(value); err != nil {
			return nil, err
		}
		value = element(value, part)
		if _, not := value.(undefined); not && fallback != nil {
			value = fallback
		}
	}
	return value, nil
}

// partsOf are those of an attribute: names, and places where there are digits.
func partsOf(path any) []any {
	names, ok := path.(string)
	if !ok {
		return []any{path}
	}
	parts := texts(strings.Split(names, "."))
	for i, name := range parts {
		if n, err := strconv.ParseUint(name.(string), 10, 63); err == nil {
			parts[i] = int64(n)
		}
	}
	return parts
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
	keys = make([]any, len(all))
	for i, e := range all {
		if keys[i], err = keyOf(e, path, exact); err != nil {
			return nil, nil, err
		}
	}
	return all, keys, nil
}

// keyOf is by what one element is compared.
func keyOf(element, path, exact any) (any, error) {
	if path != any(missing) && path != nil {
		var err error
		if element, err = follow(element, path, nil); err != nil {
			return nil, err
		}
	}
	if flag(exact) {
		return element, nil
	}
	return folded(element), nil
}

// uniqueElements is unique: the first of equal ones stays.
func uniqueElements(s *scope, value any, a given) (any, error) {
	v, err := a.bind("case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	seen := newDict()
	return s.through(value, func() (each, error) {
		return func(e any) (any, bool, error) {
			key, err := keyOf(e, v[1], v[0])
			if err != nil {
				return nil, false, err
			}
			if _, ok := seen.get(key); ok {
				return nil, false, nil
			}
			return e, true, seen.set(key, true)
		}, nil
	})
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
