package truncate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mlperf-go/mlperf/internal/submission/tree"
	"github.com/mlperf-go/mlperf/internal/whole"
)

// A cutter makes logs of one tree short.
type cutter struct {
	tree   tree.Tree
	backup string
}

var hashLine = regexp.MustCompile(`(?m)^hash=([\p{L}\p{N}_]+)\r?$`)

// errAlreadyCut is the error of a log that was cut and whose hash is not known.
var errAlreadyCut = errors.New("it was cut already and its hash is missing: put the original back")

// cut makes one log short: first the backup, then the hash, then the log, so that
// whatever ends it in between, the next call goes on.
func (c *cutter) cut(ctx context.Context, f folder) (Log, error) {
	path := f.path + "/" + logName
	log := Log{Path: path, What: Kept}
	info, err := os.Lstat(c.tree.At(path))
	if err != nil {
		return log, err
	}
	if !info.Mode().IsRegular() {
		return log, errors.New("it is a link or no file: copy the log into the tree")
	}
	text, err := c.text(f)
	if err != nil {
		return log, err
	}
	if m := hashLine.FindSubmatch(text); m != nil {
		log.Hash = string(m[1])
	}
	log.Size = info.Size()
	if log.Hash != "" && log.Size < shortSize {
		return log, c.keeps(ctx, log)
	}
	return c.change(ctx, f, log, text, info)
}

// keeps refuses a short log that was not cut and has the hash of another.
func (c *cutter) keeps(ctx context.Context, log Log) error {
	if was, err := c.wasCut(log); err != nil || was {
		return err
	}
	hash, err := sum(ctx, c.tree.At(log.Path))
	if err == nil {
		err = log.is(hash)
	}
	return err
}

// is compares the hash that accuracy.txt has with that of the log.
func (l Log) is(hash string) error {
	if l.Hash != "" && l.Hash != hash {
		return fmt.Errorf("%s has the hash of another log, %s: this one's is %s", textName, l.Hash, hash)
	}
	return nil
}

func (c *cutter) change(ctx context.Context, f folder, log Log, text []byte, info fs.FileInfo) (Log, error) {
	if was, err := c.wasCut(log); err != nil || was {
		return log, errors.Join(err, errAlreadyCut)
	}
	hash, err := c.save(ctx, log.Path)
	if err != nil {
		return log, err
	}
	if err := log.is(hash); err != nil {
		return log, err
	}
	if log.Hash == "" {
		if err := replace(c.tree.At(f.path+"/"+textName), f.hashed(text, hash), info.Mode().Perm()); err != nil {
			return log, err
		}
	}
	log.Hash, log.What = hash, Hashed
	if log.Size < endSize {
		return log, nil
	}
	log.What = Cut
	ends, err := c.ends(log)
	if err != nil {
		return log, err
	}
	return log, replace(c.tree.At(log.Path), ends, info.Mode().Perm())
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
	text, err := c.tree.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		if f.test == "" {
			return nil, fmt.Errorf("%s is missing: score the log first", textName)
		}
		return nil, nil
	}
	return text, err
}

// wasCut reports whether a log is what cutting leaves.
func (c *cutter) wasCut(log Log) (bool, error) {
	if log.Size != int64(CutSize) {
		return false, nil
	}
	data, err := c.tree.Read(log.Path)
	return err == nil && string(data[endSize:endSize+len(Mark)]) == Mark, err
}

// ends returns both ends of a log with the mark between them.
func (c *cutter) ends(log Log) ([]byte, error) {
	f, err := c.tree.Open(log.Path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = io.CopyN(&b, f, endSize)
	b.WriteString(Mark)
	tail := io.NewSectionReader(f, log.Size-endSize, endSize)
	_, errTail := io.Copy(&b, tail)
	return b.Bytes(), errors.Join(err, errTail, f.Close())
}

// save copies a log into the backup and returns its hash. What is there already must be
// the same.
func (c *cutter) save(ctx context.Context, path string) (string, error) {
	to := filepath.Join(c.backup, filepath.FromSlash(path))
	have, err := sum(ctx, c.tree.At(path))
	if err != nil {
		return "", err
	}
	switch kept, err := sum(ctx, to); {
	case err == nil && kept == have:
		return have, nil
	case err == nil:
		return "", fmt.Errorf("the backup %s is of another log: move it away", to)
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return have, keep(ctx, c.tree.At(path), to, have)
}

// keep copies a log with a hash, and reads it again.
func keep(ctx context.Context, from, to, hash string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := copyFile(ctx, from, to); err != nil {
		return err
	}
	if kept, err := sum(ctx, to); err != nil || kept != hash {
		return errors.Join(err, fmt.Errorf("the backup %s is not what was copied", to))
	}
	return nil
}

// sum returns the SHA-256 of a file.
func sum(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, reader{ctx, f})
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

func copyFile(ctx context.Context, from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	err = whole.WriteSynced(to, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, reader{ctx, src})
		return err
	})
	return errors.Join(err, src.Close())
}

// replace writes a file as a whole.
func replace(path string, data []byte, mode fs.FileMode) error {
	return whole.WriteSynced(path, mode, func(w io.Writer) error {
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
