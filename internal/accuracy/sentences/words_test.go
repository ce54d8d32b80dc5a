package sentences

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What PunktLanguageVars.word_tokenize of NLTK 3.8 makes of these, line by line.
func TestTextIsCutIntoTheWordsOfNLTK(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		want        []string
	}{
		{"words end at white space", "one two\tthree\u00a0four", []string{"one", "two", "three", "four"}},
		{"a period stays with its word", "end. e.g. 3.14.", []string{"end.", "e.g.", "3.14."}},
		{"a comma stands alone before white space", "a, b,c d,", []string{"a", ",", "b,c", "d", ","}},
		{"marks stand alone", `(a) "b" [c]!`, []string{"(", "a", ")", `"`, "b", `"`, "[", "c", "]", "!"}},
		{"an apostrophe cuts", "it's", []string{"it", "'s"}},
		{"dashes are one mark", "a--b --- c", []string{"a", "--", "b", "---", "c"}},
		{"a dash inside is none", "well-known", []string{"well-known"}},
		{"a dash at first is a mark", "-x", []string{"-", "x"}},
		{"dots are one mark", "a... ..", []string{"a", "...", ".."}},
		{"dots with blanks between are one mark", "a . . . b", []string{"a", ". . .", "b"}},
		{"four of them too", ". . . .", []string{". . . ."}},
		{"two of them are not", ". . x", []string{".", ".", "x"}},
		{"and none of two lines", ". .\n. x", []string{".", ".", ".", "x"}},
		{"a mark of other languages is part of a word", "中文。a", []string{"中文。a"}},
		{"nothing has no words", " \n\t ", nil},
	} {
		t.Run(c.claim, func(t *testing.T) {
			var got []string
			for _, w := range splitWords([]rune(c.text)) {
				got = append(got, w.text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("words of %q (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func TestNumbersAreAllTheSame(t *testing.T) {
	for text, want := range map[string]bool{
		"1": true, "-1": true, "1,000.5": true, "1-2": true, ".5": true, "-.5": true, "٣": true, "1.": true,
		"": false, "-": false, ".": false, "a1": false, "1a": false, "--1": false, "..1": false, "½": false,
	} {
		if got := newWord(text).kind == number; got != want {
			t.Errorf("%q is a number: %t, want %t", text, got, want)
		}
	}
}

func TestInitialsAreOneLetterAndAPeriod(t *testing.T) {
	for text, want := range map[string]bool{"J.": true, "é.": true, "_.": true, "²": false, "J": false, "JK.": false, "1.": false, "..": false, ".": false} {
		if w := newWord(text); w.isInitial() != want {
			t.Errorf("%q is an initial: %t, want %t", text, !want, want)
		}
	}
}

// A text with white space around it and more of it between has the same sentences.
func TestWhiteSpaceBetweenSentencesDoesNotCount(t *testing.T) {
	for _, c := range goldenCases(t)[:100] {
		once := Split(c.Text)
		again := Split(strings.Join(once, "\n\n \t") + " \n")
		if len(once) != len(again) && len(Split(strings.Join(once, " "))) == len(once) {
			t.Errorf("%q has %d sentences, and %d with more white space between", c.Text, len(once), len(again))
		}
	}
}
