package builtin

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
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
	spec := synth.ADE20KSpec{Seed: segmentationSeed, Images: m.samples(r.Samples), Truth: truth}
	return set{spec.Key(), func(ctx context.Context, dir string) error {
		var judge synth.Judge
		if m.Engine != nil {
			judge = func(folder string) (map[string]float64, error) { return m.markPixels(ctx, model, spec, folder) }
		}
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
