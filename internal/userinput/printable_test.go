package userinput

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, line, lines string }{
		{"p99 ≤ 3 ms: 速い ✓ \U0001f600", "p99 ≤ 3 ms: 速い ✓ \U0001f600", "p99 ≤ 3 ms: 速い ✓ \U0001f600"},
		{"a\nb", `a\x0ab`, "a\nb"},
		{"\x1b[31mred\x00", `\x1b[31mred\x00`, `\x1b[31mred\x00`},
		{"INVALID\r\bVALID", `INVALID\x0d\x08VALID`, `INVALID\x0d\x08VALID`}, // which overwrites
		{"\u009b2J\u007f\u00a0", `\x9b2J\x7f\xa0`, `\x9b2J\x7f\xa0`},
		{"a\u202eb\u2028\ue000", `a\u202eb\u2028\ue000`, `a\u202eb\u2028\ue000`}, // turns the line, ends it, has no shape
		{"a\U000e0001b", `a\U000e0001b`, `a\U000e0001b`},                         // an invisible tag
		{"a\xffb", "a\ufffdb", "a\ufffdb"},
	} {
		if got := PrintableLine(c.text); got != c.line {
			t.Errorf("PrintableLine(%q) = %q, want %q", c.text, got, c.line)
		}
		if got := PrintableText(c.text); got != c.lines {
			t.Errorf("PrintableText(%q) = %q, want %q", c.text, got, c.lines)
		}
	}
}

// A document of others has texts anywhere.
func TestLines(t *testing.T) {
	type inner struct {
		Text   string
		hidden string
		List   []string
	}
	const evil, want = "a\nVALID\x1b[2J\u202e", `a\x0aVALID\x1b[2J\u202e`
	d := struct {
		Text    string
		Pointer *inner
		None    *inner
		Map     map[string]string
		Deep    map[string][]inner
		Any     any
		List    []any
		Numbers []float64
		Array   [1]string
	}{evil, &inner{evil, evil, []string{evil}}, nil, map[string]string{evil: evil}, map[string][]inner{"k": {{Text: evil}}},
		map[string]any{"x": []any{evil, 1}}, []any{evil, nil, 2.5}, []float64{1}, [1]string{evil}}
	Lines(&d)
	for what, got := range map[string]any{
		"text": d.Text, "pointer": d.Pointer.Text, "list": d.Pointer.List[0], "map": d.Map[want], "deep": d.Deep["k"][0].Text,
		"any": d.Any.(map[string]any)["x"].([]any)[0], "interfaces": d.List[0], "array": d.Array[0],
	} {
		if got != want {
			t.Errorf("%s = %q, want %q", what, got, want)
		}
	}
	if len(d.Map) != 1 || d.Numbers[0] != 1 || d.List[2] != 2.5 || d.Pointer.hidden != evil {
		t.Errorf("other values changed: %+v", d)
	}
	if got := Line(strings.Repeat("x", 1<<20)); len(got) > 5000 {
		t.Errorf("a long line has %d bytes", len(got))
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"exactly 10", 10, "exactly 10"}, {"more than 10", 10, "more than …"}, {" \t words \r\n between  blanks ", 40, "words between blanks"},
		{"\x1b[31mred\x07", 40, "?[31mred?"}, {"a\xffb", 40, "a?b"}, {"größer", 3, "gr…"}, {"速い", 2, "…"},
	} {
		if got := Quote(c.text, c.most); got != c.want {
			t.Errorf("Quote(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[2J\r\nVALID\u202e\xff ≤", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		printable := func(s string) bool {
			return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
		}
		if got := PrintableLine(text); !printable(got) || printable(text) && utf8.ValidString(text) && got != text {
			t.Errorf("PrintableLine(%q) = %q", text, got)
		}
		if got := PrintableText(text); !printable(strings.ReplaceAll(got, "\n", "")) || strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("PrintableText(%q) = %q", text, got)
		}
		most = min(max(most, 0), 1000)
		if got := Quote(text, most); !printable(got) || !utf8.ValidString(got) || len(got) > most+len("…") {
			t.Errorf("Quote(%q, %d) = %q", text, most, got)
		}
	})
}
