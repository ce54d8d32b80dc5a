package accuracy

import (
	"errors"
	"fmt"
	"strings"
)

// A GroundTruth holds object annotations in COCO's form, which OpenImages uses too.
type GroundTruth struct {
	Images      []Image // sample i of the QSL is image i
	Categories  []Category
	Annotations []Annotation
}

// An Image is one entry of "images".
type Image struct {
	ID            int64
	FileName      string
	Width, Height int
	COCOURL       *string // nil if null or missing
}

// A Category is one entry of "categories".
type Category struct {
	ID   int64
	Name string
}

// An Annotation is one object, or with Crowd a region of objects that were not told apart.
type Annotation struct {
	ID, ImageID, CategoryID int64
	Box                     Box
	Area                    float64 // of the object's outline, which decides on its size class
	Crowd                   bool
}

// ReadCOCO reads an annotation file such as instances_val2017.json or
// openimages-mlperf.json. Every field that scoring relies on must be there and be
// sensible; ids must be unique. An iscrowd of -1 counts as crowd, and "ignore" has no
// effect, as in pycocotools. As there, too, an annotation may refer to an image or a
// category that is not listed, which leaves it without effect: people cut the
// list of images short. Strays counts these. Outlines are passed over: no benchmark asks
// for them.
func ReadCOCO(in Input) (*GroundTruth, error) {
	s := newScanner(in)
	gt := &GroundTruth{}
	err := s.fields([]string{"images", "categories", "annotations"}, 3, func(section int) (err error) {
		switch section {
		case 0:
			gt.Images, err = readSection(s, "image", s.image)
		case 1:
			gt.Categories, err = readSection(s, "category", s.category)
		case 2:
			gt.Annotations, err = readSection(s, "annotation", s.annotation)
		}
		return err
	})
	if err == nil {
		err = s.atEnd()
	}
	if err != nil {
		return nil, err
	}
	if err := gt.checkUnique(); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(), err)
	}
	return gt, nil
}

// readSection reads an array of objects of one kind.
func readSection[T any](s *scanner, unit string, read func() (T, error)) ([]T, error) {
	var all []T
	err := s.array(func(i int) error {
		s.unit, s.index = unit, i
		v, err := read()
		all = append(all, v)
		return err
	})
	s.unit = ""
	return all, err
}

// checkUnique refuses repeated ids. pycocotools would keep the last object of an id and
// count it as often as the id occurs.
func (gt *GroundTruth) checkUnique() error {
	return errors.Join(
		unique("image", gt.Images, func(v Image) int64 { return v.ID }),
		unique("category", gt.Categories, func(v Category) int64 { return v.ID }),
		unique("annotation", gt.Annotations, func(v Annotation) int64 { return v.ID }),
	)
}

func unique[T any, K comparable](unit string, all []T, id func(T) K) error {
	first := make(map[K]int, len(all))
	for i, v := range all {
		if j, ok := first[id(v)]; ok {
			return fmt.Errorf("%s %d has the id %v of %s %d, want every id once", unit, i, id(v), unit, j)
		}
		first[id(v)] = i
	}
	return nil
}

func idSet[T any](all []T, id func(T) int64) map[int64]bool {
	set := make(map[int64]bool, len(all))
	for _, v := range all {
		set[id(v)] = true
	}
	return set
}

// Strays describes the annotations without effect because their image or category is
// not listed; it is empty if there are none.
func (gt *GroundTruth) Strays() string {
	images := idSet(gt.Images, func(v Image) int64 { return v.ID })
	categories := idSet(gt.Categories, func(v Category) int64 { return v.ID })
	var noImage, noCategory int
	for _, a := range gt.Annotations {
		if !images[a.ImageID] {
			noImage++
		} else if !categories[a.CategoryID] {
			noCategory++
		}
	}
	var parts []string
	if noImage > 0 {
		parts = append(parts, fmt.Sprintf("%d annotations refer to images that are not listed", noImage))
	}
	if noCategory > 0 {
		parts = append(parts, fmt.Sprintf("%d annotations refer to categories that are not listed", noCategory))
	}
	return strings.Join(parts, ", ")
}
