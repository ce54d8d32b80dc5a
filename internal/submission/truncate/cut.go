package truncate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// A cutter makes logs of one tree short.
type cutter struct {
	tree   tree.Tree
	backup string
}

var hashLine = regexp.MustCompile(`(?m)^hash=([\p{L}\p{N}_]+)\r?$`)

// errAlreadyCut is the error of a log that was cut and whose hash is not known.
var errAlreadyCut = errors.New("it was cut already and its hash is missing: put the original back")

// A job is a log with the text that its hash belongs into.
type job struct {
	folder
	Log
	text []byte
	mode fs.FileMode
}

// open looks at the files of a folder.
func (c *cutter) open(f folder) (*job, error) {
	j := &job{folder: f, Log: Log{Path: f.path + "/" + logName, What: Kept}}
	info, err := c.inTree(f.path)
	if err != nil {
		return j, err
	}
	j.Size, j.mode = info.Size(), info.Mode().Perm()
	if j.text, err = c.text(f); err != nil {
		return j, err
	}
	if m := hashLine.FindSubmatch(j.text); m != nil {
		j.Hash = string(m[1])
	}
	return j, nil
}

// cut makes one log short: first the backup, then the hash, then the log, so that
// whatever ends it in between, the next call goes on.
func (c *cutter) cut(ctx context.Context, f folder) (Log, error) {
	j, err := c.open(f)
	if err != nil {
		return j.Log, err
	}
	short, hash, err := Shorten(ctx, c.tree.At(j.Path))
	switch {
	case errors.Is(err, ErrCut) && j.Hash != "":
		return j.Log, nil
	case errors.Is(err, ErrCut):
		return j.Log, errAlreadyCut
	case err == nil:
		err = j.is(hash)
	}
	if err != nil || j.Hash != "" && j.Size < shortSize {
		return j.Log, err
	}
	if err := c.save(ctx, j.Path, hash); err != nil {
		return j.Log, err
	}
	err = c.write(j, short, hash)
	return j.Log, err
}

// write writes the hash where it is missing, and then the log.
func (c *cutter) write(j *job, short []byte, hash string) error {
	if j.Hash == "" {
		if err := replace(c.tree.At(j.path+"/"+textName), j.hashed(j.text, hash), j.mode); err != nil {
			return err
		}
	}
	j.Hash, j.What = hash, Hashed
	if j.Size < endSize {
		return nil
	}
	j.What = Cut
	return replace(c.tree.At(j.Path), short, j.mode)
}

// inTree describes the log in a folder. Neither may be elsewhere: what is there is not of this tree.
func (c *cutter) inTree(folder string) (fs.FileInfo, error) {
	if leaves, err := c.tree.Leaves(folder); err != nil || leaves {
		return nil, cmp.Or(err, errors.New("it is behind a link that leaves the tree: copy the folder into the tree"))
	}
	info, err := os.Lstat(c.tree.At(folder + "/" + logName))
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is a link or no file: copy the log into the tree")
	}
	return info, err
}

// is compares the hash that accuracy.txt has with that of the log.
func (l Log) is(hash string) error {
	if l.Hash != "" && l.Hash != hash {
		return fmt.Errorf("%s has the hash of another log, %s: this one's is %s", textName, l.Hash, hash)
	}
	return nil
}

// hashed is accuracy.txt with the hash. Of TEST07 and TEST09 nothing else is kept.
func (f folder) hashed(text []byte, hash string) []byte {
	if f.test == "TEST07" || f.test == "TEST09" {
		return fmt.Appendf(nil, "hash=%s\n", hash)
	}
	return fmt.Appendf(text, "\nhash=%s\n", hash)
}

// text returns accuracy.txt. The result's own must be there; a test's may be missing.
func (c *cutter) text(f folder) ([]byte, error) {
	path := f.path + "/" + textName
	if info, err := os.Lstat(c.tree.At(path)); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is a link or no file: copy it into the tree", textName)
	}
	text, err := c.tree.Read(path, largestText)
	if errors.Is(err, fs.ErrNotExist) {
		if f.test == "" {
			return nil, fmt.Errorf("%s is missing: score the log first", textName)
		}
		return nil, nil
	}
	return text, err
}

// save copies a log with a hash into the backup. What is there already must be the same.
func (c *cutter) save(ctx context.Context, path, hash string) error {
	to := filepath.Join(c.backup, filepath.FromSlash(path))
	switch kept, _, err := fileio.SHA256(ctx, to); {
	case err == nil && kept == hash:
		return nil
	case err == nil:
		return fmt.Errorf("the backup %s is of another log: move it away", to)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return keep(ctx, c.tree.At(path), to, hash)
}

// keep copies a log with a hash, and reads it again.
func keep(ctx context.Context, from, to, hash string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := copyFile(ctx, from, to); err != nil {
		return err
	}
	if kept, _, err := fileio.SHA256(ctx, to); err != nil || kept != hash {
		return errors.Join(err, fmt.Errorf("the backup %s is not what was copied", to))
	}
	return nil
}

func copyFile(ctx context.Context, from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	err = fileio.WriteSynced(to, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, reader{ctx, src})
		return err
	})
	return errors.Join(err, src.Close())
}

// replace writes a file as a whole.
func replace(path string, data []byte, mode fs.FileMode) error {
	return fileio.WriteSynced(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// A reader ends with its context.
type reader struct {
	ctx context.Context
	src io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.src.Read(p)
}
