package userinput

import (
	"fmt"
	"strings"
	"unicode"
)

// Line is a text in one line: ends of lines are numbers, too.
func PrintableLine(s string) string { return write(s, unicode.IsPrint) }

// Text is a text whose lines stay lines.
func PrintableText(s string) string {
	return write(s, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

func write(s string, stays func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case stays(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, "\\x%02x", r)
		case r < 0x10000:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			fmt.Fprintf(&b, "\\U%08x", r)
		}
	}
	return b.String()
}

// Quote is what somebody else said, as an error quotes it: one line of at most so many bytes, in which
// single blanks are between words and what cannot be printed is a question mark.
func Quote(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…" // a letter may have been cut
}
