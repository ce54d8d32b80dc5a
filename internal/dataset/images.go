package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Options choose samples and their files. The zero value means all, from the folder of the data set.
type Options struct {
	Count int // use only the first samples; 0: all

	// DropEmpty leaves out images without annotations. The reference does so for the PyTorch variant of SSD-ResNet34 (48
	// images of COCO's 5000) and for no other.
	DropEmpty bool

	// Preprocessed is a folder with arrays that the reference made of the images (preprocessed/<data set>/<layout>), each
	// named after its image, with .npy at the end. The images themselves may be missing then.
	Preprocessed string
}

// path returns the file of a sample: an image below a folder, or its array.
func (o Options) path(dir, name, array string) string {
	if o.Preprocessed != "" {
		return filepath.Join(o.Preprocessed, filepath.FromSlash(array)+".npy")
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// Images are the files of samples that are images, or arrays made of images.
type Images struct {
	paths       []string
	fingerprint string
}

// Len returns the number of samples.
func (s *Images) Len() int { return len(s.paths) }

// Path returns the file of a sample.
func (s *Images) Path(i int) string { return s.paths[i] }

// Read returns the content of the file.
func (s *Images) Read(i int) ([]byte, error) { return fileio.ReadFile(s.paths[i], maxImage) }

// Fingerprint identifies the whole data set by names, sizes and times of its files.
func (s *Images) Fingerprint() string { return s.fingerprint }

// valMap lists the images of ImageNet, one per line: the path below the folder, and the class.
const valMap = "val_map.txt"

// imageNetClasses is the number of classes of ILSVRC-2012.
const imageNetClasses = 1000

// ReadValMap reads the images and labels of ImageNet in a folder.
func ReadValMap(dir string) ([]accuracy.LabeledImage, error) {
	f, err := fileio.Open(filepath.Join(dir, valMap))
	if errors.Is(err, fs.ErrNotExist) && !fileio.Exists(dir) {
		return nil, fmt.Errorf("opening ImageNet: the folder %s is missing", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening ImageNet in %s: %s is missing: "+
			"expected one line per image, its path below the folder and its class from 0 to %d", dir, valMap, imageNetClasses-1)
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

// OpenImageNet opens ImageNet in a folder, whose val_map.txt must name every image once.
func OpenImageNet(dir string, o Options) (*Images, error) {
	images, err := ReadValMap(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, valMap)
	if o.Count > len(images) {
		return nil, fmt.Errorf("opening ImageNet: %d images are wanted, %s lists %d", o.Count, path, len(images))
	}
	s, files, lines := &Images{}, newFileCheck(), make(map[string]int, len(images))
	for i, image := range images {
		s.paths = append(s.paths, o.path(dir, image.Name, image.Name))
		var err error
		switch first, listed := lines[image.Name]; {
		case listed:
			err = fmt.Errorf("%s is already in line %d", image.Name, first)
		case image.Label < 0 || image.Label >= imageNetClasses:
			err = fmt.Errorf("the class of %s is %d: must be 0 to %d", image.Name, image.Label, imageNetClasses-1)
		default:
			err = files.add(image.Name, s.paths[i])
		}
		lines[image.Name] = i + 1
		if err != nil && !files.failed(fmt.Sprintf("%s:%d", path, i+1), err) {
			break
		}
	}
	if s.fingerprint, err = files.result(); err != nil {
		return nil, fmt.Errorf("opening ImageNet: %w", err)
	}
	if o.Count > 0 {
		s.paths = s.paths[:o.Count]
	}
	return s, nil
}

// Detection is a set of images with annotated objects: COCO, or OpenImages as MLPerf's
// tools prepare it. Sample i is image i of the annotation file.
type Detection struct {
	Images
	images []accuracy.Image
}

// Image returns the entry of an image in the annotation file.
func (d *Detection) Image(i int) accuracy.Image { return d.images[i] }

// A detectionLayout has the places of files. Of several places the first that exists counts.
type detectionLayout struct {
	name        string
	annotations []string
	images      []string
	arrays      string // before the names of images in the reference's cache

	licences []string // parts of the addresses of licences whose images count; nil: all count
}

var (
	coco = detectionLayout{"COCO", []string{"annotations/instances_val2017.json"}, []string{"val2017"}, "val2017/", nil}

	// safeCOCO are the 1525 images of COCO that MLCommons may hand on (yolo/create_safe_annotations.py), from COCO itself or from
	// MLCommons' folder.
	safeCOCO = detectionLayout{"COCO", []string{"annotations/instances_val2017.json", "annotations/instances_val2017_safe.json"},
		[]string{"val2017_safe", "val2017"}, "val2017/", []string{
			"creativecommons.org/licenses/by/", "creativecommons.org/licenses/by-sa/", "creativecommons.org/licenses/by-nd",
			"flickr.com/commons/usage", "www.usa.gov",
		}}

	// openImages is the layout of openimages_mlperf.sh. The reference's program wants the
	// images right below its folder, so that both occur.
	openImages = detectionLayout{"OpenImages", []string{"annotations/openimages-mlperf.json", "../../annotations/openimages-mlperf.json"},
		[]string{"validation/data", "."}, "", nil}
)

// OpenCOCO opens COCO in a folder: val2017 with the images, and
// annotations/instances_val2017.json.
func OpenCOCO(dir string, o Options) (*Detection, error) { return coco.open(dir, o) }

// OpenOpenImages opens OpenImages in a folder: annotations/openimages-mlperf.json, and
// the images in validation/data or in the folder itself.
func OpenOpenImages(dir string, o Options) (*Detection, error) { return openImages.open(dir, o) }

// ReadCOCO reads the annotations of COCO in a folder.
func ReadCOCO(dir string) (*accuracy.GroundTruth, error) {
	truth, _, err := coco.read(dir)
	return truth, err
}

// HasCOCO reports whether a folder has the annotations of COCO.
func HasCOCO(dir string) bool { return fileio.Exists(firstExisting(dir, coco.annotations...)) }

// OpenSafeCOCO is OpenCOCO with the images of YOLO's benchmark alone: those whose licence allows it. Images may be in val2017_safe.
func OpenSafeCOCO(dir string, o Options) (*Detection, error) { return safeCOCO.open(dir, o) }

// ReadSafeCOCO reads the annotations of these images.
func ReadSafeCOCO(dir string) (*accuracy.GroundTruth, error) {
	truth, _, err := safeCOCO.read(dir)
	return truth, err
}

// ReadSafeAnnotations reads those of an annotation file.
func ReadSafeAnnotations(path string) (*accuracy.GroundTruth, error) {
	truth, err := ReadAnnotations(path)
	if err == nil {
		truth.Licensed(safeCOCO.licences...)
	}
	return truth, err
}

// ReadOpenImages reads the annotations of OpenImages in a folder.
func ReadOpenImages(dir string) (*accuracy.GroundTruth, error) {
	truth, _, err := openImages.read(dir)
	return truth, err
}

// ReadAnnotations reads an annotation file in COCO's form.
func ReadAnnotations(path string) (*accuracy.GroundTruth, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the annotations: %w", err)
	}
	defer f.Close()
	return accuracy.ReadCOCO(f)
}

// read reads the annotations and returns their path.
func (l detectionLayout) read(dir string) (*accuracy.GroundTruth, string, error) {
	if !fileio.Exists(dir) {
		return nil, "", fmt.Errorf("opening %s: the folder %s is missing", l.name, dir)
	}
	path := firstExisting(dir, l.annotations...)
	truth, err := ReadAnnotations(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is missing: expected that file and the images in %s", l.annotations[0], l.images[0])
	}
	if err != nil {
		return nil, "", fmt.Errorf("opening %s in %s: %w", l.name, dir, err)
	}
	if l.licences != nil {
		truth.Licensed(l.licences...)
	}
	return truth, path, nil
}

func (l detectionLayout) open(dir string, o Options) (*Detection, error) {
	truth, path, err := l.read(dir)
	if err != nil {
		return nil, err
	}
	d := &Detection{images: truth.Images}
	if o.DropEmpty {
		d.images = truth.Annotated()
	}
	switch {
	case len(d.images) == 0:
		return nil, fmt.Errorf("opening %s: %s lists no images%s", l.name, path,
			map[bool]string{true: " whose licence the benchmark allows"}[l.licences != nil])
	case o.Count > len(d.images):
		return nil, fmt.Errorf("opening %s: %d images are wanted, %s lists %d", l.name, o.Count, path, len(d.images))
	case o.Count == 0:
		o.Count = len(d.images)
	}
	// Only the first images must exist, but the fingerprint covers all, so that it does not depend on the count.
	files, folder := newFileCheck(), firstExisting(dir, l.images...)
	for i, image := range d.images {
		d.paths = append(d.paths, o.path(folder, image.FileName, l.arrays+image.FileName))
		err := files.add(image.FileName, d.paths[i])
		if err != nil && i < o.Count && !files.failed(fmt.Sprintf("%s: image %d (id %d)", path, i, image.ID), err) {
			break
		}
	}
	if d.fingerprint, err = files.result(); err != nil {
		return nil, fmt.Errorf("opening %s: %w", l.name, err)
	}
	d.images, d.paths = d.images[:o.Count], d.paths[:o.Count]
	return d, nil
}
