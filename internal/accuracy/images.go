package accuracy

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// The values of images that were made from texts.
const (
	CLIPScore = "CLIP_SCORE"
	FIDScore  = "FID_SCORE"
)

// CLIPSimilarity is how well an image fits a text: a hundred times the cosine of the angle
// between what the two towers of CLIP make of them (text_to_image, tools/clip/clip_encoder.py).
func CLIPSimilarity(image, text []float32) (float64, error) {
	if len(image) != len(text) || len(image) == 0 {
		return 0, fmt.Errorf("an image has %d features, its text %d", len(image), len(text))
	}
	var product, images, texts float64
	for i, v := range image {
		product += float64(v) * float64(text[i])
		images += float64(v) * float64(v)
		texts += float64(text[i]) * float64(text[i])
	}
	similarity := 100 * product / math.Sqrt(images) / math.Sqrt(texts)
	if math.IsNaN(similarity) || math.IsInf(similarity, 0) {
		return 0, fmt.Errorf("the features of an image or its text are no direction: their lengths are %v and %v", math.Sqrt(images), math.Sqrt(texts))
	}
	return similarity, nil
}

// ImageScore is what accuracy_coco.py prints of the similarities of images to their texts, and
// of their distance from photographs.
func ImageScore(similarities []float64, distance float64, c Coverage) (*Score, error) {
	if len(similarities) == 0 {
		return nil, fmt.Errorf("the log has no images")
	}
	clip := mean(similarities)
	s := &Score{
		Values:   []Value{{Name: CLIPScore, Value: clip}, {Name: FIDScore, Value: distance, LowerIsBetter: true}},
		Coverage: c,
	}
	s.printf("Accuracy Results: {'%s': '%s', '%s': '%s'}", FIDScore, pytext.Float(distance), CLIPScore, pytext.Float(clip))
	return s, nil
}
