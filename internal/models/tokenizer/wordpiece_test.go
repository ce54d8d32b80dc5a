package tokenizer

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// pieces returns the pieces of a text with a small vocabulary.
func pieces(t *testing.T, vocabulary, text string) []string {
	t.Helper()
	v, err := ReadVocabulary(strings.NewReader("[PAD]\n[UNK]\n[CLS]\n[SEP]\n"+vocabulary), "v")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWordPiece(v)
	if err != nil {
		t.Fatal(err)
	}
	if w.Vocabulary() != v || w.Pad != 0 || w.Unknown != 1 || w.Begin != 2 || w.Separator != 3 {
		t.Errorf("special pieces are %d, %d, %d, %d", w.Pad, w.Unknown, w.Begin, w.Separator)
	}
	var out []string
	for _, id := range w.Append(nil, text) {
		out = append(out, v.Piece(id))
	}
	return out
}

func TestWordsAreTheirLongestPieces(t *testing.T) {
	const vocabulary = "a\nab\nabc\n##c\n##cd\n##d\né\n##é\nx\n##x\n,\n"
	for _, c := range []struct {
		claim, text string
		want        []string
	}{
		{"the longest first", "abcd", []string{"abc", "##d"}},
		{"then the longest that goes on", "acd", []string{"a", "##cd"}},
		{"a word of which a part is unknown", "abz ab", []string{"[UNK]", "ab"}},
		{"a piece that goes on begins no word", "c", []string{"[UNK]"}},
		{"marks are words", "a,ab", []string{"a", ",", "ab"}},
		{"the longest word", strings.Repeat("x", 100), append([]string{"x"}, slices.Repeat([]string{"##x"}, 99)...)},
		{"a word that is too long", strings.Repeat("x", 101), []string{"[UNK]"}},
		{"characters count, not bytes", strings.Repeat("日", 100), slices.Repeat([]string{"[UNK]"}, 100)},
		{"accents are dropped", "ÁBĆ", []string{"abc"}},
		{"special pieces stay", "a [SEP] [MASK]", []string{"a", "[SEP]", "[UNK]"}},
		{"but not inside of words", "a[SEP]", []string{"a", "[UNK]", "[UNK]", "[UNK]"}},
		{"nothing", " \t\n", nil},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if got := pieces(t, vocabulary, c.text); !slices.Equal(got, c.want) {
				t.Errorf("pieces of %q are %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// What the tokenizer of BERT (tokenization.py, BasicTokenizer with do_lower_case) makes of these.
func TestTextIsCleanedAsBERTDoes(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		want        []string
	}{
		{"control characters are dropped", "a\x00b\x01c\x7fd\ufffde\u200bf", []string{"abcdef"}},
		{"so are form feeds", "a\fb\vc", []string{"abc"}},
		{"blanks of all kinds separate", "a\u00a0b\u3000c\td\r\ne", []string{"a", "b", "c", "d", "e"}},
		{"ideographs are words", "x日本y", []string{"x", "日", "本", "y"}},
		{"kana are not", "カナ", []string{"カナ"}},
		{"marks of ASCII and others are words", "a$b€c¿d", []string{"a", "$", "b€c", "¿", "d"}},
		{"capitals and accents go", "ÀÉÎ Ø", []string{"aei", "ø"}},
		{"capitals of ASCII go", "AbC-D", []string{"abc", "-", "d"}},
		{"special pieces stay as they are", "[CLS] [cls]", []string{"[CLS]", "[", "cls", "]"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if got := Basic(c.text); !slices.Equal(got, c.want) {
				t.Errorf("Basic(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestPiecesAreJoinedAgain(t *testing.T) {
	for _, c := range []struct {
		claim string
		join  func([]string) string
		in    []string
		want  string
	}{
		{"words have a blank between", JoinBPE, []string{"a", "b"}, "a b"},
		{"pieces are glued", JoinBPE, []string{"a@@", "b@@", "c", "d"}, "abc d"},
		{"a piece that waits at the end is dropped", JoinBPE, []string{"a", "b@@"}, "a"},
		{"nothing", JoinBPE, nil, ""},
		{"empty words have a blank between", JoinBPE, []string{"", "@@", "", "a"}, "  a"},
		{"only pieces that wait are nothing", JoinBPE, []string{"a@@", "b@@"}, ""},
		{"WordPiece glues what goes on", JoinWordPieces, []string{"a", "##b", "c"}, "ab c"},
		{"also at the beginning", JoinWordPieces, []string{"##b", "c"}, "b c"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if got := c.join(c.in); got != c.want {
				t.Errorf("%q become %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestALongWordIsJoinedWithFewAllocations(t *testing.T) {
	pieces := slices.Repeat([]string{"ab@@"}, 10_000)
	if n := testing.AllocsPerRun(1, func() { JoinBPE(pieces) }); n > 100 {
		t.Errorf("JoinBPE of %d pieces of one word allocates %v times, want at most 100", len(pieces), n)
	}
}

func TestAWordPieceIsForSeveralGoroutines(t *testing.T) {
	w := goldenWordPiece(t)
	want := w.Append(nil, "Who built the castle, and when?")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 50 {
				if got := w.Append(nil, "Who built the castle, and when?"); !slices.Equal(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
			}
		})
	}
	wait.Wait()
}
