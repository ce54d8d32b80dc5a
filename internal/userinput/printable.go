package userinput

import (
	"fmt"
	"strings"
	"unicode"
)

// PrintableLine is a text in one line, in which characters that cannot be printed are numbers.
func PrintableLine(s string) string { return escape(s, unicode.IsPrint) }

// PrintableText is PrintableLine of each line of a text.
func PrintableText(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

func escape(s string, stays func(rune) bool) string {
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

// Quote is a text of others for an error: one line of at most so many bytes, with single blanks between words, and question marks for
// characters that cannot be printed.
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
