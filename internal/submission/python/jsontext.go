package python

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

func (p *parser) str(keep bool) (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			if !keep {
				return "", nil
			}
			return string(p.text[start : p.pos-1]), nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.fail("no control character in a text")
		}
		p.pos++
	}
	return "", p.fail("a quote at the end of a text")
}

// escaped reads a text that has an escape at the present place.
func (p *parser) escaped(start int) (string, error) {
	out := append([]byte(nil), p.text[start:p.pos]...)
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return string(out), nil
		case c == '\\':
			var err error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
		case c < ' ':
			return "", p.fail("no control character in a text")
		default:
			out = append(out, c)
			p.pos++
		}
	}
	return "", p.fail("a quote at the end of a text")
}

func (p *parser) escape(out []byte) ([]byte, error) {
	p.pos++
	c := p.peek()
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 && c != 0 {
		p.pos++
		return append(out, "\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return nil, p.fail(`one of "\/bfnrtu after \`)
	}
	p.pos++
	r, ok := p.hex()
	if !ok {
		return nil, p.fail(`four hex digits after \u`)
	}
	if utf16.IsSurrogate(r) && bytes.HasPrefix(p.text[p.pos:], []byte(`\u`)) {
		back := p.pos
		p.pos += 2
		second, ok := p.hex()
		if !ok {
			return nil, p.fail(`four hex digits after \u`)
		}
		if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
			return utf8.AppendRune(out, pair), nil
		}
		p.pos = back
	}
	if utf16.IsSurrogate(r) {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), nil
	}
	return utf8.AppendRune(out, r), nil
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
