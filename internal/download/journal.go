package download

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A journal says which chunks of a part file are there, and of which version of which
// file. It is written after a chunk, so it never says more than is true, unless the
// machine lost power; then the checksum tells.
type journal struct {
	Format   int    `json:"format"`
	URL      string `json:"url"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"last_modified,omitempty"`
	Size     int64  `json:"size"`
	Chunk    int64  `json:"chunk"`
	Done     []bool `json:"done"`
}

const (
	journalFormat = 1
	journalSuffix = ".journal"
	partSuffix    = ".part"
)

// maxChunks bounds what a server's word for a size makes of memory: of the usual chunks, more
// than any disk has.
const maxChunks = 1 << 24

// newJournal returns the journal of a file that has not been begun; nil if its size cannot be.
func newJournal(r remote, chunk int64) *journal {
	chunks := (r.size-1)/chunk + 1
	if chunks > maxChunks || r.size > math.MaxInt64/2 {
		return nil
	}
	return &journal{
		Format: journalFormat, URL: r.url, ETag: r.etag, Modified: r.modified,
		Size: r.size, Chunk: chunk, Done: make([]bool, chunks),
	}
}

// readJournal returns the journal of a part file; nil if there is none that fits it.
func readJournal(root *os.Root, part string) *journal {
	data, err := readFile(root, part+journalSuffix)
	if err != nil {
		return nil
	}
	j := &journal{}
	if json.Unmarshal(data, j) != nil || !j.sane() {
		return nil
	}
	info, err := root.Stat(part)
	if err != nil || info.Size() != j.Size {
		return nil
	}
	return j
}

func (j *journal) sane() bool {
	return j.Format == journalFormat && j.Size > 0 && j.Chunk > 0 && int64(len(j.Done)) == (j.Size-1)/j.Chunk+1
}

// write replaces the journal's file at once.
func (j *journal) write(root *os.Root, part string) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return writeFile(root, part+journalSuffix, data)
}

// writeFile replaces a file of our own folder at once: it has the old contents or the new
// ones.
func writeFile(root *os.Root, name string, data []byte) error {
	return fileio.WriteFile(filepath.Join(root.Name(), filepath.FromSlash(name)), data, 0o644)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// bounds are the first and the last byte of a chunk.
func (j *journal) bounds(i int) (from, to int64) {
	from = int64(i) * j.Chunk
	return from, min(from+j.Chunk, j.Size) - 1
}

// missing lists the chunks that are not there.
func (j *journal) missing() []int {
	var list []int
	for i, done := range j.Done {
		if !done {
			list = append(list, i)
		}
	}
	return list
}

// have is the number of bytes that are there.
func (j *journal) have() int64 {
	n := int64(0)
	for i, done := range j.Done {
		if done {
			from, to := j.bounds(i)
			n += to - from + 1
		}
	}
	return n
}

// continues says whether a file at a server is the one that was begun, and if not, why
// not. From another address the same size is enough if a checksum will tell.
func (j *journal) continues(r remote, checksum bool) error {
	switch {
	case r.size != j.Size:
		return fmt.Errorf("its size was %d and is %d", j.Size, r.size)
	case r.url == j.URL:
		return j.unchanged(r, checksum)
	case checksum:
		return nil
	}
	return fmt.Errorf("it was begun from %s, and no checksum is known", j.URL)
}

// unchanged says whether a file is still the same at the address that it was begun from.
func (j *journal) unchanged(r remote, checksum bool) error {
	if err := r.sameVersion(j.ETag, j.Modified); err != nil {
		return err
	}
	if r.etag == "" && r.modified == "" && !checksum {
		return errors.New("the server gives neither ETag nor date, and no checksum is known")
	}
	return nil
}

// sameVersion says whether a file is as it was, and if not, what has changed.
func (r remote) sameVersion(etag, modified string) error {
	if r.etag != etag {
		return fmt.Errorf("its ETag was %q and is %q", etag, r.etag)
	}
	if r.modified != modified {
		return fmt.Errorf("it was changed at %q and now at %q", modified, r.modified)
	}
	return nil
}
