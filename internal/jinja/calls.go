package jinja

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// arguments are those of a call, as the template has them: the last ones may have names.
type arguments struct {
	values []expression
	names  []string
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
	g := given{values: all[:unnamed:unnamed], names: a.names, named: make(map[string]any, len(a.names))}
	for i, name := range a.names {
		if _, ok := g.named[name]; ok {
			return g, fmt.Errorf("argument %s is given twice", name)
		}
		g.named[name] = all[unnamed+i]
	}
	return g, nil
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
	f, ok := v.(function)
	if !ok {
		return nil, fmt.Errorf("a value of type %s cannot be called", kindOf(v))
	}
	g, err := c.arguments.given(s)
	if err != nil {
		return nil, err
	}
	if name != "" {
		g.named[name] = value
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
	return result, s.made(result)
}

// functions are those that every template has.
var functions = map[string]function{
	"range": countRange, "namespace": newNamespace, "dict": dictOfNames, "raise_exception": raise,
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

// countRange is range: all that a template counts together is bounded.
func countRange(s *scope, a given) (any, error) {
	from, to, step, err := a.bounds()
	if err != nil {
		return nil, err
	}
	numbers := list{}
	for n := from; step > 0 && n < to || step < 0 && n > to; n += step {
		if s.counted++; s.counted > maxRange {
			return nil, fmt.Errorf("a template counts to %d at most", maxRange)
		}
		numbers = append(numbers, n)
		if next := n + step; (next > n) != (step > 0) {
			break // beyond 64 bits
		}
	}
	return numbers, nil
}

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

func newNamespace(_ *scope, a given) (any, error) {
	d, err := dictOfNames(nil, a)
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

// dictOfNames is dict: of another one, and of arguments with names.
func dictOfNames(_ *scope, a given) (any, error) {
	d := newDict()
	for _, v := range a.values {
		other, ok := v.(*dict)
		if !ok {
			return nil, fmt.Errorf("want a dict or arguments with names, not %s", kindOf(v))
		}
		for _, k := range other.keys {
			v, _ := other.get(k)
			_ = d.set(k, v) // it is one's already
		}
	}
	for _, name := range a.names {
		_ = d.set(name, a.named[name]) // a text is a key
	}
	return d, nil
}
