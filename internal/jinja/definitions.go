package jinja

import (
	"errors"
	"fmt"
	"slices"
)

// macro reads macro.
func (p *parser) macro() (statement, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	m := &macro{name: name}
	if err := p.parameters(m); err != nil {
		return nil, err
	}
	return m, p.inMacro(m, "endmacro")
}

// inMacro reads the body of a macro, in which the loops around it are out of reach.
func (p *parser) inMacro(m *macro, end string) error {
	loops := p.loops
	p.loops, p.macros = 0, append(p.macros, m)
	var err error
	m.asks = make(map[string]bool)
	m.body, err = p.block(end)
	p.loops, p.macros = loops, p.macros[:len(p.macros)-1]
	if at := slices.Index(m.parameters, "caller"); err == nil && at >= 0 && m.asks["caller"] && m.defaults[at] == nil {
		return errors.New("want a default of the parameter caller, which a macro gets by itself")
	}
	return err
}

// asks notes that all macros around have a name in their bodies, which each may get by itself.
func (p *parser) asks(name string) { p.notes(name, true) }

// sets notes that a name is set, which is then that of the template.
func (p *parser) sets(name string) { p.notes(name, false) }

func (p *parser) notes(name string, asked bool) {
	if !slices.Contains(ownNames, name) {
		return
	}
	for _, m := range p.macros {
		if _, ok := m.asks[name]; !ok {
			m.asks[name] = asked
		}
	}
}

// parameters reads those of a macro.
func (p *parser) parameters(m *macro) error {
	if err := p.want("("); err != nil {
		return err
	}
	for !p.skip(")") {
		name, err := p.name()
		if err != nil {
			return err
		}
		p.sets(name)
		var otherwise expression
		if p.skip("=") {
			if otherwise, err = p.expression(); err != nil {
				return err
			}
		} else if n := len(m.defaults); n > 0 && m.defaults[n-1] != nil {
			return fmt.Errorf("parameter %s has no default, but one before it has", name)
		}
		m.parameters, m.defaults = append(m.parameters, name), append(m.defaults, otherwise)
		if !p.is(")") {
			if err := p.want(","); err != nil {
				return err
			}
		}
	}
	return nil
}

// call reads call: a macro gets what is between as its caller.
func (p *parser) call() (statement, error) {
	c := callBlock{caller: &macro{name: "caller"}}
	if p.is("(") {
		if err := p.parameters(c.caller); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	var ok bool
	if c.call, ok = e.(call); !ok {
		return nil, errors.New("want a call of a macro")
	}
	return c, p.inMacro(c.caller, "endcall")
}
