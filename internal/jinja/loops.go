package jinja

import "errors"

// A loop is for.
type loop struct {
	target    target
	over      expression
	test      expression // nil: all elements count
	body      []statement
	otherwise []statement // where there is no element
}

// leave is break or continue, which the loop around it takes.
type leave string

func (l leave) run(*scope) error { return l }

// Error is what it is until a loop takes it.
func (l leave) Error() string { return string(l) }

func (l loop) run(s *scope) error {
	all, err := l.elements(s)
	if err != nil {
		return err
	}
	var changed changes
	whole := false // a turn came to its end: where all were left before, Jinja2 goes on as if there were none
turns:
	for i := range all {
		if err := s.spend(1); err != nil {
			return err
		}
		inner := s.inner()
		if err := l.target.set(inner, all[i]); err != nil {
			return err
		}
		inner.variables["loop"] = turn(all, i, &changed)
		switch err := run(l.body, inner); err {
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

// elements are those of the loop for which its test holds.
func (l loop) elements(s *scope) ([]any, error) {
	v, err := l.over.value(s)
	if err != nil {
		return nil, err
	}
	all, err := s.elements(v)
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

// changes are what loop.changed was asked for the last time.
type changes struct {
	asked bool
	last  tuple
}

// since reports whether the values are others than those of the last time.
func (c *changes) since(s *scope, a given) (any, error) {
	if len(a.named) > 0 {
		return nil, errors.New("changed wants no names")
	}
	if err := s.look(c.last); err != nil {
		return nil, err
	}
	if c.asked && equal(c.last, tuple(a.values)) {
		return false, nil
	}
	c.asked, c.last = true, a.values
	return true, nil
}

// turn is the variable loop of one element.
func turn(all []any, i int, changed *changes) *namespace {
	n := len(all)
	values := map[string]any{
		"index": int64(i + 1), "index0": int64(i), "first": i == 0, "last": i == n-1, "length": int64(n),
		"revindex": int64(n - i), "revindex0": int64(n - i - 1), "depth": int64(1), "depth0": int64(0),
		"cycle": function(func(_ *scope, a given) (any, error) {
			if len(a.values) == 0 {
				return nil, errNothingGiven
			}
			return a.values[i%len(a.values)], nil
		}),
		"changed": function(changed.since),
	}
	if i > 0 {
		values["previtem"] = all[i-1]
	}
	if i+1 < n {
		values["nextitem"] = all[i+1]
	}
	return &namespace{values}
}

// A macro is a body with parameters, which can be called.
type macro struct {
	name       string
	parameters []string
	defaults   []expression // nil: there is none
	body       []statement
}

func (m *macro) run(s *scope) error {
	s.variables[m.name] = m.function(s)
	return nil
}

// function is what is called, in the scope where the macro is.
func (m *macro) function(defined *scope) function {
	return func(s *scope, a given) (any, error) {
		if s.calls++; s.calls > maxCalls {
			return nil, errWork
		}
		defer func() { s.calls-- }()
		caller, hasCaller := a.named["caller"]
		delete(a.named, "caller")
		values, err := a.bind(m.parameters...)
		if err != nil {
			return nil, err
		}
		inner := defined.inner()
		if hasCaller {
			inner.variables["caller"] = caller
		}
		for i, name := range m.parameters {
			v := values[i]
			if v == any(missing) && m.defaults[i] != nil {
				if v, err = m.defaults[i].value(inner); err != nil {
					return nil, err
				}
			} else if v == any(missing) {
				v = undefined("parameter '" + name + "' was not provided")
			}
			inner.variables[name] = v
		}
		return written(m.body, inner)
	}
}

// callBlock is call.
type callBlock struct {
	call   call
	caller *macro
}

func (c callBlock) run(s *scope) error {
	v, err := c.call.with(s, "caller", c.caller.function(s))
	if err != nil {
		return err
	}
	return s.write(str(v))
}
