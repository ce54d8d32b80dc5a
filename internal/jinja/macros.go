package jinja

import (
	"fmt"
	"slices"
)

// A macro is a body with parameters, which can be called.
type macro struct {
	name       string
	parameters []string
	defaults   []expression // nil: there is none
	body       []statement
	asks       map[string]bool // for which of the ownNames its body asks; false: it sets the name before
}

// ownNames are those that a macro gets by itself, if its body asks for them: arguments for which there are no parameters, and
// what is in the block that calls it.
var ownNames = []string{"varargs", "kwargs", "caller"}

// own reports whether a macro gets a name by itself.
func (m *macro) own(name string) bool { return m.asks[name] && !slices.Contains(m.parameters, name) }

func (m *macro) run(s *scope) error {
	s.variables[m.name] = m.object(s)
	return nil
}

// object is what is called, in the scope where the macro is.
func (m *macro) object(defined *scope) *object {
	attributes := map[string]any{
		"name": m.name, "arguments": tuple(texts(m.parameters)), "catch_varargs": m.own("varargs"), "catch_kwargs": m.own("kwargs"), "caller": m.asks["caller"],
	}
	return &object{
		kind:      "Macro",
		attribute: func(name string) (any, bool) { v, ok := attributes[name]; return v, ok },
		call: func(s *scope, a given) (any, error) {
			return s.within(func() (any, error) {
				inner := defined.inner()
				if err := m.bind(inner, a); err != nil {
					return nil, err
				}
				return written(m.body, inner)
			})
		},
	}
}

// within is what is made by a call, of which there may be so many within each other.
func (s *scope) within(made func() (any, error)) (any, error) {
	if s.calls++; s.calls > maxCalls {
		return nil, errWork
	}
	defer func() { s.calls-- }()
	return made()
}

// bind sets the parameters, and the names that the macro gets by itself.
func (m *macro) bind(inner *scope, a given) error {
	named := newDict() // what no parameter takes
	for _, name := range a.names {
		if !slices.Contains(m.parameters[min(len(a.values), len(m.parameters)):], name) {
			_ = named.set(name, a.named[name]) // a text is a key
		}
	}
	for i, name := range m.parameters {
		v, given := a.named[name]
		if i < len(a.values) {
			v, given = a.values[i], true
		}
		if err := m.set(inner, i, v, given); err != nil {
			return err
		}
	}
	if m.own("caller") {
		inner.variables["caller"] = undefined("nothing calls the macro in a block, so that it has no caller")
		if caller, ok := named.drop("caller"); ok {
			inner.variables["caller"] = caller
		}
	}
	return m.bindRest(inner, a, named)
}

// set sets a parameter, which is its default if nothing is given.
func (m *macro) set(inner *scope, i int, v any, given bool) error {
	var err error
	switch {
	case given:
	case m.defaults[i] != nil:
		v, err = m.defaults[i].value(inner)
	default:
		v = undefined("parameter '" + m.parameters[i] + "' was not provided")
	}
	inner.variables[m.parameters[i]] = v
	return err
}

// bindRest sets varargs and kwargs, without which nothing may be left for them.
func (m *macro) bindRest(inner *scope, a given, named *dict) error {
	rest := a.values[min(len(a.values), len(m.parameters)):]
	switch {
	case m.own("kwargs"):
		inner.variables["kwargs"] = named
	case len(named.keys) > 0 && slices.Contains(m.parameters, named.keys[0].(string)):
		return fmt.Errorf("argument %s is given twice", named.keys[0])
	case len(named.keys) > 0:
		return fmt.Errorf("there is no argument %q", named.keys[0])
	}
	switch {
	case m.own("varargs"):
		inner.variables["varargs"] = tuple(rest)
	case len(rest) > 0:
		return fmt.Errorf("want at most %d arguments, not %d", len(m.parameters), len(a.values))
	}
	return nil
}

// callBlock is call.
type callBlock struct {
	call   call
	caller *macro
}

func (c callBlock) run(s *scope) error {
	v, err := c.call.with(s, "caller", c.caller.object(s))
	if err != nil {
		return err
	}
	return s.write(str(v))
}
