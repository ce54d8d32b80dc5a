package quantize

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// floatLayers returns the layers of residualModel that are left in FP32.
func floatLayers(m *onnx.Model) []string {
	var list []string
	index := m.Graph.Index()
	for _, n := range m.Graph.Nodes {
		if kinds[n.Op] == weighted && index.Producer(n.Inputs[1]) == nil {
			list = append(list, n.Name)
		}
	}
	return list
}

// costs is a score of 100 less what each quantised layer costs.
func costs(of map[string]float64) Score {
	return func(_ context.Context, m *onnx.Model) (float64, error) {
		score := 100.0
		for layer, cost := range of {
			if !slices.Contains(floatLayers(m), layer) {
				score -= cost
			}
		}
		return score, nil
	}
}

func TestSensitivityQuantizesOneLayerAtATime(t *testing.T) {
	m, ranges := calibrated(t)
	var told []int
	score := func(ctx context.Context, m *onnx.Model) (float64, error) {
		if n := len(floatLayers(m)); n != 3 {
			t.Errorf("%d layers are in FP32, want all but one of 4", n)
		}
		return costs(map[string]float64{"stem": 1, "block": 3, "depthwise": 2, "logits": 3})(ctx, m)
	}
	got, err := Sensitivity(t.Context(), m, ranges, Options{}, score, func(done, _ int) { told = append(told, done) })
	if err != nil {
		t.Fatal(err)
	}
	want := []LayerScore{{"block", "Conv", 97}, {"logits", "Gemm", 97}, {"depthwise", "Conv", 98}, {"stem", "Conv", 99}}
	if !slices.Equal(got, want) {
		t.Errorf("Sensitivity() = %v, want %v", got, want)
	}
	if !slices.Equal(told, []int{1, 2, 3, 4}) {
		t.Errorf("progress tells %v", told)
	}
}

func TestSearchLeavesOutTheFewestOfTheMostSensitiveLayers(t *testing.T) {
	m, ranges := calibrated(t)
	layers := map[string]float64{"stem": 1, "block": 8, "depthwise": 4, "logits": 2}
	for _, c := range []struct {
		name     string
		target   float64
		options  Options
		most     int
		excluded []string
		score    float64
		missed   bool
	}{
		{"good enough as it is", 85, Options{}, 0, nil, 85, false},
		{"one layer", 93, Options{}, 0, []string{"block"}, 93, false},
		{"two layers", 94, Options{}, 0, []string{"block", "depthwise"}, 97, false},
		{"three layers", 98, Options{}, 0, []string{"block", "depthwise", "logits"}, 99, false},
		{"beyond what is excluded already", 97, Options{Exclude: []string{"block"}}, 0, []string{"depthwise"}, 97, false},
		{"one layer has to stay", 100, Options{}, 0, []string{"block", "depthwise", "logits"}, 99, true},
		{"no more than allowed", 98, Options{}, 2, []string{"block", "depthwise"}, 97, true},
	} {
		s := Search{Score: costs(layers), Target: c.target, Most: c.most}
		got, err := s.Run(t.Context(), m, ranges, c.options)
		if c.missed != errors.Is(err, ErrTargetMissed) || !c.missed && err != nil {
			t.Errorf("%s: Run() fails with %v", c.name, err)
		}
		if got.Score != c.score || !slices.Equal(got.Excluded, c.excluded) {
			t.Errorf("%s: Run() = %v with %q in FP32, want %v with %q", c.name, got.Score, got.Excluded, c.score, c.excluded)
		}
		if score, _ := s.Score(t.Context(), got.Model); score != got.Score {
			t.Errorf("%s: the model scores %v, by the result %v", c.name, score, got.Score)
		}
		if got.Report.Search == nil || got.Report.Search.Score != got.Score || len(got.Report.Excluded) != len(floatLayers(got.Model)) {
			t.Errorf("%s: the report tells of another model: %+v", c.name, got.Report.Search)
		}
	}
}

