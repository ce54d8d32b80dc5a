package tokenizer

import (
	"strings"
	"testing"
)

func TestAVocabularyThatIsNoneNamesFileAndLine(t *testing.T) {
	const special = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n"
	tests := []struct{ name, text, want string }{
		{"empty", "", "v.txt: the vocabulary is empty, want a piece of text per line"},
		{"an empty line", special + "a\n\nb\n", "v.txt: line 6: the line is empty, want a piece of text"},
		{"a piece twice", special + "a\nb\na\n", `v.txt: line 7: piece "a" is in line 5 already`},
		{"not UTF-8", special + "a\xff\n", "v.txt: line 5: the line is not UTF-8"},
		{"a line without end", special + strings.Repeat("x", maxLine+1), "v.txt: line 5: bufio.Scanner: token too long"},
		{"cut before the special pieces", "[PAD]\n[UNK]\na\n", "v.txt: none of the 3 lines is [CLS], want a vocabulary with [PAD], [UNK], [CLS], [SEP]"},
		{"of whole words", special + "the\nof\n", "v.txt: none of the 6 lines begins with ##: this is no vocabulary of WordPiece"},
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
