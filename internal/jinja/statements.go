package jinja

import (
	"fmt"
)

// condition reads if, elif and else.
func (p *parser) condition() (statement, error) {
	var c condition
	for {
		test, err := p.plainTuple()
		if err != nil {
			return nil, err
		}
		if err := p.end(); err != nil {
			return nil, err
		}
		body, err := p.body("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		c.cases = append(c.cases, conditionCase{test, body})
		switch p.take().text {
		case "endif":
			return c, p.end()
		case "else":
			c.otherwise, err = p.block("endif")
			return c, err
		}
	}
}

// loop reads for.
func (p *parser) loop() (statement, error) {
	var l loop
	var err error
	if l.target, err = p.target(); err != nil {
		return nil, err
	}
	if err := p.want("in"); err != nil {
		return nil, err
	}
	if l.over, err = p.plainTuple(); err != nil {
		return nil, err
	}
	if p.skip("if") {
		if l.test, err = p.expression(); err != nil {
			return nil, err
		}
	}
	l.recursive = p.skip("recursive")
	if err := p.end(); err != nil {
		return nil, err
	}
	p.loops++
	l.body, err = p.body("else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	if p.take().text == "else" {
		l.otherwise, err = p.block("endfor")
		return l, err
	}
	return l, p.end()
}

// leave reads the rest of break or continue.
func (p *parser) leave() (statement, error) {
	s := leave(p.tokens[p.at-1].text)
	if p.loops == 0 {
		return nil, fmt.Errorf("%s is outside of a loop", s)
	}
	return s, p.end()
}

// assignment reads set, of a value or of what is written up to endset.
func (p *parser) assignment() (statement, error) {
	var a assignment
	var err error
	if a.to, err = p.target(); err != nil {
		return nil, err
	}
	if a.to.name != "" && p.skip(".") {
		if a.to.attribute, err = p.name(); err != nil {
			return nil, err
		}
	}
	if p.skip("=") {
		if a.value, err = p.tuple(); err != nil {
			return nil, err
		}
		return a, p.end()
	}
	c := capture{to: a.to}
	if c.filters, err = p.filters(variable(bodyText)); err != nil {
		return nil, err
	}
	c.body, err = p.block("endset")
	return c, err
}

// filterBlock reads filter.
func (p *parser) filterBlock() (statement, error) {
	filters, err := p.filter(variable(bodyText))
	if err == nil {
		filters, err = p.filters(filters)
	}
	if err != nil {
		return nil, err
	}
	body, err := p.block("endfilter")
	return capture{written: true, filters: filters, body: body}, err
}

// with reads with, whose names are those of its body alone.
func (p *parser) with() (statement, error) {
	var w with
	for more := p.peek().kind == nameToken; more; more = p.skip(",") {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if err := p.want("="); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		w.names, w.values = append(w.names, name), append(w.values, value)
	}
	var err error
	w.body, err = p.block("endwith")
	return w, err
}

// generation reads what HuggingFace marks as what the model wrote.
func (p *parser) generation() (statement, error) {
	body, err := p.block("endgeneration")
	return with{body: body}, err
}
