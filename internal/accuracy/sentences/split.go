package sentences

import (
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// Split returns the sentences of a text, without the white space between them. It may be
// called by several goroutines. White space inside a sentence stays as it is.
func Split(text string) []string {
	l, runes := english(), []rune(text)
	var sentences []string
	for _, s := range realign(runes, l.slices(runes)) {
		if s.from < s.to {
			sentences = append(sentences, string(runes[s.from:s.to]))
		}
	}
	return sentences
}

// A span is a part of a text.
type span struct{ from, to int }

// A mark is one that may end a sentence.
type mark struct {
	at       int
	wordFrom int // the word before
	after    int // the end of what is looked at after the mark
	next     int // where the next word begins, 0 if another mark follows at once
}

// slices cuts a text after every mark that ends a sentence.
func (l *language) slices(text []rune) []span {
	var spans []span
	from := 0
	for _, m := range marks(text) {
		if !l.breaks(text[m.wordFrom:m.after]) {
			continue
		}
		spans = append(spans, span{from, m.at + 1})
		from = m.at + 1
		if m.next > 0 {
			from = m.next
		}
	}
	end := len(text)
	for end > 0 && pytext.IsSpace(text[end-1]) {
		end--
	}
	return append(spans, span{from, max(from, end)})
}

// breaks reports whether a sentence ends before the last word.
func (l *language) breaks(text []rune) bool {
	words := splitWords(text)
	l.annotate(words)
	for i := range len(words) - 1 {
		if words[i].ends {
			return true
		}
	}
	return false
}

// marks finds the marks that may end a sentence. Of several after one word the last counts.
func marks(text []rune) []mark {
	var found []mark
	var last mark
	have := false
	for i := range text {
		m, ok := markAt(text, i)
		if !ok {
			continue
		}
		m.wordFrom = wordBefore(text, last, i)
		if have && last.at <= m.wordFrom {
			found = append(found, last)
		}
		last, have = m, true
	}
	if have {
		found = append(found, last)
	}
	return found
}

// wordBefore returns where the word before a mark begins: after the last blank since the
// mark before, or where the word before that one began.
func wordBefore(text []rune, last mark, at int) int {
	for i := at - 1; i > last.at; i-- {
		if strings.ContainsRune(" \t\n\r\v\f", text[i]) {
			return i + 1
		}
	}
	return last.wordFrom
}

// markAt looks whether there is a mark that may end a sentence: another mark that is not
// part of a word comes after it, or white space and a word.
func markAt(text []rune, i int) (mark, bool) {
	if !strings.ContainsRune(".?!", text[i]) || i+1 == len(text) {
		return mark{}, false
	}
	if isNonWord(text[i+1]) {
		return mark{at: i, after: i + 2}, true
	}
	next := i + 1 + leadingSpace(text[i+1:])
	if next == i+1 || next == len(text) {
		return mark{}, false
	}
	return mark{at: i, next: next, after: next + lineLength(text[next:])}, true
}

// realign gives closing quotes and brackets to the sentence that they close.
func realign(text []rune, spans []span) []span {
	shift := 0
	var out []span
	for i, s := range spans {
		s.from += shift
		if i+1 == len(spans) {
			return append(out, s)
		}
		next := spans[i+1]
		closing, end := closers(text[next.from:next.to])
		shift = end
		if closing > 0 {
			s.to = next.from + closing
		}
		out = append(out, s)
	}
	return out
}

// closers returns how many closing marks a text begins with, if white space, a dash or its
// end come next, and how far that white space reaches.
func closers(text []rune) (n, end int) {
	for n < len(text) && strings.ContainsRune("\"')]}", text[n]) {
		n++
		rest := text[n:]
		space := leadingSpace(rest)
		if space > 0 || len(rest) == 0 || leading(rest, '-') >= 2 {
			return n, n + space
		}
	}
	return 0, 0
}

// leadingSpace is how much white space a text begins with.
func leadingSpace(text []rune) int {
	n := 0
	for n < len(text) && pytext.IsSpace(text[n]) {
		n++
	}
	return n
}
