package jinja

import (
	"errors"
	"fmt"
	"slices"
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
	case span:
		found, ok = v.attribute(key)
	case tuple: // of groupby: other pairs have no names, which nobody asks for
		if at := slices.Index([]string{"grouper", "list"}, key); at >= 0 && len(v) == 2 {
			found, ok = v[at], true
		}
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
	case list, tuple, span:
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
	case span:
		return v.at(at), true
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
