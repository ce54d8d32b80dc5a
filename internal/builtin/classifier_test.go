package builtin

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// randomFeatures are those of n anchors, far from the origin as features after a ReLU are.
func randomFeatures(random *rand.Rand, n, size int) [][]float32 {
	features := make([][]float32, n)
	for k := range features {
		features[k] = make([]float32, size)
		for i := range features[k] {
			features[k][i] = float32(max(0, 5+random.NormFloat64()*float64(1+i%4)))
		}
	}
	return features
}

// answer is the class that a layer gives a feature.
func answer(c *arch.Classifier, feature []float64) int {
	best, at := math.Inf(-1), -1
	for class, bias := range c.Bias {
		score := float64(bias)
		for i, f := range feature {
			score += float64(c.Weights[class*len(feature)+i]) * f
		}
		if score > best {
			best, at = score, class
		}
	}
	return at
}

func TestTheNearestAnchorByCosineIsTheAnswer(t *testing.T) {
	const n, size, first, classes = 30, 16, 2, 40
	random := rand.New(rand.NewPCG(1, 2))
	features := randomFeatures(random, n, size)
	c, err := nearestAnchor(features, size, first, classes)
	if err != nil {
		t.Fatal(err)
	}
	mean := meanOf(features, size)
	for k, f := range features {
		for _, length := range []float64{0.01, 1, 100} {
			query := make([]float64, size)
			for i := range query {
				query[i] = mean[i] + length*(float64(f[i])-mean[i])
			}
			if got := answer(c, query); got != first+k {
				t.Errorf("anchor %d, moved to %v of its distance, is answered by class %d, want %d", k, length, got, first+k)
			}
		}
	}
	for range 1000 {
		query := make([]float64, size)
		for i := range query {
			query[i] = 5 + 3*random.NormFloat64()
		}
		if got, want := answer(c, query), first+nearest(features, mean, query); got != want {
			t.Errorf("feature %v is answered by class %d, the nearest anchor is that of class %d", query, got, want)
		}
	}
}

// nearest is the anchor with the largest cosine, after subtracting the mean.
func nearest(features [][]float32, mean, query []float64) int {
	best, at := math.Inf(-1), -1
	for k, f := range features {
		dot := 0.0
		for i := range f {
			dot += (float64(f[i]) - mean[i]) * (query[i] - mean[i])
		}
		if cosine := dot / distance(f, mean); cosine > best {
			best, at = cosine, k
		}
	}
	return at
}

func TestClassesWithoutAnAnchorAreNeverTheAnswer(t *testing.T) {
	const n, size, first, classes = 5, 8, 1, 9
	random := rand.New(rand.NewPCG(3, 4))
	c, err := nearestAnchor(randomFeatures(random, n, size), size, first, classes)
	if err != nil {
		t.Fatal(err)
	}
	for range 20000 {
		query, scale := make([]float64, size), math.Pow(10, 8*random.Float64()-4)
		for i := range query {
			query[i] = scale * random.NormFloat64()
		}
		if got := answer(c, query); got < first || got >= first+n {
			t.Fatalf("feature %v is answered by class %d, which has no anchor", query, got)
		}
	}
}

func TestFeaturesThatTellNothingAreAnError(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, features := range map[string][][]float32{
		"one anchor":      {{1, 2}},
		"all alike":       {{1, 2}, {1, 2}, {1, 2}},
		"one at the mean": {{0, 0}, {2, 2}, {1, 1}},
		"not a number":    {{1, 2}, {nan, 1}},
		"infinite":        {{1, 2}, {inf, 1}},
	} {
		if _, err := nearestAnchor(features, 2, 0, 3); err == nil || !strings.Contains(err.Error(), "the features of anchor ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestAnchorFeaturesComeInOrder(t *testing.T) {
	m := maker(t)
	model := mobileNet(t)
	features, err := m.anchorFeatures(t.Context(), model.BuiltIn.(vision.BuiltIn))
	if err != nil {
		t.Fatal(err)
	}
	if len(features) != small.Classes {
		t.Fatalf("%d features", len(features))
	}
	session, err := m.openFeatures(t.Context(), arch.MobileNet())
	if err != nil {
		t.Fatal(err)
	}
	e := extractor{session: session, pipeline: pipelineOf(t, model), spec: small, size: 1024}
	for k := range features { // one at a time
		alone := make([][]float32, 1)
		if err := e.batch(t.Context(), alone, k); err != nil {
			t.Fatal(err)
		}
		if distance(alone[0], meanOf(features[k:k+1], 1024)) != 0 {
			t.Errorf("anchor %d has other features alone than in a batch", k)
		}
	}
	if left := files(t, m.Dir); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

func TestAnEngineThatFailsIsAnErrorAndNothingIsLeft(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	broken := errors.New("no such device")
	for name, test := range map[string]struct {
		engine *poolEngine
		want   string
	}{
		"opening":        {&poolEngine{openErr: broken}, "making the built-in model mobilenet: no such device"},
		"running":        {&poolEngine{runErr: broken}, "no such device"},
		"other features": {&poolEngine{badSize: true}, " 7]: must be 1024 numbers each"},
	} {
		m := maker(t)
		m.Engine = test.engine
		path, err := m.Model(t.Context(), mobileNet(t))
		if path != "" || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %v; want %q", name, path, err, test.want)
		}
		if left := files(t, m.Dir); len(left) > 0 {
			t.Errorf("%s: files are left: %v", name, left)
		}
	}
}
