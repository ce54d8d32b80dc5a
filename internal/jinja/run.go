package jinja

import (
	"errors"
	"strings"
)

// A statement does something in a scope.
type statement interface{ run(s *scope) error }

func run(body []statement, s *scope) error {
	for _, one := range body {
		if err := s.spend(1); err != nil {
			return err
		}
		if err := one.run(s); err != nil {
			return err
		}
	}
	return nil
}

// written is what a body writes.
func written(body []statement, s *scope) (string, error) {
	inner := s.inner()
	inner.out = new(strings.Builder)
	err := run(body, inner)
	return inner.out.String(), err
}

// at is a statement of a line, which its errors tell.
type at struct {
	line int
	statement
}

func (a at) run(s *scope) error {
	err := a.statement.run(s)
	var told *Error
	if err == nil || errors.As(err, &told) || errors.As(err, new(leave)) {
		return err
	}
	return &Error{a.line, err}
}

// text is what a template writes as it is.
type text string

func (t text) run(s *scope) error { return s.write(string(t)) }

// output is an expression whose value is written.
type output struct{ value expression }

func (o output) run(s *scope) error {
	v, err := o.value.value(s)
	if err != nil {
		return err
	}
	if err := s.look(v); err != nil {
		return err
	}
	return s.write(str(v))
}

type (
	conditionCase struct {
		test expression
		body []statement
	}
	// condition is if.
	condition struct {
		cases     []conditionCase
		otherwise []statement
	}
)

func (c condition) run(s *scope) error {
	for _, one := range c.cases {
		v, err := one.test.value(s)
		if err != nil {
			return err
		}
		if truth(v) {
			return run(one.body, s)
		}
	}
	return run(c.otherwise, s)
}

// with is a body that has a scope of its own.
type with struct {
	names  []string
	values []expression
	body   []statement
}

func (w with) run(s *scope) error {
	inner := s.inner()
	for i, e := range w.values {
		v, err := e.value(s)
		if err != nil {
			return err
		}
		inner.variables[w.names[i]] = v
	}
	return run(w.body, inner)
}

// assignment is set.
type assignment struct {
	to    target
	value expression
}

func (a assignment) run(s *scope) error {
	v, err := a.value.value(s)
	if err != nil {
		return err
	}
	return a.to.set(s, v)
}

// A capture is what a body writes, filtered: it is set, or written.
type capture struct {
	to      target
	written bool
	filters expression // of the bodyText
	body    []statement
}

func (c capture) run(s *scope) error {
	text, err := written(c.body, s)
	if err != nil {
		return err
	}
	inner := s.inner()
	inner.variables[bodyText] = text
	v, err := c.filters.value(inner)
	if err != nil {
		return err
	}
	if c.written {
		if err := s.look(v); err != nil {
			return err
		}
		return s.write(str(v))
	}
	return c.to.set(s, v)
}

// bodyText is the variable that has what a body wrote: no template can have a name like it.
const bodyText = "{%"
