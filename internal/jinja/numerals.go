package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// bases are those of the types of whole numbers, with what is before their digits.
var bases = map[byte]struct {
	base   int
	prefix string
}{0: {10, ""}, 'd': {10, ""}, 'n': {10, ""}, 'i': {10, ""}, 'u': {10, ""}, 'b': {2, "0b"}, 'o': {8, "0o"}, 'x': {16, "0x"}, 'X': {16, "0X"}}

// wholeDigits are the digits of a number without its sign, in the base of a type.
func wholeDigits(n int64, kind byte) string {
	magnitude := uint64(n)
	if n < 0 {
		magnitude = -magnitude
	}
	digits := strconv.FormatUint(magnitude, bases[kind].base)
	if kind == 'X' {
		digits = strings.ToUpper(digits)
	}
	return digits
}

// whole sets out a whole number.
func (p spec) whole(n int64) (string, error) {
	if p.kind != 0 && strings.IndexByte("eEfFgG%", p.kind) >= 0 {
		return p.float(float64(n))
	}
	if p.kind == 'c' {
		return p.character(n)
	}
	of := bases[p.kind]
	if !p.forWhole() {
		return "", errFormat
	}
	before := p.signOf(n < 0)
	if p.alternate {
		before += of.prefix
	}
	thousands := 3
	if of.base != 10 {
		thousands = 4
	}
	return p.grouped(before, wholeDigits(n, p.kind), "", thousands), nil
}

// forWhole reports whether whole numbers have the format.
func (p spec) forWhole() bool {
	of, ok := bases[p.kind]
	if !ok || p.kind == 'i' || p.kind == 'u' || p.precision >= 0 || p.positive {
		return false
	}
	return p.group == "" || p.kind != 'n' && (p.group == "_" || of.base == 10)
}

// character is the one that a number stands for.
func (p spec) character(n int64) (string, error) {
	if p.sign != 0 || p.alternate || p.group != "" || p.precision >= 0 || p.positive || n < 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return "", errFormat
	}
	return p.padded("", string(rune(n)), '>'), nil
}

func (p spec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case p.sign == '+' || p.sign == ' ':
		return string(p.sign)
	}
	return ""
}

// grouped sets out a number, with what is between its thousands: zeros that fill have it too.
func (p spec) grouped(before, digits, after string, thousands int) string {
	usual := byte('>')
	if p.align == '0' || p.align == '=' {
		usual = '='
	}
	if p.group == "" {
		return p.padded(before, digits+after, usual)
	}
	least := 0
	if p.fill == '0' && usual == '=' {
		least = p.width - len(before) - len(after)
	}
	return p.padded(before, inGroups(digits, p.group, thousands, least)+after, usual)
}

// inGroups sets a text between so many digits each, from the right, and zeros before them up to a length.
func inGroups(digits, between string, size, least int) string {
	var parts []string
	for {
		n := min(size, max(len(digits), least, 1))
		from := max(0, len(digits)-n)
		parts = append(parts, strings.Repeat("0", n-(len(digits)-from))+digits[from:])
		digits = digits[:from]
		if least -= n; digits == "" && least <= 0 {
			break
		}
		least -= len(between)
	}
	slices.Reverse(parts)
	return strings.Join(parts, between)
}

// float sets out a float.
func (p spec) float(f float64) (string, error) {
	if p.kind != 0 && strings.IndexByte("eEfFgGn%", p.kind) < 0 || p.group != "" && p.kind == 'n' {
		return "", errFormat
	}
	text := floatDigits(math.Abs(f), p.kind, p.precision, p.alternate)
	negative := math.Signbit(f) && !math.IsNaN(f)
	if digits, _, _ := strings.Cut(strings.ToLower(text), "e"); p.positive && strings.Trim(digits, "0.%") == "" {
		negative = false
	}
	rest := strings.TrimLeft(text, "0123456789")
	return p.grouped(p.signOf(negative), text[:len(text)-len(rest)], rest, 3), nil
}

// floatDigits are the digits of a float that is not below zero, of a type and a precision, which is -1 where there is none.
func floatDigits(f float64, kind byte, precision int, alternate bool) string {
	after := ""
	if kind == '%' {
		f, kind, after = f*100, 'f', "%"
	}
	if kind != 0 && precision < 0 {
		precision = 6
	}
	text := pytext.Float(f)
	if !math.IsInf(f, 0) && !math.IsNaN(f) {
		text = finiteDigits(f, kind, precision)
		if alternate {
			text = withPoint(text, kind, precision)
		}
	}
	if kind == 'E' || kind == 'F' || kind == 'G' {
		text = strings.ToUpper(text)
	}
	return text + after
}

// finiteDigits is floatDigits of a number that has an end.
func finiteDigits(f float64, kind byte, precision int) string {
	switch {
	case kind == 0 && precision < 0:
		return pytext.Float(f)
	case kind == 0:
		return shortest(f, precision)
	case isGeneral(kind):
		return strconv.FormatFloat(f, 'g', max(1, precision), 64)
	}
	return strconv.FormatFloat(f, kind|0x20, precision, 64)
}

// isGeneral reports whether a type has an exponent only where it is long otherwise.
func isGeneral(kind byte) bool { return kind == 'g' || kind == 'G' || kind == 'n' }

// shortest is a float of so many digits, with one behind the point at least.
func shortest(f float64, precision int) string {
	precision = max(1, precision)
	text := strconv.FormatFloat(f, 'e', precision-1, 64)
	digits, exponent, _ := strings.Cut(text, "e")
	e, _ := strconv.Atoi(exponent)
	if e < -4 || e >= precision-1 && (e > 0 || precision == 1) {
		return strings.TrimSuffix(trimZeros(digits), ".") + "e" + exponent
	}
	text = trimZeros(strconv.FormatFloat(f, 'f', max(0, precision-1-e), 64))
	if !strings.Contains(text, ".") {
		return text + ".0"
	}
	if strings.HasSuffix(text, ".") {
		return text + "0"
	}
	return text
}

// trimZeros drops those at the end of what is behind a point.
func trimZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimRight(text, "0")
}

// withPoint is a number with a point, and of type g with the zeros that its digits end with.
func withPoint(text string, kind byte, precision int) string {
	digits, exponent, has := strings.Cut(text, "e")
	if !strings.Contains(digits, ".") {
		digits += "."
	}
	if isGeneral(kind) || kind == 0 && precision >= 0 {
		all := strings.ReplaceAll(digits, ".", "")
		significant := len(strings.TrimLeft(all, "0"))
		if significant == 0 {
			significant = len(all)
		}
		digits += strings.Repeat("0", max(0, max(1, precision)-significant))
	}
	if has {
		return digits + "e" + exponent
	}
	return digits
}
