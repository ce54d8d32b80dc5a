package builtin

import (
	"context"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
)

// segmentationSeed is that of the built-in data sets for segmentation.
const segmentationSeed = 1

// maskSide is the height and width of masks, maskClasses how many classes there are
// besides none.
const maskSide, maskClasses = 512, 31

// maskSet is a data set for a model that gives pixels classes. Its truth is what the
// model says in FP32 on the CPU, disturbed.
func (m Maker) maskSet(model workload.Model, r vision.BuiltIn) (set, error) {
	truth, err := m.truth(model)
	if err != nil {
		return set{}, err
	}
	spec := synth.ADE20KSpec{Seed: segmentationSeed, Images: m.judged(r.Samples), Truth: truth}
	return set{spec.Key(), spec.Images, func(ctx context.Context, dir string) error {
		judge := judgeBy(spec.Truth, func(folder string) (map[string]float64, error) { return m.markPixels(ctx, model, spec, folder) })
		return synth.WriteADE20K(ctx, dir, spec, judge, m.Observer.Items)
	}}, nil
}

// markPixels writes the masks and returns the model's score.
func (m Maker) markPixels(ctx context.Context, model workload.Model, spec synth.ADE20KSpec, folder string) (map[string]float64, error) {
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	for i, classes := range responses {
		width, height := spec.Content(i)
		mask := disturbedMask(newChance("disturbed mask", spec.Seed, uint64(i)), classes, width, height)
		if err := spec.WriteMask(folder, i, mask); err != nil {
			return nil, err
		}
	}
	return m.scores(ctx, model, folder, responses)
}

// disturbedMask returns what a model says about an image, moved by a few pixels, with
// some areas of other classes, and without a class where there is only padding.
func disturbedMask(r *chance, classes []uint8, width, height int) []uint8 {
	const reach, areas = 4, 8
	down, right := r.below(2*reach+1)-reach, r.below(2*reach+1)-reach
	mask := make([]uint8, maskSide*maskSide)
	for y := range height {
		for x := range width {
			from := min(max(y+down, 0), height-1)*maskSide + min(max(x+right, 0), width-1)
			mask[y*maskSide+x] = classes[from]
		}
	}
	for range areas {
		class := uint8(r.below(maskClasses + 1))
		w, h := 20+r.below(width/4), 20+r.below(height/4)
		left, top := r.below(width-w), r.below(height-h)
		for y := top; y < top+h; y++ {
			for x := left; x < left+w; x++ {
				mask[y*maskSide+x] = class
			}
		}
	}
	return mask
}

// volumeSet is a data set for a model that gives voxels labels. Its truth is what the
// model says in FP32 on the CPU, disturbed.
func (m Maker) volumeSet(model workload.Model, r vision.BuiltIn) (set, error) {
	truth, err := m.truth(model)
	if err != nil {
		return set{}, err
	}
	spec := synth.KiTS19Spec{Seed: segmentationSeed, Cases: m.judged(r.Samples), Truth: truth}
	return set{spec.Key(), spec.Cases, func(ctx context.Context, dir string) error {
		judge := judgeBy(spec.Truth, func(folder string) (map[string]float64, error) { return m.markVoxels(ctx, model, spec, folder) })
		return synth.WriteKiTS19(ctx, dir, spec, judge, m.Observer.Items)
	}}, nil
}

// markVoxels writes the segmentations and returns the model's score.
func (m Maker) markVoxels(ctx context.Context, model workload.Model, spec synth.KiTS19Spec, folder string) (map[string]float64, error) {
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	for i, labels := range responses {
		grid, err := volume.ReadGrid(filepath.Join(folder, spec.Name(i), "imaging.nii.gz"))
		if err != nil {
			return nil, err
		}
		disturbed := disturbedLabels(newChance("disturbed labels", spec.Seed, uint64(i)), labels, volume.PreparedShape(grid), 3)
		if err := spec.WriteSegmentation(folder, i, volume.Unprepare(disturbed, grid)); err != nil {
			return nil, err
		}
	}
	return m.scores(ctx, model, folder, responses)
}

// scanSet is a data set for a model that gives the voxels of scans scores. Its truth is what the model says in FP32 on the CPU,
// disturbed.
func (m Maker) scanSet(model workload.Model, r workload.Recipe) (set, error) {
	truth, err := m.truthOfParts(r)
	if err != nil {
		return set{}, err
	}
	spec := synth.BraTS19Spec{Seed: segmentationSeed, Cases: m.judged(r.Samples), Truth: truth}
	return set{spec.Key(), spec.Cases, func(ctx context.Context, dir string) error {
		judge := judgeBy(spec.Truth, func(folder string) (map[string]float64, error) { return m.markScans(ctx, model, spec, folder) })
		return synth.WriteBraTS19(ctx, dir, spec, judge, m.Observer.Items)
	}}, nil
}

// markScans writes the labels and returns the model's score.
func (m Maker) markScans(ctx context.Context, model workload.Model, spec synth.BraTS19Spec, folder string) (map[string]float64, error) {
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	cases, err := dataset.ReadBraTS19Truth(folder, "", 0)
	if err != nil {
		return nil, err
	}
	for i, scores := range responses {
		c := &cases[i]
		labels, err := c.Labels(scores, accuracy.Float16)
		if err != nil {
			return nil, err
		}
		n := volume.Box(c.Box).Shape()
		rows := func(visit func(row []uint8)) { // of the brain
			for z := c.Box[0][0]; z < c.Box[0][1]; z++ {
				for y := c.Box[1][0]; y < c.Box[1][1]; y++ {
					visit(labels[(z*c.Shape[1]+y)*c.Shape[2]:][c.Box[2][0]:c.Box[2][1]])
				}
			}
		}
		var brain []uint8
		rows(func(row []uint8) { brain = append(brain, row...) })
		brain = disturbedLabels(newChance("disturbed labels", spec.Seed, uint64(i)), brain, n, 4)
		rows(func(row []uint8) { brain = brain[copy(row, brain):] })
		if err := spec.WriteLabels(folder, i, labels); err != nil {
			return nil, err
		}
	}
	return m.scores(ctx, model, folder, responses)
}

// disturbedLabels returns what a model says about a volume, moved by a voxel or two, with
// some boxes of other labels, of which there are so many.
func disturbedLabels(r *chance, labels []uint8, n [3]int, classes int) []uint8 {
	const boxes = 6
	out := movedLabels(r, labels, n)
	for range boxes {
		label := uint8(r.below(classes))
		var first, size [3]int
		for axis := range n {
			size[axis] = 12 + r.below(n[axis]/4)
			first[axis] = r.below(n[axis] - size[axis])
		}
		for z := first[0]; z < first[0]+size[0]; z++ {
			for y := first[1]; y < first[1]+size[1]; y++ {
				row := out[(z*n[1]+y)*n[2]+first[2]:][:size[2]]
				for x := range row {
					row[x] = label
				}
			}
		}
	}
	return out
}

// movedLabels returns the labels moved by a voxel or two along each axis.
func movedLabels(r *chance, labels []uint8, n [3]int) []uint8 {
	const reach = 2
	var by [3]int
	for axis := range by {
		by[axis] = r.below(2*reach+1) - reach
	}
	out := make([]uint8, 0, len(labels))
	inside := func(at, axis int) int { return min(max(at+by[axis], 0), n[axis]-1) }
	for z := range n[0] {
		for y := range n[1] {
			row := labels[(inside(z, 0)*n[1]+inside(y, 1))*n[2]:][:n[2]]
			for x := range n[2] {
				out = append(out, row[inside(x, 2)])
			}
		}
	}
	return out
}
