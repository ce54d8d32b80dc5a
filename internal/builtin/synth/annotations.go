package synth

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// An Annotation is an object in an image. In the file they are numbered from 1 in the
// order given; pycocotools takes number 0 for no match.
type Annotation struct {
	ImageID    int64
	CategoryID int64
	Box        [4]float64 // x, y, width, height in pixels
	Area       float64    // 0: that of the box
	Crowd      bool       // a region of objects that are not told apart
}

// A Category is one entry of "categories".
type Category struct {
	ID    int64
	Name  string
	Super string // the group that it belongs to; empty for OpenImages
}

// Categories returns the categories of a layout in the order of their ids: 80 of COCO,
// with ids from 1 to 90, or the 264 of OpenImages that MLPerf uses, from 0 to 263.
func (l Layout) Categories() []Category {
	if l == OpenImages {
		return openImagesCategories()
	}
	return cocoCategories()
}

// WriteAnnotations replaces the objects in the annotation file of a data set, which need
// not have its Manifest yet. The file is written while the annotations come, and appears
// when it is complete; if one of them is wrong, the old file stays.
//
// Numbers are written with as few digits as tell them from all others.
func (s COCOSpec) WriteAnnotations(dir string, annotations iter.Seq[Annotation]) error {
	if err := s.writeAnnotations(filepath.Join(dir, filepath.FromSlash(s.Layout.annotationFile())), annotations); err != nil {
		return fmt.Errorf("writing the annotations of %s: %w", dir, err)
	}
	return nil
}

func (s COCOSpec) writeAnnotations(path string, annotations iter.Seq[Annotation]) error {
	return fileio.WriteAtomic(path, 0o644, func(f io.Writer) error {
		w := &annotationWriter{
			Writer: bufio.NewWriter(f), openImages: s.Layout == OpenImages,
			images: map[int64]bool{}, categories: map[int64]bool{},
		}
		for _, c := range s.Layout.Categories() {
			w.categories[c.ID] = true
		}
		w.writeHead(s)
		w.writeImages(s.List())
		if err := w.writeObjects(annotations); err != nil {
			return err
		}
		w.writeCategories(s.Layout.Categories())
		return w.Flush()
	})
}

// An annotationWriter writes the sections of an annotation file, one entry to a line.
// Errors of the file are kept until Flush.
type annotationWriter struct {
	*bufio.Writer
	openImages         bool // has some fields more
	images, categories map[int64]bool
	line               []byte
}

func (w *annotationWriter) writeHead(s COCOSpec) {
	fmt.Fprintf(w, "{\"info\":{\"description\":\"built-in scenes in the layout of %s, seed %d, version %d\"},\n\"licenses\":[],\n",
		s.Layout, s.Seed, FormatVersion)
}

// section begins a section and returns what separates its entries.
func (w *annotationWriter) section(name string) (separate func()) {
	w.WriteString("\"" + name + "\":[")
	separator := "\n"
	return func() {
		w.WriteString(separator)
		separator = ",\n"
	}
}

func (w *annotationWriter) writeImages(images []COCOImage) {
	separate := w.section("images")
	for _, m := range images {
		separate()
		w.images[m.ID] = true
		// The accuracy scripts want coco_url to be there.
		fmt.Fprintf(w, `{"id":%d,"file_name":%q,"height":%d,"width":%d,"license":null,"coco_url":null}`,
			m.ID, m.FileName, m.Height, m.Width)
	}
	w.WriteString("\n],\n")
}

func (w *annotationWriter) writeCategories(categories []Category) {
	separate := w.section("categories")
	for _, c := range categories {
		separate()
		super := "null"
		if c.Super != "" {
			super = strconv.Quote(c.Super)
		}
		fmt.Fprintf(w, `{"id":%d,"name":%q,"supercategory":%s}`, c.ID, c.Name, super)
	}
	w.WriteString("\n]}\n")
}

func (w *annotationWriter) writeObjects(annotations iter.Seq[Annotation]) error {
	separate := w.section("annotations")
	id := int64(0)
	for a := range annotations {
		id++
		if a.Area == 0 {
			a.Area = a.Box[2] * a.Box[3]
		}
		if err := w.check(a); err != nil {
			return fmt.Errorf("annotation %d: %w", id, err)
		}
		separate()
		w.writeObject(id, a)
	}
	w.WriteString("\n],\n")
	return nil
}

// check finds what would fail, or worse, be passed over, when the file is used.
func (w *annotationWriter) check(a Annotation) error {
	switch {
	case !w.images[a.ImageID]:
		return fmt.Errorf("there is no image %d", a.ImageID)
	case !w.categories[a.CategoryID]:
		return fmt.Errorf("there is no category %d", a.CategoryID)
	case a.Box[2] < 0 || a.Box[3] < 0:
		return fmt.Errorf("the box %v has a negative size", a.Box)
	case a.Area < 0:
		return fmt.Errorf("the area %v is negative", a.Area)
	}
	if !finite(append(a.Box[:], a.Area)...) {
		return fmt.Errorf("the box %v or area %v is not finite", a.Box, a.Area)
	}
	return nil
}

func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

func (w *annotationWriter) writeObject(id int64, a Annotation) {
	crowd := int64(0)
	if a.Crowd {
		crowd = 1
	}
	w.line = w.line[:0]
	w.field(`{"id":`, id)
	w.field(`,"image_id":`, a.ImageID)
	w.field(`,"category_id":`, a.CategoryID)
	for i, v := range append(a.Box[:], a.Area) {
		w.line = append(w.line, [...]string{`,"bbox":[`, ",", ",", ",", `],"area":`}[i]...)
		w.line = strconv.AppendFloat(w.line, v, 'f', -1, 64)
	}
	w.field(`,"iscrowd":`, crowd)
	if w.openImages {
		w.line = append(w.line, `,"IsOccluded":0,"IsInside":0,"IsDepiction":0,"IsTruncated":0`...)
		w.field(`,"IsGroupOf":`, crowd)
	}
	w.line = append(w.line, '}')
	w.Write(w.line)
}

func (w *annotationWriter) field(name string, v int64) {
	w.line = strconv.AppendInt(append(w.line, name...), v, 10)
}
