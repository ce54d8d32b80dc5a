package visible

import "testing"

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
			if got := Line(c.text); got != c.line {
				t.Errorf("Line(%q) = %q, want %q", c.text, got, c.line)
			}
			if got := Text(c.text); got != c.lines {
				t.Errorf("Text(%q) = %q, want %q", c.text, got, c.lines)
			}
		})
	}
}
