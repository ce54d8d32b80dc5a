package jinja

import "errors"

// grouped is the filter groupby: pairs of what elements have in common and of those elements, in its order.
func grouped(s *scope, value any, a given) (any, error) {
	v, err := a.bind("attribute", "default", "case_sensitive")
	if err != nil {
		return nil, err
	}
	if v[0] == any(missing) {
		return nil, errNothingGiven
	}
	all, err := s.elements(value)
	if err != nil {
		return nil, err
	}
	keys := make([]any, len(all))
	for i, e := range all {
		if keys[i], err = follow(e, v[0], orElse(v[1], nil)); err != nil {
			return nil, err
		}
	}
	return s.groups(all, keys, flag(v[2]))
}

// groups are elements with equal keys, of which the first one's is that of all.
func (s *scope) groups(all, keys []any, exact bool) (any, error) {
	pairs := make([]any, len(all))
	compared := make([]any, len(all))
	for i := range all {
		pairs[i], compared[i] = tuple{keys[i], all[i]}, keys[i]
		if !exact {
			compared[i] = folded(keys[i])
		}
	}
	ordered, err := sorted(s, pairs, compared, false)
	if err != nil {
		return nil, err
	}
	groups, last := list{}, any(nil)
	for _, p := range ordered.(list) {
		key, e := p.(tuple)[0], p.(tuple)[1]
		of := key
		if !exact {
			of = folded(key)
		}
		if n := len(groups); n > 0 && equal(of, last) {
			group := groups[n-1].(tuple)
			group[1] = append(group[1].(list), e)
			continue
		}
		groups, last = append(groups, tuple{key, list{e}}), of
	}
	return groups, nil
}

// attributeOnly is the filter attr: an attribute or a method, and no element.
func attributeOnly(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("name")
	if err != nil {
		return nil, err
	}
	if v[0] == any(missing) {
		return nil, errNothingGiven
	}
	if err := checkDefined(value); err != nil {
		return nil, err
	}
	name, ok := v[0].(string)
	if !ok {
		return nil, errors.New("want the name of an attribute as a text")
	}
	if m, ok := methodOf(value, name); ok {
		return m, nil
	}
	if _, ok := value.(*dict); ok {
		return undefined("a dict has no attribute '" + name + "'"), nil
	}
	return keyed(value, name), nil
}
