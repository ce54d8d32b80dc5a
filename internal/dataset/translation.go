package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Translation is a set of sentences, one per line, in pieces of words.
type Translation struct{ Sentences []string }

// The files of the set of newstest2014, as the GNMT reference has them.
const (
	translationSource     = "newstest2014.tok.bpe.32000.en"
	translationReference  = "newstest2014.tok.bpe.32000.de"
	translationVocabulary = "vocab.bpe.32000"
)

// TranslationVocabularies are where the vocabularies of source and translation lie.
func TranslationVocabularies(dir string) (source, target string) {
	path := filepath.Join(translationDir(dir), translationVocabulary)
	return path + ".en", path + ".de"
}

// translationDir is the folder of the files: where the official archive is unpacked, they are
// in nmt/data.
func translationDir(dir string) string {
	inner := filepath.Join(dir, "nmt", "data")
	if _, err := os.Stat(filepath.Join(inner, translationSource)); err == nil {
		return inner
	}
	return dir
}

// OpenTranslation reads newstest2014.tok.bpe.32000.en of a folder, or of its nmt/data. A line
// that is not UTF-8 is an error; one without words is a sentence like others.
func OpenTranslation(dir string) (*Translation, error) {
	lines, err := readLines(filepath.Join(translationDir(dir), translationSource))
	if err != nil {
		return nil, fmt.Errorf("opening the sentences: %w", err)
	}
	return &Translation{lines}, nil
}

// ReadTranslationReferences reads the words of the reference translations, line by line as
// the official script does.
func ReadTranslationReferences(dir string) ([][]string, error) {
	lines, err := readLines(filepath.Join(translationDir(dir), translationReference))
	if err != nil {
		return nil, fmt.Errorf("opening the references: %w", err)
	}
	references := make([][]string, len(lines))
	for i, line := range lines {
		references[i] = accuracy.CleanReference(line)
	}
	return references, nil
}

// longestLine bounds a sentence in bytes.
const longestLine = 1 << 20

// readLines reads a file of text.
func readLines(path string) (lines []string, err error) {
	f, err := fileio.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: want one sentence per line", err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if lines, err = parseLines(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return lines, nil
}

// parseLines reads lines of text, at least one. As in the reference, whose lines are those of str.splitlines, one ends at \r, a form feed
// and some others, too.
func parseLines(r io.Reader) (lines []string, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), longestLine)
	s.Split(toNewline)
	for s.Scan() {
		if !utf8.Valid(s.Bytes()) {
			return nil, fmt.Errorf("line %d: the text is not UTF-8", len(lines)+1)
		}
		lines = append(lines, pytext.Lines(s.Text(), false)...)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(lines)+1, err)
	}
	if len(lines) == 0 {
		return nil, errors.New("the file is empty, want one sentence per line")
	}
	return lines, nil
}

// toNewline takes what goes to the next \n, with it, or to the end.
func toNewline(data []byte, atEnd bool) (advance int, token []byte, err error) {
	if n := bytes.IndexByte(data, '\n') + 1; n > 0 {
		return n, data[:n], nil
	}
	if atEnd && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
