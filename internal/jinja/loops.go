package jinja

import "strings"

// A loop is for.
type loop struct {
	target    target
	over      expression
	test      expression // nil: all elements count
	body      []statement
	otherwise []statement // where there is no element
	recursive bool        // it can be called, with other elements
}

// leave is break or continue, which the loop around it takes.
type leave string

func (l leave) run(*scope) error { return l }

// Error is what it is until a loop takes it.
func (l leave) Error() string { return string(l) }

func (l loop) run(s *scope) error {
	v, err := l.over.value(s)
	if err != nil {
		return err
	}
	return l.through(s, v, 0)
}

// through is the loop over the elements of a value, so deep in itself.
func (l loop) through(s *scope, value any, depth int) error {
	all, err := l.elements(s, value)
	if err != nil {
		return err
	}
	t := turn{all: all, depth: depth, changed: new(changes)}
	if l.recursive {
		t.again = l.again(s, depth+1)
	}
	whole := false // a turn came to its end: where all were left before, Jinja2 goes on as if there were none
turns:
	for t.at = range all {
		switch err := l.turn(s, t); err {
		case nil:
			whole = true
		case leave("continue"):
		case leave("break"):
			break turns
		default:
			return err
		}
	}
	if whole {
		return nil
	}
	return run(l.otherwise, s.inner())
}

// turn runs the body for one element.
func (l loop) turn(s *scope, t turn) error {
	if err := s.spend(1); err != nil {
		return err
	}
	inner := s.inner()
	if err := l.target.set(inner, t.all[t.at]); err != nil {
		return err
	}
	inner.variables["loop"] = t.object()
	return run(l.body, inner)
}

// again is what a call of the loop does: it writes the loop over other elements.
func (l loop) again(s *scope, depth int) function {
	return func(_ *scope, a given) (any, error) {
		v, err := a.bind("iterable")
		if err == nil && v[0] == any(missing) {
			err = errNothingGiven
		}
		if err != nil {
			return nil, err
		}
		return s.within(func() (any, error) {
			inner := s.inner()
			inner.out = new(strings.Builder)
			err := l.through(inner, v[0], depth)
			return inner.out.String(), err
		})
	}
}

// elements are those of a value for which the loop's test holds.
func (l loop) elements(s *scope, value any) ([]any, error) {
	all, err := s.elements(value)
	if err != nil || l.test == nil {
		return all, err
	}
	var list []any
	for _, e := range all {
		inner := s.inner()
		if err := l.target.set(inner, e); err != nil {
			return nil, err
		}
		v, err := l.test.value(inner)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			list = append(list, e)
		}
	}
	return list, nil
}
