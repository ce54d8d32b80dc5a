package sentences

import (
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// Split returns the sentences of a text, without the white space between them. It may be
// called by several goroutines. White space inside a sentence stays as it is.
func Split(s string) []string {
	text := []rune(s)
	// Cut the text after the marks that end a sentence.
	type span struct{ from, to int }
	var spans []span
	from := 0
	for _, m := range marks(text) {
		words := splitWords(text[m.wordFrom:m.contextEnd])
		english().judge(words)
		for _, w := range words[:len(words)-1] {
			if w.ends {
				spans = append(spans, span{from, m.at + 1})
				from = m.next
				break
			}
		}
	}
	end := len(text)
	for end > 0 && pytext.IsSpace(text[end-1]) {
		end--
	}
	spans = append(spans, span{from, max(from, end)})

	// Move closing quotes and brackets to the sentence that they close, if white space, a dash or the end follows.
	for i := range spans[1:] {
		next := &spans[i+1]
		rest := text[next.from:next.to]
		for n := 0; n < len(rest) && strings.ContainsRune("\"')]}", rest[n]); {
			n++
			if space := count(rest[n:], pytext.IsSpace); space > 0 || n == len(rest) || n+1 < len(rest) && rest[n] == '-' && rest[n+1] == '-' {
				spans[i].to = next.from + n
				next.from += n + space
				break
			}
		}
	}
	var sentences []string
	for _, s := range spans {
		if s.from < s.to {
			sentences = append(sentences, string(text[s.from:s.to]))
		}
	}
	return sentences
}

// A mark may end a sentence.
type mark struct {
	at         int
	wordFrom   int // begin of the word before
	contextEnd int // end of the next word, or of the mark that follows at once
	next       int // begin of the next word, or of the mark that follows at once
}

// marks finds the marks that may end a sentence: white space and a word follow, or at once a mark that is not part of a
// word. Of several marks after one word the last counts.
func marks(text []rune) (all []mark) {
	var last mark
	for i := range text {
		if !strings.ContainsRune(".?!", text[i]) || i+1 == len(text) {
			continue
		}
		m := mark{at: i, wordFrom: last.wordFrom, contextEnd: i + 2, next: i + 1}
		if !isNonWord(text[i+1]) {
			m.next += count(text[m.next:], pytext.IsSpace)
			if m.next == i+1 || m.next == len(text) {
				continue
			}
			m.contextEnd = m.next + count(text[m.next:], isNotSpace)
		}
		for j := i - 1; j > last.at; j-- {
			if strings.ContainsRune(" \t\n\r\v\f", text[j]) {
				m.wordFrom = j + 1
				break
			}
		}
		if len(all) > 0 && last.at > m.wordFrom {
			all = all[:len(all)-1]
		}
		all = append(all, m)
		last = m
	}
	return all
}

// splitWords cuts text into words and marks.
func splitWords(text []rune) (words []word) {
	for text = text[count(text, pytext.IsSpace):]; len(text) > 0; text = text[count(text, pytext.IsSpace):] {
		n := marksAt(text)
		switch {
		case n > 0:
		case strings.ContainsRune("(\"`{[:;&#*@)}]-,", text[0]):
			n = 1
		default:
			for n = 1; n < len(text) && !pytext.IsSpace(text[n]); n++ {
				next := text[n:]
				if next[0] == ',' {
					next = next[1:]
					if len(next) == 0 || pytext.IsSpace(next[0]) {
						break
					}
				}
				if isNonWord(next[0]) || marksAt(next) > 0 {
					break
				}
			}
		}
		words = append(words, newWord(string(text[:n])))
		text = text[n:]
	}
	return words
}

// isNonWord reports whether a character is never inside a word.
func isNonWord(r rune) bool { return strings.ContainsRune(")\";}]*:@'({[?!", r) }

func isNotSpace(r rune) bool { return !pytext.IsSpace(r) }

// marksAt returns the length of several marks as one word at the start of a text, or 0: two dashes or dots or more, or three
// dots or more with white space between.
func marksAt(text []rune) int {
	for _, mark := range "-." {
		if n := count(text, func(r rune) bool { return r == mark }); n >= 2 {
			return n
		}
	}
	dots := 0
	for at := 0; at < len(text) && text[at] == '.'; at += 2 {
		dots++
		if next := at + 1; next == len(text) || text[next] == '\n' || !pytext.IsSpace(text[next]) {
			break
		}
	}
	if dots < 3 {
		return 0
	}
	return 2*dots - 1
}

// count returns the number of characters at the start of a text that are of a kind.
func count(text []rune, kind func(rune) bool) int {
	n := 0
	for n < len(text) && kind(text[n]) {
		n++
	}
	return n
}
