package truncate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// ErrCut is the error of a log that was cut already, so that nobody can tell its hash.
var ErrCut = errors.New("the log was cut already: its hash cannot be told from it")

// Shorten reads an accuracy log and returns what a tree keeps of it, and the SHA-256 of the
// whole. The log is read once, however long it is, and stays as it is. Of a log that was
// cut already it returns the text, and ErrCut.
func Shorten(ctx context.Context, path string) (short []byte, hash string, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, "", err
	}
	e := &endsWriter{}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(h, e), reader{ctx, f})
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, "", err
	}
	if short = e.short(); e.size == int64(CutSize) && bytes.Equal(e.middle(), []byte(Mark)) {
		return e.whole(), "", ErrCut
	}
	return short, hex.EncodeToString(h.Sum(nil)), nil
}

// An endsWriter keeps both ends of what is written.
type endsWriter struct {
	head, tail []byte // tail: of what is behind the head
	size       int64
}

// mostTail lets tails grow before they are cut to size.
const mostTail = 1 << 16

func (e *endsWriter) Write(p []byte) (int, error) {
	e.size += int64(len(p))
	rest := p
	if room := endSize - len(e.head); room > 0 {
		n := min(room, len(rest))
		e.head, rest = append(e.head, rest[:n]...), rest[n:]
	}
	if e.tail = append(e.tail, rest[max(0, len(rest)-mostTail):]...); len(e.tail) > 2*mostTail {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-mostTail:]...)
	}
	return len(p), nil
}

// whole is all of a log that is not long.
func (e *endsWriter) whole() []byte { return append(bytes.Clone(e.head), e.tail...) }

// middle is what stands between the ends of a log that was cut.
func (e *endsWriter) middle() []byte { return e.tail[:len(Mark)] }

// short is the log as a tree has it.
func (e *endsWriter) short() []byte {
	if e.size < endSize {
		return e.whole()
	}
	end := e.whole()
	end = end[len(end)-endSize:]
	return append(append(bytes.Clone(e.head), Mark...), end...)
}
