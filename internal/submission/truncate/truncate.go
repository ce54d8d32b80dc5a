package truncate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

const (
	shortSize   = 10 << 10 // truncate_accuracy_log.py, MAX_ACCURACY_LOG_SIZE: longer ones are cut although they have a hash
	largestText = 64 << 20
	logName     = "mlperf_log_accuracy.json"
	textName    = "accuracy.txt"
)

// Options say what to cut.
type Options struct {
	Tree      string // the folder with closed, open and network
	Backup    string // for the originals; not inside of the tree
	Submitter string // "": all
}

// An Action is what was done to a log.
type Action string

// The actions.
const (
	Cut    Action = "cut"    // made short
	Hashed Action = "hashed" // short enough; its hash was missing
	Kept   Action = "kept"   // in order already
)

// A Log is an accuracy log and what was done to it.
type Log struct {
	Path string `json:"path"` // from the root of the tree
	What Action `json:"what"`
	Hash string `json:"hash"` // SHA-256 of the original
	Size int64  `json:"size"` // of the original, in bytes
}

// Tree makes the accuracy logs of a tree short. It leaves a log alone if cutting it would lose data, cuts the others, and
// returns an error for each such log.
func Tree(ctx context.Context, o Options) ([]Log, error) {
	root, err := filepath.Abs(o.Tree)
	if err != nil {
		return nil, err
	}
	backup, err := filepath.Abs(o.Backup)
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(root, backup); err != nil || filepath.IsLocal(rel) {
		return nil, cmp.Or(err, fmt.Errorf("backup %s is inside of the tree: it would be submitted", o.Backup))
	}
	paths, err := find(root, o.Submitter)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no accuracy logs: expected <division>/<submitter>/results/<system>/<benchmark>/<scenario>/accuracy/%s", o.Tree, logName)
	}
	var logs []Log
	var failed []error
	for _, path := range paths {
		if ctx.Err() != nil {
			return logs, context.Cause(ctx)
		}
		log, err := cut(ctx, root, path, filepath.Join(backup, filepath.FromSlash(path)))
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
			continue
		}
		logs = append(logs, log)
	}
	return logs, errors.Join(failed...)
}

// find lists the accuracy logs, of results and of the tests that keep responses, in both layouts.
func find(root, submitter string) (paths []string, err error) {
	for _, test := range []string{"", "TEST01/", "TEST07/", "TEST09/"} {
		for _, part := range []string{"results", "compliance"} {
			found, err := fs.Glob(os.DirFS(root), "*/*/"+part+"/*/*/*/"+test+"accuracy/"+logName)
			if err != nil {
				return nil, err
			}
			paths = append(paths, found...)
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		parts := strings.Split(path, "/")
		return !slices.Contains(rounds.Divisions(), parts[0]) || submitter != "" && parts[1] != submitter
	})
	slices.Sort(paths)
	return paths, nil
}

var hashLine = regexp.MustCompile(`(?m)^hash=(\w+)\r?$`)

// HashIn returns the hash of a log that the text of accuracy.txt has; "": none. The script of Qwen3-VL writes one of the line with the
// score, which does not count.
func HashIn(text []byte) string {
	for _, m := range hashLine.FindAllSubmatch(text, -1) {
		ofLine := func(line []byte) bool {
			line = bytes.TrimSpace(line)
			return len(line) > 0 && fmt.Sprintf("%x", sha256.Sum256(line)) == string(m[1])
		}
		if !slices.ContainsFunc(bytes.Split(text, []byte("\n")), ofLine) {
			return string(m[1])
		}
	}
	return ""
}

// WithHash returns the text of accuracy.txt with the hash of the whole log; of TEST07 and TEST09 it has nothing else. The hash of
// another log is an error. Test is the compliance test; empty: the log is that of a result.
func WithHash(text []byte, test, hash string) ([]byte, error) {
	switch has := HashIn(text); {
	case has == hash:
		return text, nil
	case has != "":
		return nil, fmt.Errorf("%s has the hash of another log, %s: must be %s", textName, has, hash)
	case test == "TEST07" || test == "TEST09":
		return []byte("hash=" + hash + "\n"), nil
	}
	return fmt.Appendf(text, "\nhash=%s\n", hash), nil
}

// errAlreadyCut is the error of a log that was cut and whose hash is not known.
var errAlreadyCut = errors.New("it was cut already and its hash is missing: put the original back")

// cut makes one log short: first the backup, then the hash, then the log, so that the next call goes on wherever this one
// is interrupted.
func cut(ctx context.Context, root, logPath, backup string) (Log, error) {
	log := Log{Path: logPath, What: Kept}
	at := filepath.Join(root, filepath.FromSlash(logPath))
	textAt := filepath.Join(filepath.Dir(at), textName)
	// A file outside of the tree is not part of the submission.
	if inside, err := fileio.Inside(root, filepath.Dir(at)); err != nil || !inside {
		return log, cmp.Or(err, errors.New("it is behind a link that leaves the tree: copy the folder into the tree"))
	}
	info, err := os.Lstat(at)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file: copy the log into the tree")
	}
	if err != nil {
		return log, err
	}
	log.Size = info.Size()
	if info, err := os.Lstat(textAt); err == nil && !info.Mode().IsRegular() {
		return log, fmt.Errorf("%s is not a regular file: copy it into the tree", textName)
	}
	test := path.Base(path.Dir(path.Dir(logPath)))
	isTest := strings.HasPrefix(test, "TEST")
	text, err := fileio.ReadFile(textAt, largestText)
	if errors.Is(err, fs.ErrNotExist) && isTest { // the text of a test may be missing
		err = nil
	} else if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is missing: score the log first", textName)
	}
	if err != nil {
		return log, err
	}
	log.Hash = HashIn(text)
	short, hash, err := Shorten(ctx, at)
	switch {
	case errors.Is(err, ErrCut) && log.Hash != "":
		return log, nil
	case errors.Is(err, ErrCut):
		return log, errAlreadyCut
	case err != nil:
		return log, err
	}
	text, err = WithHash(text, test, hash)
	if err != nil || log.Hash != "" && log.Size < shortSize {
		return log, err
	}
	if err := backUp(ctx, at, backup, hash); err != nil {
		return log, err
	}
	if log.Hash == "" {
		if err := replace(textAt, text, info.Mode().Perm()); err != nil {
			return log, err
		}
	}
	log.Hash, log.What = hash, Hashed
	if log.Size < endSize {
		return log, nil
	}
	log.What = Cut
	return log, replace(at, short, info.Mode().Perm())
}

// backUp copies a log with a hash, and compares the copy. What the backup has already must be the same.
func backUp(ctx context.Context, from, to, hash string) error {
	switch kept, _, err := fileio.SHA256(ctx, to); {
	case err == nil && kept == hash:
		return nil
	case err == nil:
		return fmt.Errorf("the backup %s is of another log: move it away", to)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	err = fileio.WriteSynced(to, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, fileio.UntilDone(ctx, src))
		return err
	})
	if err := errors.Join(err, src.Close()); err != nil {
		return err
	}
	if kept, _, err := fileio.SHA256(ctx, to); err != nil || kept != hash {
		return errors.Join(err, fmt.Errorf("the backup %s differs from the log", to))
	}
	return nil
}

func replace(path string, data []byte, mode fs.FileMode) error {
	return fileio.WriteSynced(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
