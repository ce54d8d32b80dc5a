package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSentencesAreFoundBesideOrInTheUnpackedArchive(t *testing.T) {
	for _, below := range []string{"", "nmt/data/"} {
		dir := t.TempDir()
		put(t, dir, below+translationSource, "a no@@ te\r\n\nb\n")
		put(t, dir, below+translationReference, "ein Ver@@ merk\n\nB\n")
		d, err := OpenTranslation(dir)
		if err != nil || !cmp.Equal(d.Sentences, []string{"a no@@ te", "", "b"}) {
			t.Errorf("%s: %+v, %v", below, d, err)
		}
		references, err := ReadTranslationReferences(dir)
		if err != nil || len(references) != 3 || strings.Join(references[0], " ") != "ein Vermerk" {
			t.Errorf("%s: references %q, %v", below, references, err)
		}
		source, target := TranslationVocabularies(dir)
		if want := filepath.Join(dir, below, translationVocabulary); source != want+".en" || target != want+".de" {
			t.Errorf("vocabularies %s and %s, want them at %s", source, target, want)
		}
	}
}

func TestSentencesThatCannotBeRead(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty, want one sentence per line"},
		{"not UTF-8", "a\n\xff\n", "line 2: the text is not UTF-8"},
		{"a line without end", "a\n" + strings.Repeat("x", longestLine+1), "line 2: bufio.Scanner: token too long"},
	} {
		dir := t.TempDir()
		put(t, dir, translationSource, test.text)
		put(t, dir, translationReference, test.text)
		if _, err := OpenTranslation(dir); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), translationSource) {
			t.Errorf("%s: sentences: error %v, want %q", test.name, err, test.want)
		}
		if _, err := ReadTranslationReferences(dir); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), translationReference) {
			t.Errorf("%s: references: error %v, want %q", test.name, err, test.want)
		}
	}
	dir := t.TempDir()
	if _, err := OpenTranslation(dir); err == nil || !strings.Contains(err.Error(), "want one sentence per line") {
		t.Errorf("no file: error %v", err)
	}
	put(t, dir, translationSource+"/x", "")
	if _, err := OpenTranslation(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: error %v", err)
	}
}
