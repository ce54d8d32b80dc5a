package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

// tuple reads an expression, or several with commas between, which are a tuple.
func (p *parser) tuple() (expression, error) { return p.tupleOf(p.expression) }

// plainTuple reads a tuple whose parts have no if behind them, as statements want.
func (p *parser) plainTuple() (expression, error) { return p.tupleOf(p.or) }

func (p *parser) tupleOf(read func() (expression, error)) (expression, error) {
	first, err := read()
	if err != nil || !p.is(",") {
		return first, err
	}
	parts := tupleOf{first}
	for p.skip(",") {
		if p.endsTuple() {
			break
		}
		part, err := read()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// endsTuple reports whether nothing follows the last comma.
func (p *parser) endsTuple() bool {
	k := p.peek().kind
	return k == endExpression || k == endStatement || p.is(")") || p.is("]")
}

// expression reads one, with if and else behind it.
func (p *parser) expression() (expression, error) {
	back, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer back()
	e, err := p.or()
	for err == nil && p.skip("if") {
		c := choice{yes: e}
		if c.test, err = p.or(); err != nil {
			break
		}
		if p.skip("else") {
			c.no, err = p.expression()
		}
		e = c
	}
	return e, err
}

// chain reads what read does, with operators between that bind the left first.
func (p *parser) chain(read func() (expression, error), operators ...string) (expression, error) {
	left, err := read()
	for err == nil {
		op := ""
		for _, o := range operators {
			if p.is(o) {
				op = o
			}
		}
		if op == "" {
			break
		}
		p.at++
		var right expression
		right, err = read()
		left = binary{op, left, right}
	}
	return left, err
}

func (p *parser) or() (expression, error)  { return p.chain(p.and, "or") }
func (p *parser) and() (expression, error) { return p.chain(p.not, "and") }

func (p *parser) not() (expression, error) {
	if !p.skip("not") {
		return p.comparison()
	}
	back, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer back()
	e, err := p.not()
	return not{e}, err
}

// comparison reads comparisons, each of which has to hold.
func (p *parser) comparison() (expression, error) {
	first, err := p.sum()
	c := comparison{first: first}
	for err == nil {
		op := p.comparator()
		if op == "" {
			break
		}
		var right expression
		right, err = p.sum()
		c.operators, c.rest = append(c.operators, op), append(c.rest, right)
	}
	if len(c.rest) == 0 {
		return first, err
	}
	return c, err
}

// comparator reads an operator that compares; "" if there is none.
func (p *parser) comparator() string {
	for _, o := range [...]string{"==", "!=", "<=", ">=", "<", ">", "in"} {
		if p.skip(o) {
			return o
		}
	}
	if next := p.tokens[min(p.at+1, len(p.tokens)-1)]; p.is("not") && next.kind == nameToken && next.text == "in" {
		p.at += 2
		return "not in"
	}
	return ""
}

func (p *parser) sum() (expression, error)     { return p.chain(p.joined, "+", "-") }
func (p *parser) joined() (expression, error)  { return p.chain(p.product, "~") }
func (p *parser) product() (expression, error) { return p.chain(p.power, "*", "/", "//", "%") }
func (p *parser) power() (expression, error)   { return p.chain(p.filtered, "**") }

// filtered reads a value with signs before it and filters and tests behind it.
func (p *parser) filtered() (expression, error) {
	e, err := p.signed()
	if err != nil {
		return nil, err
	}
	return p.filters(e)
}

// signed reads a value with signs before it.
func (p *parser) signed() (expression, error) {
	back, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer back()
	switch {
	case p.skip("-"):
		e, err := p.signed()
		return sign{e, -1}, err
	case p.skip("+"):
		e, err := p.signed()
		return sign{e, 1}, err
	}
	return p.value()
}

// value reads a value with what is asked of it: attributes, items, calls.
func (p *parser) value() (expression, error) {
	e, err := p.primary()
	for err == nil {
		switch {
		case p.is("."):
			e, err = p.attribute(e)
		case p.is("["):
			e, err = p.item(e)
		case p.is("("):
			e, err = p.calling(e)
		default:
			return e, nil
		}
	}
	return nil, err
}

// primary reads a name, a constant or what is in brackets.
func (p *parser) primary() (expression, error) {
	t := p.take()
	switch t.kind {
	case nameToken:
		if value, ok := constants[t.text]; ok {
			return constant{value}, nil
		}
		p.asks(t.text)
		return variable(t.text), nil
	case stringToken:
		var text strings.Builder
		for text.WriteString(t.text); p.peek().kind == stringToken; {
			text.WriteString(p.take().text)
		}
		return constant{text.String()}, nil
	case intToken:
		n, err := whole(t.text)
		if err != nil {
			return nil, fmt.Errorf("%s is no whole number of 64 bits", t.text)
		}
		return constant{n}, nil
	case floatToken:
		v, _ := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64) // beyond all numbers it is infinite
		return constant{v}, nil
	}
	if t.kind == operatorToken {
		switch t.text {
		case "(":
			return p.parentheses()
		case "[":
			list, err := p.list("]")
			return listOf(list), err
		case "{":
			return p.dict()
		}
	}
	p.at-- // it is not read
	return nil, fmt.Errorf("want a value, not %s", t)
}

// constants are names that stand for values.
var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}
