package clip

import (
	"html"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// clean brings a text into the form that words are cut from: repaired as ftfy.fix_text does it,
// with single blanks, in lower case. Text of open_clip may be HTML, twice.
func clean(text string, web bool) string {
	text = repair(strings.ToValidUTF8(text, "\uFFFD"))
	if web {
		text = html.UnescapeString(html.UnescapeString(text))
	}
	return pytext.Lower(strings.Join(pytext.Fields(text), " "))
}

// repair is ftfy.fix_text: line by line, until nothing changes any more.
func repair(text string) string {
	var out strings.Builder
	entities := true
	for line := range strings.SplitAfterSeq(text, "\n") {
		entities = entities && !strings.Contains(line, "<") // from here on it is HTML, where they are meant
		for {
			repaired := repairOnce(line, entities)
			if repaired == line {
				break
			}
			line = repaired
		}
		out.WriteString(line)
	}
	return out.String()
}

func repairOnce(line string, entities bool) string {
	if entities {
		line = entity.ReplaceAllStringFunc(line, unescaped)
	}
	line = plain(characters.Replace(line))
	line = escapes.ReplaceAllString(line, "")
	line = strings.Map(visible, line)
	return norm.NFC.String(line)
}

// entity is an HTML entity with its semicolon.
var entity = regexp.MustCompile(`&#?[0-9A-Za-z]{1,24};`)

// unescaped is the character of an entity, or the text itself if it is none as a whole. Names
// that are in small letters may be in capitals: then so is the character.
func unescaped(text string) string {
	got := html.UnescapeString(text)
	if text[1] == '#' {
		if strings.Contains(got, ";") {
			return text
		}
		return got
	}
	if whole(got, text) {
		return got
	}
	small := strings.ToLower(text)
	if got = html.UnescapeString(small); text == strings.ToUpper(text) && whole(got, small) {
		return strings.ToUpper(got)
	}
	return text
}

// whole reports whether what became of an entity is that of its whole name, not of its beginning.
func whole(got, text string) bool {
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
		if r >= 0xff01 && r <= 0xffef {
			out.WriteString(norm.NFKC.String(string(r)))
		} else {
			out.WriteRune(plainRune(r))
		}
	}
	return out.String()
}

func plainRune(r rune) rune {
	switch r {
	case 0x3000:
		return ' '
	case 0x02bc, 0x2018, 0x2019, 0x201a, 0x201b:
		return '\''
	case 0x201c, 0x201d, 0x201e, 0x201f:
		return '"'
	case '\r', 0x2028, 0x2029:
		return '\n'
	}
	return r
}

// escapes are what programs write to colour the text of a terminal.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[a-zA-Z]")

// visible drops control characters that no text has.
func visible(r rune) rune {
	switch {
	case r < 0x09, r == 0x0b, r >= 0x0e && r < 0x20, r == 0x7f, r >= 0x206a && r < 0x2070, r == 0xfeff, r >= 0xfff9 && r < 0xfffd:
		return -1
	}
	return r
}
