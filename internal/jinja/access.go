package jinja

import (
	"errors"
	"fmt"
	"unicode/utf8"
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
	case *object:
		found, ok = v.attribute(key)
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
		m, ok = textMethod(name)
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
	if n, _, float, ok := number(key); ok && !float {
		if found, ok := placed(of, n); ok {
			return found
		}
	}
	return undefined(fmt.Sprintf("a value of type %s has no element %s", kindOf(of), repr(key)))
}

// placed is what is at a place of a text or a list.
func placed(of any, at int64) (any, bool) {
	n, err := length(of)
	if at < 0 {
		at += int64(n)
	}
	if err != nil || at < 0 || at >= int64(n) {
		return nil, false
	}
	switch v := of.(type) {
	case list:
		return v[at], true
	case tuple:
		return v[at], true
	case string:
		for range at {
			_, size := utf8.DecodeRuneInString(v)
			v = v[size:]
		}
		_, size := utf8.DecodeRuneInString(v)
		return v[:size], true
	}
	return nil, false
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
	result, err := sliced(v, given)
	if err != nil {
		return nil, err
	}
	return result, s.made(result)
}

// sliced is a part of a value, of the value's type.
func sliced(value any, part [3]*int64) (any, error) {
	switch v := value.(type) {
	case string:
		picked, err := pick([]rune(v), part)
		return string(picked), err
	case list:
		picked, err := pick(v, part)
		return list(picked), err
	case tuple:
		picked, err := pick(v, part)
		return tuple(picked), err
	}
	return nil, fmt.Errorf("a value of type %s has no slices", kindOf(value))
}

// pick returns the elements of a slice.
func pick[T any](all []T, part [3]*int64) ([]T, error) {
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
	var picked []T
	for at := from; step > 0 && at < to || step < 0 && at > to; at += max(-n-1, min(n+1, step)) {
		picked = append(picked, all[at])
	}
	return picked, nil
}
