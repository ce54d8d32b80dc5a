package jinja

import "fmt"

// A target is what is set: a name, an attribute of a namespace, or several targets.
type target struct {
	name      string
	attribute string
	parts     []target
	tuple     bool // of the parts
}

func (t target) set(s *scope, value any) error {
	if t.attribute != "" {
		v, _ := s.find(t.name)
		n, ok := v.(*namespace)
		if !ok {
			return fmt.Errorf("%s is no namespace, so that nothing of it can be set", t.name)
		}
		n.values[t.attribute] = value
		return nil
	}
	if !t.tuple {
		s.variables[t.name] = value
		return nil
	}
	values, err := s.elements(value)
	if err != nil {
		return err
	}
	if len(values) != len(t.parts) {
		return fmt.Errorf("%d values are for %d names", len(values), len(t.parts))
	}
	for i, part := range t.parts {
		if err := part.set(s, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// target reads what is set: a name, or several with commas between.
func (p *parser) target() (target, error) {
	first, err := p.part()
	if err != nil || !p.is(",") {
		return first, err
	}
	t := target{parts: []target{first}, tuple: true}
	for p.skip(",") && !p.is(")") {
		part, err := p.part()
		if err != nil {
			return t, err
		}
		t.parts = append(t.parts, part)
	}
	return t, nil
}

// part reads a name, or targets in parentheses.
func (p *parser) part() (target, error) {
	if !p.skip("(") {
		name, err := p.name()
		p.sets(name)
		return target{name: name}, err
	}
	back, err := p.deeper()
	if err != nil {
		return target{}, err
	}
	defer back()
	t, err := p.target()
	if err != nil {
		return t, err
	}
	return t, p.want(")")
}
