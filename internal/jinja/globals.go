package jinja

import (
	"errors"
	"fmt"
)

// functions are those that every template has.
var functions = map[string]function{
	"range": countRange, "namespace": newNamespace, "dict": dictOfNames, "raise_exception": raise, "joiner": newJoiner, "cycler": newCycler,
}

// raise is how a template refuses a chat.
func raise(_ *scope, a given) (any, error) {
	v, err := a.bind("message")
	if err != nil {
		return nil, err
	}
	return nil, errors.New(str(v[0]))
}

var errRange = errors.New("range wants one to three whole numbers")

// countRange is range: all that a template counts together is bounded.
func countRange(s *scope, a given) (any, error) {
	from, to, step, err := a.bounds()
	if err != nil {
		return nil, err
	}
	numbers := list{}
	for n := from; step > 0 && n < to || step < 0 && n > to; n += step {
		if s.counted++; s.counted > maxRange {
			return nil, fmt.Errorf("a template counts to %d at most", maxRange)
		}
		numbers = append(numbers, n)
		if next := n + step; (next > n) != (step > 0) {
			break // beyond 64 bits
		}
	}
	return numbers, nil
}

// bounds are the arguments of range.
func (g given) bounds() (from, to, step int64, err error) {
	if len(g.values) == 0 || len(g.values) > 3 || len(g.named) > 0 {
		return 0, 0, 0, errRange
	}
	var numbers [3]int64
	for i, v := range g.values {
		n, _, float, ok := number(v)
		if !ok || float {
			return 0, 0, 0, errRange
		}
		numbers[i] = n
	}
	switch {
	case len(g.values) == 1:
		return 0, numbers[0], 1, nil
	case len(g.values) == 2:
		return numbers[0], numbers[1], 1, nil
	case numbers[2] == 0:
		return 0, 0, 0, errors.New("range wants steps that are not 0")
	}
	return numbers[0], numbers[1], numbers[2], nil
}

func newNamespace(_ *scope, a given) (any, error) {
	d, err := dictOfNames(nil, a)
	if err != nil {
		return nil, err
	}
	n := &namespace{make(map[string]any)}
	for _, k := range d.(*dict).keys {
		name, ok := k.(string)
		if !ok {
			return nil, errUnhashable
		}
		n.values[name], _ = d.(*dict).get(k)
	}
	return n, nil
}

// dictOfNames is dict: of another one, and of arguments with names.
func dictOfNames(_ *scope, a given) (any, error) {
	d := newDict()
	for _, v := range a.values {
		other, ok := v.(*dict)
		if !ok {
			return nil, fmt.Errorf("want a dict or arguments with names, not %s", kindOf(v))
		}
		for _, k := range other.keys {
			v, _ := other.get(k)
			_ = d.set(k, v) // it is one's already
		}
	}
	for _, name := range a.names {
		_ = d.set(name, a.named[name]) // a text is a key
	}
	return d, nil
}
