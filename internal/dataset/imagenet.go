package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy"
)

// ImageNet is a validation set of labelled images.
type ImageNet struct {
	dir         string
	images      []accuracy.LabeledImage
	fingerprint string
}

// valMap lists the images, one per line: the path below the folder, and the class.
const valMap = "val_map.txt"

// imageNetClasses is the number of classes of ILSVRC-2012; labels are below it.
const imageNetClasses = 1000

// ReadValMap reads the list of images and labels of the data set in a folder.
func ReadValMap(dir string) ([]accuracy.LabeledImage, error) {
	f, err := os.Open(filepath.Join(dir, valMap))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening ImageNet in %s: there is no %s: "+
			"want one line per image, its path below the folder and its class from 0 to %d", dir, valMap, imageNetClasses-1)
	}
	if err != nil {
		return nil, fmt.Errorf("opening ImageNet: %w", err)
	}
	defer f.Close()
	images, err := accuracy.ReadValMap(f)
	if err != nil {
		return nil, fmt.Errorf("opening ImageNet: %w", err)
	}
	return images, nil
}

// OpenImageNet opens the data set in a folder, whose val_map.txt must name every image
// once. If count is not 0, only the first count images are used.
func OpenImageNet(dir string, count int) (*ImageNet, error) {
	images, err := ReadValMap(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, valMap)
	if count > len(images) {
		return nil, fmt.Errorf("opening ImageNet: %d images are wanted, %s lists %d", count, path, len(images))
	}
	d := &ImageNet{dir: dir, images: images}
	if err := d.check(path); err != nil {
		return nil, fmt.Errorf("opening ImageNet: %w", err)
	}
	if count > 0 {
		d.images = images[:count]
	}
	return d, nil
}

// check finds what would make a run worthless: a line twice, a class that does not
// exist, an image that is missing. It reports the first few of each.
func (d *ImageNet) check(path string) error {
	var errs []error
	h := sha256.New()
	fmt.Fprintln(h, d.dir)
	report := func(line int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %w", path, line, fmt.Errorf(format, args...)))
	}
	lines := make(map[string]int, len(d.images))
	for i, image := range d.images {
		if len(errs) == maxReported {
			return errors.Join(append(errs, errors.New("…"))...)
		}
		line := i + 1
		if first, ok := lines[image.Name]; ok {
			report(line, "%s is listed already in line %d", image.Name, first)
			continue
		}
		lines[image.Name] = line
		if image.Label < 0 || image.Label >= imageNetClasses {
			report(line, "the class of %s is %d, want 0 to %d", image.Name, image.Label, imageNetClasses-1)
		}
		if !filepath.IsLocal(filepath.FromSlash(image.Name)) {
			report(line, "%s is not below the folder", image.Name)
		} else if info, err := os.Stat(d.Path(i)); err != nil {
			report(line, "%w", err)
		} else if !info.Mode().IsRegular() {
			report(line, "%s is not a file", d.Path(i))
		} else {
			fmt.Fprintln(h, image.Name, info.Size(), info.ModTime().UnixNano())
		}
	}
	d.fingerprint = hex.EncodeToString(h.Sum(nil)[:10])
	return errors.Join(errs...)
}

// maxReported bounds a list of errors to what a person reads.
const maxReported = 5

// Len is the number of images.
func (d *ImageNet) Len() int { return len(d.images) }

// Dir is the folder.
func (d *ImageNet) Dir() string { return d.dir }

// Name returns the name of an image as the list has it.
func (d *ImageNet) Name(i int) string { return d.images[i].Name }

// Path returns the file of an image.
func (d *ImageNet) Path(i int) string {
	return filepath.Join(d.dir, filepath.FromSlash(d.images[i].Name))
}

// Read returns the content of an image file.
func (d *ImageNet) Read(i int) ([]byte, error) { return os.ReadFile(d.Path(i)) }

// Truth returns the labels, sample by sample.
func (d *ImageNet) Truth() []accuracy.LabeledImage { return d.images }

// Fingerprint names the content of the whole data set, as far as names, sizes and times
// of the files tell it.
func (d *ImageNet) Fingerprint() string { return d.fingerprint }
