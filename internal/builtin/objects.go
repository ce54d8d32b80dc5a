package builtin

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// detectionSeed is that of all built-in data sets for detection.
const detectionSeed = 1

// cocoSet is a data set of photos of things, openImagesSet one in the other layout.
func (m Maker) cocoSet(model workload.Model, r vision.BuiltIn) (set, error) {
	return m.detectionSet(model, r, synth.COCO)
}

func (m Maker) openImagesSet(model workload.Model, r vision.BuiltIn) (set, error) {
	return m.detectionSet(model, r, synth.OpenImages)
}

// detectionSet is a data set for a detector, whose ground truth is what the model finds
// in FP32 on the CPU, disturbed: it is then about half right, and the less precisely it
// computes the less.
func (m Maker) detectionSet(model workload.Model, r vision.BuiltIn, layout synth.Layout) (set, error) {
	truth, err := m.truth(model)
	if err != nil {
		return set{}, err
	}
	if truth != "" {
		truth = fmt.Sprintf("%s-objects%d", truth, objectsVersion)
		if r.Least != 0 {
			truth += fmt.Sprintf("-least%g", r.Least)
		}
	}
	spec := synth.COCOSpec{Layout: layout, Seed: detectionSeed, Images: m.judged(r.Samples), Truth: truth}
	return set{spec.Key(), spec.Images, func(ctx context.Context, dir string) error {
		judge := func(folder string) (map[string]float64, error) {
			return m.markObjects(ctx, model, spec, folder, r)
		}
		return synth.WriteCOCO(ctx, dir, spec, judge, m.Observer.Items)
	}}, nil
}

// markObjects writes the ground truth and returns the model's score.
func (m Maker) markObjects(ctx context.Context, model workload.Model, spec synth.COCOSpec, folder string,
	r vision.BuiltIn) (map[string]float64, error) {
	if m.Engine == nil {
		return nil, spec.WriteAnnotations(folder, drawnObjects(spec))
	}
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	if err := spec.WriteAnnotations(folder, disturbedObjects(spec, responses, r)); err != nil {
		return nil, err
	}
	return m.scores(ctx, model, folder, responses)
}

// drawnObjects are the shapes in the images, each of a random category.
func drawnObjects(spec synth.COCOSpec) iter.Seq[synth.Annotation] {
	categories := spec.Layout.Categories()
	return func(yield func(synth.Annotation) bool) {
		for i, image := range spec.List() {
			r := newChance("drawn objects", spec.Seed, uint64(i))
			for _, o := range spec.Objects(i) {
				a := synth.Annotation{ImageID: image.ID, CategoryID: categories[r.below(len(categories))].ID}
				for k, v := range o.Box {
					a.Box[k] = float64(v)
				}
				if !yield(a) {
					return
				}
			}
		}
	}
}

// objectsVersion must be raised when the same boxes come to make other objects.
const objectsVersion = 2

// How the objects that a model found become the truth. With these numbers the built-in
// models reach a mAP of 40 to 60 %.
const (
	emptyEvery = 16 // of so many images one has no objects
	// doubtful is the part of all boxes, those with the lowest scores, that are no objects: a
	// model is wrong where it is not sure. It also keeps from the truth what is found only
	// just, which any other way to compute would miss.
	doubtful = 0.3
	missing  = 0.2  // of the others are no objects either
	invented = 0.15 // as many more are, which the model does not find
	misnamed = 0.04 // are of another category
	crowded  = 0.04 // are marked as crowds

	// Half of the boxes are exactly where the model sees them. Some of the others are near, so
	// that the higher thresholds miss them, and some far off. Distances are parts of the
	// size of the box.
	nearby, nearbyBy   = 0.3, 0.05
	distant, distantBy = 0.2, 0.15
)

// disturbedObjects makes objects of responses.
func disturbedObjects(spec synth.COCOSpec, responses [][]byte, r vision.BuiltIn) iter.Seq[synth.Annotation] {
	all := make([][]found, len(responses))
	for i, response := range responses {
		all[i] = readBoxes(response, r.NumberedLabels, spec.Layout.Categories())
	}
	all = sure(all, r.Least)
	categories := foundCategories(all)
	return func(yield func(synth.Annotation) bool) {
		for i, image := range spec.List() {
			if i%emptyEvery == emptyEvery-1 {
				continue
			}
			d := disturber{newChance("disturbed objects", spec.Seed, uint64(i)), categories, image}
			for _, a := range d.objects(all[i]) {
				if !yield(a) {
					return
				}
			}
		}
	}
}

