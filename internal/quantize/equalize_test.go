package quantize

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// separableModel has a depthwise convolution whose channels have very different ranges,
// between two others.
func separableModel(t testing.TB) *onnx.Model {
	t.Helper()
	b := networks.NewBuilder("separable", 5)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12))
	x = b.Relu6("expand/relu6", b.Conv("expand", x, networks.Conv{Filters: 6, Kernel: networks.Axes{1}}))
	x = b.Conv("depthwise", x, networks.Conv{Filters: 6, Groups: 6, Kernel: networks.Axes{3}, Pads: networks.Pad(1), Bias: networks.Constant(0.01)})
	uneven := networks.Given{3, 0.05, 1, 0.1, 0.1, 0.5}
	x = b.Relu6("depthwise/relu6", b.BatchNorm("depthwise/norm", x, networks.BatchNorm{Gamma: uneven}))
	b.Output(b.Conv("project", x, networks.Conv{
		Filters: 4, Kernel: networks.Axes{1}, Bias: networks.Constant(0.1),
		Weights: networks.Given{ // what has small numbers has large weights
			0.3, 40, -1, 8, -20, 2, 0.5, -30, 1, 9, 20, -1, -0.4, 50, 2, -7, 10, 1, 0.1, 20, -1, 5, -30, 3,
		},
	}))
	return built(t, b)
}

func TestEqualizedModelsComputeTheSameWithEvenRanges(t *testing.T) {
	m := separableModel(t)
	before := encoded(t, m)
	c := calibration(4)
	e, layers, err := equalize(t.Context(), m, c)
	if err != nil || layers != 1 {
		t.Fatalf("Equalize() changes %d layers, %v, want 1", layers, err)
	}
	if encoded(t, m) != before {
		t.Error("Equalize changed the original")
	}
	want, got := evaluate(t, m, image(0, 4), "project:0")[0], evaluate(t, e, image(0, 4), "project:0", "depthwise/relu6:0")
	if d := differ(want, got[0]); d > 1e-5 {
		t.Errorf("equalised, the result differs by %v", d)
	}
	largest := make([]float64, 6)
	for i, x := range got[1].data {
		largest[i/144%6] = max(largest[i/144%6], x)
	}
	for i, x := range largest {
		if math.Abs(x-largest[0]) > 1e-4*x {
			t.Errorf("channel %d goes up to %v, the first to %v", i, x, largest[0])
		}
	}
}

func TestEqualizingHelpsUnevenChannels(t *testing.T) {
	m := separableModel(t)
	c := calibration(4)
	score, err := SignalToNoise(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	made := func(r Recipe) float64 {
		q, report, err := r.Make(t.Context(), m, c)
		if err != nil {
			t.Fatal(err)
		}
		if layers := map[bool]int{false: 1, true: 0}[r.NoEqualization]; report.EqualizedLayers != layers {
			t.Errorf("the report tells of %d equalised layers, want %d", report.EqualizedLayers, layers)
		}
		s, err := score(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	with, without := made(Recipe{}), made(Recipe{NoEqualization: true})
	t.Logf("%.1f dB with equalisation, %.1f dB without", with, without)
	if with < without+6 {
		t.Errorf("signal to noise is %v dB with equalisation, %v without, want twice as good", with, without)
	}
}

// With channels as even as can be, equalising can only spoil weights.
func TestRecipeKeepsTheBetterOfTwoModels(t *testing.T) {
	m := separableModel(t)
	c := calibration(4)
	e, _, err := equalize(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	e.Metadata = nil
	score, err := SignalToNoise(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	for name, model := range map[string]*onnx.Model{"uneven": m, "even": e} {
		scores := make(map[bool]float64)
		for _, no := range []bool{false, true} {
			q, _, err := Recipe{NoEqualization: no}.Make(t.Context(), model, c)
			if err != nil {
				t.Fatal(err)
			}
			if scores[no], err = score(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		if scores[false] < scores[true] {
			t.Errorf("%s: the recipe makes a model of %v dB, without equalisation %v", name, scores[false], scores[true])
		}
	}
}

func TestEqualizeLeavesOtherLayersAlone(t *testing.T) {
	perTensor := calibration(1)
	perTensor.Options.PerTensor = true
	excluded := calibration(1)
	excluded.Options.Exclude = []string{"project"}
	for _, c := range []struct {
		name        string
		model       *onnx.Model
		calibration Calibration
	}{
		{"no convolution behind", residualModel(t), calibration(1)},
		{"one scale for all filters", separableModel(t), perTensor},
		{"a reader in FP32", separableModel(t), excluded},
	} {
		p, err := Prepare(c.model)
		if err != nil {
			t.Fatal(err)
		}
		e, layers, err := equalize(t.Context(), c.model, c.calibration)
		if err != nil || layers != 0 || encoded(t, e) != encoded(t, p) {
			t.Errorf("%s: Equalize() changes %d layers, %v", c.name, layers, err)
		}
	}
}

func TestRecipeSearchesUntilTheTargetIsReached(t *testing.T) {
	m := residualModel(t)
	c := calibration(2, 2)
	r := Recipe{Options: Options{SkipLast: true}}
	scored := 0
	r.Search = &Search{Target: 1, Score: func(_ context.Context, m *onnx.Model) (float64, error) {
		scored++
		return float64(len(floatLayers(m)) - 1), nil // one is enough
	}}
	q, report, err := r.Make(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(floatLayers(q)); n != 2 || scored != 2 || len(report.Search.Sensitivity) != 3 {
		t.Errorf("%d layers are in FP32 after %d scores, ranked are %v; want 2 after 2, of 3", n, scored, report.Search.Sensitivity)
	}
	if report.Model != "residual" || report.BytesBefore != weightBytes(m.Graph) || !report.Options.SkipLast {
		t.Errorf("the report is of %q with %d bytes, options %+v", report.Model, report.BytesBefore, report.Options)
	}
	r.Search.Target = 5
	if q, _, err = r.Make(t.Context(), m, c); !errors.Is(err, ErrTargetMissed) || q == nil {
		t.Errorf("a target out of reach gives %v, %v, want a model and ErrTargetMissed", q, err)
	}
}

func TestRecipeFailsWithTheCause(t *testing.T) {
	m := separableModel(t)
	for _, c := range []struct {
		name    string
		recipe  Recipe
		samples Samples
		want    string
	}{
		{"no samples", Recipe{}, images(), "calibrating: there are no samples"},
		{"no samples, not equalised", Recipe{NoEqualization: true}, images(), "calibrating: there are no samples"},
		{"unknown method", Recipe{Method: Method{Name: "median"}}, images(1), "unknown calibration method"},
		{"unknown layer", Recipe{Options: Options{Exclude: []string{"nose"}}}, images(1), `no layer "nose"`},
	} {
		q, _, err := c.recipe.Make(t.Context(), m, Calibration{Engine: &interpreter{}, Samples: c.samples})
		if q != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Make() = %v, %v, want %q", c.name, q, err, c.want)
		}
	}
}
