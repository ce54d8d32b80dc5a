package captions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/fileio"
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
		data, err := fileio.ReadFile(path, maxTable)
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

// parse reads a table.
func parse(data []byte, count int) ([]string, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("line %d: the text is not UTF-8", 1+bytes.Count(data[:firstInvalid(data)], []byte("\n")))
	}
	t := newTableReader(data)
	header, err := t.row()
	if err == nil && header == nil {
		err = errors.New("there is nothing")
	}
	if err != nil {
		return nil, fmt.Errorf("the first line names the columns: %w", err)
	}
	at := slices.Index(header, column)
	if at < 0 {
		return nil, fmt.Errorf("the columns are %s, want one %q", strings.Join(header, ", "), column)
	}
	list, err := cells(t, at, len(header), count)
	if err != nil {
		return nil, err
	}
	if len(list) < max(count, 1) {
		return nil, fmt.Errorf("there are %d captions, want %d", len(list), max(count, 1))
	}
	return list, nil
}

// cells reads one of so many columns, up to a count if that is not 0. None of its cells may be empty; behind it
// cells may be missing.
func cells(t *tableReader, at, columns, count int) ([]string, error) {
	var list []string
	for count == 0 || len(list) < count {
		row, err := t.row()
		if err != nil || row == nil {
			return list, err
		}
		switch {
		case len(row) > columns:
			return nil, fmt.Errorf("line %d: there are %d cells, want %d", t.begin, len(row), columns)
		case at >= len(row) || strings.TrimSpace(row[at]) == "":
			return nil, fmt.Errorf("line %d: the caption of sample %d is empty", t.begin, len(list))
		}
		list = append(list, row[at])
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
