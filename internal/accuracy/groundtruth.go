package accuracy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	var file struct {
		Images      *[]Image      `json:"images"`
		Categories  *[]Category   `json:"categories"`
		Annotations *[]Annotation `json:"annotations"`
	}
	f := newJSONFile(in)
	err := f.value(&file)
	if err == nil {
		err = f.end()
	}
	if err != nil {
		return nil, err
	}
	if err := complete(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(), err)
	}
	gt := &GroundTruth{*file.Images, *file.Categories, *file.Annotations}
	if err := gt.checkUnique(); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(), err)
	}
	return gt, nil
}

// A whole is an integer; one written as a float, as pandas does (3.0), is accepted.
type whole int64

func (w *whole) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return fmt.Errorf("%.40s is not a whole number of 64 bits", text)
		}
		n = int64(v)
	}
	*w = whole(n)
	return nil
}

// UnmarshalJSONFrom reads an entry of "images".
func (i *Image) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type optional struct {
		COCOURL *string `json:"coco_url"`
	}
	var raw struct {
		ID       *whole  `json:"id"`
		FileName *string `json:"file_name"`
		Width    *whole  `json:"width"`
		Height   *whole  `json:"height"`
		optional
	}
	if err := cmp.Or(json.UnmarshalDecode(d, &raw), complete(&raw)); err != nil {
		return err
	}
	if w, h := *raw.Width, *raw.Height; w < 1 || h < 1 || w > 1<<24 || h > 1<<24 {
		return fmt.Errorf("the image has %d × %d pixels", w, h)
	}
	*i = Image{int64(*raw.ID), *raw.FileName, int(*raw.Width), int(*raw.Height), raw.COCOURL}
	return nil
}

// UnmarshalJSONFrom reads an entry of "categories".
func (c *Category) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var raw struct {
		ID   *whole `json:"id"`
		Name string `json:"name"`
	}
	if err := cmp.Or(json.UnmarshalDecode(d, &raw), complete(&raw)); err != nil {
		return err
	}
	*c = Category{int64(*raw.ID), raw.Name}
	return nil
}

// UnmarshalJSONFrom reads an entry of "annotations". The box may reach beyond the image, or be
// empty.
func (a *Annotation) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var raw struct {
		ID         *whole      `json:"id"`
		ImageID    *whole      `json:"image_id"`
		CategoryID *whole      `json:"category_id"`
		Box        *[4]float64 `json:"bbox"`
		Area       *float64    `json:"area"`
		Crowd      *any        `json:"iscrowd"`
	}
	if err := cmp.Or(json.UnmarshalDecode(d, &raw), complete(&raw)); err != nil {
		return err
	}
	box := Box{raw.Box[0], raw.Box[1], raw.Box[2], raw.Box[3]}
	if box.W < 0 || box.H < 0 {
		return fmt.Errorf("bbox has size %v × %v, want no negative size", box.W, box.H)
	}
	if *raw.Area < 0 {
		return fmt.Errorf("area is %v, want 0 or more", *raw.Area)
	}
	*a = Annotation{int64(*raw.ID), int64(*raw.ImageID), int64(*raw.CategoryID), box, *raw.Area, false}
	switch *raw.Crowd {
	case true, 1.0, -1.0: // the file that OpenImages' tools write has -1 where this is not known
		a.Crowd = true
	case false, 0.0:
	default:
		return fmt.Errorf("iscrowd is %v, want 0 or 1 (-1 counts as 1)", *raw.Crowd)
	}
	return nil
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
