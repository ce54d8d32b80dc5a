package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cenkalti/backoff/v5"

	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// A transfer brings the missing chunks of a file, several at a time.
type transfer struct {
	*fetcher
	remote
	part string
	file *os.File

	mu      sync.Mutex
	journal *journal // nil before run: nothing is there
	done    int64    // bytes that are there
}

// run brings the missing chunks. The answer is that to the request for the first of them.
func (t *transfer) run(ctx context.Context, a *answer) error {
	if err := t.open(); err != nil {
		return err
	}
	todo := t.journal.missing()
	err := workerpool.Each(ctx, t.connections, len(todo), func(ctx context.Context, i int) error {
		var first *answer
		if i == 0 {
			first = a
		}
		if err := t.chunk(ctx, first, todo[i]); err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.journal.Done[todo[i]] = true
		if len(t.journal.Done) == 1 {
			return nil // not worth a journal
		}
		return t.journal.write(t.root, t.part)
	})
	if err == nil {
		err = t.file.Sync()
	}
	return errors.Join(err, t.file.Close())
}

// open makes the part file, or opens the one that its journal is about.
func (t *transfer) open() error {
	if t.journal != nil {
		return t.reopen()
	}
	return t.create()
}

func (t *transfer) reopen() (err error) {
	t.done = t.journal.have()
	if err := t.room(t.size-t.done, t.size); err != nil {
		return err
	}
	t.observer.Note(fmt.Sprintf("going on after %s of %s", human(t.done), human(t.size)))
	t.file, err = t.root.OpenFile(t.part, os.O_RDWR, 0)
	return err
}

func (t *transfer) create() (err error) {
	if err := t.room(t.size, t.size); err != nil {
		return err
	}
	if err := t.discard(t.part); err != nil {
		return err
	}
	if t.journal = newJournal(t.remote, t.pace.chunk); t.journal == nil {
		return final("%s is said to have %d bytes, which no file has", t.url, t.size)
	}
	if t.file, err = t.root.OpenFile(t.part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return err
	}
	if err := t.file.Truncate(t.size); err != nil {
		return errors.Join(err, t.file.Close())
	}
	return nil
}

// chunk brings one chunk, in as many attempts as it takes, each beginning where the last
// broke off.
func (t *transfer) chunk(ctx context.Context, first *answer, i int) error {
	from, to := t.journal.bounds(i)
	return t.pace.retry(ctx, t.observer.Note, func() (bool, error) {
		a := first
		first = nil
		if a == nil {
			var err error
			if a, err = t.askAgain(ctx, from, to); err != nil {
				return false, err
			}
		}
		defer a.close()
		n, err := t.copy(a, from, to)
		from += n
		return n > 0 && n >= t.pace.least, err
	})
}

// askAgain asks for a range of the file that was begun.
func (t *transfer) askAgain(ctx context.Context, from, to int64) (*answer, error) {
	a, err := t.servers.ask(ctx, t.asked, from, to)
	if err != nil {
		return nil, err
	}
	switch {
	case !a.ranges:
		err = errors.New("it is served as a whole all of a sudden")
	case a.size != t.size:
		err = fmt.Errorf("its size was %d and is %d", t.size, a.size)
	default:
		err = a.sameVersion(t.etag, t.modified)
	}
	if err != nil {
		a.close()
		return nil, backoff.Permanent(&changedError{t.url, err})
	}
	return a, nil
}

// copy writes the bytes from…to of an answer to the part file. It returns how many came.
func (t *transfer) copy(a *answer, from, to int64) (int64, error) {
	n, err := copyBody(io.NewOffsetWriter(t.file, from), a, to-from+1, t.pace, func(n int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.done += int64(n)
		t.observer.Bytes(t.done, t.size)
	})
	switch {
	case err != nil:
		return n, err
	case n < to-from+1:
		return n, fmt.Errorf("%s broke off after %d of %d bytes", t.url, n, to-from+1)
	}
	return n, nil
}

// whole brings a file from a server that does not know ranges. The answer is that to the
// first request. What breaks off has to begin anew, so that nothing of it is kept.
func (f *fetcher) whole(ctx context.Context, part string, a *answer, w want) error {
	first, described := a, a.remote
	err := f.pace.retry(ctx, f.observer.Note, func() (bool, error) {
		a := first
		first = nil
		if a == nil {
			var err error
			if a, err = f.servers.ask(ctx, described.asked, 0, f.pace.chunk-1); err != nil {
				return false, err
			}
			defer a.close()
			if a.ranges || a.size != described.size {
				return false, backoff.Permanent(&changedError{described.url, errors.New("it is served in another way")})
			}
		}
		return false, f.stream(part, a, w)
	})
	if err != nil {
		err = errors.Join(err, f.discard(part))
	}
	return err
}

// anew makes an empty part file where there is room for so many bytes.
func (f *fetcher) anew(part string, size int64) (*os.File, error) {
	if err := f.room(size, size); err != nil {
		return nil, err
	}
	if err := f.discard(part); err != nil {
		return nil, err
	}
	return f.root.Create(part)
}

// stream writes a whole file.
func (f *fetcher) stream(part string, a *answer, w want) error {
	limit := a.size
	if limit < 0 && w.size > 0 {
		limit = w.size
	}
	file, err := f.anew(part, max(limit, 0))
	if err != nil {
		return backoff.Permanent(err)
	}
	done := int64(0)
	n, err := copyBody(file, a, limit, f.pace, func(n int) {
		done += int64(n)
		f.observer.Bytes(done, max(limit, 0))
	})
	if err == nil && limit >= 0 && n < limit {
		err = fmt.Errorf("%s broke off after %d of %d bytes", a.url, n, limit)
	}
	return errors.Join(err, file.Sync(), file.Close())
}
