package python

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a text. Without escapes it is a part of what is parsed.
func (p *parser) str() ([]byte, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return p.text[start : p.pos-1], nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return nil, p.fail("no control character in a text")
		}
		p.pos++
	}
	return nil, p.fail("a quote at the end of a text")
}

// escaped reads a text that has an escape at the present place.
func (p *parser) escaped(start int) ([]byte, error) {
	out := append([]byte(nil), p.text[start:p.pos]...)
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return out, nil
		case c == '\\':
			var err error
			if out, err = p.escape(out); err != nil {
				return nil, err
			}
		case c < ' ':
			return nil, p.fail("no control character in a text")
		default:
			out = append(out, c)
			p.pos++
		}
	}
	return nil, p.fail("a quote at the end of a text")
}

func (p *parser) escape(out []byte) ([]byte, error) {
	p.pos++
	c := p.peek()
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		p.pos++
		return append(out, "\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return nil, p.fail(`one of "\/bfnrtu after \`)
	}
	p.pos++
	r, err := p.unit()
	if err != nil {
		return nil, err
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r), nil
	}
	return p.surrogate(out, r)
}

// surrogate reads the second half of a pair, if one follows. A half alone is kept.
func (p *parser) surrogate(out []byte, first rune) ([]byte, error) {
	if bytes.HasPrefix(p.text[p.pos:], []byte(`\u`)) {
		back := p.pos
		p.pos += 2
		second, err := p.unit()
		if err != nil {
			return nil, err
		}
		if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
			return utf8.AppendRune(out, pair), nil
		}
		p.pos = back
	}
	return append(out, 0xe0|byte(first>>12), 0x80|byte(first>>6)&0x3f, 0x80|byte(first)&0x3f), nil
}

// unit reads what follows \u.
func (p *parser) unit() (rune, error) {
	r, ok := p.hex()
	if !ok {
		return 0, p.fail(`four hex digits after \u`)
	}
	return r, nil
}

func (p *parser) hex() (rune, bool) {
	if p.pos+4 > len(p.text) {
		return 0, false
	}
	r := rune(0)
	for _, c := range p.text[p.pos : p.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	p.pos += 4
	return r, true
}
