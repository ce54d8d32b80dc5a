package hf

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The library hands its patterns to Oniguruma, with the syntax of Ruby; the engine here is that
// of .NET. Most patterns mean the same to both. What differs is written anew here: \w and the
// borders of words, lines in ^ and $, sets within sets, and repetitions that give nothing back.
// What is left, as \h or an option (?x), is refused: it would cut a text otherwise.

// Characters of \w: letters, marks, digits, connectors, and letters in circles and squares.
// Outside of a set, Oniguruma counts all numbers below U+0100 among them, and not within one.
const (
	wordsInSet = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}` + "\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"
	wordSet    = wordsInSet + "²³¹¼½¾"
)

// dialectEscapes are escapes that the engine reads otherwise, outside of sets.
var dialectEscapes = map[string]string{
	`\w`: "[" + wordSet + "]",
	`\W`: "[^" + wordSet + "]",
	`\b`: "(?:(?<=[" + wordSet + "])(?![" + wordSet + "])|(?<![" + wordSet + "])(?=[" + wordSet + "]))",
	`\B`: "(?:(?<=[" + wordSet + "])(?=[" + wordSet + "])|(?<![" + wordSet + "])(?![" + wordSet + "]))",
}

// foreignEscapes are those that Ruby has and .NET does not, or the other way round.
const foreignEscapes = "hHRXKNOyYgGMCc"

// A translation is a pattern on its way from Oniguruma to the engine.
type translation struct {
	rest   string // not read yet
	out    strings.Builder
	atom   int                 // where in out the last thing begins that can be repeated; -1 if none can
	groups []group             // that are open
	fold   bool                // capitals do not count, (?i)
	ones   map[string][]string // letters by what they become, if that is more than one
	inner  int                 // groups of options that end where the group around them does
}

// A group begins at a place of out. Behind it all is as it was before.
type group struct {
	begin int
	fold  bool
	inner int
}

// translate writes a pattern of Oniguruma as the engine reads it.
func translate(pattern string) (string, error) {
	t := translation{rest: pattern, atom: -1}
	for t.rest != "" {
		if err := t.next(); err != nil {
			return "", err
		}
	}
	t.closeInner()
	return t.out.String(), nil
}

// closeInner ends groups of options.
func (t *translation) closeInner() {
	t.out.WriteString(strings.Repeat(")", t.inner))
	t.inner = 0
}

// next reads one thing.
func (t *translation) next() error {
	switch t.rest[0] {
	case '\\':
		return t.escape()
	case '[':
		set, err := t.set()
		t.put(set)
		return err
	case '(':
		return t.open()
	case ')':
		t.close()
	case '*', '+', '?', '{':
		t.repeat()
	case '^':
		t.put(`(?:\A|(?<=\n)(?!\z))`)
		t.rest = t.rest[1:]
	case '$':
		t.put(`(?=\n|\z)`)
		t.rest = t.rest[1:]
	case '|':
		t.out.WriteByte('|')
		t.rest, t.atom = t.rest[1:], -1
	default:
		t.literal()
	}
	return nil
}

// literal reads a character that stands for itself, or several that are as good as one.
func (t *translation) literal() {
	if t.fold {
		if together, ok := t.literals(); ok {
			t.put(together)
			return
		}
	}
	_, n := utf8.DecodeRuneInString(t.rest)
	t.put(t.letter(t.take(n)))
}

// folded are the letters that a letter stands for where capitals do not count, of which the
// engine knows all but the long s.
func (t *translation) folded(letter string) string {
	if t.fold && (letter == "s" || letter == "S" || letter == "ſ") {
		return "sSſ"
	}
	return letter
}

// take reads n bytes.
func (t *translation) take(n int) string {
	taken := t.rest[:n]
	t.rest = t.rest[n:]
	return taken
}

// put writes something that can be repeated.
func (t *translation) put(text string) {
	t.atom = t.out.Len()
	t.out.WriteString(text)
}

// escape reads a backslash and what belongs to it.
func (t *translation) escape() error {
	letter, err := t.escaped()
	if err != nil {
		return err
	}
	t.put(cmp.Or(dialectEscapes[letter], letter))
	return nil
}

// escaped reads a backslash with its letter, and the braces behind \p or \x.
func (t *translation) escaped() (string, error) {
	if len(t.rest) < 2 {
		return "", fmt.Errorf("%q ends with a backslash", t.rest)
	}
	letter := t.rest[1]
	if strings.IndexByte(foreignEscapes, letter) >= 0 {
		return "", fmt.Errorf(`\%c is not known here`, letter)
	}
	if letter >= utf8.RuneSelf { // it is itself
		t.take(1)
		_, size := utf8.DecodeRuneInString(t.rest)
		return t.take(size), nil
	}
	if strings.IndexByte("pPx", letter) < 0 || !strings.HasPrefix(t.rest[2:], "{") {
		return t.take(2), nil
	}
	end := strings.IndexByte(t.rest, '}')
	if end < 0 {
		return "", fmt.Errorf("%q has no closing brace", t.rest)
	}
	return strings.Replace(t.take(end+1), `\p{^`, `\P{`, 1), nil
}

// open reads the beginning of a group. Only the options i and m are known, of which m is s to
// the engine: the point is an end of a line too.
func (t *translation) open() error {
	t.groups = append(t.groups, group{t.out.Len(), t.fold, t.inner})
	t.inner = 0
	t.atom = -1
	if !strings.HasPrefix(t.rest, "(?") || len(t.rest) < 3 || strings.IndexByte(":=!>#<'", t.rest[2]) >= 0 {
		t.out.WriteString(t.take(1))
		if strings.HasPrefix(t.rest, "?") {
			t.out.WriteString(t.take(min(2, len(t.rest))))
		}
		return nil
	}
	end := strings.IndexAny(t.rest, ":)")
	if end < 0 || strings.Trim(t.rest[2:end], "im-") != "" {
		return fmt.Errorf("%q: want no option but i and m", t.rest[:max(3, end)])
	}
	options := t.take(end)
	on, off, _ := strings.Cut(options, "-")
	t.fold = (t.fold || strings.Contains(on, "i")) && !strings.Contains(off, "i")
	t.out.WriteString(strings.ReplaceAll(options, "m", "s"))
	t.out.WriteByte(':')
	if t.take(1) == ")" { // for all that follows in the group around it, though there be other ways
		n := len(t.groups) - 1
		t.inner = t.groups[n].inner + 1
		t.groups = t.groups[:n]
	}
	return nil
}

// close reads the end of a group, which can be repeated.
func (t *translation) close() {
	t.closeInner()
	t.out.WriteString(t.take(1))
	if n := len(t.groups); n > 0 {
		last := t.groups[n-1]
		t.atom, t.fold, t.inner, t.groups = last.begin, last.fold, last.inner, t.groups[:n-1]
	}
}

// repeat reads a repetition. With a plus behind it, *, + and ? give nothing back; braces are
// repeated themselves, and so they are with a question mark behind one number.
func (t *translation) repeat() {
	count, braces := t.count()
	if count == "" || t.atom < 0 {
		t.put(t.take(max(1, len(count))))
		return
	}
	what := t.out.String()[t.atom:] + count
	t.rest = t.rest[len(count):]
	if braces && strings.HasPrefix(count, "{,") {
		what = strings.Replace(what, "{,", "{0,", 1)
	}
	switch {
	case braces && (strings.HasPrefix(t.rest, "+") || strings.HasPrefix(t.rest, "?") && !strings.Contains(count, ",")):
		what = "(?:" + what + ")" + t.take(1)
	case strings.HasPrefix(t.rest, "+"):
		t.take(1)
		what = "(?>" + what + ")"
	case strings.HasPrefix(t.rest, "?"):
		what += t.take(1)
	}
	before := t.out.String()[:t.atom]
	t.out.Reset()
	t.out.WriteString(before + what)
}

// count is the repetition that comes next, and whether it has braces; "" if the brace is
// itself meant.
func (t *translation) count() (count string, braces bool) {
	if t.rest[0] != '{' {
		return t.rest[:1], false
	}
	end := strings.IndexByte(t.rest, '}')
	if end < 2 || strings.Trim(t.rest[1:end], "0123456789,") != "" || t.rest[1:end] == "," {
		return "", false
	}
	return t.rest[:end+1], true
}
