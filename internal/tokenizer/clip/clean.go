package clip

import (
	"html"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// clean brings a text into the form that words are cut from: repaired, with single blanks, in lower case. Text of open_clip may be
// HTML, twice.
func clean(text string, web bool) string {
	if web {
		return pytext.Lower(Clean(text))
	}
	return pytext.Lower(strings.Join(pytext.Fields(repair(text)), " "))
}

// Clean is a text repaired as ftfy.fix_text does it, without HTML entities, which may be written twice, and with single blanks: what
// open_clip and diffusers' WanPipeline do to texts (prompt_clean).
func Clean(text string) string {
	return strings.Join(pytext.Fields(html.UnescapeString(html.UnescapeString(repair(text)))), " ")
}

// repair is ftfy.fix_text: line by line, until nothing changes any more.
func repair(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var out strings.Builder
	entities := true
	for line := range strings.SplitAfterSeq(text, "\n") {
		entities = entities && !strings.Contains(line, "<") // HTML from here on: entities stay
		for {
			repaired := line
			if entities {
				repaired = entity.ReplaceAllStringFunc(repaired, unescaped)
			}
			repaired = escapes.ReplaceAllString(plain(characters.Replace(repaired)), "")
			repaired = pytext.Normalize(norm.NFC, strings.Map(visible, repaired))
			if repaired == line {
				break
			}
			line = repaired
		}
		out.WriteString(line)
	}
	return out.String()
}

// entity is an HTML entity with its semicolon.
var entity = regexp.MustCompile(`&#?[0-9A-Za-z]{1,24};`)

// unescaped is the character of an entity, or the text itself if the whole is not an entity. A name in capitals that exists in
// lower case gives the character in upper case.
func unescaped(text string) string {
	got := html.UnescapeString(text)
	if text[1] == '#' {
		if strings.Contains(got, ";") {
			return text
		}
		return got
	}
	if isWhole(got, text) {
		return got
	}
	small := strings.ToLower(text)
	if got = html.UnescapeString(small); text == strings.ToUpper(text) && isWhole(got, small) {
		return strings.ToUpper(got)
	}
	return text
}

// isWhole reports whether an entity was replaced by its whole name, not by a prefix.
func isWhole(got, text string) bool {
	return got != text && (text == "&semi;" || !strings.HasSuffix(got, ";"))
}

// characters are those of several in one: ligatures, and carriage returns with line feeds.
var characters = strings.NewReplacer(
	"\r\n", "\n",
	"Ĳ", "IJ", "ĳ", "ij", "ŉ", "ʼn", "Ǳ", "DZ", "ǲ", "Dz", "ǳ", "dz", "Ǆ", "DŽ", "ǅ", "Dž", "ǆ", "dž",
	"Ǉ", "LJ", "ǈ", "Lj", "ǉ", "lj", "Ǌ", "NJ", "ǋ", "Nj", "ǌ", "nj",
	"ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "ſt", "ﬆ", "st",
)

// plain writes single characters as others: control characters of Latin-1 as Windows means them,
// wide ones, curly quotes, line ends.
func plain(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r >= 0x80 && r < 0xa0 {
			r = charmap.Windows1252.DecodeByte(byte(r))
		}
		switch {
		case r >= 0xff01 && r <= 0xffef:
			out.WriteString(norm.NFKC.String(string(r)))
		case r == 0x3000:
			out.WriteByte(' ')
		case r == 0x02bc || r >= 0x2018 && r <= 0x201b:
			out.WriteByte('\'')
		case r >= 0x201c && r <= 0x201f:
			out.WriteByte('"')
		case r == '\r' || r == 0x2028 || r == 0x2029:
			out.WriteByte('\n')
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// escapes are the colour codes of terminals.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[a-zA-Z]")

// visible drops control characters.
func visible(r rune) rune {
	switch {
	case r < 0x09, r == 0x0b, r >= 0x0e && r < 0x20, r == 0x7f, r >= 0x206a && r < 0x2070, r == 0xfeff, r >= 0xfff9 && r < 0xfffd:
		return -1
	}
	return r
}
