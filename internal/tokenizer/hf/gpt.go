package hf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A gptMatcher splits text into words as GPT-2 and its descendants do, without a regular expression. All of a text matches.
type gptMatcher struct {
	// modern is the pattern of tiktoken's cl100k, which Llama 3 uses: contractions in any case, any mark before a word, and line
	// ends apart.
	modern bool
	digits int // maximum in a number; 0: any
}

// The patterns with a gptMatcher.
const (
	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Pattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

var (
	gpt2Matcher   = gptMatcher{}
	knownPatterns = map[string]matcher{
		gpt2Pattern:   gpt2Matcher,
		llama3Pattern: gptMatcher{modern: true, digits: 3},
		qwen2Pattern:  gptMatcher{modern: true, digits: 1},
	}
)

func (m gptMatcher) divide(text string, emit func(string, bool)) error {
	for text != "" {
		n := m.word(text)
		emit(text[:n], true)
		text = text[n:]
	}
	return nil
}

// word is the length of the word with which a text begins.
func (m gptMatcher) word(text string) int {
	if n := m.shortForm(text); n > 0 {
		return n
	}
	first, n := classify(text)
	if first == blank {
		return m.afterBlank(text, n)
	}
	switch first {
	case letter:
		return run(text, 0, letter)
	case digit:
		return m.number(text)
	}
	if next, _ := classify(text[n:]); m.modern && next == letter {
		return run(text, n, letter)
	}
	return m.marks(text, 0)
}

// number is the length of the number with which a text begins.
func (m gptMatcher) number(text string) int {
	end := 0
	for i := 0; m.digits == 0 || i < m.digits; i++ {
		c, n := classify(text[end:])
		if c != digit {
			break
		}
		end += n
	}
	return end
}

// marks is where a run of marks ends that begins at from.
func (m gptMatcher) marks(text string, from int) int {
	end := run(text, from, mark)
	for m.modern && end < len(text) && endsLine(text[end]) {
		end++
	}
	return end
}

// afterBlank is the length of the word of a text that begins with white space of n bytes.
func (m gptMatcher) afterBlank(text string, n int) int {
	next, _ := classify(text[n:])
	space := text[0] == ' '
	switch {
	case next == letter && (space || m.modern && !endsLine(text[0])):
		return run(text, n, letter)
	case next == digit && space && !m.modern:
		return n + m.number(text[n:])
	case next == mark && space:
		return m.marks(text, n)
	}
	return m.blanks(text)
}

func endsLine(c byte) bool { return c == '\r' || c == '\n' }

// blanks is the length of the white space that makes a word: up to the last end of a line, or
// else without the last blank before a word, unless there is only one.
func (m gptMatcher) blanks(text string) int {
	end, last, line := 0, 0, 0
	for end < len(text) {
		c, n := classify(text[end:])
		if c != blank {
			break
		}
		if endsLine(text[end]) {
			line = end + n
		}
		last, end = end, end+n
	}
	switch {
	case m.modern && line > 0:
		return line
	case end < len(text) && last > 0:
		return last
	}
	return end
}

// shortForm is the length of a contraction, for example 's, with its apostrophe.
func (m gptMatcher) shortForm(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	if m.modern && strings.HasPrefix(text[1:], "ſ") { // its capital is that of s
		return len("'ſ")
	}
	for _, form := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		got := text[1:min(len(text), 1+len(form))]
		if m.isForm(got, form) {
			return 1 + len(form)
		}
	}
	return 0
}

// isForm compares letters with those of a contraction.
func (m gptMatcher) isForm(got, form string) bool {
	return got == form || m.modern && strings.EqualFold(got, form)
}

// A class is a class of characters in the patterns.
type class uint8

const (
	none class = iota // the end of the text
	letter
	digit
	mark
	blank
)

// classify returns the class of the first character, and its length.
func classify(text string) (class, int) {
	if text == "" {
		return none, 0
	}
	if c := text[0]; c < utf8.RuneSelf {
		return asciiClasses[c], 1
	}
	r, n := utf8.DecodeRuneInString(text)
	return classOf(r), n
}

func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return digit
	case unicode.IsSpace(r):
		return blank
	}
	return mark
}

var asciiClasses = func() (table [utf8.RuneSelf]class) {
	for r := range table {
		table[r] = classOf(rune(r))
	}
	return table
}()

// run is where a run of a class ends that begins at from.
func run(text string, from int, of class) int {
	for from < len(text) {
		c, n := classify(text[from:])
		if c != of {
			break
		}
		from += n
	}
	return from
}
