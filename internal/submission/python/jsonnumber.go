package python

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
	"strconv"
)

// skipDigits goes on behind digits and returns how many.
func (p *parser) skipDigits() int {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - start
}

// skipIndices goes on behind whole numbers that have a comma each: the sets of indices
// that LoadGen loads are most of many logs. It takes eight bytes at a time while they are
// digits and a comma, so that no number has more than 15 digits; what may be an empty
// place, or begins with a zero, it leaves.
func (p *parser) skipIndices() {
	start := uint64(high & 0xff) // the marks of bytes that begin a number
	for i := p.pos; i+8 <= len(p.text); i += 8 {
		w := binary.LittleEndian.Uint64(p.text[i:])
		commas := same(w, ',')
		starts := commas<<8 | start
		if commas == 0 || commas|digits(w) != high || starts&(commas|same(w, '0')) != 0 {
			return
		}
		start = commas >> 56
		p.pos = i + 8 - bits.LeadingZeros64(commas)/8
	}
}

// Marks of the bytes of a word: the high bit of each that is meant.
const (
	ones = 0x0101010101010101
	high = 0x80 * ones
)

// same marks the bytes that are c.
func same(w uint64, c byte) uint64 {
	w ^= uint64(c) * ones
	return ^((w&^high + 0x7f*ones) | w) & high
}

// digits marks the bytes that are digits.
func digits(w uint64) uint64 {
	low := w &^ high
	return (low + (0x80-'0')*ones) &^ (low + (0x80-'9'-1)*ones) &^ w & high
}

// number reads a number. As in Python, a point or an exponent without digits is not
// part of it.
func (p *parser) number(keep bool) (Value, error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
		if bytes.HasPrefix(p.text[p.pos:], []byte("Infinity")) {
			p.pos += len("Infinity")
			return -infinity, nil
		}
	}
	count := p.integer()
	if count == 0 {
		p.pos = start
		return nil, p.fail("a value")
	}
	isFloat := p.decimals()
	if count > maxDigits && !isFloat {
		return nil, p.fail(fmt.Sprintf("at most %d digits", maxDigits))
	}
	if !keep {
		return nil, nil
	}
	return parseNumber(string(p.text[start:p.pos]), isFloat), nil
}

// fraction reads a point and digits, or nothing.
func (p *parser) fraction() bool {
	if p.peek() != '.' {
		return false
	}
	start := p.pos
	p.pos++
	return p.orBack(start)
}

// integer reads a 0 or other digits, and returns how many.
func (p *parser) integer() int {
	if p.peek() == '0' {
		p.pos++
		return 1
	}
	return p.skipDigits()
}

// decimals reads a fraction and an exponent, and reports whether there was either.
func (p *parser) decimals() bool {
	fraction := p.fraction()
	return p.exponent() || fraction
}

// exponent reads an e, a sign and digits, or nothing.
func (p *parser) exponent() bool {
	if p.peek()|0x20 != 'e' {
		return false
	}
	start := p.pos
	p.pos++
	if c := p.peek(); c == '+' || c == '-' {
		p.pos++
	}
	return p.orBack(start)
}

// orBack reads digits; without any it goes back to the start.
func (p *parser) orBack(start int) bool {
	if p.skipDigits() > 0 {
		return true
	}
	p.pos = start
	return false
}

func parseNumber(s string, isFloat bool) Value {
	if isFloat {
		f, _ := strconv.ParseFloat(s, 64) // out of range is ±Inf, as in Python
		return f
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	n, _ := new(big.Int).SetString(s, 10)
	return n
}
