package jinja

import (
	"fmt"
	"slices"
)

// What a template may have.
const (
	maxDepth = 200   // of statements and brackets in others
	maxWords = 5_000 // in one tag: so many values may wait for each other
)

// A parser makes statements of tokens.
type parser struct {
	tokens []token
	at     int
	depth  int
	loops  int      // that are open
	macros []*macro // that are open
}

// A Template turns values into a text. It may be used from several goroutines at once.
type Template struct{ body []statement }

// Parse reads a template. An error is an *Error.
func Parse(source string) (*Template, error) {
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	body, err := p.body()
	if err != nil {
		return nil, &Error{p.peek().line, err}
	}
	return &Template{body}, nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

// take reads a token.
func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != endOfTemplate {
		p.at++
	}
	return t
}

// is reports whether the next token is a name or an operator.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == nameToken || t.kind == operatorToken) && t.text == text
}

// skip reads the next token if it is a name or an operator.
func (p *parser) skip(text string) bool {
	ok := p.is(text)
	if ok {
		p.at++
	}
	return ok
}

// want reads a name or an operator that has to be there.
func (p *parser) want(text string) error {
	if !p.skip(text) {
		return fmt.Errorf("want %q, not %s", text, p.peek())
	}
	return nil
}

// String is what an error says of a token.
func (t token) String() string {
	switch t.kind {
	case endExpression, endStatement:
		return "the end of the tag"
	case endOfTemplate:
		return "the end of the template"
	}
	return fmt.Sprintf("%q", t.text)
}

// name reads a name.
func (p *parser) name() (string, error) {
	if t := p.peek(); t.kind == nameToken {
		return p.take().text, nil
	}
	return "", fmt.Errorf("want a name, not %s", p.peek())
}

// deeper counts how deep things are in others.
func (p *parser) deeper() (func(), error) {
	p.depth++
	if p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d things are within each other", maxDepth)
	}
	return func() { p.depth-- }, nil
}

// body reads statements up to one of the ends, or that of the template.
func (p *parser) body(ends ...string) ([]statement, error) {
	back, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer back()
	var list []statement
	for {
		switch t := p.take(); t.kind {
		case endOfTemplate:
			if len(ends) > 0 {
				return nil, fmt.Errorf("want %q, not the end of the template", ends[len(ends)-1])
			}
			return list, nil
		case dataToken:
			list = append(list, text(t.text))
		case beginExpression:
			s, err := p.output(t.line)
			if err != nil {
				return nil, err
			}
			list = append(list, s)
		case beginStatement:
			if slices.ContainsFunc(ends, p.is) {
				return list, nil // the caller reads the name
			}
			s, err := p.statement()
			if err != nil {
				return nil, err
			}
			list = append(list, at{t.line, s})
		}
	}
}

// output reads an expression whose value is written.
func (p *parser) output(line int) (statement, error) {
	e, err := p.tuple()
	if err != nil {
		return nil, err
	}
	if p.peek().kind != endExpression {
		return nil, fmt.Errorf("want the end of the expression, not %s", p.peek())
	}
	p.at++
	return at{line, output{e}}, nil
}

// end reads the end of a statement's tag.
func (p *parser) end() error {
	if p.peek().kind != endStatement {
		return fmt.Errorf("want the end of the statement, not %s", p.peek())
	}
	p.at++
	return nil
}

// block reads the end of a tag, what is between it and the end of the statement, and that.
func (p *parser) block(end string) ([]statement, error) {
	if err := p.end(); err != nil {
		return nil, err
	}
	body, err := p.body(end)
	if err != nil {
		return nil, err
	}
	p.at++
	return body, p.end()
}

// statement reads one, from its name.
func (p *parser) statement() (statement, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	if read, ok := statements()[name]; ok {
		return read(p)
	}
	return nil, fmt.Errorf("there is no statement %q here", name)
}

// statements are those that there are.
func statements() map[string]func(*parser) (statement, error) {
	return map[string]func(*parser) (statement, error){
		"if": (*parser).condition, "for": (*parser).loop, "set": (*parser).assignment, "macro": (*parser).macro, "call": (*parser).call,
		"filter": (*parser).filterBlock, "with": (*parser).with, "break": (*parser).leave, "continue": (*parser).leave, "generation": (*parser).generation,
	}
}