// sure leaves out the boxes that are doubtful: those below a score, or 0: a part of all.
func sure(all [][]found, least float64) [][]found {
	var scores []float64
	for _, boxes := range all {
		for _, f := range boxes {
			scores = append(scores, f.score)
		}
	}
	if len(scores) == 0 {
		return all
	}
	if least == 0 {
		slices.Sort(scores)
		least = scores[int(doubtful*float64(len(scores)))]
	}
	for i, boxes := range all {
		all[i] = slices.DeleteFunc(boxes, func(f found) bool { return f.score < least })
	}
	return all
}

// foundCategories lists the categories of which there is a box. Objects of any other
// would be impossible to find, and make the score depend on little else.
func foundCategories(all [][]found) []int64 {
	there := make(map[int64]bool)
	for _, boxes := range all {
		for _, f := range boxes {
			there[f.category] = true
		}
	}
	return slices.Sorted(maps.Keys(there))
}

// A found is a box in a response: ymin, xmin, ymax, xmax from 0 to 1.
type found struct {
	corners  [4]float64
	score    float64
	category int64
}

// readBoxes reads the rows of seven numbers in a response. Boxes of what is no category
// are left out.
func readBoxes(response []byte, numbered bool, categories []synth.Category) []found {
	ids := make(map[int64]bool, len(categories))
	for _, c := range categories {
		ids[c.ID] = true
	}
	number := func(i int) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(response[4*i:])))
	}
	var boxes []found
	for i := 0; i+7 <= len(response)/4; i += 7 {
		f := found{corners: [4]float64{number(i + 1), number(i + 2), number(i + 3), number(i + 4)}, score: number(i + 5), category: int64(number(i + 6))}
		if numbered {
			f.category = numberedCategory(f.category, categories)
		}
		if ids[f.category] { // models know ids that COCO never used
			boxes = append(boxes, f)
		}
	}
	return boxes
}

// numberedCategory is the category of a label that counts them from 1; -1: there is none.
func numberedCategory(label int64, categories []synth.Category) int64 {
	if label < 1 || label > int64(len(categories)) {
		return -1
	}
	return categories[label-1].ID
}

// A disturber turns what a model found in an image into the truth about it.
type disturber struct {
	*chance
	categories []int64
	image      synth.COCOImage
}

func (d disturber) objects(boxes []found) []synth.Annotation {
	var objects []synth.Annotation
	for _, f := range boxes {
		if d.happens(missing) {
			continue
		}
		objects = d.add(objects, d.moved(f))
		if d.happens(invented) {
			f.category = d.categories[d.below(len(d.categories))]
			objects = d.add(objects, d.shifted(f, 0.8))
		}
	}
	return objects
}

// moved returns a box as the truth has it.
func (d disturber) moved(f found) found {
	if d.happens(misnamed) {
		f.category = d.categories[d.below(len(d.categories))]
	}
	switch u := d.uniform(); {
	case u < nearby:
		return d.shifted(f, nearbyBy)
	case u < nearby+distant:
		return d.shifted(f, distantBy)
	}
	return f
}

// shifted moves each side of a box by a random part of the size.
func (d disturber) shifted(f found, by float64) found {
	height, width := f.corners[2]-f.corners[0], f.corners[3]-f.corners[1]
	for k, size := range []float64{height, width, height, width} {
		f.corners[k] = min(1, max(0, f.corners[k]+d.bell()*by*size))
	}
	return f
}

// add appends a box, if anything of it is in the image, in pixels with two decimals as
// COCO has them.
func (d disturber) add(objects []synth.Annotation, f found) []synth.Annotation {
	w, h := float64(d.image.Width), float64(d.image.Height)
	cents := func(v float64) float64 { return math.Round(v*100) / 100 }
	a := synth.Annotation{ImageID: d.image.ID, CategoryID: f.category, Crowd: d.happens(crowded)}
	a.Box = [4]float64{cents(f.corners[1] * w), cents(f.corners[0] * h), cents((f.corners[3] - f.corners[1]) * w),
		cents((f.corners[2] - f.corners[0]) * h)}
	if a.Box[2] < 1 || a.Box[3] < 1 {
		return objects
	}
	// Outlines cover a part of their boxes.
	a.Area = cents(a.Box[2] * a.Box[3] * (0.55 + 0.45*d.uniform()))
	return append(objects, a)
}
