package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Detection is a set of images with objects in them: COCO, or OpenImages as MLPerf's
// tools prepare it. Sample i is image i of the annotation file.
type Detection struct {
	dir         string // the names of images begin here
	cached      string // and here in the reference's cache
	options     Options
	images      []accuracy.Image
	fingerprint string
}

// A detectionLayout is how a data set lies on disk. Of several places the first that
// exists counts.
type detectionLayout struct {
	name        string
	annotations []string
	images      []string
	cached      string // before the names of images in the reference's cache
}

func cocoLayout() detectionLayout {
	return detectionLayout{"COCO", []string{"annotations/instances_val2017.json"}, []string{"val2017"}, "val2017/"}
}

// openImagesLayout is that of openimages_mlperf.sh. The reference's program wants the
// images right below the folder that it is given, so that people have both.
func openImagesLayout() detectionLayout {
	const file = "annotations/openimages-mlperf.json"
	return detectionLayout{"OpenImages", []string{file, "../../" + file}, []string{"validation/data", "."}, ""}
}

// OpenCOCO opens the data set in a folder: val2017 with the images, and
// annotations/instances_val2017.json.
func OpenCOCO(dir string, o Options) (*Detection, error) { return cocoLayout().open(dir, o) }

// OpenOpenImages opens the data set in a folder: annotations/openimages-mlperf.json, and
// the images in validation/data, or in the folder itself.
func OpenOpenImages(dir string, o Options) (*Detection, error) {
	return openImagesLayout().open(dir, o)
}

// ReadCOCO reads the annotations of the data set in a folder.
func ReadCOCO(dir string) (*accuracy.GroundTruth, error) {
	truth, _, err := cocoLayout().read(dir)
	return truth, err
}

// ReadOpenImages reads the annotations of the data set in a folder.
func ReadOpenImages(dir string) (*accuracy.GroundTruth, error) {
	truth, _, err := openImagesLayout().read(dir)
	return truth, err
}

// ReadAnnotations reads a file of annotations in COCO's form, wherever it is.
func ReadAnnotations(path string) (*accuracy.GroundTruth, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the annotations: %w", err)
	}
	defer f.Close()
	return accuracy.ReadCOCO(f)
}

// read reads the annotations and says where they were.
func (l detectionLayout) read(dir string) (*accuracy.GroundTruth, string, error) {
	path := firstThere(dir, l.annotations)
	f, err := fileio.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("opening %s in %s: there is no %s: want that file and the images in %s",
			l.name, dir, l.annotations[0], l.images[0])
	}
	if err != nil {
		return nil, "", fmt.Errorf("opening %s: %w", l.name, err)
	}
	defer f.Close()
	truth, err := accuracy.ReadCOCO(f)
	if err != nil {
		return nil, "", fmt.Errorf("opening %s: %w", l.name, err)
	}
	return truth, path, nil
}

// firstThere returns the first of some paths below a folder that exists, or else the
// first.
func firstThere(dir string, paths []string) string {
	for _, p := range paths {
		if path := filepath.Join(dir, filepath.FromSlash(p)); exists(path) {
			return path
		}
	}
	return filepath.Join(dir, filepath.FromSlash(paths[0]))
}

func (l detectionLayout) open(dir string, o Options) (*Detection, error) {
	truth, path, err := l.read(dir)
	if err != nil {
		return nil, err
	}
	d := &Detection{dir: firstThere(dir, l.images), cached: l.cached, options: o, images: truth.Images}
	if o.DropEmpty {
		d.images = annotated(truth)
	}
	switch {
	case len(d.images) == 0:
		return nil, fmt.Errorf("opening %s: %s lists no image", l.name, path)
	case o.Count > len(d.images):
		return nil, fmt.Errorf("opening %s: %d images are wanted, %s lists %d", l.name, o.Count, path, len(d.images))
	case o.Count == 0:
		o.Count = len(d.images)
	}
	if err := d.check(path, o.Count); err != nil {
		return nil, fmt.Errorf("opening %s: %w", l.name, err)
	}
	d.images = d.images[:o.Count]
	return d, nil
}

// annotated returns the images in which there is an object of a category that is listed,
// in the order of the file: the samples that accuracy.DetectionOptions.RemoveEmptyImages
// means.
func annotated(truth *accuracy.GroundTruth) []accuracy.Image {
	listed := make(map[int64]bool)
	for _, c := range truth.Categories {
		listed[c.ID] = true
	}
	seen := make(map[int64]bool)
	for _, a := range truth.Annotations {
		if listed[a.CategoryID] {
			seen[a.ImageID] = true
		}
	}
	var images []accuracy.Image
	for _, image := range truth.Images {
		if seen[image.ID] {
			images = append(images, image)
		}
	}
	return images
}

// check wants the first count images to be there. The fingerprint has the others, too,
// so that it does not depend on the count.
func (d *Detection) check(path string, count int) error {
	files := newFileCheck()
	for i, image := range d.images {
		err := files.add(image.FileName, d.Path(i))
		if err != nil && i < count && !files.failed(fmt.Sprintf("%s: image %d (id %d)", path, i, image.ID), err) {
			break
		}
	}
	d.fingerprint = files.fingerprint()
	return files.err()
}

// Len is the number of images.
func (d *Detection) Len() int { return len(d.images) }

// Image returns what the annotation file says about an image.
func (d *Detection) Image(i int) accuracy.Image { return d.images[i] }

// Path returns the file of an image, or of what was made of it.
func (d *Detection) Path(i int) string {
	name := d.images[i].FileName
	return d.options.path(d.dir, name, d.cached+name)
}

// Read returns the content of the file.
func (d *Detection) Read(i int) ([]byte, error) { return readSample(d.Path(i)) }

// Fingerprint names the content of the whole data set, as far as names, sizes and times
// of the files tell it.
func (d *Detection) Fingerprint() string { return d.fingerprint }
