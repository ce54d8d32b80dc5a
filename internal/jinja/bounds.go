package jinja

import "errors"

// deepest is how deep values may be within each other, as those of a template.
const deepest = 200

var errDeep = errors.New("values are within each other more than 200 deep")

// look counts the work of looking at all that is in values, before it is done: what has another one twice, which has
// another one twice, would not come to an end.
func (m *machine) look(values ...any) error {
	for _, v := range values {
		if err := m.lookInto(v, deepest); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) lookInto(value any, depth int) error {
	var parts []any
	switch v := value.(type) {
	case string:
		return m.spend(len(v) / bytesOfStep)
	case list:
		parts = v
	case tuple:
		parts = v
	case view:
		return m.lookInto(v.of, depth)
	case span:
		return m.spend(int(v.len()) / bytesOfStep)
	case *dict:
		parts = v.flat()
	}
	if depth == 0 && len(parts) > 0 {
		return errDeep
	}
	for _, part := range parts {
		if err := m.spend(1); err != nil {
			return err
		}
		if err := m.lookInto(part, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// flat are the keys and the values of a dict.
func (d *dict) flat() []any {
	parts := make([]any, 0, 2*len(d.keys))
	for _, key := range d.keys {
		of, _ := d.get(key)
		parts = append(parts, key, of)
	}
	return parts
}

// lookAtText is look for what goes through texts only.
func (m *machine) lookAtText(value any) error {
	text, _ := value.(string)
	return m.spend(len(text) / bytesOfStep)
}

// elements are what is in a value, each of whose characters is work where it is a text.
func (m *machine) elements(value any) ([]any, error) {
	n := 0
	switch v := value.(type) {
	case string:
		n = len(v)
	case span:
		n = int(v.len())
	case view:
		n = len(v.of.keys)
	}
	if err := m.spend(n); err != nil {
		return nil, err
	}
	return elements(value)
}

// lookAtArguments is look for the values of arguments.
func (m *machine) lookAtArguments(a given) error {
	err := m.look(a.values...)
	for _, v := range a.named {
		if err == nil {
			err = m.look(v)
		}
	}
	return err
}

// apply is what a filter or a test makes of a value, of which it goes through a text at least.
func (s *scope) apply(f filterFunc, value any, a given) (any, error) {
	if err := s.lookAtText(value); err != nil {
		return nil, err
	}
	return f(s, value, a)
}

// throughout is a filter or a test that goes through all that is in its value.
func throughout(f filterFunc) filterFunc {
	return func(s *scope, value any, a given) (any, error) {
		if err := s.look(value); err != nil {
			return nil, err
		}
		return f(s, value, a)
	}
}
