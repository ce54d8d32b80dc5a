package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Limits of files that are read whole, in bytes.
const (
	maxImage  = 256 << 20
	maxText   = 1 << 30 // lists, questions, sentences
	maxPickle = 4 << 30 // a case of KiTS19
)

// maxErrors limits the reported errors of one data set.
const maxErrors = 5

// A fileCheck looks for the files of a data set. It gathers the first errors, and hashes names and versions of the
// files, without the path of their folder: links share a cache of prepared samples.
type fileCheck struct {
	hash hash.Hash
	errs []error
}

func newFileCheck() *fileCheck { return &fileCheck{hash: sha256.New()} }

// add looks for a file by its path, which a list names relative to a folder.
func (c *fileCheck) add(name, path string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%s is not below the folder", name)
	}
	info, err := fileio.Stat(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.hash, name, fileio.Version(info))
	return nil
}

// failed notes an error and its place. False: enough, the rest need not be checked.
func (c *fileCheck) failed(place string, err error) bool {
	if len(c.errs) == maxErrors {
		c.errs = append(c.errs, errors.New("…"))
		return false
	}
	c.errs = append(c.errs, fmt.Errorf("%s: %w", place, err))
	return true
}

// result returns the hash of the files and their errors.
func (c *fileCheck) result() (fingerprint string, err error) {
	return hex.EncodeToString(c.hash.Sum(nil)[:10]), errors.Join(c.errs...)
}

// opening adds the data set to an error: deferred, it sees all errors of a function.
func opening(name string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("opening %s: %w", name, *err)
	}
}

// firstExisting returns the first of some paths below a folder that exists, or else the first.
func firstExisting(dir string, paths ...string) string {
	for _, p := range paths {
		if path := filepath.Join(dir, filepath.FromSlash(p)); fileio.Exists(path) {
			return path
		}
	}
	return filepath.Join(dir, filepath.FromSlash(paths[0]))
}

var kindNames = map[jsontext.Kind]string{'{': "object", '[': "list"}

// parseJSON reads JSON. Errors name the line.
func parseJSON(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var at int64
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		at = syntactic.ByteOffset
	case errors.As(err, &semantic):
		at = semantic.ByteOffset
		err = fmt.Errorf("unexpected %v at %q", cmp.Or(kindNames[semantic.JSONKind], semantic.JSONKind.String()), semantic.JSONPointer)
	default:
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(at, int64(len(data)))], []byte("\n")), err)
}
