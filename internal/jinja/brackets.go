package jinja

import (
	"errors"
	"fmt"
)

// parentheses reads a tuple, or an expression, up to the closing one.
func (p *parser) parentheses() (expression, error) {
	if p.skip(")") {
		return tupleOf{}, nil
	}
	e, err := p.tuple()
	if err != nil {
		return nil, err
	}
	return e, p.want(")")
}

// list reads expressions up to a bracket.
func (p *parser) list(end string) ([]expression, error) {
	var list []expression
	for !p.skip(end) {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.is(end) {
			if err := p.want(","); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// dict reads keys and values up to the closing brace.
func (p *parser) dict() (expression, error) {
	var d dictOf
	for !p.skip("}") {
		key, err := p.expression()
		if err == nil {
			err = p.want(":")
		}
		if err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, key), append(d.values, value)
		if !p.is("}") {
			if err := p.want(","); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// attribute reads a point and a name, or the number of an item.
func (p *parser) attribute(of expression) (expression, error) {
	p.at++
	switch t := p.take(); t.kind {
	case nameToken:
		return attribute{of, t.text}, nil
	case intToken:
		n, err := whole(t.text)
		return item{of, constant{n}}, err
	default:
		p.at--
		return nil, fmt.Errorf("want a name behind the point, not %s", t)
	}
}

// item reads what is in brackets behind a value: a key, or a slice.
func (p *parser) item(of expression) (expression, error) {
	p.at++
	var parts [3]expression
	slices := 0
	for !p.skip("]") {
		if p.skip(":") {
			if slices++; slices > 2 {
				return nil, errors.New("a slice has more than three parts")
			}
			continue
		}
		var err error
		if parts[slices] != nil {
			return nil, fmt.Errorf(`want "]", not %s`, p.peek())
		}
		if parts[slices], err = p.expression(); err != nil {
			return nil, err
		}
	}
	if slices > 0 {
		return slice{of, parts}, nil
	}
	if parts[0] == nil {
		return nil, errors.New("there is nothing between the brackets")
	}
	return item{of, parts[0]}, nil
}

// calling reads the arguments behind a value.
func (p *parser) calling(of expression) (expression, error) {
	a, err := p.arguments()
	return call{of, a}, err
}

// arguments reads those in parentheses: values, and behind them values with names.
func (p *parser) arguments() (arguments, error) {
	var a arguments
	p.at++
	for !p.skip(")") {
		if err := p.argument(&a); err != nil {
			return a, err
		}
		if !p.is(")") {
			if err := p.want(","); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// argument reads one, or a star and a list of them, or two and a dict.
func (p *parser) argument(a *arguments) error {
	if a.namedMore != nil {
		return errArgument
	}
	var err error
	switch {
	case a.more == nil && p.skip("*"):
		a.more, err = p.expression()
		return err
	case p.skip("**"):
		a.namedMore, err = p.expression()
		return err
	case p.named():
		a.names = append(a.names, p.take().text)
		p.at++
	case len(a.names) > 0 || a.more != nil:
		return errArgument
	}
	e, err := p.expression()
	a.values = append(a.values, e)
	return err
}

var errArgument = errors.New("an argument without a name is behind one that has one, or stars")

// named reports whether a name comes next, and the sign that a value is behind it.
func (p *parser) named() bool {
	next := p.tokens[min(p.at+1, len(p.tokens)-1)]
	return p.peek().kind == nameToken && next.kind == operatorToken && next.text == "="
}

// filters reads filters and tests behind a value, and calls of what they are.
func (p *parser) filters(e expression) (expression, error) {
	var err error
	for err == nil {
		switch {
		case p.skip("|"):
			e, err = p.filter(e)
		case p.skip("is"):
			e, err = p.test(e)
		case p.is("("):
			e, err = p.calling(e)
		default:
			return e, nil
		}
	}
	return nil, err
}

// filter reads one, from its name.
func (p *parser) filter(e expression) (expression, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	f, ok := filterOf(name)
	if !ok {
		return nil, fmt.Errorf("there is no filter %q here", name)
	}
	var a arguments
	if p.is("(") {
		a, err = p.arguments()
	}
	return filter{name, f, e, a}, err
}

// test reads one, from what is behind is.
func (p *parser) test(e expression) (expression, error) {
	negated := p.skip("not")
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	f, ok := testOf(name)
	if !ok {
		return nil, fmt.Errorf("there is no test %q here", name)
	}
	a, err := p.testArguments()
	if err != nil {
		return nil, err
	}
	t := expression(filter{name, f, e, a})
	if negated {
		t = not{t}
	}
	return t, nil
}

// testArguments reads those in parentheses, or a single value without.
func (p *parser) testArguments() (arguments, error) {
	t := p.peek()
	switch {
	case p.is("("):
		return p.arguments()
	case p.is("else") || p.is("or") || p.is("and") || p.is("if") || p.is("in") || p.is("is") || p.is("not"):
		return arguments{}, nil
	case t.kind == nameToken, t.kind == stringToken, t.kind == intToken, t.kind == floatToken, p.is("["), p.is("{"):
		e, err := p.value()
		return arguments{values: []expression{e}}, err
	}
	return arguments{}, nil
}
