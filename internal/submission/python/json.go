package python

import (
	"bytes"
	"fmt"
	"math"
)

const (
	maxDigits = 4300 // of a whole number, sys.int_info.default_max_str_digits
	maxDepth  = 990  // about where Python's recursion ends
)

// A SyntaxError says where a text is not what json.loads reads.
type SyntaxError struct {
	Offset int // in bytes
	Line   int
	Want   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, byte %d: want %s", e.Line, e.Offset, e.Want)
}

// DecodeJSON is json.loads of a UTF-8 text.
func DecodeJSON(text []byte) (Value, error) {
	p := &parser{text: text}
	v, err := p.document(true)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Members calls each with the members of an object: the name, and the value as its text.
// The whole text is checked; what is not an object is an error. Both are parts of the text
// where that is possible, so that a log's messages are looked through without memory.
func Members(text []byte, each func(name, value []byte)) error {
	p := &parser{text: text, each: each}
	p.space()
	if p.peek() != '{' {
		return p.fail("an object")
	}
	_, err := p.document(false)
	return err
}

type parser struct {
	text  []byte
	pos   int
	depth int
	each  func(name, value []byte) // of members of the outermost object
}

func (p *parser) fail(want string) error {
	return &SyntaxError{Offset: p.pos, Line: 1 + bytes.Count(p.text[:min(p.pos, len(p.text))], []byte("\n")), Want: want}
}

func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) space() {
	for p.pos < len(p.text) && isSpace(p.text[p.pos]) {
		p.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (p *parser) document(keep bool) (Value, error) {
	p.space()
	v, err := p.value(keep)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.text) {
		return nil, p.fail("nothing after the value")
	}
	return v, nil
}

// value reads a value. Without keep it only checks it and returns nil.
func (p *parser) value(keep bool) (Value, error) {
	switch c := p.peek(); c {
	case '{', '[':
		return p.nested(keep, c == '{')
	case '"':
		s, err := p.str()
		if err != nil || !keep {
			return nil, err
		}
		return string(s), nil
	default:
		if c >= '0' && c <= '9' || c == '-' {
			return p.number(keep)
		}
		return p.word()
	}
}

func (p *parser) nested(keep, isObject bool) (v Value, err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("fewer values inside each other")
	}
	if isObject {
		v, err = p.object(keep)
	} else {
		v, err = p.array(keep)
	}
	p.depth--
	return v, err
}

var (
	infinity = math.Inf(1)
	nan      = math.NaN()
)

var words = []struct {
	text  string
	value Value
}{
	{"null", nil}, {"true", true}, {"false", false},
	{"NaN", nan}, {"Infinity", infinity},
}

func (p *parser) word() (Value, error) {
	for _, w := range words {
		if bytes.HasPrefix(p.text[p.pos:], []byte(w.text)) {
			p.pos += len(w.text)
			return w.value, nil
		}
	}
	return nil, p.fail("a value")
}

func (p *parser) array(keep bool) (Value, error) {
	var list []Value
	if keep {
		list = []Value{}
	}
	if p.open(']') {
		return list, nil
	}
	for {
		if !keep {
			p.skipIndices()
		}
		p.space()
		v, err := p.value(keep)
		if err != nil {
			return nil, err
		}
		if keep {
			list = append(list, v)
		}
		if ended, err := p.next(']', `"," or "]"`); ended || err != nil {
			return list, err
		}
	}
}

func (p *parser) object(keep bool) (Value, error) {
	var d *Dict
	if keep {
		d = &Dict{}
	}
	if p.open('}') {
		return d, nil
	}
	top := p.depth == 1 && p.each != nil
	for {
		if err := p.member(d, keep, top); err != nil {
			return nil, err
		}
		if ended, err := p.next('}', `"," or "}"`); ended || err != nil {
			return d, err
		}
	}
}

// open reads the start of a list or an object, and its end if that follows.
func (p *parser) open(end byte) (empty bool) {
	p.pos++
	if p.space(); p.peek() != end {
		return false
	}
	p.pos++
	return true
}

// next reads what follows an element: a comma, or the end.
func (p *parser) next(end byte, want string) (ended bool, err error) {
	p.space()
	switch p.peek() {
	case ',':
		p.pos++
		return false, nil
	case end:
		p.pos++
		return true, nil
	}
	return false, p.fail(want)
}

func (p *parser) member(d *Dict, keep, top bool) error {
	if p.space(); p.peek() != '"' {
		return p.fail("a name in quotes")
	}
	name, err := p.str()
	if err != nil {
		return err
	}
	if p.space(); p.peek() != ':' {
		return p.fail(`":"`)
	}
	p.pos++
	p.space()
	start := p.pos
	v, err := p.value(keep)
	if err != nil {
		return err
	}
	if keep {
		d.Set(string(name), v)
	}
	if top {
		p.each(name, p.text[start:p.pos])
	}
	return nil
}
