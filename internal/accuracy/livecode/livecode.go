package livecode

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
	"github.com/mlperf-go/mlperf/internal/dataset/pickle"
	"github.com/mlperf-go/mlperf/internal/fileio"
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
		f, err := fileio.Open(filepath.Join(folder, FileName(i)))
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
			var text string
			if err := json.Unmarshal(value, &text); err != nil || text == "" {
				return "", fmt.Errorf("question_id is %s, want a text", value)
			}
			return text, nil
		}
	}
	return "", fmt.Errorf("there is no question_id: %w", errNoProblem)
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

// A problem is what a program is judged by.
type problem struct {
	function string // empty: the program reads and writes text
	tests    []test // the public ones, then the private ones
}

// A test is an input with the output that is wanted.
type test struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	Type   string `json:"testtype"`
}

// parseProblem reads a line of code_generation_lite.
func parseProblem(line []byte) (*problem, error) {
	var row struct {
		Public   string `json:"public_test_cases"`
		Private  string `json:"private_test_cases"`
		Metadata string `json:"metadata"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return nil, err
	}
	var p problem
	for _, part := range []struct {
		name, text string
		parse      func(string) ([]test, error)
	}{{"public_test_cases", row.Public, parseTests}, {"private_test_cases", row.Private, parsePrivate}} {
		tests, err := part.parse(part.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
		p.tests = append(p.tests, tests...)
	}
	if len(p.tests) == 0 {
		return nil, errors.New("it has no tests")
	}
	var about struct {
		Function string `json:"func_name"`
	}
	if err := json.Unmarshal([]byte(row.Metadata), &about); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	p.function = about.Function
	return &p, nil
}

func parseTests(text string) ([]test, error) {
	var tests []test
	if err := json.Unmarshal([]byte(text), &tests); err != nil {
		return nil, err
	}
	for i, t := range tests {
		if t.Type != "stdin" && t.Type != "functional" {
			return nil, fmt.Errorf("testtype of test %d is %q, want stdin or functional", i, t.Type)
		}
	}
	return tests, nil
}

// maxUnpacked bounds the private tests of a problem.
const maxUnpacked = 1 << 30

// parsePrivate reads tests that are JSON, or a pickle of their JSON, packed by zlib and written by base64.
func parsePrivate(text string) ([]test, error) {
	if json.Valid([]byte(text)) {
		return parseTests(text)
	}
	unpacked, err := zlib.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader([]byte(text))))
	if err != nil {
		return nil, fmt.Errorf("they are neither JSON nor packed: %w", err)
	}
	defer unpacked.Close()
	data, err := io.ReadAll(io.LimitReader(unpacked, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking them: %w", err)
	}
	if len(data) > maxUnpacked {
		return nil, fmt.Errorf("unpacked they have more than %d bytes", maxUnpacked)
	}
	value, err := pickle.Read(data)
	if err != nil {
		return nil, err
	}
	list, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("their pickle has a %T, want a text", value)
	}
	return parseTests(list)
}

//go:embed judge.py
var judge string

// seconds that a test may take: eval_accuracy.py of deepseek-r1 and gpt-oss-120b, timeout=60.
const seconds = 60

// A job is what judge.py reads.
type job struct {
	Secret   string   `json:"secret"`
	Code     string   `json:"code"`
	Function *string  `json:"function"`
	Seconds  int      `json:"seconds"`
	Inputs   []string `json:"inputs"`
	Outputs  []string `json:"outputs"`
}

// Judge runs a program on the tests of a problem, and reports whether it passes all of them. An error is
// ErrUnknown, one of the files, or one of coderun: python3 is not there.
func (t *Tests) Judge(ctx context.Context, r *coderun.Runner, id, code string) (bool, error) {
	p, err := t.problem(id)
	if err != nil || code == "" {
		return false, err
	}
	return p.judge(ctx, r, code, seconds)
}

// judge gives a test so many seconds, and all of them together one more each, and five (check_correctness).
func (p *problem) judge(ctx context.Context, r *coderun.Runner, code string, seconds int) (bool, error) {
	j := job{Secret: rand.Text(), Code: code, Seconds: seconds}
	if p.function != "" {
		j.Function = &p.function
	}
	for _, t := range p.tests {
		j.Inputs, j.Outputs = append(j.Inputs, t.Input), append(j.Outputs, t.Output)
	}
	input, err := json.Marshal(j)
	if err != nil {
		return false, err
	}
	output := bounded{left: len(j.Secret) + 1}
	_, err = r.Run(ctx, coderun.Program{
		Language: "python", Code: judge, Input: bytes.NewReader(input), Output: &output,
		Time: time.Duration((seconds+1)*len(p.tests)+5) * time.Second,
	})
	return err == nil && string(output.text) == j.Secret, err
}

// bounded keeps the beginning of what is written.
type bounded struct {
	text []byte
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.left)]
	b.text, b.left = append(b.text, keep...), b.left-len(keep)
	return len(p), nil
}
