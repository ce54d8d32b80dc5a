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

func newNamespace(s *scope, a given) (any, error) {
	d, err := dictOfNames(s, a)
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

// setAll sets the items of a dict, or pairs of a key and a value.
func (d *dict) setAll(s *scope, value any) error {
	if err := checkDefined(value); err != nil {
		return err
	}
	if other, ok := value.(*dict); ok {
		value = view{"dict_items", other}
	}
	all, err := s.elements(value)
	if err != nil {
		return err
	}
	for _, e := range all {
		pair, err := s.elements(e)
		if err == nil && len(pair) != 2 {
			err = fmt.Errorf("want a key and its value, not %d values", len(pair))
		}
		if err != nil {
			return err
		}
		if err := d.set(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return s.spend(len(all))
}

// dictOfNames is dict: of another one, and of arguments with names.
func dictOfNames(s *scope, a given) (any, error) {
	d := newDict()
	if len(a.values) > 1 {
		return nil, fmt.Errorf("want a dict and arguments with names, not %d values", len(a.values))
	}
	for _, v := range a.values {
		if err := d.setAll(s, v); err != nil {
			return nil, err
		}
	}
	for _, name := range a.names {
		_ = d.set(name, a.named[name]) // a text is a key
	}
	return d, nil
}
