package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// imageNetClasses is the number of classes of ILSVRC-2012.
const imageNetClasses = 1000

// checkImageNet checks val_map.txt and the images that it lists.
func checkImageNet(ctx context.Context, v *verification) error {
	images, err := readValMap(v.root)
	if err != nil {
		v.problem("%v", err)
		return nil
	}
	v.checkCount(len(images), valMap)
	v.kind()
	before := len(v.report.Problems)
	lines := map[string]int{}
	for i, image := range images {
		if first, ok := lines[image.Name]; ok {
			v.problem("%s: line %d: %s is listed already in line %d", valMap, i+1, image.Name, first)
		}
		lines[image.Name] = i + 1
		if image.Label < 0 || image.Label >= imageNetClasses {
			v.problem("%s: line %d: the class of %s is %d, want 0 to %d", valMap, i+1, image.Name, image.Label, imageNetClasses-1)
		}
	}
	if len(v.report.Problems) == before {
		v.fine("%s: every image once, all classes from 0 to %d", valMap, imageNetClasses-1)
	}
	return v.checkImages(ctx, len(images), func(i int) (string, int, int) { return images[i].Name, 0, 0 })
}

// checkImages checks that images are there and whole as far as their headers and ends
// tell, and have the listed sizes, if these are not 0.
func (v *verification) checkImages(ctx context.Context, n int, image func(i int) (name string, width, height int)) error {
	v.kind()
	v.Observer.Phase("checking images")
	var done, wrong atomic.Int64
	err := workerpool.Each(ctx, 0, n, func(_ context.Context, i int) error {
		name, width, height := image(i)
		if err := v.checkImage(name, width, height); err != nil {
			wrong.Add(1)
			v.problem("%s: %v", name, err)
		}
		v.Observer.Items(int(done.Add(1)), n)
		return nil
	})
	if err == nil && wrong.Load() == 0 {
		v.fine("%d images are there, with complete headers and ends", n)
	}
	return err
}

func (v *verification) checkImage(name string, width, height int) error {
	if err := checkPath(name); err != nil {
		return err
	}
	data, err := readFile(v.root, name)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("is missing")
	}
	if err != nil {
		return err
	}
	w, h, err := imageHeader(data)
	if err != nil {
		return err
	}
	if width > 0 && [2]int{w, h} != [2]int{width, height} {
		return fmt.Errorf("is %d × %d pixels, listed are %d × %d", w, h, width, height)
	}
	return nil
}

// imageHeader returns the size of a JPEG or PNG file as stored turned by EXIF, and finds
// files that end early. The official sets have a PNG and some CMYK images among the
// files called JPEG.
func imageHeader(data []byte) (width, height int, err error) {
	if bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) {
		c, err := png.DecodeConfig(bytes.NewReader(data))
		if err == nil && !bytes.Contains(data[max(0, len(data)-64):], []byte("IEND")) {
			err = errors.New("the PNG file ends early")
		}
		return c.Width, c.Height, err
	}
	c, err := jpeg.DecodeConfig(data)
	if err != nil {
		return 0, 0, err
	}
	if !bytes.Contains(data[max(0, len(data)-4096):], []byte{0xff, 0xd9}) {
		return 0, 0, errors.New("the JPEG file ends early")
	}
	if c.Orientation >= 5 {
		return c.Height, c.Width, nil
	}
	return c.Width, c.Height, nil
}

// checkCOCO checks the annotations and the images that they list.
func checkCOCO(ctx context.Context, v *verification) error {
	return v.checkAnnotations(ctx, cocoLabels, cocoImages, nil)
}

// checkOpenImages is checkCOCO for the reference's layout of OpenImages.
func checkOpenImages(ctx context.Context, v *verification) error {
	return v.checkAnnotations(ctx, v.item.OpenImages.Labels, v.item.OpenImages.Images, configs.OpenImagesClasses())
}

func (v *verification) checkAnnotations(ctx context.Context, labels, images string, classes []string) error {
	f, err := v.open(labels)
	if err != nil {
		v.problem("%v", err)
		return nil
	}
	defer f.Close()
	truth, err := accuracy.ReadCOCO(f)
	if err != nil {
		v.problem("%v", err)
		return nil
	}
	v.checkCount(len(truth.Images), labels)
	v.checkTruth(truth, labels, classes)
	return v.checkImages(ctx, len(truth.Images), func(i int) (string, int, int) {
		image := truth.Images[i]
		return path.Join(images, image.FileName), image.Width, image.Height
	})
}

// checkTruth checks what an annotation file says in itself.
func (v *verification) checkTruth(truth *accuracy.GroundTruth, labels string, classes []string) {
	v.kind()
	before := len(v.report.Problems)
	if strays := truth.Strays(); strays != "" {
		v.problem("%s: %s", labels, strays)
	}
	seen := map[string]bool{}
	for _, image := range truth.Images {
		if seen[image.FileName] {
			v.problem("%s: %s is listed twice", labels, image.FileName)
		}
		seen[image.FileName] = true
	}
	if classes != nil {
		v.checkCategories(truth, labels, classes)
	}
	if len(v.report.Problems) == before {
		v.fine("%s: %d objects of %d categories, all in images that are listed", labels, len(truth.Annotations), len(truth.Categories))
	}
}

// checkCategories wants the classes in their order.
func (v *verification) checkCategories(truth *accuracy.GroundTruth, labels string, classes []string) {
	if len(truth.Categories) != len(classes) {
		v.problem("%s: %d categories, want %d", labels, len(truth.Categories), len(classes))
		return
	}
	for i, class := range classes {
		if c := truth.Categories[i]; c.ID != int64(i) || c.Name != class {
			v.problem("%s: category %d is %q with the number %d, want %q", labels, i, c.Name, c.ID, class)
		}
	}
}
