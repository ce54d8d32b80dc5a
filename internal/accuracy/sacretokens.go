package accuracy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sacreTokenizers put blanks between words as the tokenizers of sacreBLEU 2.6.0 do. A line
// has no white space at its end.
var sacreTokenizers = map[string]func(line string) string{
	"none": func(line string) string { return line },
	"char": spell,
	"13a":  tokenize13a,
	"zh":   tokenizeChinese,
	"intl": tokenizeInternational,
}

// spell puts a blank after every character.
func spell(line string) string {
	var b strings.Builder
	for _, r := range line {
		b.WriteRune(r)
		b.WriteByte(' ')
	}
	return b.String()
}

// entities are the four of HTML that mteval-v13a.pl knows, in its order.
var entities = []string{"&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">"}

// tokenize13a is that of mteval-v13a.pl.
func tokenize13a(line string) string {
	line = strings.ReplaceAll(line, "<skipped>", "")
	line = strings.ReplaceAll(line, "-\n", "")
	line = strings.ReplaceAll(line, "\n", " ")
	if strings.Contains(line, "&") {
		for i := 0; i < len(entities); i += 2 { // one after another: &amp;lt; becomes <
			line = strings.ReplaceAll(line, entities[i], entities[i+1])
		}
	}
	return splitPunctuation(" " + line + " ")
}

// splitPunctuation applies the four rules of mteval one after another: blanks around
// symbols; around a period or comma unless a digit is before it; the same unless a digit is
// after it; and after a digit that a dash follows. Each reads on behind what it changed.
func splitPunctuation(line string) string {
	text := spaceSymbols(make([]byte, 0, 2*len(line)), line)
	text = eachPair(text, &noDigits, &stops, "", " ", " ")
	text = eachPair(text, &stops, &noDigits, " ", " ", "")
	return string(eachPair(text, &digitBytes, &dashes, "", " ", " "))
}

// The bytes that the rules tell apart.
var (
	digitBytes = bytesOf("0123456789")
	noDigits   = allBut(digitBytes)
	stops      = bytesOf(".,")
	dashes     = bytesOf("-")
)

func bytesOf(list string) (set [256]bool) {
	for i := range len(list) {
		set[list[i]] = true
	}
	return set
}

func allBut(some [256]bool) (set [256]bool) {
	for i := range set {
		set[i] = !some[i]
	}
	return set
}

// symbols are those that 13a sets apart wherever they are.
const symbols = " !\"#$%&()*+/:;<=>?@[\\]^_`{|}~"

// spaceSymbols puts blanks around the symbols of ASCII, except for the apostrophe, the
// comma, the dash and the period.
func spaceSymbols(dst []byte, line string) []byte {
	for i := range len(line) {
		if c := line[i]; strings.IndexByte(symbols, c) >= 0 {
			dst = append(dst, ' ', c, ' ')
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// eachPair writes text before, between and behind the bytes of each pair of which the first is in one set
// and the second in another. Pairs do not overlap.
func eachPair(text []byte, first, second *[256]bool, before, between, behind string) []byte {
	var out []byte
	done := 0 // what is written
	for i := 0; i+1 < len(text); i++ {
		if !second[text[i+1]] || !first[text[i]] {
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(text)+len(text)/2)
		}
		out = append(out, text[done:i]...)
		out = append(append(out, before...), text[i])
		out = append(append(out, between...), text[i+1])
		out = append(out, behind...)
		i++
		done = i + 1
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}

// chinese are the characters that sacreBLEU takes for Chinese. The two ranges of common
// punctuation come from an error in it, which is kept: it wrote code points above U+FFFF
// with four digits.
var chinese = &unicode.RangeTable{R16: []unicode.Range16{
	{0x2001, 0x2a6d, 1}, {0x2e80, 0x2eff, 1}, {0x2f00, 0x2fdf, 1}, {0x2ff0, 0x2fff, 1}, {0x3000, 0x303f, 1},
	{0x3100, 0x312f, 1}, {0x31a0, 0x31bf, 1}, {0x31c0, 0x31ef, 1}, {0x3200, 0x32ff, 1}, {0x3300, 0x33ff, 1},
	{0x3400, 0x4db5, 1}, {0x4e00, 0x9fa5, 1}, {0x9fa6, 0x9fbb, 1}, {0xf900, 0xfa2d, 1}, {0xfa30, 0xfa6a, 1},
	{0xfa70, 0xfad9, 1}, {0xfe10, 0xfe1f, 1}, {0xfe30, 0xfe4f, 1}, {0xff00, 0xffef, 1},
}}

// tokenizeChinese makes a word of every Chinese character, and of the rest what mteval does.
func tokenizeChinese(line string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(line) {
		if r > unicode.MaxASCII && unicode.Is(chinese, r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return splitPunctuation(b.String())
}

// tokenizeInternational is that of mteval-v14.pl: blanks around punctuation unless a digit is
// before it, the same unless a digit is after it, and around symbols.
func tokenizeInternational(line string) string {
	line = eachRunePair(line, func(a, b rune) bool { return !unicode.IsNumber(a) && unicode.IsPunct(b) }, "", " ")
	line = eachRunePair(line, func(a, b rune) bool { return unicode.IsPunct(a) && !unicode.IsNumber(b) }, " ", "")
	var out strings.Builder
	for _, r := range line {
		if unicode.IsSymbol(r) {
			out.WriteByte(' ')
			out.WriteRune(r)
			out.WriteByte(' ')
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// eachRunePair is eachPair for characters, with a blank between them.
func eachRunePair(text string, rule func(a, b rune) bool, before, behind string) string {
	var out strings.Builder
	for text != "" {
		a, n := utf8.DecodeRuneInString(text)
		b, m := utf8.DecodeRuneInString(text[n:])
		if m == 0 || !rule(a, b) {
			out.WriteString(text[:n])
			text = text[n:]
			continue
		}
		out.WriteString(before)
		out.WriteString(text[:n])
		out.WriteByte(' ')
		out.WriteString(text[n : n+m])
		out.WriteString(behind)
		text = text[n+m:]
	}
	return out.String()
}
