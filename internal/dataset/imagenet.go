package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// ImageNet is a validation set of labelled images.
type ImageNet struct {
	dir         string
	options     Options
	images      []accuracy.LabeledImage
	fingerprint string
}

// valMap lists the images, one per line: the path below the folder, and the class.
const valMap = "val_map.txt"

// imageNetClasses is the number of classes of ILSVRC-2012; labels are below it.
const imageNetClasses = 1000

// ReadValMap reads the list of images and labels of the data set in a folder.
func ReadValMap(dir string) ([]accuracy.LabeledImage, error) {
	f, err := fileio.Open(filepath.Join(dir, valMap))
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
// once.
func OpenImageNet(dir string, o Options) (*ImageNet, error) {
	images, err := ReadValMap(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, valMap)
	if o.Count > len(images) {
		return nil, fmt.Errorf("opening ImageNet: %d images are wanted, %s lists %d", o.Count, path, len(images))
	}
	d := &ImageNet{dir: dir, options: o, images: images}
	if err := d.check(path); err != nil {
		return nil, fmt.Errorf("opening ImageNet: %w", err)
	}
	if o.Count > 0 {
		d.images = images[:o.Count]
	}
	return d, nil
}

// check finds what would make a run worthless: a line twice, a class that does not
// exist, an image that is missing. It reports the first few of each.
func (d *ImageNet) check(path string) error {
	files := newFileCheck()
	lines := make(map[string]int, len(d.images))
	for i := range d.images {
		err := d.checkImage(i, lines, files)
		if err != nil && !files.failed(fmt.Sprintf("%s:%d", path, i+1), err) {
			break
		}
	}
	d.fingerprint = files.fingerprint()
	return files.err()
}

// checkImage checks a line of the list, given those before it.
func (d *ImageNet) checkImage(i int, lines map[string]int, files *fileCheck) error {
	image := d.images[i]
	if first, ok := lines[image.Name]; ok {
		return fmt.Errorf("%s is listed already in line %d", image.Name, first)
	}
	lines[image.Name] = i + 1
	if image.Label < 0 || image.Label >= imageNetClasses {
		return fmt.Errorf("the class of %s is %d, want 0 to %d", image.Name, image.Label, imageNetClasses-1)
	}
	return files.add(image.Name, d.Path(i))
}

// Len is the number of images.
func (d *ImageNet) Len() int { return len(d.images) }

// Dir is the folder.
func (d *ImageNet) Dir() string { return d.dir }

// Name returns the name of an image as the list has it.
func (d *ImageNet) Name(i int) string { return d.images[i].Name }

// Path returns the file of an image, or of what was made of it.
func (d *ImageNet) Path(i int) string {
	name := d.images[i].Name
	return d.options.path(d.dir, name, name)
}

// Read returns the content of the file.
func (d *ImageNet) Read(i int) ([]byte, error) { return readSample(d.Path(i)) }

// Truth returns the labels, sample by sample.
func (d *ImageNet) Truth() []accuracy.LabeledImage { return d.images }

// Fingerprint names the content of the whole data set, as far as names, sizes and times
// of the files tell it.
func (d *ImageNet) Fingerprint() string { return d.fingerprint }
