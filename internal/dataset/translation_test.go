package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

const sourceFile, referenceFile = "newstest2014.tok.bpe.32000.en", "newstest2014.tok.bpe.32000.de"

// The files lie in the folder, or in nmt/data of the official archive.
func TestTranslationFolders(t *testing.T) {
	for _, below := range []string{"", "nmt/data/"} {
		dir := t.TempDir()
		put(t, dir, below+sourceFile, "a no@@ te\r\n\nb\u2028")
		put(t, dir, below+referenceFile, "ein Ver@@ merk\n\nB\n")
		d, err := OpenTranslation(dir)
		if err != nil || !cmp.Equal(d.Sentences, []string{"a no@@ te", "", "b"}) {
			t.Errorf("%s: %+v, %v", below, d, err)
		}
		references, err := ReadTranslationReferences(dir)
		if err != nil || len(references) != 3 || strings.Join(references[0], " ") != "ein Vermerk" {
			t.Errorf("%s: references %q, %v", below, references, err)
		}
		source, target := TranslationVocabularies(dir)
		if want := filepath.Join(dir, below, "vocab.bpe.32000"); source != want+".en" || target != want+".de" {
			t.Errorf("vocabularies %s and %s, want them at %s", source, target, want)
		}
	}
}

func TestTranslationErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", " is empty, expected one sentence per line"},
		{"not UTF-8", "a\n\xff\n", "line 2: not UTF-8"},
	} {
		dir := t.TempDir()
		put(t, dir, sourceFile, test.text)
		put(t, dir, referenceFile, test.text)
		if _, err := OpenTranslation(dir); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), sourceFile) {
			t.Errorf("%s: sentences: error %v, want %q", test.name, err, test.want)
		}
		if _, err := ReadTranslationReferences(dir); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), referenceFile) {
			t.Errorf("%s: references: error %v, want %q", test.name, err, test.want)
		}
	}
	dir := t.TempDir()
	if _, err := OpenTranslation(dir); !testenv.Names(err, "one sentence per line") {
		t.Errorf("no file: error %v", err)
	}
	put(t, dir, sourceFile+"/x", "")
	if _, err := OpenTranslation(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: error %v", err)
	}
}
