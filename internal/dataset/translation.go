package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// Translation is a set of sentences, one per line, in pieces of words.
type Translation struct{ Sentences []string }

// translationFile returns a file of the GNMT reference's newstest2014 in a folder, or in nmt/data of the official archive.
func translationFile(dir, name string) string {
	if inner := filepath.Join(dir, "nmt", "data"); fileio.Exists(filepath.Join(inner, "newstest2014.tok.bpe.32000.en")) {
		dir = inner
	}
	return filepath.Join(dir, name)
}

// TranslationVocabularies returns the files of the vocabularies of source and translation.
func TranslationVocabularies(dir string) (source, target string) {
	return translationFile(dir, "vocab.bpe.32000.en"), translationFile(dir, "vocab.bpe.32000.de")
}

// OpenTranslation reads newstest2014.tok.bpe.32000.en of a folder, or of its nmt/data. A line
// that is not UTF-8 is an error; one without words is a sentence like others.
func OpenTranslation(dir string) (*Translation, error) {
	lines, err := readLines(translationFile(dir, "newstest2014.tok.bpe.32000.en"))
	if err != nil {
		return nil, fmt.Errorf("opening the sentences: %w", err)
	}
	return &Translation{lines}, nil
}

// ReadTranslationReferences reads the words of the reference translations, line by line as
// the official script does.
func ReadTranslationReferences(dir string) ([][]string, error) {
	lines, err := readLines(translationFile(dir, "newstest2014.tok.bpe.32000.de"))
	if err != nil {
		return nil, fmt.Errorf("opening the references: %w", err)
	}
	references := make([][]string, len(lines))
	for i, line := range lines {
		references[i] = accuracy.CleanReference(line)
	}
	return references, nil
}

// readLines reads lines of text, at least one. In the reference, and so here, lines are those of str.splitlines: they also
// end at \r, a form feed and some others.
func readLines(path string) ([]string, error) {
	data, err := fileio.ReadFile(path, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: must be one sentence per line", err)
	}
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		line := 1
		for text := range bytes.Lines(data) {
			if !utf8.Valid(text) {
				break
			}
			line++
		}
		return nil, fmt.Errorf("%s: line %d: not UTF-8", path, line)
	}
	lines := pytext.Lines(string(data), false)
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s is empty, expected one sentence per line", path)
	}
	return lines, nil
}
