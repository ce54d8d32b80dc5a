package pytext

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// IsSpace reports whether str.isspace holds for a character. Unlike for Go, the four
// separators U+001C to U+001F are white space.
func IsSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1c && r <= 0x1f
	}
	return unicode.IsSpace(r)
}

// Fields is str.split().
func Fields(s string) []string { return strings.FieldsFunc(s, IsSpace) }

// TrimSpace is str.strip().
func TrimSpace(s string) string { return strings.TrimFunc(s, IsSpace) }

// TrimRight is str.rstrip().
func TrimRight(s string) string { return strings.TrimRightFunc(s, IsSpace) }

// IsWord reports whether \w of a regular expression matches a character.
func IsWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// MapWords replaces each run of word characters (\w+) by what f makes of it.
func MapWords(s string, f func(word string) string) string {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		n := strings.IndexFunc(s, func(r rune) bool { return !IsWord(r) })
		if n < 0 {
			n = len(s)
		}
		if n > 0 {
			b.WriteString(f(s[:n]))
		}
		s = s[n:]
		if n = strings.IndexFunc(s, IsWord); n < 0 {
			n = len(s)
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

// lineEnds are the characters after which str.splitlines cuts.
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// Lines is str.splitlines(keepends).
func Lines(s string, ends bool) []string {
	var lines []string
	for s != "" {
		at := strings.IndexAny(s, lineEnds)
		if at < 0 {
			return append(lines, s)
		}
		_, n := utf8.DecodeRuneInString(s[at:])
		if strings.HasPrefix(s[at:], "\r\n") {
			n = 2
		}
		line := s[:at]
		if ends {
			line = s[:at+n]
		}
		lines = append(lines, line)
		s = s[at+n:]
	}
	return lines
}

// Lower is str.lower(): the dotted capital I becomes two characters, and a capital sigma at
// the end of a word its final form.
func Lower(s string) string {
	if !strings.Contains(s, "İ") && !strings.Contains(s, "Σ") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == 'İ':
			b.WriteString("i\u0307")
		case r == 'Σ' && endsWord(s[:i], s[i+utf8.RuneLen(r):]):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// endsWord reports whether a sigma between two texts ends a word: a cased character comes
// before it and none after it, except for characters to ignore (The Unicode Standard, 3.13).
func endsWord(before, after string) bool {
	before = strings.TrimRightFunc(before, caseIgnorable)
	after = strings.TrimLeftFunc(after, caseIgnorable)
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return before != "" && cased(last) && (after == "" || !cased(first))
}

func cased(r rune) bool { return IsUpper(r) || IsLower(r) || unicode.IsTitle(r) }

// IsUpper reports whether str.isupper holds for a character.
func IsUpper(r rune) bool { return unicode.In(r, unicode.Lu, unicode.Other_Uppercase) }

// IsLower reports whether str.islower holds for a character: ª is small, though it has no capital.
func IsLower(r rune) bool { return unicode.In(r, unicode.Ll, unicode.Other_Lowercase) }

// wordInner are characters inside words in Unicode's word breaking
// (MidLetter, MidNumLet and Single_Quote).
const wordInner = ":·\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a.‘’\u2024\ufe52\uff07\uff0e'"

func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune(wordInner, r)
}

// ASCIIDigit writes a decimal digit of any script as one of ASCII, as int() and float() read
// it, and returns other characters unchanged.
func ASCIIDigit(r rune) rune {
	if r < utf8.RuneSelf || !unicode.Is(unicode.Nd, r) {
		return r
	}
	for _, t := range unicode.Nd.R16 {
		if r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10 // a script has its ten in a row
		}
	}
	i := slices.IndexFunc(unicode.Nd.R32, func(t unicode.Range32) bool { return r <= rune(t.Hi) })
	return '0' + (r-rune(unicode.Nd.R32[i].Lo))%10
}

// ParseFloat is float() of a string, with digits of any script and underscores between them. False: not a number.
func ParseFloat(text string) (float64, bool) {
	text = strings.Map(ASCIIDigit, TrimSpace(text))
	if strings.ContainsAny(text, "xXpP") { // Go's hexadecimal numbers
		return 0, false
	}
	isDigit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	for i := range len(text) {
		if text[i] == '_' && !(isDigit(i-1) && isDigit(i+1)) {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	return v, err == nil || v != 0 // too large: infinite
}

// Float is repr of a float: the shortest text that reads back unchanged.
func Float(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
	}
	if size := math.Abs(v); v != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// Round is round(v, digits) of a float: the nearest decimal to the exact value, of two the even.
func Round(v float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	if err != nil {
		return v // of infinities and NaN
	}
	return rounded
}

// Repr is repr of a text, as Python prints it inside of a list: in single quotes, unless it has those and no double ones.
func Repr(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b := utf8.AppendRune(nil, quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r <= 0xff:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return string(utf8.AppendRune(b, quote))
}

// JSON is json.dumps of a text: characters beyond ASCII are escapes of UTF-16.
func JSON(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case ' ' <= r && r <= '~':
			b = append(b, byte(r))
		case strings.ContainsRune("\n\r\t\b\f", r):
			b = append(b, '\\', "nrtbf"[strings.IndexRune("\n\r\t\b\f", r)])
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				b = fmt.Appendf(b, `\u%04x`, unit)
			}
		}
	}
	return string(append(b, '"'))
}
