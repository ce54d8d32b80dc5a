package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A fetcher brings files from servers into part files below a folder.
type fetcher struct {
	servers     *servers
	pace        pace
	connections int
	root        *os.Root
	observer    Observer
	room        func(need, size int64) error // says whether what is still to come of a file of a size fits on the disk
}

// A changedError is a file that became another one on the server.
type changedError struct {
	url    string
	reason error
}

func (e *changedError) Error() string {
	return fmt.Sprintf("%s is not the file that was begun: %v", e.url, e.reason)
}

// fetched is what a fetch brought.
type fetched struct {
	sums
	URL string `json:"url"`
}

// fetch brings a file into the part file, from the first address that has it, and checks
// it. What is there of the part file is used. If it fails, what has come remains for
// the next time, unless its checksum is wrong.
func (f *fetcher) fetch(ctx context.Context, part string, urls []string, w want) (fetched, error) {
	var errs []error
	for i, u := range urls {
		got, err := f.fetchFrom(ctx, part, u, w)
		if err == nil {
			return fetched{got, shown(u)}, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return fetched{}, cause
		}
		errs = append(errs, err)
		if ofThisMachine(err) {
			break
		}
		if i+1 < len(urls) {
			f.observer.Note(fmt.Sprintf("%v; trying %s", err, shown(urls[i+1])))
		}
	}
	return fetched{}, errors.Join(errs...)
}

// ofThisMachine reports whether an error is about the disk here, which no other address cures.
func ofThisMachine(err error) bool {
	return errors.As(err, new(*NoRoomError)) || errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
}

// quietSize is how large a file may be without its checking being worth a word.
const quietSize = 64 << 20

// maxAnew is how often a file is begun anew because it changed, or because what was
// pieced together from several runs or addresses has a wrong checksum.
const maxAnew = 2

func (f *fetcher) fetchFrom(ctx context.Context, part, address string, w want) (sums, error) {
	for anew := 0; ; anew++ {
		got, pieced, err := f.attempt(ctx, part, address, w)
		if err == nil {
			return got, nil
		}
		if !errors.As(err, new(*changedError)) && !pieced || anew == maxAnew {
			return sums{}, err
		}
		f.observer.Note(fmt.Sprintf("%v; beginning anew", err))
		if err := f.discard(part); err != nil {
			return sums{}, err
		}
		if anew+1 == maxAnew { // perhaps several servers answer, which do not agree: one answer is enough
			f = f.inOneGo()
		}
	}
}

// attempt completes the part file and checks it. If it is wrong it is discarded; pieced says
// that it may have been so because a part of it was there already.
func (f *fetcher) attempt(ctx context.Context, part, address string, w want) (got sums, pieced bool, err error) {
	resumed, err := f.transfer(ctx, part, address, w)
	if err != nil {
		return sums{}, false, err
	}
	if got, err = f.sum(ctx, part); err != nil {
		return sums{}, false, err
	}
	if err := w.check(got, shown(address)); err != nil {
		return sums{}, resumed && got.Size > 0, errors.Join(err, f.discard(part))
	}
	return got, false, nil
}

// inOneGo returns a fetcher that asks for a file as a whole.
func (f *fetcher) inOneGo() *fetcher {
	whole := *f
	whole.pace.chunk = 1 << 62
	return &whole
}

// sum computes the checksums of a part file.
func (f *fetcher) sum(ctx context.Context, part string) (sums, error) {
	info, err := f.root.Stat(part)
	if err != nil {
		return sums{}, err
	}
	if info.Size() > quietSize {
		f.observer.Phase("checking")
	}
	done := int64(0)
	return sumFile(ctx, f.root, part, func(n int) {
		done += int64(n)
		f.observer.Bytes(done, info.Size())
	})
}

// discard removes a part file and its journal.
func (f *fetcher) discard(part string) error {
	return errors.Join(ignoreMissing(f.root.Remove(part)), ignoreMissing(f.root.Remove(part+journalSuffix)))
}

// transfer completes the part file from one address. It reports whether a part of it was
// there already.
func (f *fetcher) transfer(ctx context.Context, part, address string, w want) (resumed bool, err error) {
	j := readJournal(f.root, part)
	if j != nil && len(j.missing()) == 0 {
		return true, nil
	}
	if j != nil && !w.maySize(j.Size) {
		j = nil
	}
	a, err := f.begin(ctx, j, address)
	if errors.As(err, new(*shorterError)) && w.empty() { // of nothing there is no range
		return false, f.nothing(part)
	}
	if err != nil {
		return false, err
	}
	defer a.close()
	if a.size >= 0 && !w.maySize(a.size) {
		return false, final("%s has %d bytes there, want %d", a.url, a.size, w.size)
	}
	if j, err = f.goOn(j, a, w); err != nil {
		return false, err
	}
	if !a.ranges {
		return false, f.whole(ctx, part, a, w)
	}
	t := &transfer{fetcher: f, part: part, remote: a.remote, journal: j}
	return j != nil, t.run(ctx, a)
}

// nothing makes a part file that is empty.
func (f *fetcher) nothing(part string) error {
	file, err := f.anew(part, 0)
	if err != nil {
		return err
	}
	return file.Close()
}

// goOn returns the journal of what is there already, if the answer is about the same file
// and can be used to go on with it; nil if it has to be begun anew.
func (f *fetcher) goOn(j *journal, a *answer, w want) (*journal, error) {
	if j == nil {
		return nil, nil
	}
	if !a.ranges {
		f.observer.Note(a.url + " is no longer served in pieces; beginning anew")
		return nil, nil
	}
	if reason := j.continues(a.remote, w.known()); reason != nil {
		return nil, &changedError{a.url, reason}
	}
	return j, nil
}

// begin asks for the first chunk that is missing.
func (f *fetcher) begin(ctx context.Context, j *journal, address string) (a *answer, err error) {
	from, to := int64(0), f.pace.chunk-1
	if j != nil {
		from, to = j.bounds(j.missing()[0])
	}
	err = f.pace.retry(ctx, f.observer.Note, func() (bool, error) {
		a, err = f.servers.ask(ctx, address, from, to)
		return false, err
	})
	if j != nil && errors.As(err, new(*shorterError)) {
		return nil, &changedError{shown(address), err}
	}
	return a, err
}
