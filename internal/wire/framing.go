package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
)

// A part says what comes next of a body.
type part uint8

const (
	data     part = iota // bytes of it
	size                 // the line with the size of a chunk
	chunkEnd             // the line behind a chunk
	trailer              // lines behind the last chunk
	nothing              // it is over
)

// A framing finds a body in what comes of a connection (RFC 9112, section 6).
type framing struct {
	part    part
	chunked bool
	closes  bool   // the body ends where the connection does
	left    int64  // bytes of the chunk, or of the body
	line    []byte // the beginning of a line
	lines   int    // bytes of lines that are no data, in a row
}

const (
	maxLine    = 4 << 10 // around a chunk
	maxTrailer = 64 << 10
)

// frame says how the body of an answer ends. It uses the memory of the framing before.
func (f *framing) frame(r *http.Response) {
	*f = framing{line: f.line[:0]}
	switch {
	case len(r.TransferEncoding) > 0: // net/http takes no other than chunked
		f.part, f.chunked = size, true
	case r.ContentLength == 0:
		f.part = nothing
	case r.ContentLength > 0:
		f.left = r.ContentLength
	default:
		f.closes = true
	}
}

// next returns the next bytes of the body in p, and what is behind them. No bytes: p has no more.
func (f *framing) next(p []byte) (body, rest []byte, err error) {
	for len(p) > 0 && f.part != nothing {
		if f.part == data {
			return f.data(p)
		}
		line, rest, err := f.cut(p)
		if line == nil {
			return nil, nil, err
		}
		if line, err = lineOf(line); err == nil {
			err = f.take(line)
		}
		if f.line, p = f.line[:0], rest; err != nil {
			return nil, nil, err
		}
	}
	return nil, p, nil
}

// cut returns the line that ends in p, and what is behind it. nil: none ends there, and its beginning is kept.
func (f *framing) cut(p []byte) (line, rest []byte, err error) {
	line, rest, ends := bytes.Cut(p, []byte{'\n'})
	f.lines += len(line)
	if f.lines > maxTrailer || f.part != trailer && f.lines > maxLine {
		return nil, nil, errors.New("the server sends lines without an end around the chunks of its answer")
	}
	if !ends {
		f.line = append(f.line, p...)
		return nil, nil, nil
	}
	if len(f.line) > 0 {
		f.line = append(f.line, line...)
		line = f.line
	}
	return line, rest, nil
}

// lineOf is a line without what ends it. A line feed alone ends none around chunks (RFC 9112, section 7.1): who takes it for
// one may see other chunks than who is between the server and us.
func lineOf(line []byte) ([]byte, error) {
	if i := bytes.IndexByte(line, '\r'); i < 0 || i != len(line)-1 {
		return nil, fmt.Errorf("the line %.20q around the chunks of the answer does not end with one carriage return and a line feed", line)
	}
	return line[:len(line)-1], nil
}

// data returns what of p is in the chunk, or the body.
func (f *framing) data(p []byte) (body, rest []byte, err error) {
	if f.closes {
		return p, nil, nil
	}
	n := min(int64(len(p)), f.left)
	if f.left -= n; f.left == 0 {
		f.part, f.lines = nothing, 0
		if f.chunked {
			f.part = chunkEnd
		}
	}
	return p[:n], p[n:], nil
}

// take takes a line that is no data.
func (f *framing) take(line []byte) error {
	switch f.part {
	case chunkEnd:
		if len(line) > 0 {
			return errors.New("a chunk of the answer is longer than it says")
		}
		f.part = size
	case trailer:
		if len(line) == 0 {
			f.part = nothing
		}
	case size:
		return f.begin(line)
	}
	return nil
}

// begin begins a chunk. One of no bytes is the last.
func (f *framing) begin(line []byte) error {
	n, ok := sizeOf(line)
	if !ok {
		return fmt.Errorf("%.20q is no size of a chunk of the answer", line)
	}
	if f.part, f.left = data, n; n == 0 {
		f.part = trailer
	}
	return nil
}

// sizeOf is the hexadecimal number that a line begins with; extensions may be behind it.
func sizeOf(line []byte) (n int64, ok bool) {
	const most = 1 << 50
	for i, c := range line {
		digit, ok := hexDigit(c)
		if !ok {
			return n, i > 0 && (c == ';' || c == ' ' || c == '\t')
		}
		if n = n<<4 | int64(digit); n > most {
			return 0, false
		}
	}
	return n, len(line) > 0
}

func hexDigit(c byte) (digit byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
