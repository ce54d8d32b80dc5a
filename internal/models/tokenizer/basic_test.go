package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// slowBasic is BERT's BasicTokenizer in the order of its steps, each over the whole text, without a way of its own for ASCII.
func slowBasic(text string) (words []string) {
	var cleaned strings.Builder
	for _, r := range text {
		switch {
		case r == 0 || r == utf8.RuneError:
		case r == '\t' || r == '\n' || r == '\r' || unicode.Is(unicode.Zs, r):
			cleaned.WriteRune(' ')
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs) || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z):
		case isIdeograph(r):
			cleaned.WriteString(" " + string(r) + " ")
		default:
			cleaned.WriteRune(r)
		}
	}
	for _, word := range strings.FieldsFunc(cleaned.String(), pytext.IsSpace) {
		if slices.Contains([]string{"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}, word) {
			words = append(words, word)
			continue
		}
		begin := true
		for _, r := range norm.NFD.String(pytext.Lower(word)) {
			mark := unicode.Is(unicode.P, r) || r < 128 && r > ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
			switch {
			case unicode.Is(unicode.Mn, r):
				continue
			case begin || mark:
				words = append(words, string(r))
			default:
				words[len(words)-1] += string(r)
			}
			begin = mark
		}
	}
	return words
}

func TestWordsAreThoseOfAPlainReckoning(t *testing.T) {
	random := rand.New(rand.NewPCG(41, 1))
	parts := []string{
		"a", "B", "z9", " ", "  ", "\t", "\n", "\r\n", ".", ",", "-", "_", "'", "$", "[", "]", "[SEP]", "[CLS]", "[mask]", "é", "É", "e\u0301", "ß", "Σ", "ΟΣ", "İ", "日", "本", "カ", "한", "½", "²",
		"€", "¿", "—", "\u00a0", "\u3000", "\u2028", "\x00", "\x01", "\x7f", "\f", "\u200b", "\ufeff", "\ufffd", "\ue000", "🙂", "\U00020000", "ﬁ", "Ａ", "\xff", "ı", "ǅ",
	}
	for range 5000 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text := b.String()
		if got, want := Basic(text), slowBasic(text); !slices.Equal(got, want) {
			t.Fatalf("Basic(%q) = %q, want %q", text, got, want)
		}
	}
}

// slowPieces takes the longest piece that a word begins with, looking at all of them.
func slowPieces(word string, vocabulary []string) (pieces []string) {
	mark := ""
	for rest := word; rest != ""; mark = continued {
		best := ""
		for _, piece := range vocabulary {
			plain, ok := strings.CutPrefix(piece, mark)
			if ok && (mark != "" || !strings.HasPrefix(piece, continued)) && strings.HasPrefix(rest, plain) && len(plain) > len(best) {
				best = plain
			}
		}
		if best == "" {
			return []string{"[UNK]"}
		}
		pieces, rest = append(pieces, mark+best), rest[len(best):]
	}
	return pieces
}

func TestPiecesAreThoseOfAPlainReckoning(t *testing.T) {
	random := rand.New(rand.NewPCG(43, 1))
	word := func(longest int) string {
		var b strings.Builder
		for range 1 + random.IntN(longest) {
			b.WriteString([]string{"a", "b", "c", "ж"}[random.IntN(4)])
		}
		return b.String()
	}
	for range 300 {
		vocabulary := []string{"##a"}
		for range random.IntN(20) {
			piece := word(4)
			if random.IntN(2) == 0 {
				piece = continued + piece
			}
			if !slices.Contains(vocabulary, piece) {
				vocabulary = append(vocabulary, piece)
			}
		}
		text := word(10)
		if got, want := pieces(t, strings.Join(vocabulary, "\n"), text), slowPieces(text, vocabulary); !slices.Equal(got, want) {
			t.Fatalf("with %q, %q is %q, want %q", vocabulary, text, got, want)
		}
	}
}

func ExampleBasic() {
	fmt.Printf("%q\n", Basic("The Café's [SEP] 日本!"))
	// Output: ["the" "cafe" "'" "s" "[SEP]" "日" "本" "!"]
}

func ExampleJoinBPE() {
	fmt.Println(JoinBPE([]string{"un@@", "aff@@", "able", "king"}))
	// Output: unaffable king
}

func ExampleWordPiece_Append() {
	v, err := ReadVocabulary(strings.NewReader("[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n!\n"), "vocab.txt")
	if err != nil {
		panic(err)
	}
	w, err := NewWordPiece(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(w.Append(nil, "Unaffable!"), w.Append(nil, "king"))
	// Output: [4 5 6 7] [1]
}
