package openai

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// isNumber reports whether a text is a number as JSON has it.
func isNumber(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole, rest := digits(b)
	if whole == 0 || whole > 1 && b[0] == '0' {
		return false
	}
	if len(rest) == 0 || rest[0] != '.' {
		return isExponent(rest)
	}
	fraction, rest := digits(rest[1:])
	return fraction > 0 && isExponent(rest)
}

// isExponent reports whether a text is the exponent of a number, or nothing.
func isExponent(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if b[0]|0x20 != 'e' {
		return false
	}
	b = b[1:]
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	n, rest := digits(b)
	return n > 0 && len(rest) == 0
}

// digits counts the digits at the beginning, and returns what follows them.
func digits(b []byte) (n int, rest []byte) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n, b[n:]
}

// whole is a number that is not negative and fits; -1: it is none.
func whole(b []byte) int {
	const most = 1 << 40
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' || n > most {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	if len(b) == 0 {
		return -1
	}
	return n
}

// unquote appends what a string means. False: it has an escape that JSON does not know.
func unquote(to, raw []byte) ([]byte, bool) {
	for {
		k := bytes.IndexByte(raw, '\\')
		if k < 0 {
			return append(to, raw...), true
		}
		to = append(to, raw[:k]...)
		if raw = raw[k+1:]; len(raw) == 0 {
			return to, false
		}
		c := raw[0]
		raw = raw[1:]
		if c == 'u' {
			r, rest, ok := escaped(raw)
			if !ok {
				return to, false
			}
			to, raw = utf8.AppendRune(to, r), rest
			continue
		}
		i := bytes.IndexByte([]byte(`"\/bfnrt`), c)
		if i < 0 {
			return to, false
		}
		to = append(to, "\"\\/\b\f\n\r\t"[i])
	}
}

// escaped reads four hexadecimal digits, and the second half of a pair if they are a first.
func escaped(raw []byte) (r rune, rest []byte, ok bool) {
	if r, ok = hex4(raw); !ok {
		return 0, raw, false
	}
	raw = raw[4:]
	if !utf16.IsSurrogate(r) {
		return r, raw, true
	}
	if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
		if low, ok := hex4(raw[2:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			return utf16.DecodeRune(r, low), raw[6:], true
		}
	}
	return utf8.RuneError, raw, true
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
