package python

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
)

func (p *parser) digits() int {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - start
}

// skipIndices goes on behind numbers from 1 to 18 digits, each with a comma: the sets of
// indices that LoadGen loads are most of many logs. What it does not know, it leaves.
func (p *parser) skipIndices() {
	for i := p.pos; i < len(p.text) && p.text[i] >= '1' && p.text[i] <= '9'; {
		start := i
		for i < len(p.text) && p.text[i] >= '0' && p.text[i] <= '9' {
			i++
		}
		if i-start > 18 || i == len(p.text) || p.text[i] != ',' {
			return
		}
		i++
		p.pos = i
	}
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
	first := p.pos
	if p.peek() == '0' {
		p.pos++
	} else if p.digits() == 0 {
		p.pos = start
		return nil, p.fail("a value")
	}
	count := p.pos - first
	isFloat := p.fraction()
	if p.exponent() {
		isFloat = true
	}
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
	if p.digits() > 0 {
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
