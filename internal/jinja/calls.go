package jinja

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// arguments are those of a call, as the template has them: the last ones may have names.
type arguments struct {
	values    []expression
	names     []string
	more      expression // behind a star: values without names; nil: there are none
	namedMore expression // behind two: a dict of values with names
}

// given are the values of a call's arguments.
type given struct {
	values []any
	names  []string // in the order in which they came
	named  map[string]any
}

// given are the values in a scope.
func (a arguments) given(s *scope) (given, error) {
	all, err := values(a.values, s)
	if err != nil {
		return given{}, err
	}
	unnamed := len(all) - len(a.names)
	g := given{values: all[:unnamed:unnamed], named: make(map[string]any, len(a.names))}
	for i, name := range a.names {
		if err := g.name(name, all[unnamed+i]); err != nil {
			return g, err
		}
	}
	if a.more != nil {
		err = g.addAll(s, a.more)
	}
	if err == nil && a.namedMore != nil {
		err = g.nameAll(s, a.namedMore)
	}
	return g, err
}

// name gives a value with a name.
func (g *given) name(name string, value any) error {
	if _, ok := g.named[name]; ok {
		return fmt.Errorf("argument %s is given twice", name)
	}
	g.names, g.named[name] = append(g.names, name), value
	return nil
}

// addAll gives the elements of a value.
func (g *given) addAll(s *scope, of expression) error {
	v, err := of.value(s)
	if err != nil {
		return err
	}
	all, err := s.elements(v)
	if err != nil {
		return err
	}
	g.values = append(g.values, all...)
	return s.spend(len(all))
}

// nameAll gives the values of a dict, with its keys as names.
func (g *given) nameAll(s *scope, of expression) error {
	v, err := of.value(s)
	if err != nil {
		return err
	}
	d, ok := v.(*dict)
	if !ok {
		return fmt.Errorf("want a dict behind two stars, not %s", kindOf(v))
	}
	for _, key := range d.keys {
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("want a dict whose keys are texts behind two stars, not %s", kindOf(key))
		}
		if err := g.name(name, d.values[name]); err != nil {
			return err
		}
	}
	return s.spend(len(d.keys))
}

// missing is the value of a parameter for which nothing is given.
const missing = undefined("it is not given")

var errNothingGiven = errors.New("want an argument")

// bind gives each parameter its value, which is missing if there is none.
func (g given) bind(parameters ...string) ([]any, error) {
	if len(g.values) > len(parameters) {
		return nil, fmt.Errorf("want at most %d arguments, not %d", len(parameters), len(g.values))
	}
	bound := make([]any, len(parameters))
	for i := range bound {
		bound[i] = missing
	}
	copy(bound, g.values)
	for _, name := range slices.Sorted(maps.Keys(g.named)) {
		i := slices.Index(parameters, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no argument %q", name)
		}
		if i < len(g.values) {
			return nil, fmt.Errorf("argument %s is given twice", name)
		}
		bound[i] = g.named[name]
	}
	return bound, nil
}

// Kinds of arguments, each with the value that one has which is not given.

func textOr(value any, otherwise string) (string, error) {
	if value == any(missing) || value == nil {
		return otherwise, nil
	}
	if s, ok := value.(string); ok {
		return s, nil
	}
	return "", fmt.Errorf("want a text, not %s", kindOf(value))
}

func wholeOr(value any, otherwise int64) (int64, error) {
	if value == any(missing) || value == nil {
		return otherwise, nil
	}
	if n, _, float, ok := number(value); ok && !float {
		return n, nil
	}
	return 0, fmt.Errorf("want a whole number, not %s", kindOf(value))
}

func needWhole(value any) (int64, error) {
	if value == any(missing) {
		return 0, errNothingGiven
	}
	n, _, float, ok := number(value)
	if !ok || float {
		return 0, fmt.Errorf("want a whole number, not %s", kindOf(value))
	}
	return n, nil
}

// call is a call of what a value is.
type call struct {
	of        expression
	arguments arguments
}

func (c call) value(s *scope) (any, error) { return c.with(s, "", nil) }

// with is the value of a call that gets one more argument, if it has a name.
func (c call) with(s *scope, name string, value any) (any, error) {
	v, err := c.of.value(s)
	if err != nil {
		return nil, err
	}
	if err := checkDefined(v); err != nil {
		return nil, err
	}
	f, ok := callable(v)
	if !ok {
		return nil, fmt.Errorf("a value of type %s cannot be called", kindOf(v))
	}
	g, err := c.arguments.given(s)
	if err != nil {
		return nil, err
	}
	if name != "" {
		if err := g.name(name, value); err != nil {
			return nil, err
		}
	}
	if err := s.lookAtArguments(g); err != nil {
		return nil, err
	}
	result, err := f(s, g)
	if err != nil {
		return nil, err
	}
	return result, s.made(result)
}

// A filter is a filter or a test with the value that it is for.
type filter struct {
	name      string
	f         func(s *scope, value any, a given) (any, error)
	of        expression
	arguments arguments
}

func (f filter) value(s *scope) (any, error) {
	v, err := f.of.value(s)
	if err != nil {
		return nil, err
	}
	g, err := f.arguments.given(s)
	if err == nil {
		err = s.lookAtArguments(g)
	}
	if err != nil {
		return nil, err
	}
	result, err := s.apply(f.f, v, g)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	if it, ok := result.(*iterator); ok && it.filter == "" {
		it.filter = f.name
	}
	return result, s.made(result)
}
