package captions

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// Where the table may lie: as the reference's scripts read it, and as its repository has it.
var tables = []string{"captions/captions.tsv", "captions/captions_source.tsv", "captions.tsv", "captions_source.tsv"}

const (
	column   = "caption"
	maxTable = 1 << 30
)

// Read reads the captions of a folder, the first ones if count is not 0.
func Read(dir string, count int) ([]string, error) {
	for _, name := range tables {
		path := filepath.Join(dir, filepath.FromSlash(name))
		data, err := regular.ReadFile(path, maxTable)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("opening the captions: %w", err)
		}
		list, err := parse(data, count)
		if err != nil {
			return nil, fmt.Errorf("opening the captions: %s: %w", path, err)
		}
		return list, nil
	}
	return nil, fmt.Errorf("opening the captions: %s has none of %s", dir, strings.Join(tables, ", "))
}

// parse reads a table. Quotes are pandas': they may be around a cell, doubled inside of it, and
// anywhere else they are text.
func parse(data []byte, count int) ([]string, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("line %d: the text is not UTF-8", 1+bytes.Count(data[:firstInvalid(data)], []byte("\n")))
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.LazyQuotes, r.ReuseRecord = '\t', true, true
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("the first line names the columns: %w", err)
	}
	at := slices.Index(header, column)
	if at < 0 {
		return nil, fmt.Errorf("the columns are %s, want one %q", strings.Join(header, ", "), column)
	}
	list, err := cells(r, at, count)
	if err != nil {
		return nil, err
	}
	if len(list) < max(count, 1) {
		return nil, fmt.Errorf("there are %d captions, want %d", len(list), max(count, 1))
	}
	return list, nil
}

// cells reads a column, up to a count if that is not 0. None of its cells may be empty.
func cells(r *csv.Reader, at, count int) ([]string, error) {
	var list []string
	for count == 0 || len(list) < count {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err // it names the line
		}
		if strings.TrimSpace(row[at]) == "" {
			line, _ := r.FieldPos(at)
			return nil, fmt.Errorf("line %d: the caption of sample %d is empty", line, len(list))
		}
		list = append(list, strings.Clone(row[at]))
	}
	return list, nil
}

// firstInvalid is where text ceases to be UTF-8.
func firstInvalid(data []byte) int {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}
