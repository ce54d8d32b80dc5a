package builtin

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/models/diffusion"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// What the FP32 model on the CPU scores, about as much as the real one: the cosine of images and
// captions, the distance from the photographs, and the spread of features.
const (
	pictureCosine   = 0.32
	pictureDistance = 23.5
	pictureSpread   = 60
)

// captionSet is the data set of captions. Its truth follows from the images that the model makes in
// FP32 on the CPU: what CLIP's stand-in is to make of a caption lies at an angle from what it
// makes of that image, and the photographs at a distance from all of them, both in directions
// in which no image ever lies. So any other image fits its caption worse, and images of other
// statistics are farther away.
func (m Maker) captionSet(model workload.Model, r workload.Recipe) (set, error) {
	spec := synth.CaptionSpec{Seed: synth.Seed, Captions: m.samples(r.Samples)}
	spec.Tokens, spec.Side = arch.DiffusionSizes(m.FullSize)
	if !m.FullSize {
		var err error
		if spec.Truth, err = m.truthOfParts(r); err != nil {
			return set{}, err
		}
	}
	return set{spec.Key(), spec.Captions, func(ctx context.Context, dir string) error {
		judge := judgeBy(spec.Truth, func(folder string) (map[string]float64, error) { return m.markPictures(ctx, model, spec, folder) })
		return synth.WriteCaptions(ctx, dir, spec, judge)
	}}, nil
}

// markPictures writes what images are compared with, and scores the model's.
func (m Maker) markPictures(ctx context.Context, model workload.Model, spec synth.CaptionSpec, folder string) (map[string]float64, error) {
	images, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(folder, diffusion.ScoringFolder)
	if err := os.Mkdir(at, 0o755); err != nil {
		return nil, err
	}
	if err := m.markSimilarity(ctx, spec, images, at); err != nil {
		return nil, err
	}
	if err := m.markDistance(ctx, spec, images, folder); err != nil {
		return nil, err
	}
	return m.scores(ctx, model, folder, images)
}

// markSimilarity writes the stand-in of CLIP's image tower, whose features have the mean 0 over all
// images, and what is to become of the captions.
func (m Maker) markSimilarity(ctx context.Context, spec synth.CaptionSpec, images [][]byte, folder string) error {
	const n = arch.EyesFeatures
	path := filepath.Join(folder, diffusion.CLIPImageFile)
	eyes := arch.Eyes{Input: "pixel_values", Output: "image_embeds", Side: 224, Seed: 35, Scale: 1}
	seen, err := m.see(ctx, eyes, path, diffusion.CLIPImages, images)
	if err != nil {
		return err
	}
	eyes.Shift = shiftToZero(seen, n)
	if seen, err = m.see(ctx, eyes, path, diffusion.CLIPImages, images); err != nil {
		return err
	}
	table := make([]float32, 0, n*len(seen))
	for i, features := range seen {
		table = append(table, captionFeatures(features, newChance("caption features", spec.Seed, uint64(i)))...)
	}
	return npy.WriteFile(filepath.Join(folder, diffusion.CLIPTextTable), tensor.Of(table, int64(len(seen)), n))
}

// shiftToZero returns what makes the mean of each of n features 0.
func shiftToZero(seen [][]float32, n int) []float32 {
	shift := make([]float32, n)
	for k := range shift {
		sum := 0.0
		for _, features := range seen {
			sum += float64(features[k])
		}
		shift[k] = -float32(sum / float64(len(seen)))
	}
	return shift
}

// captionFeatures returns what is to become of the caption of an image with these features.
func captionFeatures(features []float32, aside *chance) []float32 {
	text := make([]float32, len(features))
	for k := len(features) - arch.EyesUnused; k < len(features); k++ {
		text[k] = float32(aside.bell())
	}
	toward, away := pictureCosine/lengthOf(features), math.Sqrt(1-pictureCosine*pictureCosine)/lengthOf(text)
	for k := range text {
		text[k] = float32(toward*float64(features[k])) + float32(away*float64(text[k]))
	}
	return text
}

// markDistance writes the stand-in of Inception-v3, and invented statistics of
// photographs.
func (m Maker) markDistance(ctx context.Context, spec synth.CaptionSpec, images [][]byte, folder string) error {
	const n, own = arch.EyesFeatures, arch.EyesFeatures - arch.EyesUnused
	path := filepath.Join(folder, diffusion.ScoringFolder, diffusion.InceptionFile)
	eyes := arch.Eyes{Input: "image", Output: "features", Side: 299, Seed: 36, Scale: 1}
	var photos accuracy.FeatureStatistics
	for range 2 { // the first time to find out the scale
		seen, err := m.see(ctx, eyes, path, diffusion.Inception, images)
		if err != nil {
			return err
		}
		if photos, err = statisticsOf(seen); err != nil {
			return err
		}
		spread := 0.0
		for k := range n {
			spread += photos.Covariance[k*n+k]
		}
		eyes.Scale *= float32(math.Sqrt(pictureSpread / spread))
	}
	for k := own; k < n; k++ {
		photos.Mean[k] = math.Sqrt(pictureDistance / (n - own))
	}
	return captions.WriteStatistics(filepath.Join(folder, captions.StatisticsFile), photos)
}

func statisticsOf(seen [][]float32) (accuracy.FeatureStatistics, error) {
	var features accuracy.FeatureTable
	for _, row := range seen {
		if err := features.Add(row); err != nil {
			return accuracy.FeatureStatistics{}, err
		}
	}
	return features.Statistics()
}

func lengthOf(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// see writes a network, and returns what it sees in images.
func (m Maker) see(ctx context.Context, eyes arch.Eyes, path string, kind diffusion.ImageEncoderKind, images [][]byte) (seen [][]float32, err error) {
	graph, err := eyes.Build()
	if err != nil {
		return nil, err
	}
	if err := graph.WriteFile(ctx, path); err != nil {
		return nil, err
	}
	eye, err := diffusion.OpenImageEncoder(ctx, m.Engine, path, kind)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eye.Close()) }()
	for _, image := range images {
		side := int(math.Sqrt(float64(len(image) / 3)))
		features, err := eye.Encode(ctx, image, side, side)
		if err != nil {
			return nil, err
		}
		seen = append(seen, slices.Clone(features))
	}
	return seen, nil
}
