package synth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// A Layout is how a data set for detection lies on disk, and which categories it has.
type Layout string

// The layouts. COCO has images in val2017, OpenImages in validation/data; both have
// annotations in COCO's form.
const (
	COCO       Layout = "coco"
	OpenImages Layout = "openimages"
)

// A COCOSpec says everything about a built-in data set for detection. Equal specs make
// equal files.
type COCOSpec struct {
	Layout Layout `json:"layout"`
	Seed   uint64 `json:"seed"`
	Images int    `json:"images"` // 1 to 100,000
	// Truth names the way in which the Judge finds the objects. It may be empty.
	Truth string `json:"truth,omitempty"`
}

// A COCOImage is one entry of "images".
type COCOImage struct {
	ID            int64
	FileName      string // below the layout's folder of images
	Width, Height int
}

// maxCOCOImages keeps the random ids sparse. Official sets are much smaller.
const maxCOCOImages = 100_000

func (s COCOSpec) check() error {
	switch {
	case s.Layout != COCO && s.Layout != OpenImages:
		return fmt.Errorf("layout is %q, want %q or %q", s.Layout, COCO, OpenImages)
	case s.Images < 1 || s.Images > maxCOCOImages:
		return fmt.Errorf("images is %d, want 1 to %d", s.Images, maxCOCOImages)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s COCOSpec) Key() string {
	what := fmt.Sprintf("coco layout %q seed %d images %d", s.Layout, s.Seed, s.Images)
	if s.Truth != "" {
		what += fmt.Sprintf(" truth %q", s.Truth)
	}
	return string(s.Layout) + "-" + keyOf("%s", what)
}

// imageFolder returns the folder of the images below that of the data set, with slashes.
func (l Layout) imageFolder() string {
	if l == OpenImages {
		return "validation/data"
	}
	return "val2017"
}

// annotationFile returns the path of the annotations, likewise.
func (l Layout) annotationFile() string {
	if l == OpenImages {
		return "annotations/openimages-mlperf.json"
	}
	return "annotations/instances_val2017.json"
}

// List returns the images in the order of the annotation file, which is that of the
// samples.
func (s COCOSpec) List() []COCOImage {
	images := make([]COCOImage, s.Images)
	names := s.names()
	for i := range images {
		f := s.frame(i)
		images[i] = COCOImage{names[i].id, names[i].file, f.width, f.height}
	}
	return images
}

// Scene returns what image i shows.
func (s COCOSpec) Scene(i int) Scene { return NewScene(deriveSeed("coco scene", s.Seed, uint64(i))) }

// Objects returns the shapes in image i, as Scene.Objects does.
func (s COCOSpec) Objects(i int) []Object {
	f := s.frame(i)
	return s.Scene(i).Objects(f.width, f.height)
}

func (s COCOSpec) frame(i int) frame {
	sizes := cocoMix()
	if s.Layout == OpenImages {
		sizes = openImagesMix()
	}
	return sizes.draw(newStream("coco frame", s.Seed, uint64(i)))
}

// A cocoName is what an image is called.
type cocoName struct {
	id   int64
	file string
}

// names gives images names like the official ones. COCO's ids are a random choice and in
// no order, so that a reader who sorts files by name is found out. Those of OpenImages
// number the files in the order of their names.
func (s COCOSpec) names() []cocoName {
	r := newStream("coco names", s.Seed)
	taken := make(map[uint64]bool, s.Images)
	numbers := make([]uint64, s.Images)
	for i := range numbers {
		n := s.number(r)
		for taken[n] {
			n = s.number(r)
		}
		taken[n], numbers[i] = true, n
	}
	if s.Layout == OpenImages {
		slices.Sort(numbers)
	}
	names := make([]cocoName, s.Images)
	for i, n := range numbers {
		if s.Layout == OpenImages {
			names[i] = cocoName{int64(i + 1), fmt.Sprintf("%016x.jpg", n)}
		} else {
			names[i] = cocoName{int64(n), fmt.Sprintf("%012d.jpg", n)}
		}
	}
	return names
}

// number draws the number in a file name.
func (s COCOSpec) number(r *stream) uint64 {
	const largest = 581781 // id of val2017
	if s.Layout == OpenImages {
		return r.pcg.Uint64()
	}
	return uint64(r.between(1, largest))
}

// WriteCOCO makes a data set for detection: images, an annotation file that lists them
// and the categories but no objects yet, and the Manifest. The judge adds the objects,
// by COCOSpec.WriteAnnotations; it may be nil.
//
// Folder, errors, ctx and progress are as with WriteImageNet.
func WriteCOCO(ctx context.Context, dir string, spec COCOSpec, judge Judge, progress func(done, total int)) error {
	err := spec.check()
	if err == nil {
		m := Manifest{Version: FormatVersion, COCO: &spec}
		err = publish(dir, m, func(folder string) error { return spec.fill(ctx, folder, progress) }, judge)
	}
	if err != nil {
		return fmt.Errorf("making the built-in %s: %w", spec.Layout, err)
	}
	return nil
}

// fill writes the files.
func (s COCOSpec) fill(ctx context.Context, folder string, progress func(done, total int)) error {
	images := filepath.Join(folder, filepath.FromSlash(s.Layout.imageFolder()))
	annotations := filepath.Join(folder, filepath.FromSlash(s.Layout.annotationFile()))
	for _, dir := range []string{images, filepath.Dir(annotations)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	names := s.names()
	err := draw(ctx, s.Images, func() func(int) error {
		var p painter
		return func(i int) error {
			scene := s.Scene(i)
			return p.write(filepath.Join(images, names[i].file), &scene, s.frame(i))
		}
	}, progress)
	if err != nil {
		return err
	}
	return s.writeAnnotations(annotations, func(func(Annotation) bool) {})
}
