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
)

const (
	endSize = 4096          // truncate_accuracy_log.py, VIEWABLE_SIZE: characters at the start, bytes at the end
	mark    = "\n\n...\n\n" // between the two ends of a log that was cut
	mostCut = 8 * endSize   // bytes that a log may have that was cut: a character has up to 4
)

// ErrCut is the error of a log that was cut already: the hash of the original cannot be computed.
var ErrCut = errors.New("the log was cut already: its hash cannot be computed")

// Shorten reads an accuracy log and returns what a tree keeps of it, and the SHA-256 of the whole. The log is read once and
// stays as it is. Of a log that was cut already it returns the text, and ErrCut.
func Shorten(ctx context.Context, path string) (short []byte, hash string, err error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, "", err
	}
	e, h := &endsWriter{}, sha256.New()
	_, err = io.Copy(io.MultiWriter(h, e), fileio.UntilDone(ctx, f))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, "", err
	}
	whole := slices.Concat(e.head, e.tail) // of a long log: its beginning and its end
	switch {
	case e.size <= mostCut && WasCut(whole):
		return whole, "", ErrCut
	case e.size >= endSize: // with the ends of lines that Python reads and writes
		whole = slices.Concat(characters(newlines(e.head), endSize), []byte(mark), newlines(whole[len(whole)-endSize:]))
	}
	return whole, hex.EncodeToString(h.Sum(nil)), nil
}

// WasCut reports whether a log was cut, here or by the reference's script, on Windows too.
func WasCut(log []byte) bool {
	start, end, found := bytes.Cut(newlines(log), []byte(mark))
	if !found || len(end) > endSize {
		return false
	}
	// A log with many carriage returns has fewer characters than bytes: all of it is the start.
	return utf8.RuneCount(start) == endSize || bytes.HasSuffix(start, end)
}

// newlines replaces \r\n and \r by \n, as Python does when it reads a text.
func newlines(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// characters returns the first n characters of a text. A byte that is not UTF-8 counts as one.
func characters(text []byte, n int) []byte {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return text[:at]
}

const (
	headSize = 4 * endSize // endSize characters, however long they are
	mostTail = 1 << 16     // tails grow to twice this before they are cut
)

// An endsWriter keeps both ends of what is written.
type endsWriter struct {
	head, tail []byte // tail: of what follows the head
	size       int64
}

func (e *endsWriter) Write(p []byte) (int, error) {
	e.size += int64(len(p))
	n := min(headSize-len(e.head), len(p))
	e.head = append(e.head, p[:n]...)
	if e.tail = append(e.tail, p[max(n, len(p)-mostTail):]...); len(e.tail) > 2*mostTail {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-mostTail:]...)
	}
	return len(p), nil
}
