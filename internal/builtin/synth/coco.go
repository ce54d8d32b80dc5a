package synth

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/units"
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
		return fmt.Errorf("layout is %q: must be %q or %q", s.Layout, COCO, OpenImages)
	case s.Images < 1 || s.Images > maxCOCOImages:
		return fmt.Errorf("images is %d: must be 1 to %d", s.Images, maxCOCOImages)
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
	return publish(ctx, dir, string(spec.Layout), &spec, func(folder string) error { return spec.fill(ctx, folder, progress) }, judge)
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
	fmt.Fprintf(w, "{\"info\":{\"description\":\"%s: scenes in the layout of %s, seed %d, version %d\"},\n\"licenses\":[],\n",
		Mark, s.Layout, s.Seed, FormatVersion)
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
	if !units.Finite(append(a.Box[:], a.Area)...) {
		return fmt.Errorf("the box %v or area %v is not finite", a.Box, a.Area)
	}
	return nil
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

// cocoCategories follows the official annotation files: 80 of 91 planned categories were
// kept, so that some ids are missing.
func cocoCategories() []Category {
	groups := []struct {
		super string
		first int64
		names string // ids count up from first; "-" is an id that is missing
	}{
		{"person", 1, "person"},
		{"vehicle", 2, "bicycle, car, motorcycle, airplane, bus, train, truck, boat"},
		{"outdoor", 10, "traffic light, fire hydrant, -, stop sign, parking meter, bench"},
		{"animal", 16, "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe"},
		{"accessory", 27, "backpack, umbrella, -, -, handbag, tie, suitcase"},
		{"sports", 34, "frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard, tennis racket"},
		{"kitchen", 44, "bottle, -, wine glass, cup, fork, knife, spoon, bowl"},
		{"food", 52, "banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake"},
		{"furniture", 62, "chair, couch, potted plant, bed, -, dining table, -, -, toilet"},
		{"electronic", 72, "tv, laptop, mouse, remote, keyboard, cell phone"},
		{"appliance", 78, "microwave, oven, toaster, sink, refrigerator"},
		{"indoor", 84, "book, clock, vase, scissors, teddy bear, hair drier, toothbrush"},
	}
	var categories []Category
	for _, g := range groups {
		for i, name := range strings.Split(g.names, ", ") {
			if name != "-" {
				categories = append(categories, Category{g.first + int64(i), name, g.super})
			}
		}
	}
	return categories
}

// openImagesCategories are the classes of OpenImages that MLPerf kept, in alphabetical
// order (mlcommons/inference, vision/classification_and_detection/tools/openimages_mlperf.sh).
func openImagesCategories() []Category {
	var categories []Category
	for line := range strings.Lines(openImagesNames) {
		for name := range strings.SplitSeq(strings.TrimSpace(line), ", ") {
			categories = append(categories, Category{ID: int64(len(categories)), Name: name})
		}
	}
	return categories
}

// openImagesNames in lines of ten.
const openImagesNames = `Airplane, Antelope, Apple, Backpack, Balloon, Banana, Barrel, Baseball bat, Baseball glove, Bee
Beer, Bench, Bicycle, Bicycle helmet, Bicycle wheel, Billboard, Book, Bookcase, Boot, Bottle
Bowl, Bowling equipment, Box, Boy, Brassiere, Bread, Broccoli, Bronze sculpture, Bull, Bus
Bust, Butterfly, Cabinetry, Cake, Camel, Camera, Candle, Candy, Cannon, Canoe
Carrot, Cart, Castle, Cat, Cattle, Cello, Chair, Cheese, Chest of drawers, Chicken
Christmas tree, Coat, Cocktail, Coffee, Coffee cup, Coffee table, Coin, Common sunflower, Computer keyboard, Computer monitor
Convenience store, Cookie, Countertop, Cowboy hat, Crab, Crocodile, Cucumber, Cupboard, Curtain, Deer
Desk, Dinosaur, Dog, Doll, Dolphin, Door, Dragonfly, Drawer, Dress, Drum
Duck, Eagle, Earrings, Egg (Food), Elephant, Falcon, Fedora, Flag, Flowerpot, Football
Football helmet, Fork, Fountain, French fries, French horn, Frog, Giraffe, Girl, Glasses, Goat
Goggles, Goldfish, Gondola, Goose, Grape, Grapefruit, Guitar, Hamburger, Handbag, Harbor seal
Headphones, Helicopter, High heels, Hiking equipment, Horse, House, Houseplant, Human arm, Human beard, Human body
Human ear, Human eye, Human face, Human foot, Human hair, Human hand, Human head, Human leg, Human mouth, Human nose
Ice cream, Jacket, Jeans, Jellyfish, Juice, Kitchen & dining room table, Kite, Lamp, Lantern, Laptop
Lavender (Plant), Lemon, Light bulb, Lighthouse, Lily, Lion, Lipstick, Lizard, Man, Maple
Microphone, Mirror, Mixing bowl, Mobile phone, Monkey, Motorcycle, Muffin, Mug, Mule, Mushroom
Musical keyboard, Necklace, Nightstand, Office building, Orange, Owl, Oyster, Paddle, Palm tree, Parachute
Parrot, Pen, Penguin, Personal flotation device, Piano, Picture frame, Pig, Pillow, Pizza, Plate
Platter, Porch, Poster, Pumpkin, Rabbit, Rifle, Roller skates, Rose, Salad, Sandal
Saucer, Saxophone, Scarf, Sea lion, Sea turtle, Sheep, Shelf, Shirt, Shorts, Shrimp
Sink, Skateboard, Ski, Skull, Skyscraper, Snake, Sock, Sofa bed, Sparrow, Spider
Spoon, Sports uniform, Squirrel, Stairs, Stool, Strawberry, Street light, Studio couch, Suit, Sun hat
Sunglasses, Surfboard, Sushi, Swan, Swimming pool, Swimwear, Tank, Tap, Taxi, Tea
Teddy bear, Television, Tent, Tie, Tiger, Tin can, Tire, Toilet, Tomato, Tortoise
Tower, Traffic light, Train, Tripod, Truck, Trumpet, Umbrella, Van, Vase, Vehicle registration plate
Violin, Wall clock, Waste container, Watch, Whale, Wheel, Wheelchair, Whiteboard, Window, Wine
Wine glass, Woman, Zebra, Zucchini`
