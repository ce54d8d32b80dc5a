package openai

import "bytes"

// A scanner walks over a JSON value without allocating. It is as strict about structure as
// encoding/json and laxer about what stands inside strings. After a mistake bad is true and all
// methods return at once.
type scanner struct {
	b     []byte
	i     int
	bad   bool
	depth int
}

// maxDepth is how deep values may be nested.
const maxDepth = 64

func (s *scanner) fail() { s.bad, s.i = true, len(s.b) }

// peek returns the next byte that is no space; 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		if c := s.b[s.i]; !isSpace(c) {
			return c
		}
		s.i++
	}
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// eat takes a byte that has to be there.
func (s *scanner) eat(c byte) {
	if s.peek() != c {
		s.fail()
		return
	}
	s.i++
}

// str takes a string and returns what is between the quotes, as it is written.
func (s *scanner) str() []byte {
	s.eat('"')
	if s.bad {
		return nil
	}
	from := s.i
	for {
		k := bytes.IndexByte(s.b[s.i:], '"')
		if k < 0 {
			s.fail()
			return nil
		}
		end := s.i + k
		s.i = end + 1
		n := end
		for n > from && s.b[n-1] == '\\' {
			n--
		}
		if (end-n)%2 == 0 {
			return s.b[from:end]
		}
	}
}

// next steps to the next member or element. It returns false behind the last, and takes the
// closing bracket then. First says that there was none before.
func (s *scanner) next(closing byte, first bool) bool {
	c := s.peek()
	if s.bad {
		return false
	}
	if c == closing {
		s.i++
		return false
	}
	if !first {
		s.eat(',')
	}
	return !s.bad
}

// key takes the name of a member and the colon behind it.
func (s *scanner) key() []byte {
	k := s.str()
	s.eat(':')
	return k
}

// open takes an opening bracket. False: it is not there, or too deep.
func (s *scanner) open(c byte) bool {
	s.eat(c)
	if s.depth++; s.depth > maxDepth {
		s.fail()
	}
	return !s.bad
}

// skip takes a value of any kind.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case c == '"':
		s.str()
	case c == '{':
		for first := s.open('{'); s.next('}', first); first = false {
			s.key()
			s.skip()
		}
		s.depth--
	case c == '[':
		for first := s.open('['); s.next(']', first); first = false {
			s.skip()
		}
		s.depth--
	default:
		s.scalar()
	}
}

// scalar takes a number, true, false or null, and returns it.
func (s *scanner) scalar() []byte {
	s.peek()
	from := s.i
	for s.i < len(s.b) && !endsScalar(s.b[s.i]) {
		s.i++
	}
	text := s.b[from:s.i]
	switch string(text) {
	case "true", "false", "null":
		return text
	}
	if !isNumber(text) {
		s.fail()
		return nil
	}
	return text
}

// endsScalar reports whether a byte stands behind a number or a word.
func endsScalar(c byte) bool { return c == ',' || c == '}' || c == ']' || isSpace(c) }
