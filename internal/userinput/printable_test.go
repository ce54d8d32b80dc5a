package userinput

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
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
		{"\u009b2J\u007f\u00a0x", "\\x9b2J\\x7f\u00a0x", "\\x9b2J\\x7f\u00a0x"},
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

// Others may share parts of a document.
func TestLinesShareNothing(t *testing.T) {
	type document struct {
		List []string
		Map  map[string]any
		Same *document
		Conf Text
	}
	shared := document{List: []string{"a\n"}, Map: map[string]any{"k": []any{"b\n"}}, Same: &document{Conf: "x\ny\x1b"}}
	d := shared
	Lines(&d)
	if d.List[0] != `a\x0a` || d.Map["k"].([]any)[0] != `b\x0a` || d.Same.Conf != "x\ny\\x1b" {
		t.Errorf("texts stay: %+v, %+v", d, d.Same)
	}
	if shared.List[0] != "a\n" || shared.Map["k"].([]any)[0] != "b\n" || shared.Same.Conf != "x\ny\x1b" {
		t.Errorf("others have changed texts: %+v, %+v", shared, shared.Same)
	}
	long := Line(strings.Repeat("\n", 5000))
	if again := Line(long); again != long || len(long) > maxLine {
		t.Errorf("a long line of %d bytes has %d when it is read again", len(long), len(again))
	}
}

// What an error quotes begins no line, errors that were joined do.
func TestErrorLines(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "x\nVALID", Err: fs.ErrNotExist}
	joined := errors.Join(path, errors.New("b\x1b"))
	for _, c := range []struct {
		err  error
		want []string
	}{
		{path, []string{`open x\x0aVALID: file does not exist`}},
		{joined, []string{`open x\x0aVALID: file does not exist`, `b\x1b`}},
		{fmt.Errorf("a\n: %w; c\n", joined), []string{`a\x0a: open x\x0aVALID: file does not exist`, `b\x1b; c\x0a`}},
		{fmt.Errorf("%w: %w.", io.EOF, joined), []string{`EOF: open x\x0aVALID: file does not exist`, `b\x1b.`}},
		{errors.Join(fmt.Errorf("1: %w", joined), io.EOF), []string{`1: open x\x0aVALID: file does not exist`, `b\x1b`, "EOF"}},
		{&Error{Field: "model", Err: joined}, []string{`model: open x\x0aVALID: file does not exist`, `b\x1b`}},
		{Invalid("mode", "x\nVALID", "slow"), []string{`mode is "x\nVALID": must be slow`}},
		{fmt.Errorf("%w", errors.New("")), []string{""}},
		{errors.Join(io.EOF, joined, io.EOF, joined), []string{"EOF", `open x\x0aVALID: file does not exist`, `b\x1b`}},
	} {
		if got := ErrorLines(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestPrintableJSON(t *testing.T) {
	const text = "速い\u2028\u202e\x7f\U000e0001\u0085"
	document, err := json.Marshal(map[string]string{"a": text})
	if err != nil {
		t.Fatal(err)
	}
	safe := PrintableJSON(document)
	var back map[string]string
	if err := json.Unmarshal(safe, &back); err != nil || back["a"] != text {
		t.Errorf("%s is %q, %v", safe, back["a"], err)
	}
	if want := `{"a":"速い\u2028\u202e\u007f\udb40\udc01\u0085"}`; string(safe) != want {
		t.Errorf("%s, want %s", safe, want)
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
