package python

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Lines reads lines of text as Python's open and readline do: UTF-8 that must be right,
// and lines that end in \n, \r or \r\n. Like there, bytes that are not UTF-8 are an
// error when the 8 KiB that they are part of are read, not when their line is; but a
// character that the end of the text cuts is one after the lines before.
type Lines struct {
	// Line counts the lines that Next has returned.
	Line int

	src   io.Reader
	base  []byte // what buf is a part of
	buf   []byte // text not yet returned, then the start of a character
	valid int    // how much of buf is text
	scan  int    // how much of it is known to have no end of line
	err   error
}

const (
	chunkSize = 8192
	// maxLine is the longest line that is read. LoadGen's longest has the indices of a
	// loaded set, some megabytes at most.
	maxLine = 64 << 20
)

// errLineTooLong is the error of a line that is longer than maxLine.
var errLineTooLong = errors.New("line is longer than 64 MiB")

// NewLines returns the lines of a reader.
func NewLines(src io.Reader) *Lines { return &Lines{src: src} }

// Newlines returns text with the ends of lines that Python's read returns, which are \n for \r and \r\n too.
func Newlines(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// mostKept is how much memory Reset keeps.
const mostKept = 4 << 20

// Reset begins the lines of another reader, in the memory that there is. No line of the one
// before is valid any more.
func (l *Lines) Reset(src io.Reader) {
	base := l.base
	if len(base) > mostKept {
		base = nil
	}
	*l = Lines{src: src, base: base, buf: base[:0]}
}

// Next returns the next line without its end, and io.EOF after the last. The line is
// valid until the next call.
func (l *Lines) Next() ([]byte, error) {
	for {
		if line, ok := l.cut(); ok {
			l.Line++
			return line, nil
		}
		if l.err != nil {
			if len(l.buf) > 0 && l.err == io.EOF {
				line := l.buf
				l.buf, l.valid, l.scan = nil, 0, 0
				l.Line++
				return bytes.TrimSuffix(line, []byte("\r")), nil
			}
			return nil, l.err
		}
		l.fill()
	}
}

// cut takes a whole line off the text.
func (l *Lines) cut() ([]byte, bool) {
	text := l.buf[:l.valid]
	end := bytes.IndexByte(text[l.scan:], '\n')
	if end < 0 {
		end = len(text)
	} else {
		end += l.scan
	}
	next := end + 1
	if cr := bytes.IndexByte(text[l.scan:end], '\r'); cr >= 0 {
		cr += l.scan
		if cr+1 == len(text) && l.err != io.EOF {
			l.scan = cr // whether \n follows is not known yet
			return nil, false
		}
		end, next = cr, cr+1
		if next < len(text) && text[next] == '\n' {
			next++
		}
	} else if end == len(text) {
		l.scan = end
		return nil, false
	}
	line := text[:end:end]
	l.buf, l.valid, l.scan = l.buf[next:], l.valid-next, 0
	return line, true
}

func (l *Lines) fill() {
	if len(l.buf) > maxLine {
		l.err = errLineTooLong
		return
	}
	if cap(l.buf)-len(l.buf) < chunkSize {
		if len(l.base) < 2*len(l.buf)+chunkSize {
			l.base = make([]byte, 3*len(l.buf)+2*chunkSize)
		}
		l.buf = l.base[:copy(l.base, l.buf)] // lines before it are not valid any more
	}
	n, err := io.ReadFull(l.src, l.buf[len(l.buf):len(l.buf)+chunkSize])
	l.buf = l.buf[:len(l.buf)+n]
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	l.err = err
	fresh := l.buf[l.valid:]
	whole := fresh[:len(fresh)-incomplete(fresh)]
	if !utf8.Valid(whole) {
		l.stop(l.valid + firstInvalid(whole))
		return
	}
	if l.valid += len(whole); err == io.EOF && len(whole) < len(fresh) {
		l.stop(l.valid) // the lines before it are good, as in Python
	}
}

// stop ends the text where it is not UTF-8.
func (l *Lines) stop(at int) {
	l.err = &EncodingError{Line: l.Line + 1 + bytes.Count(l.buf[:at], []byte("\n"))}
	l.buf = l.buf[:l.valid]
}

// incomplete returns how many bytes at the end are the start of a character.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			// Of half a surrogate pair Python waits for the third byte.
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) || n == 2 && c == 0xed && b[len(b)-1] >= 0xa0 {
				return n
			}
			return 0
		}
	}
	return 0
}

func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// An EncodingError says where a text is not UTF-8.
type EncodingError struct{ Line int }

func (e *EncodingError) Error() string { return fmt.Sprintf("line %d: not UTF-8", e.Line) }

// IsSpace reports whether Python's str.strip takes a character off.
func IsSpace(r rune) bool {
	return r >= '\t' && r <= '\r' || r >= 0x1c && r <= ' ' || r == 0x85 || unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp)
}

// digit returns the value of a decimal digit of any script.
func digit(r rune) (int, bool) {
	if r >= '0' && r <= '9' {
		return int(r - '0'), true
	}
	if r < utf8.RuneSelf {
		return 0, false
	}
	if !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	n := 0 // the ten digits of a script, or of several, lie in a row
	for ; unicode.Is(unicode.Nd, r-1); r-- {
		n++
	}
	return n % 10, true
}
