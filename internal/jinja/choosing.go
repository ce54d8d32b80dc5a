package jinja

import (
	"fmt"
	"slices"
)

// choosing are filters that apply others, or tests, to each element.
func choosing() map[string]filterFunc {
	return map[string]filterFunc{
		"map": mapped, "select": selecting(false, true), "reject": selecting(false, false),
		"selectattr": selecting(true, true), "rejectattr": selecting(true, false),
	}
}

// mapped is map: of each element an attribute, or what a filter makes of it.
func mapped(s *scope, value any, a given) (any, error) {
	if !truth(value) {
		return list{}, nil // whatever it is
	}
	if path, ok := a.named["attribute"]; ok {
		all, err := attributesOf(s, value, path)
		if fallback, ok := a.named["default"]; ok {
			all = slices.Clone(all)
			for i := range all {
				if _, not := all[i].(undefined); not {
					all[i] = fallback
				}
			}
		}
		return list(all), err
	}
	if len(a.values) == 0 {
		return nil, errNothingGiven
	}
	name := str(a.values[0])
	f, ok := filterOf(name)
	if !ok {
		return nil, fmt.Errorf("there is no filter %q here", name)
	}
	all, err := s.elements(value)
	if err != nil {
		return nil, err
	}
	l := make(list, len(all))
	for i, e := range all {
		if l[i], err = s.apply(f, e, given{values: a.values[1:], names: a.names, named: a.named}); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// selecting are the elements for which a test holds, or does not; of an attribute, or itself.
func selecting(attribute, wanted bool) filterFunc {
	return func(s *scope, value any, a given) (any, error) {
		if !truth(value) {
			return list{}, nil // whatever it is
		}
		path := any(missing)
		if attribute {
			if len(a.values) == 0 {
				return nil, errNothingGiven
			}
			path, a.values = a.values[0], a.values[1:]
		}
		test := func(v any) (any, error) { return truth(v), nil }
		if len(a.values) > 0 {
			name := str(a.values[0])
			f, ok := tests[name]
			if !ok {
				return nil, fmt.Errorf("there is no test %q here", name)
			}
			test = func(v any) (any, error) {
				return s.apply(f, v, given{values: a.values[1:], names: a.names, named: a.named})
			}
		}
		all, err := s.elements(value)
		if err != nil {
			return nil, err
		}
		parts, err := attributesOf(s, value, path)
		if err != nil {
			return nil, err
		}
		l := list{}
		for i, part := range parts {
			holds, err := test(part)
			if err != nil {
				return nil, err
			}
			if truth(holds) == wanted {
				l = append(l, all[i])
			}
		}
		return l, nil
	}
}
