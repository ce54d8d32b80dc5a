package accuracy

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// maxNumber is how long a number may be. A float64 has 17 digits that count.
const maxNumber = 1000

// number reads a number as it is written. The result is valid until the next call on s.
func (s *scanner) number() ([]byte, error) {
	c := s.next()
	if c != '-' && (c < '0' || c > '9') {
		return nil, s.fail("want a number, got %s", s.got())
	}
	s.text = s.text[:0]
	for s.fill() {
		rest := s.buf[s.pos:s.end]
		n := numberPrefix(rest)
		s.text = append(s.text, rest[:n]...)
		s.pos += n
		if len(s.text) > maxNumber {
			return nil, s.invalid("number before this has more than %d characters, it begins with %.20s", maxNumber, s.text)
		}
		if n < len(rest) {
			break
		}
	}
	if !validNumber(s.text) {
		return nil, s.fail("%q before this is not a number", s.text)
	}
	return s.text, nil
}

// numberPrefix returns how many bytes of b may belong to a number.
func numberPrefix(b []byte) int {
	for i, c := range b {
		if strings.IndexByte("0123456789.-+eE", c) < 0 {
			return i
		}
	}
	return len(b)
}

// validNumber reports whether b follows JSON's grammar, which is narrower than
// strconv's: no leading zero or plus sign, digits on both sides of the point.
func validNumber(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole := digits(b)
	if whole == 0 || whole > 1 && b[0] == '0' {
		return false
	}
	if b = b[whole:]; len(b) > 0 && b[0] == '.' {
		fraction := digits(b[1:])
		if fraction == 0 {
			return false
		}
		b = b[1+fraction:]
	}
	return len(b) == 0 || validExponent(b)
}

func validExponent(b []byte) bool {
	if b[0] != 'e' && b[0] != 'E' {
		return false
	}
	if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	return len(b) > 0 && digits(b) == len(b)
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// float reads a finite number.
func (s *scanner) float() (float64, error) {
	text, err := s.number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, s.invalid("%s before this is outside of the range of a float64", text)
	}
	return v, nil
}

// int reads an integer; one written as a float, as pandas does (3.0), is accepted.
func (s *scanner) int() (int64, error) {
	text, err := s.number()
	if err != nil {
		return 0, err
	}
	if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return v, nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, s.invalid("%s before this is not a 64-bit integer", text)
	}
	return int64(v), nil
}

// uint reads a number that counts something. A float will not do: as an index it
// would stop the official scripts.
func (s *scanner) uint(name string) (uint64, error) {
	text, err := s.number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, s.invalid("%s before this is %s, want a whole number from 0", name, text)
	}
	return v, nil
}
