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

// Members calls each with the members of an object, values as their text. The whole
// text is checked; what is not an object is an error.
func Members(text []byte, each func(key string, value []byte)) error {
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
	each  func(key string, value []byte)
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
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

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
	case '{':
		return p.nested(keep, p.object)
	case '[':
		return p.nested(keep, p.array)
	case '"':
		s, err := p.str(keep)
		if err != nil || !keep {
			return nil, err
		}
		return s, nil
	default:
		if c >= '0' && c <= '9' || c == '-' {
			return p.number(keep)
		}
		return p.word()
	}
}

func (p *parser) nested(keep bool, read func(bool) (Value, error)) (Value, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("fewer values inside each other")
	}
	v, err := read(keep)
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
	p.pos++
	var list []Value
	if keep {
		list = []Value{}
	}
	p.space()
	if p.peek() == ']' {
		p.pos++
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
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return list, nil
		default:
			return nil, p.fail(`"," or "]"`)
		}
	}
}

func (p *parser) object(keep bool) (Value, error) {
	p.pos++
	top := p.depth == 1 && p.each != nil
	var d *Dict
	if keep {
		d = &Dict{}
	}
	p.space()
	if p.peek() == '}' {
		p.pos++
		return d, nil
	}
	for {
		if err := p.member(d, keep, top); err != nil {
			return nil, err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return d, nil
		default:
			return nil, p.fail(`"," or "}"`)
		}
	}
}

func (p *parser) member(d *Dict, keep, top bool) error {
	p.space()
	if p.peek() != '"' {
		return p.fail("a name in quotes")
	}
	key, err := p.str(keep || top)
	if err != nil {
		return err
	}
	p.space()
	if p.peek() != ':' {
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
		d.Set(key, v)
	}
	if top {
		p.each(key, p.text[start:p.pos])
	}
	return nil
}