func TestSearchRanksByAnotherScoreIfThereIsOne(t *testing.T) {
	m, ranges := calibrated(t)
	scored := 0
	score := func(ctx context.Context, m *onnx.Model) (float64, error) {
		scored++
		return costs(map[string]float64{"stem": 5})(ctx, m)
	}
	s := Search{Score: score, Target: 100, Rank: costs(map[string]float64{"stem": 2, "block": 3})}
	got, err := s.Run(t.Context(), m, ranges, Options{})
	if err != nil || !slices.Equal(got.Excluded, []string{"block", "stem"}) || scored != 3 {
		t.Errorf("Run() leaves %q in FP32 after %d scores, %v; want block and stem after 3", got.Excluded, scored, err)
	}
}

func TestSearchKeepsTheCauseOfAFailure(t *testing.T) {
	m, ranges := calibrated(t)
	broken := errors.New("no images")
	s := Search{Score: func(context.Context, *onnx.Model) (float64, error) { return 0, broken }, Target: 1}
	if _, err := s.Run(t.Context(), m, ranges, Options{}); !errors.Is(err, broken) {
		t.Errorf("Run() fails with %v, want %v", err, broken)
	}
	if _, err := Sensitivity(t.Context(), m, ranges, Options{}, s.Score, nil); !errors.Is(err, broken) || !strings.Contains(err.Error(), `"stem"`) {
		t.Errorf("Sensitivity() fails with %v, want %v for stem", err, broken)
	}
}

func TestSignalToNoiseFallsWithEveryLayer(t *testing.T) {
	m, ranges := calibrated(t)
	engine := &interpreter{}
	c := calibration(2, 2)
	c.Engine = engine
	score, err := SignalToNoise(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(m)
	if err != nil {
		t.Fatal(err)
	}
	same, err := score(t.Context(), p)
	if same != mostDecibels || err != nil {
		t.Errorf("the FP32 model itself scores %v, %v, want %v", same, err, mostDecibels)
	}
	all, _, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	worst, err := score(t.Context(), all)
	if err != nil || worst < 25 || worst > 60 {
		t.Errorf("the quantised model scores %v dB, %v, want about 40", worst, err)
	}
	layers, err := Sensitivity(t.Context(), m, ranges, Options{}, score, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		if l.Score <= worst-3 || l.Score >= mostDecibels {
			t.Errorf("with only %s quantised the score is %v dB, with all layers %v", l.Layer, l.Score, worst)
		}
	}
	if engine.sessions != 0 {
		t.Errorf("%d sessions are left open", engine.sessions)
	}
}

func TestDecibels(t *testing.T) {
	for _, c := range []struct {
		name           string
		powers, noises []float64
		want           float64
	}{
		{"a hundredth", []float64{100}, []float64{1}, 20},
		{"the mean of two ratios", []float64{100, 1}, []float64{1, 0.03}, -10 * math.Log10(0.02)},
		{"no noise", []float64{5}, []float64{0}, mostDecibels},
		{"no signal and no noise", []float64{0}, []float64{0}, mostDecibels},
		{"noise without signal", []float64{0}, []float64{1}, -mostDecibels},
		{"no numbers", []float64{1}, []float64{math.Inf(1)}, -mostDecibels},
		{"nothing but noise", []float64{1}, []float64{math.NaN()}, -mostDecibels},
	} {
		if got := decibels(c.powers, c.noises); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: decibels() = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSignalToNoiseWantsTheSamplesAndNamesOfBefore(t *testing.T) {
	m, _ := calibrated(t)
	c := calibration(1)
	score, err := SignalToNoise(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := score(t.Context(), handmade(13, []*onnx.Node{node("Relu", "r", []string{"x"}, "y")})); err == nil || !strings.Contains(err.Error(), "logits") {
		t.Errorf("another model's score fails with %v, want the missing value", err)
	}
	sizes := []int64{1, 1}
	c.Samples = func(yield func(s []tensor.Tensor, err error) bool) { images(sizes...)(yield) }
	if score, err = SignalToNoise(t.Context(), m, c); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sizes []int64
		want  string
	}{{[]int64{1, 1, 1}, "more samples than before"}, {[]int64{1}, "fewer samples than before"}, {[]int64{2}, "10 elements, in FP32 5"}, {nil, "no samples"}} {
		sizes = c.sizes
		if _, err := score(t.Context(), m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with batches of %v the score fails with %v, want %q", sizes, err, c.want)
		}
	}
}
