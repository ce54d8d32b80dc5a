package sentences

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

//go:embed english.txt.gz
var englishText []byte

// A language has the parameters that Punkt learnt of one.
type language struct {
	abbreviations, starters map[string]bool
	collocations            map[[2]string]bool
	contexts                map[string]uint8 // in which words occur, as bits
}

// Bits of the contexts of a word: with a capital or a small letter, at the beginning of a sentence, inside one, or unknown
// where (nltk/tokenize/punkt.py, _ORTHO_…).
const (
	upperInside = 1 << 2
	upper       = 1<<1 | upperInside | 1<<3
	lowerFirst  = 1 << 4
	lower       = lowerFirst | 1<<5 | 1<<6
)

var english = sync.OnceValue(func() *language {
	z, err := gzip.NewReader(bytes.NewReader(englishText))
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	l := &language{map[string]bool{}, map[string]bool{}, map[[2]string]bool{}, map[string]uint8{}}
	for line := range strings.Lines(string(text)) {
		switch f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); f[0] {
		case "a":
			l.abbreviations[f[1]] = true
		case "s":
			l.starters[f[1]] = true
		case "c":
			l.collocations[[2]string{f[1], f[2]}] = true
		case "o":
			bits, err := strconv.ParseUint(f[2], 10, 8)
			if err != nil {
				panic(err)
			}
			l.contexts[f[1]] = uint8(bits)
		}
	}
	return l
})

// A word is a token of Punkt.
type word struct {
	text string
	kind string // the text in lower case, one for all numbers
	ends bool   // a sentence
}

// number is the kind of all numbers.
const number = "##number##"

func newWord(text string) word {
	w := word{text: text, kind: pytext.Lower(text)}
	digits := strings.TrimPrefix(w.kind, ".") // with points, commas and hyphens among them
	first, _ := utf8.DecodeRuneInString(digits)
	if unicode.Is(unicode.Nd, first) &&
		strings.IndexFunc(digits, func(r rune) bool { return !unicode.Is(unicode.Nd, r) && !strings.ContainsRune(",.-", r) }) < 0 {
		w.kind = number
	}
	return w
}

// withoutPeriod returns the kind without a final period.
func (w *word) withoutPeriod() string { return strings.TrimSuffix(w.kind, ".") }

// inside returns the kind of the word inside a sentence.
func (w *word) inside() string {
	if w.ends {
		return w.withoutPeriod()
	}
	return w.kind
}

// isInitial reports whether the word is a letter with a period.
func (w *word) isInitial() bool {
	r, n := utf8.DecodeRuneInString(w.text)
	return w.text[n:] == "." && pytext.IsWord(r) && !unicode.Is(unicode.Nd, r)
}

// judge decides which words end a sentence.
func (l *language) judge(words []word) {
	undecided := make([]bool, len(words)) // abbreviations and ellipses: they end a sentence if the next word starts one
	for i := range words {
		w := &words[i]
		switch {
		case len(w.text) == 1 && strings.Contains(".?!", w.text):
			w.ends = true
		case strings.Trim(w.text, ".") == "":
			undecided[i] = true
		case strings.HasSuffix(w.text, "."):
			name := pytext.Lower(strings.TrimSuffix(w.text, "."))
			undecided[i] = l.abbreviations[name] || l.abbreviations[name[strings.LastIndexByte(name, '-')+1:]]
			w.ends = !undecided[i]
		}
	}
	for i := range len(words) - 1 {
		w, next := &words[i], &words[i+1]
		if !strings.HasSuffix(w.text, ".") {
			continue
		}
		first, _ := utf8.DecodeRuneInString(next.text)
		isUpper, contexts, initial := pytext.IsUpper(first), l.contexts[next.inside()], w.isInitial()
		starts := isUpper && contexts&lower != 0 && contexts&upperInside == 0
		continues := len(next.text) == 1 && strings.Contains(";:,.!?", next.text) ||
			pytext.IsLower(first) && (contexts&upper != 0 || contexts&lowerFirst == 0)
		switch {
		case l.collocations[[2]string{w.withoutPeriod(), next.inside()}]:
			w.ends = false
		case undecided[i] && !initial && (starts || isUpper && l.starters[next.inside()]):
			w.ends = true
		case continues && (initial || w.withoutPeriod() == number), // a name or a number goes on
			!continues && !starts && initial && isUpper && contexts&lower == 0: // next is a name
			w.ends = false
		}
	}
}
