package livecode

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor/pickle"
)

// ErrUnknown is wrapped by errors about problems that are not in the files.
var ErrUnknown = errors.New("the tests have no such problem")

// Tests are files with problems. They may be used by several goroutines.
type Tests struct {
	files    []*os.File
	problems map[string]place
}

// A place is the position of a problem in a file.
type place struct {
	file   *os.File
	line   int
	offset int64
	size   int
}

// Open finds the problems of a release in a folder, which has as many files as the release's number. Of two problems of
// one name the later counts.
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

// FileName returns the name of the file that a release added, counted from 0 (code_generation_lite.py).
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

// find notes the places of a file's problems.
func (t *Tests) find(ctx context.Context, f *os.File) error {
	r := bufio.NewReaderSize(f, 1<<20)
	for p := (place{file: f, line: 1}); ; p.line++ {
		line, err := r.ReadBytes('\n')
		p.size = len(line)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == io.EOF && len(line) == 0:
			return nil
		case err != nil && err != io.EOF:
			return err
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

// python accepts escapes of lone surrogates, as Python does.
var python = jsontext.AllowInvalidUTF8(true)

// questionID reads a line as far as the name of its problem.
func questionID(line []byte) (string, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), python)
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return "", errors.Join(errors.New("expected an object of JSON"), err)
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return "", err
		}
		name := key.String()
		value, err := d.ReadValue()
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if name == "question_id" {
			var id string
			if err := json.Unmarshal(value, &id, python); err != nil || id == "" {
				return "", fmt.Errorf("question_id is %s: must be a string", value)
			}
			return id, nil
		}
	}
	_, err := d.ReadToken()
	return "", errors.Join(errors.New("no question_id: not a problem of code_generation_lite"), err)
}

// A problem has the tests of a program.
type problem struct {
	function string // empty: the program reads and writes text
	tests    []test // the public ones, then the private ones
}

// A test is an input with the expected output.
type test struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	Type   string `json:"testtype"`
}

// problem reads a problem from its file.
func (t *Tests) problem(id string) (*problem, error) {
	at, ok := t.problems[id]
	if !ok {
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	line := make([]byte, at.size)
	_, err := at.file.ReadAt(line, at.offset)
	var p *problem
	if err == nil {
		p, err = parseProblem(line)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: line %d: %s: %w", at.file.Name(), at.line, strings.ToValidUTF8(id, "?"), err)
	}
	return p, nil
}

// parseProblem reads a line of code_generation_lite.
func parseProblem(line []byte) (*problem, error) {
	var row struct {
		Public   string `json:"public_test_cases"`
		Private  string `json:"private_test_cases"`
		Metadata string `json:"metadata"`
	}
	if err := json.Unmarshal(line, &row, python); err != nil {
		return nil, err
	}
	var metadata struct {
		Function string `json:"func_name"`
	}
	if err := json.Unmarshal([]byte(row.Metadata), &metadata, python); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	p := &problem{function: metadata.Function}
	for _, part := range []struct{ name, text string }{{"public_test_cases", row.Public}, {"private_test_cases", row.Private}} {
		text, err := part.text, error(nil)
		if !strings.HasPrefix(text, "[") {
			text, err = unpack(text)
		}
		var tests []test
		if err == nil {
			err = json.Unmarshal([]byte(text), &tests, python)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
		for i, t := range tests {
			if t.Type != "stdin" && t.Type != "functional" {
				return nil, fmt.Errorf("%s: testtype of test %d is %q: must be stdin or functional", part.name, i, t.Type)
			}
		}
		p.tests = append(p.tests, tests...)
	}
	if len(p.tests) == 0 {
		return nil, errors.New("no tests")
	}
	return p, nil
}

// unpack reads the text of tests from a pickle, compressed by zlib and encoded in base64.
func unpack(text string) (string, error) {
	z, err := zlib.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return "", fmt.Errorf("neither JSON nor compressed: %w", err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return "", fmt.Errorf("decompressing: %w", err)
	}
	value, err := pickle.Read(data)
	if err != nil {
		return "", err
	}
	text, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("the pickle holds %T, expected a string", value)
	}
	return text, nil
}

//go:embed judge.py
var judge string

// seconds is the limit of a test: eval_accuracy.py of deepseek-r1 and gpt-oss-120b, timeout=60.
const seconds = 60

// A job is the input of judge.py.
type job struct {
	Secret   string   `json:"secret"`
	Code     string   `json:"code"`
	Function string   `json:"function"`
	Seconds  int      `json:"seconds"`
	Inputs   []string `json:"inputs"`
	Outputs  []string `json:"outputs"`
}

// Judge runs a program on the tests of a problem and reports whether it passes all. An error is ErrUnknown, or about the
// files, or from coderun.
func (t *Tests) Judge(ctx context.Context, r *coderun.Runner, id, code string) (bool, error) {
	p, err := t.problem(id)
	if err != nil || code == "" {
		return false, err
	}
	j := job{Secret: rand.Text(), Code: code, Function: p.function, Seconds: seconds}
	for _, t := range p.tests {
		j.Inputs, j.Outputs = append(j.Inputs, t.Input), append(j.Outputs, t.Output)
	}
	input, err := json.Marshal(j, python)
	if err != nil {
		return false, err
	}
	output := prefix{left: len(j.Secret) + 1}
	_, err = r.Run(ctx, coderun.Program{
		Language: "python", Code: judge, Input: bytes.NewReader(input), Output: &output,
		Time: time.Duration((seconds+1)*len(p.tests)+5) * time.Second, // check_correctness
	})
	return err == nil && string(output.text) == j.Secret, err
}

// A prefix keeps the first bytes of the output.
type prefix struct {
	text []byte
	left int
}

func (p *prefix) Write(b []byte) (int, error) {
	keep := b[:min(len(b), p.left)]
	p.text, p.left = append(p.text, keep...), p.left-len(keep)
	return len(b), nil
}
