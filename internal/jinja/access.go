package jinja

import (
	"errors"
	"fmt"
	"strings"
)

// attribute is what is behind a point: a method, or else the value of a key.
type attribute struct {
	of   expression
	name string
}

func (a attribute) value(s *scope) (any, error) {
	v, err := a.of.value(s)
	if err != nil {
		return nil, err
	}
	if err := checkDefined(v); err != nil {
		return nil, err
	}
	if m, ok := methodOf(v, a.name); ok {
		return m, nil
	}
	return keyed(v, a.name), nil
}

// keyed is the value of a key or an attribute, or undefined.
func keyed(of any, key string) any {
	var found any
	ok := false
	switch v := of.(type) {
	case *dict:
		found, ok = v.get(key)
	case *namespace:
		found, ok = v.values[key]
	}
	if ok {
		return found
	}
	return undefined(fmt.Sprintf("a value of type %s has no '%s'", kindOf(of), key))
}

// methodOf is a method of a value.
func methodOf(of any, name string) (function, bool) {
	var m method
	ok := false
	switch of.(type) {
	case string:
		m, ok = textMethods[name]
	case *dict:
		m, ok = dictMethods[name]
	case list, tuple:
		m, ok = listMethods[name]
	}
	if !ok {
		return nil, false
	}
	_, isDict := of.(*dict)
	return func(s *scope, a given) (any, error) {
		if !isDict { // whose methods do not go through its values
			if err := s.look(of); err != nil {
				return nil, err
			}
		}
		v, err := m(of, a)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return v, err
	}, true
}

// item is what is in brackets behind a value.
type item struct{ of, key expression }

func (i item) value(s *scope) (any, error) {
	v, err := i.of.value(s)
	if err != nil {
		return nil, err
	}
	if err := checkDefined(v); err != nil {
		return nil, err
	}
	key, err := i.key.value(s)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.lookAtText(v), s.look(key)); err != nil {
		return nil, err
	}
	return element(v, key), nil
}

// element is the value of a key or a place; places below zero count from the end.
func element(of, key any) any {
	if d, ok := of.(*dict); ok {
		if v, ok := d.get(key); ok {
			return v
		}
	}
	if name, ok := key.(string); ok {
		if m, ok := methodOf(of, name); ok {
			return m
		}
		return keyed(of, name)
	}
	all, err := sequence(of)
	if n, _, float, ok := number(key); err == nil && ok && !float {
		if n < 0 {
			n += int64(len(all))
		}
		if n >= 0 && n < int64(len(all)) {
			return all[n]
		}
	}
	return undefined(fmt.Sprintf("a value of type %s has no element %s", kindOf(of), repr(key)))
}

var errNoSequence = errors.New("want a text or a list")

// sequence are the elements of what has places.
func sequence(of any) ([]any, error) {
	switch of.(type) {
	case string, list, tuple:
		return elements(of)
	}
	return nil, errNoSequence
}

// slice is a part of a text or a list.
type slice struct {
	of    expression
	parts [3]expression // from, to and step; nil if it is not said
}

func (p slice) value(s *scope) (any, error) {
	v, err := p.of.value(s)
	if err != nil {
		return nil, err
	}
	if err := checkDefined(v); err != nil {
		return nil, err
	}
	if err := s.lookAtText(v); err != nil {
		return nil, err
	}
	all, err := sequence(v)
	if err != nil {
		return nil, fmt.Errorf("a value of type %s has no slices", kindOf(v))
	}
	var given [3]*int64
	for i, e := range p.parts {
		if e == nil {
			continue
		}
		part, err := e.value(s)
		if err != nil {
			return nil, err
		}
		n, _, float, ok := number(part)
		if part == nil {
			continue
		}
		if !ok || float {
			return nil, fmt.Errorf("want whole numbers in a slice, not %s", kindOf(part))
		}
		given[i] = &n
	}
	picked, err := pick(all, given)
	if err != nil {
		return nil, err
	}
	return alike(v, picked), s.made(list(picked))
}

// pick returns the elements of a slice.
func pick(all []any, part [3]*int64) ([]any, error) {
	step, n := int64(1), int64(len(all))
	if part[2] != nil {
		step = *part[2]
	}
	if step == 0 {
		return nil, errors.New("a slice has steps of 0")
	}
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	place := func(given *int64, otherwise int64) int64 {
		if given == nil {
			return otherwise
		}
		at := *given
		if at < 0 {
			at += n
		}
		return max(low, min(high, at))
	}
	from, to := place(part[0], low), place(part[1], high)
	if step < 0 {
		from, to = place(part[0], high), place(part[1], low)
	}
	var picked []any
	for at := from; step > 0 && at < to || step < 0 && at > to; at += max(-n-1, min(n+1, step)) {
		picked = append(picked, all[at])
	}
	return picked, nil
}

// alike are elements as a value of the kind of another.
func alike(kind any, all []any) any {
	switch kind.(type) {
	case string:
		var text strings.Builder
		for _, e := range all {
			text.WriteString(e.(string))
		}
		return text.String()
	case tuple:
		return tuple(all)
	}
	return list(all)
}
