package jinja

import "fmt"

// choosing are filters that apply others, or tests, to each element.
func choosing() map[string]filterFunc {
	return map[string]filterFunc{
		"map": mapped, "select": selecting(false, true), "reject": selecting(false, false),
		"selectattr": selecting(true, true), "rejectattr": selecting(true, false),
	}
}

// chosen is an iterator over what becomes of elements; there are none in what counts as false, whatever it is.
func (s *scope) chosen(value any, prepare func() (each, error)) (any, error) {
	if !truth(value) {
		value = list(nil)
		prepare = func() (each, error) { return nil, nil }
	}
	return s.through(value, prepare)
}

// mapped is map: of each element an attribute, or what a filter makes of it.
func mapped(s *scope, value any, a given) (any, error) {
	return s.chosen(value, func() (each, error) {
		if path, ok := a.named["attribute"]; ok && len(a.values) == 0 {
			return attributeOrDefault(path, a)
		}
		if len(a.values) == 0 {
			return nil, errNothingGiven
		}
		name := str(a.values[0])
		f, ok := filterOf(name)
		return func(e any) (any, bool, error) {
			if !ok { // which nobody sees where there is no element
				return nil, false, fmt.Errorf("there is no filter %q here", name)
			}
			v, err := s.apply(f, e, given{values: a.values[1:], names: a.names, named: a.named})
			return v, true, err
		}, nil
	})
}

// attributeOrDefault is an attribute of each element, or something else where there is none.
func attributeOrDefault(path any, a given) (each, error) {
	fallback := a.named["default"]
	for _, name := range a.names {
		if name != "attribute" && name != "default" {
			return nil, fmt.Errorf("there is no argument %q", name)
		}
	}
	return func(e any) (any, bool, error) {
		v, err := follow(e, path, fallback)
		return v, true, err
	}, nil
}

// selecting are the elements for which a test holds, or does not; of an attribute, or itself.
func selecting(attribute, wanted bool) filterFunc {
	return func(s *scope, value any, a given) (any, error) {
		return s.chosen(value, func() (each, error) {
			path, a := any(missing), a
			if attribute {
				if len(a.values) == 0 {
					return nil, errNothingGiven
				}
				path, a.values = a.values[0], a.values[1:]
			}
			test := testFor(s, a)
			return func(e any) (any, bool, error) {
				part, err := keyOf(e, path, true)
				if err != nil {
					return nil, false, err
				}
				holds, err := test(part)
				return e, truth(holds) == wanted, err
			}, nil
		})
	}
}

// testFor is the test of a name and arguments, or that of what counts as true.
func testFor(s *scope, a given) func(any) (any, error) {
	if len(a.values) == 0 {
		return func(v any) (any, error) { return truth(v), nil }
	}
	name := str(a.values[0])
	f, ok := testOf(name)
	return func(v any) (any, error) {
		if !ok {
			return nil, fmt.Errorf("there is no test %q here", name)
		}
		return s.apply(f, v, given{values: a.values[1:], names: a.names, named: a.named})
	}
}
