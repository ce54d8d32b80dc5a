package accuracy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A GroundTruth holds object annotations in COCO's form, which OpenImages uses too.
type GroundTruth struct {
	Images      []Image // sample i of the QSL is image i
	Licenses    []License
	Categories  []Category
	Annotations []Annotation
}

// An Image is one entry of "images".
type Image struct {
	ID            int64
	FileName      string
	Width, Height int
	COCOURL       *string // nil if null or missing
	License       *int64  // id of a License; nil if null or missing
}

// A License is one entry of "licenses".
type License struct {
	ID  int64  `json:"id"`
	URL string `json:"url"`
}

// A Category is one entry of "categories".
type Category struct {
	ID   int64
	Name string
}

// An Annotation is one object, or with Crowd a region of objects that are not annotated one by one.
type Annotation struct {
	ID, ImageID, CategoryID int64
	Box                     Box
	Area                    float64 // of the object's outline, which decides its size class
	Crowd                   bool
}

// ReadCOCO reads an annotation file, for example instances_val2017.json or
// openimages-mlperf.json. Every field that scoring relies on must be there and be
// sensible; ids must be unique. As in pycocotools, an iscrowd of -1 counts as crowd, "ignore" has no
// effect, and neither has an annotation of an image or a category that is not listed: users cut the
// list of images short. Outlines are skipped: no benchmark uses them.
func ReadCOCO(in Input) (*GroundTruth, error) {
	var file struct {
		Images      *[]Image      `json:"images"`
		Categories  *[]Category   `json:"categories"`
		Annotations *[]Annotation `json:"annotations"`
		licensed
	}
	if err := readJSON(in, &file); err != nil {
		return nil, err
	}
	gt := &GroundTruth{*file.Images, file.Licenses, *file.Categories, *file.Annotations}
	// pycocotools would keep the last object of a repeated id and count it as often as the id occurs.
	if err := errors.Join(
		unique("image", gt.Images, func(v Image) int64 { return v.ID }),
		unique("category", gt.Categories, func(v Category) int64 { return v.ID }),
		unique("annotation", gt.Annotations, func(v Annotation) int64 { return v.ID }),
	); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(), err)
	}
	return gt, nil
}

// licensed is what no score needs.
type licensed struct {
	Licenses []License `json:"licenses"`
}

// An integer may be written as a float, as pandas does (3.0).
type integer int64

func (i *integer) UnmarshalJSONFrom(d *jsontext.Decoder) error {
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
	*i = integer(n)
	return nil
}

// UnmarshalJSONFrom reads an entry of "images".
func (i *Image) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type optional struct {
		COCOURL *string  `json:"coco_url"`
		License *integer `json:"license"`
	}
	var raw struct {
		ID       *integer `json:"id"`
		FileName *string  `json:"file_name"`
		Width    *integer `json:"width"`
		Height   *integer `json:"height"`
		optional
	}
	if err := cmp.Or(json.UnmarshalDecode(d, &raw), complete(&raw)); err != nil {
		return err
	}
	if w, h := *raw.Width, *raw.Height; w < 1 || h < 1 || w > 1<<24 || h > 1<<24 {
		return fmt.Errorf("the image has %d × %d pixels", w, h)
	}
	*i = Image{ID: int64(*raw.ID), FileName: *raw.FileName, Width: int(*raw.Width), Height: int(*raw.Height), COCOURL: raw.COCOURL,
		License: (*int64)(raw.License)}
	return nil
}

// UnmarshalJSONFrom reads an entry of "categories".
func (c *Category) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var raw struct {
		ID   *integer `json:"id"`
		Name string   `json:"name"`
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
		ID         *integer    `json:"id"`
		ImageID    *integer    `json:"image_id"`
		CategoryID *integer    `json:"category_id"`
		Box        *[4]float64 `json:"bbox"`
		Area       *float64    `json:"area"`
		Crowd      *any        `json:"iscrowd"`
	}
	if err := cmp.Or(json.UnmarshalDecode(d, &raw), complete(&raw)); err != nil {
		return err
	}
	box := Box{raw.Box[0], raw.Box[1], raw.Box[2], raw.Box[3]}
	if box.W < 0 || box.H < 0 {
		return fmt.Errorf("bbox has size %v × %v, expected no negative size", box.W, box.H)
	}
	if *raw.Area < 0 {
		return fmt.Errorf("area is %v: must be 0 or more", *raw.Area)
	}
	*a = Annotation{int64(*raw.ID), int64(*raw.ImageID), int64(*raw.CategoryID), box, *raw.Area, false}
	switch *raw.Crowd {
	case true, 1.0, -1.0: // the file that OpenImages' tools write has -1 where this is not known
		a.Crowd = true
	case false, 0.0:
	default:
		return fmt.Errorf("iscrowd is %v: must be 0 or 1 (-1 counts as 1)", *raw.Crowd)
	}
	return nil
}

// unique returns an error for the first id that is there twice.
func unique[T any, K comparable](unit string, all []T, id func(T) K) error {
	first := make(map[K]int, len(all))
	for i, v := range all {
		if j, ok := first[id(v)]; ok {
			return fmt.Errorf("%s %d has the id %v of %s %d, expected every id once", unit, i, id(v), unit, j)
		}
		first[id(v)] = i
	}
	return nil
}

// Licensed drops the images whose licence has none of some parts in its address, which are lower case. A file that lists no licences
// keeps all.
func (gt *GroundTruth) Licensed(parts ...string) {
	if len(gt.Licenses) == 0 {
		return
	}
	kept := map[int64]bool{}
	for _, l := range gt.Licenses {
		url := strings.ToLower(l.URL)
		kept[l.ID] = slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(url, part) })
	}
	images := map[int64]bool{}
	gt.Images = slices.DeleteFunc(gt.Images, func(i Image) bool {
		images[i.ID] = i.License != nil && kept[*i.License]
		return !images[i.ID]
	})
	gt.Annotations = slices.DeleteFunc(gt.Annotations, func(a Annotation) bool {
		kept, listed := images[a.ImageID]
		return listed && !kept
	})
}

// Annotated returns the images in which an object of a listed category is annotated, in the order of the file.
func (gt *GroundTruth) Annotated() []Image {
	listed, annotated := gt.categoryIDs(), map[int64]bool{}
	for _, a := range gt.Annotations {
		if listed[a.CategoryID] {
			annotated[a.ImageID] = true
		}
	}
	var images []Image
	for _, image := range gt.Images {
		if annotated[image.ID] {
			images = append(images, image)
		}
	}
	return images
}

func (gt *GroundTruth) categoryIDs() map[int64]bool {
	ids := make(map[int64]bool, len(gt.Categories))
	for _, category := range gt.Categories {
		ids[category.ID] = true
	}
	return ids
}

// Strays describes the annotations without effect because their image or category is
// not listed; empty if all are listed.
func (gt *GroundTruth) Strays() string {
	images, categories := map[int64]bool{}, gt.categoryIDs()
	for _, image := range gt.Images {
		images[image.ID] = true
	}
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

// coco91 maps the 80 categories of COCO that have objects, in order, to their ids
// among the 91 of the original list. Models trained on 80 classes give label 1 for
// the first.
var coco91 = [80]uint8{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21,
	22, 23, 24, 25, 27, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
	46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65,
	67, 70, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 84, 85, 86, 87, 88, 89, 90,
}

// COCO80To91 returns the COCO category id (1 to 90) of a label from 1 to 80, or false.
func COCO80To91(label int) (int, bool) {
	if label < 1 || label > len(coco91) {
		return 0, false
	}
	return int(coco91[label-1]), true
}
