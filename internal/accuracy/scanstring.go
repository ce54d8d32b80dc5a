package accuracy

import (
	"encoding/json"
	"unicode/utf8"
)

// string reads a string.
func (s *scanner) string() (string, error) {
	text, err := s.str()
	return string(text), err
}

// maxString bounds the memory for a string. The outline of an object, kept as text, may
// have some megabytes.
const maxString = 64 << 20

// str reads a string. The result is valid until the next call on s.
func (s *scanner) str() ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	s.text = s.text[:0]
	escaped := false
	for s.fill() {
		rest := s.buf[s.pos:s.end]
		n := plainPrefix(rest)
		s.text = append(s.text, rest[:n]...)
		s.pos += n
		if len(s.text) > maxString {
			return nil, s.invalid("string before this has more than %d bytes, it begins with %.20q", maxString, s.text)
		}
		if n == len(rest) {
			continue
		}
		switch c := rest[n]; {
		case c == '"':
			s.pos++
			if !utf8.Valid(s.text) {
				return nil, s.invalid("string before this is not UTF-8")
			}
			if escaped {
				return s.unescape()
			}
			return s.text, nil
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, err
			}
		default:
			return nil, s.fail("control character %q in a string", c)
		}
	}
	return nil, s.fail("string without an end")
}

// plainPrefix returns how many bytes of b stand for themselves in a JSON string.
func plainPrefix(b []byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(b)
}

// escape moves a backslash and the byte after it to s.text as they are.
func (s *scanner) escape() error {
	s.text = append(s.text, '\\')
	s.pos++
	if !s.fill() || s.buf[s.pos] < ' ' {
		return s.fail("backslash before %s", s.got())
	}
	s.text = append(s.text, s.buf[s.pos])
	s.pos++
	return nil
}

// unescape decodes s.text, the inside of a string with escapes. They are rare, so
// the standard library does it.
func (s *scanner) unescape() ([]byte, error) {
	var text string
	if err := json.Unmarshal([]byte(`"`+string(s.text)+`"`), &text); err != nil {
		return nil, s.invalid("bad escape in the string before this: %v", err)
	}
	s.text = append(s.text[:0], text...)
	return s.text, nil
}

// skip reads a value of any kind.
func (s *scanner) skip() error {
	var err error
	switch c := s.next(); c {
	case '{':
		err = s.object(func([]byte) error { return s.skip() })
	case '[':
		err = s.array(func(int) error { return s.skip() })
	case '"':
		_, err = s.str()
	case 't':
		err = s.literal("true")
	case 'f':
		err = s.literal("false")
	case 'n':
		err = s.literal("null")
	default:
		_, err = s.number()
	}
	return err
}

func (s *scanner) literal(word string) error {
	s.next()
	for i := range len(word) {
		if !s.fill() || s.buf[s.pos] != word[i] {
			return s.fail("want %s, got %s", word, s.got())
		}
		s.pos++
	}
	return nil
}
