package livecode

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// ErrUnknown is wrapped by errors about problems that the files do not have.
var ErrUnknown = errors.New("the tests have no such problem")

// Tests are files with problems. They may be used by several goroutines.
type Tests struct {
	files    []*os.File
	problems map[string]place
}

// A place is where a problem is.
type place struct {
	file   int
	line   int
	offset int64
	size   int
}

// maxLine bounds a problem. The longest of release_v6 has some 60 MB.
const maxLine = 1 << 30

// Open finds the problems of a release: those of as many files in a folder as the number of the release.
func Open(ctx context.Context, folder string, release int) (*Tests, error) {
	t := &Tests{problems: map[string]place{}}
	for i := range release {
		f, err := regular.Open(filepath.Join(folder, FileName(i)))
		if err == nil {
			t.files = append(t.files, f)
			err = t.find(ctx, f)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reading the tests of LiveCodeBench: %w", err), t.Close())
		}
	}
	return t, nil
}

// FileName is what the file of a data set is called that came with a release, counted from 0 (code_generation_lite.py).
func FileName(i int) string {
	if i == 0 {
		return "test.jsonl"
	}
	return fmt.Sprintf("test%d.jsonl", i+1)
}

// Close closes the files.
func (t *Tests) Close() error {
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// find notes where the problems of the last file are. Of two of one name the later counts.
func (t *Tests) find(ctx context.Context, f *os.File) error {
	r := bufio.NewReaderSize(f, 1<<20)
	for p := (place{file: len(t.files) - 1, line: 1}); ; p.line++ {
		line, err := readLine(r)
		p.size = len(line)
		switch {
		case err == io.EOF && len(line) == 0:
			return context.Cause(ctx)
		case err != nil && err != io.EOF:
			return fmt.Errorf("%s: line %d: %w", f.Name(), p.line, err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			id, err := questionID(line)
			if err != nil {
				return fmt.Errorf("%s: line %d: %w", f.Name(), p.line, err)
			}
			t.problems[id] = p
		}
		p.offset += int64(len(line))
	}
}

// readLine reads a line with its end. The last one may have none.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("it has more than %d bytes", maxLine)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// questionID reads the name of the problem of a line, and what is before it.
func questionID(line []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", fmt.Errorf("want an object of JSON: %w", errors.Join(err, errNoProblem))
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", fmt.Errorf("%v: %w", key, err)
		}
		if key == "question_id" {
			return textOf(value)
		}
	}
	return "", fmt.Errorf("there is no question_id: %w", errNoProblem)
}

func textOf(id json.RawMessage) (string, error) {
	var text string
	if err := json.Unmarshal(id, &text); err != nil || text == "" {
		return "", fmt.Errorf("question_id is %s, want a text", id)
	}
	return text, nil
}

var errNoProblem = errors.New("not a problem of code_generation_lite")

// problem reads a problem.
func (t *Tests) problem(id string) (*problem, error) {
	p, ok := t.problems[id]
	if !ok {
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	line := make([]byte, p.size)
	if _, err := t.files[p.file].ReadAt(line, p.offset); err != nil {
		return nil, err
	}
	read, err := parseProblem(line)
	if err != nil {
		return nil, fmt.Errorf("%s: line %d: %s: %w", t.files[p.file].Name(), p.line, strings.ToValidUTF8(id, "?"), err)
	}
	return read, nil
}
