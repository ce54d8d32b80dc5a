package accuracy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errTruncated says that a file ends in the middle of its JSON text, as a log does
// whose run was killed.
var errTruncated = errors.New("the file ends here, in the middle of the JSON text")

// errCutForSubmission says that a file was shortened by MLPerf's
// truncate_accuracy_log.py, which keeps the first and the last 4096 bytes and puts
// "..." between them. Such a log cannot be scored; the original can.
var errCutForSubmission = errors.New("the middle of the file was cut out (\"...\") by the submission's truncation tool; score the original")

// cutMark is what tools/submission/truncate_accuracy_log.py writes where it cut.
const cutMark = "\n\n...\n\n"

// A syntaxError is the place of an error in a JSON file.
type syntaxError struct {
	File   string
	Line   int64  // from 1
	Offset int64  // bytes before the offending one
	Record string // as "record 17" or "annotations 3", empty outside of one
	Err    error
}

// Error formats the error as "file: record 17, line 18, offset 940: cause".
func (e *syntaxError) Error() string {
	record := e.Record
	if record != "" {
		record += ", "
	}
	return fmt.Sprintf("%s: %sline %d, offset %d: %v", e.File, record, e.Line, e.Offset, e.Err)
}

// Unwrap returns the cause, for errors.Is.
func (e *syntaxError) Unwrap() error { return e.Err }

// A jsonFile reads a JSON file as a stream and counts the lines that it has read.
type jsonFile struct {
	*jsontext.Decoder
	in       Input
	taken    int64 // bytes that the decoder has
	newlines int64 // of these
}

func newJSONFile(in Input) *jsonFile {
	f := &jsonFile{in: in}
	f.Decoder = jsontext.NewDecoder(readerFunc(f.read))
	return f
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// largestToken bounds the memory for a string or a number. A volume of KiTS19 in hexadecimal
// digits has 60 MB.
const largestToken = 256 << 20

func (f *jsonFile) read(p []byte) (int, error) {
	if f.taken-f.InputOffset() > largestToken {
		return 0, fmt.Errorf("a string or number has more than %d MiB", largestToken>>20)
	}
	n, err := f.in.Read(p)
	f.taken += int64(n)
	f.newlines += int64(bytes.Count(p[:n], []byte("\n")))
	return n, err
}

// value reads the next value into a variable.
func (f *jsonFile) value(v any) error { return f.located(json.UnmarshalDecode(f.Decoder, v)) }

// bracket reads the bracket that opens or closes a list.
func (f *jsonFile) bracket(want jsontext.Kind) error {
	if kind := f.PeekKind(); kind != want && kind > 0 {
		return f.located(fmt.Errorf("expected a list, got %v", kind))
	}
	_, err := f.ReadToken()
	return f.located(err)
}

// end makes sure that only white space follows.
func (f *jsonFile) end() error {
	token, err := f.ReadToken()
	switch {
	case err == io.EOF:
		return nil
	case err == nil:
		err = fmt.Errorf("expected the end of the file, got %v", token.Kind())
	}
	return f.located(err)
}

// readJSON reads a file that is one object. Fields of v that are pointers must be there.
func readJSON(in Input, v any) error {
	f := newJSONFile(in)
	err := f.value(v)
	if err == nil {
		err = f.end()
	}
	if err != nil {
		return err
	}
	if err := complete(v); err != nil {
		return fmt.Errorf("%s: %w", in.Name(), err)
	}
	return nil
}

// located adds the place to an error of the decoder, and names a file that ends too early or was cut
// as the cause.
func (f *jsonFile) located(err error) error {
	if err == nil {
		return nil
	}
	at, pointer := f.InputOffset(), f.StackPointer()
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		at, pointer, err = syntactic.ByteOffset, syntactic.JSONPointer, syntactic.Err
	case errors.As(err, &semantic):
		at, pointer, err = semantic.ByteOffset, semantic.JSONPointer, unfit(semantic)
	case errors.Unwrap(err) != nil:
		err = fmt.Errorf("reading: %w", errors.Unwrap(err))
	}
	record, field := "", ""
	for name := range pointer.Tokens() {
		if _, e := strconv.Atoi(name); e != nil {
			field = name
		} else if record == "" {
			record, field = cmp.Or(field, "record")+" "+name, ""
		}
	}
	unread := f.UnreadBuffer()
	unread = unread[min(len(unread), max(0, int(at-f.InputOffset()))):]
	line := f.newlines - int64(bytes.Count(unread, []byte("\n"))) + 1
	more, _ := io.ReadAll(io.LimitReader(f.in, int64(len(cutMark)))) // the mark may not be read to its end
	unread = append(bytes.Clone(unread), more...)
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		err = errTruncated
	case bytes.HasPrefix(unread, []byte(cutMark)), bytes.HasPrefix(unread, []byte(cutMark[2:])):
		err = errCutForSubmission
	case field != "":
		err = fmt.Errorf("%s: %w", field, err)
	}
	return &syntaxError{File: f.in.Name(), Line: line, Offset: at, Record: record, Err: err}
}

// unfit says without Go's types why a value does not fit its variable.
func unfit(e *json.SemanticError) error {
	if e.GoType == nil || e.Err != nil && !errors.Is(e.Err, strconv.ErrSyntax) && !errors.Is(e.Err, strconv.ErrRange) {
		return e.Err
	}
	got, want := e.JSONKind.String(), e.GoType.Kind().String()
	if len(e.JSONValue) > 0 {
		got = fmt.Sprintf("%.40s", e.JSONValue)
	}
	switch e.GoType.Kind() {
	case reflect.Int, reflect.Int64:
		want = "a whole number"
	case reflect.Uint64:
		want = "a whole number from 0"
	case reflect.Float64:
		want = "a number"
	case reflect.String:
		want = "a string"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.Struct:
		want = "an object"
	}
	return fmt.Errorf("expected %s, got %s", want, got)
}

// complete returns an error for the first pointer of a struct that is nil: its field is
// missing.
func complete(v any) error {
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		if field := s.Field(i); field.Kind() == reflect.Pointer && field.IsNil() {
			return fmt.Errorf("no %q", s.Type().Field(i).Tag.Get("json"))
		}
	}
	return nil
}
