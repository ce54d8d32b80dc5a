package tokenizer

import (
	"fmt"
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

func TestWordPieces(t *testing.T) {
	const vocabulary = "a\nab\nabc\n##c\n##cd\n##d\né\n##é\nx\n##x\n,\n"
	for _, c := range []struct {
		claim, text string
		want        []string
	}{
		{"the longest first", "abcd", []string{"abc", "##d"}},
		{"then the longest that goes on", "acd", []string{"a", "##cd"}},
		{"a word with an unknown part", "abz ab", []string{"[UNK]", "ab"}},
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
func TestBasic(t *testing.T) {
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

func TestJoin(t *testing.T) {
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

func TestJoinBPEAllocations(t *testing.T) {
	pieces := slices.Repeat([]string{"ab@@"}, 10_000)
	if n := testing.AllocsPerRun(1, func() { JoinBPE(pieces) }); n > 100 {
		t.Errorf("JoinBPE of %d pieces of one word allocates %v times, want at most 100", len(pieces), n)
	}
}

func TestWordPieceFromSeveralGoroutines(t *testing.T) {
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

func TestVocabularyErrors(t *testing.T) {
	const special = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n"
	tests := []struct{ name, text, want string }{
		{"empty", "", "v.txt: the vocabulary is empty, expected a piece of text per line"},
		{"an empty line", special + "a\n\nb\n", "v.txt: line 6: the line is empty, expected a piece of text"},
		{"a piece twice", special + "a\nb\na\n", `v.txt: line 7: piece "a" is in line 5 already`},
		{"not UTF-8", special + "a\xff\n", "v.txt: line 5: the line is not UTF-8"},
		{"a line without end", special + strings.Repeat("x", maxLine+1), "v.txt: line 5: bufio.Scanner: token too long"},
		{"cut before the special pieces", "[PAD]\n[UNK]\na\n", "v.txt: none of the 3 lines is [CLS]: must be a vocabulary with [PAD], [UNK], [CLS], [SEP]"},
		{"of whole words", special + "the\nof\n", "v.txt: none of the 6 lines begins with ##: not a vocabulary of WordPiece"},
		{"right", special + "a\n##b\r\n", ""},
	}
	for _, test := range tests {
		v, err := ReadVocabulary(strings.NewReader(test.text), "v.txt")
		if err == nil {
			_, err = NewWordPiece(v)
		}
		if got := message(err); got != test.want {
			t.Errorf("%s: error %q, want %q", test.name, got, test.want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzWordPiece(f *testing.F) {
	w := goldenWordPiece(f)
	for _, s := range []string{"The castle", "a[SEP]b [SEP]", "中文字符test", "\xff\x00", "ΟΔΟΣ \u2028x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words := Basic(s)
		for _, word := range words {
			if word == "" || strings.ContainsAny(word, " \t\n") {
				t.Errorf("Basic(%q) has the word %q", s, word)
			}
		}
		ids := w.Append(nil, s)
		if len(ids) < len(words) {
			t.Errorf("Append(%q) gives %d pieces of %d words", s, len(ids), len(words))
		}
		// What is left of a text is split the same way again.
		again := w.Append(nil, strings.Join(words, " "))
		if len(again) < len(words) {
			t.Errorf("%q splits into fewer pieces than words", words)
		}
	})
}

func FuzzReadVocabulary(f *testing.F) {
	f.Add("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\n")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ReadVocabulary(strings.NewReader(s), "v")
		if err != nil {
			return
		}
		for id := range v.Len() {
			if got, ok := v.ID(v.Piece(int32(id))); !ok || int(got) != id {
				t.Errorf("piece %d has number %d", id, got)
			}
		}
	})
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
