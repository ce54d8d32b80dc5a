package accuracy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
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

// scanBuffer is the size of the read buffer; memory use does not depend on the file.
const scanBuffer = 256 << 10

// maxDepth bounds the nesting of JSON values, as Python's recursion limit does.
const maxDepth = 500

// A syntaxError says where a JSON file is not what it should be.
type syntaxError struct {
	File   string
	Line   int64  // from 1
	Offset int64  // bytes before the offending one
	Record string // as "record 17" or "annotation 3", empty outside of one
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

// A scanner reads JSON as a stream of tokens through one fixed buffer. It exists
// because accuracy logs reach gigabytes, with single strings of 60 MB (a KiTS19
// volume in hexadecimal), which encoding/json would hold in memory several times,
// and because its errors should name line and offset.
type scanner struct {
	in       io.Reader
	file     string
	buf      []byte
	pos, end int   // buf[pos:end] is not read yet
	base     int64 // offset of buf[0] in the file
	newlines int64 // before buf[pos]; JSON has none inside of tokens
	err      error // of the last Read
	text     []byte
	depth    int
	unit     string // what index counts, for messages
	index    int
}

func newScanner(in Input) *scanner {
	return &scanner{in: in, file: in.Name(), buf: make([]byte, scanBuffer)}
}

// fill makes sure that there is an unread byte; false at the end or on an error.
func (s *scanner) fill() bool {
	if s.pos < s.end {
		return true
	}
	s.base += int64(s.end)
	s.pos, s.end = 0, 0
	for tries := 0; s.end == 0 && s.err == nil; tries++ {
		s.end, s.err = s.in.Read(s.buf)
		if tries == 100 && s.end == 0 && s.err == nil {
			s.err = io.ErrNoProgress
		}
	}
	return s.end > 0
}

// next skips white space and returns the byte after it without consuming it; 0 at the end.
func (s *scanner) next() byte {
	for s.fill() {
		switch c := s.buf[s.pos]; c {
		case '\n':
			s.newlines++
			s.pos++
		case ' ', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// fail returns a syntaxError at the next unread byte, which is not what it should be.
// Where the file ends, could not be read, or was cut, that is the cause instead.
func (s *scanner) fail(format string, args ...any) error {
	switch {
	case !s.fill() && s.err == io.EOF:
		return s.invalid("%w", errTruncated)
	case !s.fill():
		return s.invalid("reading: %w", s.err)
	case s.atCut():
		return s.invalid("%w", errCutForSubmission)
	}
	return s.invalid(format, args...)
}

// invalid returns a syntaxError about what was just read.
func (s *scanner) invalid(format string, args ...any) error {
	e := &syntaxError{File: s.file, Line: s.newlines + 1, Offset: s.base + int64(s.pos), Err: fmt.Errorf(format, args...)}
	if s.unit != "" {
		e.Record = fmt.Sprintf("%s %d", s.unit, s.index)
	}
	return e
}

// atCut reports whether the unread text begins with the mark of the truncation tool,
// or with its dots where the newlines before them were skipped as white space.
func (s *scanner) atCut() bool {
	copy(s.buf, s.buf[s.pos:s.end])
	s.base += int64(s.pos)
	s.pos, s.end = 0, s.end-s.pos
	if s.end < len(cutMark) && s.err == nil {
		var n int
		n, s.err = io.ReadAtLeast(s.in, s.buf[s.end:], len(cutMark)-s.end)
		s.end += n
	}
	rest := s.buf[:s.end]
	return bytes.HasPrefix(rest, []byte(cutMark)) || bytes.HasPrefix(rest, []byte(cutMark[2:]))
}

// got names the next unread byte for a message.
func (s *scanner) got() string {
	if !s.fill() {
		return "the end of the file"
	}
	return strconv.QuoteRune(rune(s.buf[s.pos]))
}

func (s *scanner) expect(c byte) error {
	if s.next() != c {
		return s.fail("want %q, got %s", c, s.got())
	}
	s.pos++
	return nil
}

// object reads an object and calls field with each key, which is valid until field
// reads on; field must consume the value.
func (s *scanner) object(field func(key []byte) error) error {
	return s.list('{', '}', func(int) error {
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return field(key)
	})
}

// array reads an array and calls element with each index; element must consume the value.
func (s *scanner) array(element func(i int) error) error { return s.list('[', ']', element) }

func (s *scanner) list(open, end byte, item func(i int) error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.depth++; s.depth > maxDepth {
		return s.invalid("values are nested more than %d deep", maxDepth)
	}
	for i := 0; s.next() != end; i++ {
		if i > 0 {
			if s.next() != ',' {
				return s.fail("want ',' or %q, got %s", end, s.got())
			}
			s.pos++
		}
		if err := item(i); err != nil {
			return err
		}
	}
	s.pos++
	s.depth--
	return nil
}

// atEnd makes sure that nothing but white space follows.
func (s *scanner) atEnd() error {
	s.unit = ""
	if s.next() != 0 || s.pos < s.end {
		return s.fail("want the end of the file, got %s", s.got())
	}
	if s.err != nil && s.err != io.EOF {
		return s.fail("")
	}
	return nil
}

// fields reads an object: read is called for each field whose name is among the names, with
// its position there; others are skipped. The first required names must be there, and none
// twice: Python would silently take the last.
func (s *scanner) fields(names []string, required int, read func(field int) error) error {
	seen := uint64(0)
	err := s.object(func(key []byte) error {
		for i, name := range names {
			if string(key) != name {
				continue
			}
			if seen>>i&1 == 1 {
				return s.invalid("second %q before this", name)
			}
			seen |= 1 << i
			return read(i)
		}
		return s.skip()
	})
	if err != nil {
		return err
	}
	for i, name := range names[:required] {
		if seen>>i&1 == 0 {
			return s.invalid("object before this has no %q", name)
		}
	}
	return nil
}
