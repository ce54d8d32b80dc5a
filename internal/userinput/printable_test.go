package userinput

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWhatCannotBePrintedIsANumber(t *testing.T) {
	for _, c := range []struct{ name, text, line, lines string }{
		{"words, signs and other scripts stay", "p99 ≤ 3 ms: 速い ✓", "p99 ≤ 3 ms: 速い ✓", "p99 ≤ 3 ms: 速い ✓"},
		{"ends of lines stay in a text", "a\nb", `a\x0ab`, "a\nb"},
		{"an escape sequence", "\x1b[31mred", `\x1b[31mred`, `\x1b[31mred`},
		{"returns and backspaces, which overwrite", "INVALID\r\bVALID", `INVALID\x0d\x08VALID`, `INVALID\x0d\x08VALID`},
		{"control characters beyond ASCII", "\u009b2J\u007f", `\x9b2J\x7f`, `\x9b2J\x7f`},
		{"marks that turn a line", "a\u202eb", `a\u202eb`, `a\u202eb`},
		{"bytes that are no text", "a\xffb", "a\ufffdb", "a\ufffdb"},
		{"nothing", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := PrintableLine(c.text); got != c.line {
				t.Errorf("Line(%q) = %q, want %q", c.text, got, c.line)
			}
			if got := PrintableText(c.text); got != c.lines {
				t.Errorf("Text(%q) = %q, want %q", c.text, got, c.lines)
			}
		})
	}
}

func TestSignsBeyondTheFirstPlaneAreNumbersOfTheirOwn(t *testing.T) {
	for text, want := range map[string]string{
		"a\U000e0001b": `a\U000e0001b`, // a tag, which is invisible
		"\ue000":       `\ue000`,       // of nobody's alphabet
		"\U0001f600":   "\U0001f600",
		"\u00a0":       `\xa0`, // a space that is none
		"\u2028":       `\u2028`,
		"\x00":         `\x00`,
	} {
		if got := PrintableLine(text); got != want {
			t.Errorf("Line(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestAQuoteIsALineOfSoManyBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 10, ""}, {"short", 10, "short"}, {"exactly 10", 10, "exactly 10"}, {"more than 10", 10, "more than …"},
		{" \t words \r\n between  blanks ", 40, "words between blanks"},
		{"\x1b[31mred\x07", 40, "?[31mred?"}, {"a\xffb", 40, "a?b"}, {"a\u202eb", 40, "a?b"},
		{"größer", 3, "gr…"}, {"größer", 4, "grö…"}, {"速い", 2, "…"}, {"速い", 3, "速…"}, {"abc", 0, "…"},
	} {
		if got := Quote(c.text, c.most); got != c.want {
			t.Errorf("Quote(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// What is written can be printed, all of it, and what could be printed before is as it was.
func FuzzLine(f *testing.F) {
	f.Add("p99 ≤ 3 ms", 5)
	f.Add("\x1b[2J\r\nVALID\u202e\xff", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		printable := func(s string) bool {
			return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
		}
		if got := PrintableLine(text); !printable(got) || printable(text) && utf8.ValidString(text) && got != text {
			t.Errorf("Line(%q) = %q", text, got)
		}
		if got := PrintableText(text); !printable(strings.ReplaceAll(got, "\n", "")) || strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("Text(%q) = %q", text, got)
		}
		most = min(max(most, 0), 1000)
		if got := Quote(text, most); !printable(got) || !utf8.ValidString(got) || len(got) > most+len("…") {
			t.Errorf("Quote(%q, %d) = %q", text, most, got)
		}
	})
}

func ExamplePrintableLine() {
	fmt.Println(PrintableLine("results of\x1b[2J\nsomebody"))
	// Output: results of\x1b[2J\x0asomebody
}
