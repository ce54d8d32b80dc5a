package truncate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// ErrCut is the error of a log that was cut already, so that nobody can tell its hash.
var ErrCut = errors.New("the log was cut already: its hash cannot be told from it")

// Shorten reads an accuracy log and returns what a tree keeps of it, and the SHA-256 of the
// whole. The log is read once, however long it is, and stays as it is. Of a log that was
// cut already it returns the text, and ErrCut.
func Shorten(ctx context.Context, path string) (short []byte, hash string, err error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, "", err
	}
	e := &endsWriter{}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(h, e), reader{ctx, f})
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, "", err
	}
	if all := e.whole(); e.size <= mostCut && WasCut(all) {
		return all, "", ErrCut
	}
	return e.short(), hex.EncodeToString(h.Sum(nil)), nil
}

// mostCut is more than a log has that was cut: a character has 4 bytes, and the ends of lines two on Windows.
const mostCut = 8 * endSize

// WasCut reports whether a log is what cutting leaves, here or by the reference's script, on Windows too.
func WasCut(log []byte) bool {
	start, end, found := bytes.Cut(python.Newlines(log), []byte(mark))
	if !found || len(end) > endSize {
		return false
	}
	// A log with many carriage returns has fewer characters than bytes: all of it is the start.
	return utf8.RuneCount(start) == endSize || bytes.HasSuffix(start, end)
}

// characters returns the first n characters of a text. A byte that is of none counts as one.
func characters(text []byte, n int) []byte {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return text[:at]
}

// An endsWriter keeps both ends of what is written.
type endsWriter struct {
	head, tail []byte // tail: of what is behind the head
	size       int64
}

const (
	headSize = 4 * endSize // 4096 characters, however long they are
	mostTail = 1 << 16     // tails grow before they are cut to size
)

func (e *endsWriter) Write(p []byte) (int, error) {
	e.size += int64(len(p))
	rest := p
	if room := headSize - len(e.head); room > 0 {
		n := min(room, len(rest))
		e.head, rest = append(e.head, rest[:n]...), rest[n:]
	}
	if e.tail = append(e.tail, rest[max(0, len(rest)-mostTail):]...); len(e.tail) > 2*mostTail {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-mostTail:]...)
	}
	return len(p), nil
}

// whole is all of a log that is not long, else its beginning and its end.
func (e *endsWriter) whole() []byte { return append(bytes.Clone(e.head), e.tail...) }

// short is the log as a tree has it: 4096 characters, and what the last 4096 bytes are, both with the ends of
// lines that Python reads and writes.
func (e *endsWriter) short() []byte {
	whole := e.whole()
	if e.size < endSize {
		return whole
	}
	start := characters(python.Newlines(e.head), endSize)
	end := python.Newlines(whole[len(whole)-endSize:])
	return slices.Concat(start, []byte(mark), end)
}
