package jinja

import (
	"errors"
	"fmt"
)

// An expression has a value in a scope.
type expression interface {
	value(s *scope) (any, error)
}

// constant is a value that the template has.
type constant struct{ of any }

func (c constant) value(*scope) (any, error) { return c.of, nil }

// variable is a name.
type variable string

func (v variable) value(s *scope) (any, error) {
	if value, ok := s.find(string(v)); ok {
		return value, nil
	}
	return undefined("'" + string(v) + "' is undefined"), nil
}

func values(list []expression, s *scope) ([]any, error) {
	all := make([]any, len(list))
	for i, e := range list {
		var err error
		if all[i], err = e.value(s); err != nil {
			return nil, err
		}
	}
	return all, s.spend(len(list))
}

type (
	listOf  []expression
	tupleOf []expression
	dictOf  struct{ keys, values []expression }
)

func (l listOf) value(s *scope) (any, error) {
	all, err := values(l, s)
	return list(all), err
}

func (t tupleOf) value(s *scope) (any, error) {
	all, err := values(t, s)
	return tuple(all), err
}

func (d dictOf) value(s *scope) (any, error) {
	keys, err := values(d.keys, s)
	if err != nil {
		return nil, err
	}
	all, err := values(d.values, s)
	if err != nil {
		return nil, err
	}
	result := newDict()
	for i, k := range keys {
		if err := result.set(k, all[i]); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// choice is a value if a test holds, and another one otherwise.
type choice struct{ yes, test, no expression }

func (c choice) value(s *scope) (any, error) {
	v, err := c.test.value(s)
	switch {
	case err != nil:
		return nil, err
	case truth(v):
		return c.yes.value(s)
	case c.no == nil:
		return undefined("an if without else has no value"), nil
	}
	return c.no.value(s)
}

type not struct{ of expression }

func (n not) value(s *scope) (any, error) {
	v, err := n.of.value(s)
	return !truth(v), err
}

// sign is a number with a sign.
type sign struct {
	of     expression
	factor int64
}

func (n sign) value(s *scope) (any, error) {
	v, err := n.of.value(s)
	if err != nil {
		return nil, err
	}
	if _, _, _, ok := number(v); !ok {
		return nil, errors.Join(checkDefined(v), fmt.Errorf("a sign is not for %s", kindOf(v)))
	}
	return calculate("*", v, n.factor)
}

// binary is an operator between two values.
type binary struct {
	operator    string
	left, right expression
}

func (b binary) value(s *scope) (any, error) {
	left, err := b.left.value(s)
	if err != nil {
		return nil, err
	}
	if b.operator == "or" && truth(left) || b.operator == "and" && !truth(left) {
		return left, nil
	}
	right, err := b.right.value(s)
	if err != nil || b.operator == "or" || b.operator == "and" {
		return right, err
	}
	v, err := b.of(s, left, right)
	if err != nil {
		return nil, err
	}
	return v, s.made(v)
}

// of is what the operator makes of two values. All that is in them is written by two of the operators.
func (b binary) of(s *scope, left, right any) (any, error) {
	if b.operator == "~" || b.operator == "%" {
		if err := s.look(left, right); err != nil {
			return nil, err
		}
	}
	if b.operator == "~" {
		return str(left) + str(right), nil
	}
	return calculate(b.operator, left, right)
}

// made counts the work of making a value, and bounds its size.
func (s *scope) made(value any) error {
	n := 1
	switch v := value.(type) {
	case string:
		n += len(v) / bytesOfStep
		if len(v) > maxText {
			return errTooLong
		}
	case list:
		n += len(v)
	case tuple:
		n += len(v)
	}
	return s.spend(n)
}

// comparison is comparisons in a row, all of which have to hold.
type comparison struct {
	first     expression
	operators []string
	rest      []expression
}

func (c comparison) value(s *scope) (any, error) {
	left, err := c.first.value(s)
	if err != nil {
		return nil, err
	}
	for i, op := range c.operators {
		right, err := c.rest[i].value(s)
		if err != nil {
			return nil, err
		}
		if err := s.look(left, right); err != nil {
			return nil, err
		}
		if ok, err := compare(op, left, right); err != nil || !ok {
			return false, err
		}
		left = right
	}
	return true, nil
}

func compare(op string, left, right any) (bool, error) {
	switch op {
	case "==":
		return equal(left, right), nil
	case "!=":
		return !equal(left, right), nil
	case "in":
		return contains(right, left)
	case "not in":
		ok, err := contains(right, left)
		return !ok, err
	}
	n, err := order(left, right)
	if err != nil {
		return false, err
	}
	switch op {
	case "<":
		return n < 0, nil
	case "<=":
		return n <= 0, nil
	case ">":
		return n == 1, nil
	}
	return n == 0 || n == 1, nil
}
