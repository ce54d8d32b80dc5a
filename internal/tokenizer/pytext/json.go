package pytext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A JSONError is the error of json.loads, with its text.
type JSONError struct {
	Problem string
	At      int // character
	text    []rune
}

// Error implements error with the text of Python's exception.
func (e *JSONError) Error() string {
	before := e.text[:min(e.At, len(e.text))]
	line, column := 1, e.At+1
	for i, r := range before {
		if r == '\n' {
			line, column = line+1, e.At-i
		}
	}
	return fmt.Sprintf("%s: line %d column %d (char %d)", e.Problem, line, column, e.At)
}

// mostNested is how deep values may lie in each other: Python's own limit depends on its stack.
const mostNested = 990

// ParseJSON is json.loads: nil, bool, float64, string, []any or map[string]any. Of two equal names the last counts. Numbers without bound, NaN and
// Infinity are allowed; halves of surrogate pairs become U+FFFD. Errors are *JSONErrors.
func ParseJSON(text string) (any, error) {
	p := &jsonParser{text: []rune(text)}
	p.space()
	v := p.value(0)
	if p.space(); p.err == nil && p.at < len(p.text) {
		p.fail("Extra data", p.at)
	}
	if p.err != nil {
		return nil, p.err
	}
	return v, nil
}

// A jsonParser stops at its first error. It goes over the text as Python's scanner does, which decides where errors are.
type jsonParser struct {
	text []rune
	at   int
	err  error
}

func (p *jsonParser) fail(problem string, at int) {
	if p.err == nil {
		p.err = &JSONError{problem, at, p.text}
	}
	p.at = len(p.text)
}

// char is the next character; 0: none is left.
func (p *jsonParser) char() rune {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *jsonParser) space() {
	for p.at < len(p.text) && strings.ContainsRune(" \t\n\r", p.text[p.at]) {
		p.at++
	}
}

var jsonWords = map[string]any{
	"null": nil, "true": true, "false": false, "NaN": jsonFloat("NaN"), "Infinity": jsonFloat("Inf"), "-Infinity": jsonFloat("-Inf"),
}

func jsonFloat(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64) // too large: infinite
	return v
}

func (p *jsonParser) value(depth int) any {
	for word, v := range jsonWords {
		if end := p.at + len(word); end <= len(p.text) && string(p.text[p.at:end]) == word {
			p.at = end
			return v
		}
	}
	switch c := p.char(); {
	case depth > mostNested:
		p.fail("maximum recursion depth exceeded", p.at)
	case c == '"':
		return p.string()
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	default:
		p.fail("Expecting value", p.at)
	}
	return nil
}

func (p *jsonParser) object(depth int) map[string]any {
	object := map[string]any{}
	p.at++
	p.space()
	for first := true; p.err == nil; first = false {
		switch c := p.char(); {
		case first && c == '}':
			p.at++
			return object
		case c != '"':
			p.fail("Expecting property name enclosed in double quotes", p.at)
			return nil
		}
		name := p.string()
		p.space()
		if !p.sign(':') {
			return nil
		}
		p.space()
		object[name] = p.value(depth + 1)
		p.space()
		if p.char() == '}' {
			p.at++
			return object
		}
		if !p.sign(',') {
			return nil
		}
		p.space()
	}
	return nil
}

func (p *jsonParser) array(depth int) []any {
	list := []any{}
	p.at++
	if p.space(); p.char() == ']' {
		p.at++
		return list
	}
	for p.err == nil {
		list = append(list, p.value(depth+1))
		p.space()
		if p.char() == ']' {
			p.at++
			return list
		}
		if !p.sign(',') {
			return nil
		}
		p.space()
	}
	return nil
}

// sign takes a sign between values.
func (p *jsonParser) sign(want rune) bool {
	if p.err == nil && p.char() != want {
		p.fail(fmt.Sprintf("Expecting '%c' delimiter", want), p.at)
	}
	p.at++
	return p.err == nil
}

// number takes -?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?.
func (p *jsonParser) number() any {
	digits := func(at int) int {
		for at < len(p.text) && p.text[at] >= '0' && p.text[at] <= '9' {
			at++
		}
		return at
	}
	is := func(at int, chars string) bool { return at < len(p.text) && strings.ContainsRune(chars, p.text[at]) }
	begin, end := p.at, p.at
	if is(end, "-") {
		end++
	}
	whole := digits(end)
	if whole == end {
		p.fail("Expecting value", begin)
		return nil
	}
	if p.text[end] == '0' {
		whole = end + 1
	}
	end = whole
	if fraction := digits(end + 1); is(end, ".") && fraction > end+1 {
		end = fraction
	}
	if is(end, "eE") {
		from := end + 1
		if is(from, "+-") {
			from++
		}
		if to := digits(from); to > from {
			end = to
		}
	}
	p.at = end
	return jsonFloat(string(p.text[begin:end]))
}

// string takes a string, whose opening quote is the next character.
func (p *jsonParser) string() string {
	begin := p.at
	var out []rune
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return string(out)
		case c == '\\':
			r, ok := p.escape(begin)
			if !ok {
				return ""
			}
			out = append(out, r)
		case c < ' ':
			p.fail("Invalid control character at", p.at)
			return ""
		default:
			out = append(out, c)
		}
	}
	p.fail("Unterminated string starting at", begin)
	return ""
}

// escape takes what follows a backslash, and stops at its last character.
func (p *jsonParser) escape(begin int) (rune, bool) {
	if p.at++; p.at == len(p.text) {
		p.fail("Unterminated string starting at", begin)
		return 0, false
	}
	c := p.text[p.at]
	if i := strings.IndexRune(`"\/bfnrt`, c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), true
	}
	if c != 'u' {
		p.fail(`Invalid \escape`, p.at-1)
		return 0, false
	}
	r, ok := p.unit(p.at + 1)
	if !ok {
		p.fail(`Invalid \uXXXX escape`, p.at)
		return 0, false
	}
	p.at += 4
	if next := p.at + 1; r >= 0xd800 && r < 0xdc00 && p.at+7 < len(p.text) && slices.Equal(p.text[next:next+2], []rune(`\u`)) {
		low, ok := p.unit(next + 2)
		if !ok {
			p.fail(`Invalid \uXXXX escape`, next+1)
			return 0, false
		}
		if joined := utf16.DecodeRune(r, low); joined != '\ufffd' {
			p.at += 6
			return joined, true
		}
	}
	return r, true // half of a pair becomes U+FFFD in a string
}

// unit reads the four digits of an escape, behind which at least a character must follow.
func (p *jsonParser) unit(at int) (rune, bool) {
	if at+4 >= len(p.text) {
		return 0, false
	}
	v := rune(0)
	for _, c := range p.text[at : at+4] {
		digit := strings.IndexRune("0123456789abcdef", c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		v = v<<4 | rune(digit)
	}
	return v, true
}

// Truth is bool() of a value of ParseJSON.
func Truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0 // also NaN
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}
