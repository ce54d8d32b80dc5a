package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Options choose samples, and where they come from. The zero value means all, from the
// folder of the data set.
type Options struct {
	Count int // use the first samples only; 0: all

	// DropEmpty leaves images out in which nothing is annotated. The reference does so
	// for the PyTorch variant of SSD-ResNet34, 48 images of COCO's 5000, and for no other.
	DropEmpty bool

	// Preprocessed is a folder with what the reference made of the images: for each a file
	// of its name and .npy, as it has them in preprocessed/<data set>/<layout>. The images
	// themselves need not be there then.
	Preprocessed string
}

// path returns the file of a sample: that of the image below a folder, or what was made
// of it before.
func (o Options) path(dir, name, cached string) string {
	if o.Preprocessed != "" {
		return filepath.Join(o.Preprocessed, filepath.FromSlash(cached)+".npy")
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// Most bytes of a file that is read as a whole: a picture, a list of names, a pickled
// case with its labels.
const (
	maxSample = 256 << 20
	maxList   = 16 << 20
	maxPickle = 4 << 30
)

// readSample reads the file of a picture, or of what was made of it.
func readSample(path string) ([]byte, error) { return fileio.ReadFile(path, maxSample) }

// maxReported bounds a list of errors to what a person reads.
const maxReported = 5

// A fileCheck looks at the files of a data set one by one. It gathers the first few
// errors, and names what is there.
type fileCheck struct {
	hash hash.Hash
	errs []error
}

// newFileCheck does not take the folder's own name into what names the files: copies and links
// share what was made of them.
func newFileCheck() *fileCheck { return &fileCheck{hash: sha256.New()} }

// failed says that a place is wrong. It returns false when there were so many that the
// rest need not be looked at.
func (c *fileCheck) failed(place string, err error) bool {
	if len(c.errs) == maxReported {
		c.errs = append(c.errs, errors.New("…"))
	}
	if len(c.errs) < maxReported {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", place, err))
	}
	return len(c.errs) <= maxReported
}

// add looks at a file below the folder, by its name in a list.
func (c *fileCheck) add(name, path string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%s is not below the folder", name)
	}
	info, err := fileio.Stat(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.hash, name, info.Size(), info.ModTime().UnixNano())
	return nil
}

// fingerprint names what was added.
func (c *fileCheck) fingerprint() string { return hex.EncodeToString(c.hash.Sum(nil)[:10]) }

// err returns what is wrong, nil if nothing is.
func (c *fileCheck) err() error { return errors.Join(c.errs...) }

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
