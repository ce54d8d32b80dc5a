package download

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// A body is being copied from an answer.
type body struct {
	*answer
	pace
	limit int64       // bytes at most; -1: up to its end
	timer *time.Timer // closes the answer
	total int64       // bytes that came
	since int64       // those of them since the timer was set
}

// copyBody copies the body of an answer, at most limit bytes; limit -1 means up to its
// end. More than that is an error, fewer are not. A body from which nothing worth the wait comes for
// the time stall is given up.
func copyBody(w io.Writer, a *answer, limit int64, p pace, progress func(n int)) (int64, error) {
	b := &body{answer: a, pace: p, limit: limit, timer: time.AfterFunc(p.stall, a.close)}
	defer b.timer.Stop()
	buf := make([]byte, 128<<10)
	for {
		n, err := a.body.Read(buf)
		if limit >= 0 && b.total+int64(n) > limit {
			return b.total, final("%s sends more than the %d bytes that were expected", a.url, limit)
		}
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return b.total, backoff.Permanent(err)
			}
			b.came(n)
			progress(n)
		}
		if err != nil {
			return b.total, b.ended(err)
		}
	}
}

// came notes that so many bytes came. A few of them are no reason to wait for more.
func (b *body) came(n int) {
	b.total += int64(n)
	if b.since += int64(n); b.since >= b.least {
		b.timer.Reset(b.stall)
		b.since = 0
	}
}

// ended says what is wrong with a body that ended so; nil: nothing is.
func (b *body) ended(err error) error {
	switch late := !b.timer.Stop(); {
	case errors.Is(err, io.EOF):
		return nil
	case late && b.since > 0:
		return fmt.Errorf("%s: only %d bytes came in %v", b.url, b.since, b.stall)
	case late:
		return fmt.Errorf("%s: nothing came for %v", b.url, b.stall)
	}
	return fmt.Errorf("%s: after %d bytes: %w", b.url, b.total, err)
}
