//go:build ort && cgo

package quantize_test

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/quantize"
)

// cases are the built-in classifiers, and what has to be true of them. The numbers leave
// room: with all images MobileNet in INT8 answers 96 % like FP32, ResNet-50 97 %.
var cases = []struct {
	model     string
	images    int
	kernels   map[string]int // integer kernels that ONNX Runtime makes of it
	int8      float64        // images that INT8 answers like FP32, at least
	half      float64        // and float16
	equalized int
}{
	{"mobilenet", 128, map[string]int{"QLinearConv": 27, "QLinearGlobalAveragePool": 1, "QGemm": 1}, 0.90, 0.97, 13},
	{"resnet50", 40, map[string]int{"QLinearConv": 53, "QLinearAdd": 16, "QLinearGlobalAveragePool": 1, "QGemm": 1}, 0.90, 0.97, 0},
}

// calibrationImages is how many images from the end of the data set are observed.
const calibrationImages = 16

func TestORTQuantizedClassifiersAnswerAlikeWithIntegerKernels(t *testing.T) {
	for _, test := range cases {
		t.Run(test.model, func(t *testing.T) {
			c := openClassifier(t, test.model, 1024-calibrationImages-test.images, calibrationImages+test.images)
			m, report, err := quantize.Recipe{}.Make(
				t.Context(), c.model, c.calibration(test.images, calibrationImages))
			if err != nil {
				t.Fatal(err)
			}
			if report.EqualizedLayers != test.equalized || len(report.Excluded) != 0 {
				t.Errorf("%d layers were equalised, %v stay in FP32", report.EqualizedLayers, report.Excluded)
			}
			half, _, err := quantize.ToFloat16(c.model, quantize.Float16Options{})
			if err != nil {
				t.Fatal(err)
			}
			two := backend.Options{IntraThreads: 2}
			float, int8, float16 := c.open(t, c.model, two), c.open(t, m, two), c.open(t, half, two)
			images := c.images.Rows(0, test.images)
			want := float.classes(images)
			for what, n := range map[string]struct {
				network
				least float64
			}{"INT8": {int8, test.int8}, "float16": {float16, test.half}} {
				got := n.classes(images)
				t.Logf("%s: right %s, FP32 %s, alike %s", what, percent(agreement(got, c.labels)), percent(agreement(want, c.labels)), percent(agreement(got, want)))
				if a := agreement(got, want); a < n.least {
					t.Errorf("%s answers %s of the images like FP32, want %s", what, percent(a), percent(n.least))
				}
			}
			kernels := kernelsOf(t, c.engine, m)
			for op, n := range test.kernels {
				if kernels[op] != n {
					t.Errorf("there are %d %s, want %d: %v", kernels[op], op, n, kernels)
				}
			}
			if kernels["Conv"]+kernels["FusedConv"]+kernels["Gemm"]+kernels["FusedGemm"] != 0 {
				t.Errorf("there are FP32 kernels left: %v", kernels)
			}
		})
	}
}

// Every choice gives a model that the engine accepts and that is not broken.
func TestORTEveryChoiceWorks(t *testing.T) {
	const images = 32
	c := openClassifier(t, "mobilenet", 0, images+16)
	observed, err := quantize.Observe(t.Context(), c.model, c.calibration(images, 16))
	if err != nil {
		t.Fatal(err)
	}
	two := backend.Options{IntraThreads: 2}
	want := c.open(t, c.model, two).classes(c.images.Rows(0, images))
	for _, test := range []struct {
		name    string
		method  string
		options quantize.Options
	}{
		{"percentile, per tensor", "percentile:99.99", quantize.Options{PerTensor: true}},
		{"entropy, seven bits", "entropy", quantize.Options{SevenBitWeights: true}},
		{"signed", "min-max", quantize.Options{Activations: quantize.S8}},
		{"ends in FP32", "min-max", quantize.Options{SkipFirst: true, SkipLast: true}},
	} {
		method, err := quantize.ParseMethod(test.method)
		if err != nil {
			t.Fatal(err)
		}
		ranges, err := observed.Ranges(method)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := quantize.Quantize(c.model, ranges, test.options)
		if err != nil {
			t.Fatal(err)
		}
		a := agreement(c.open(t, m, two).classes(c.images.Rows(0, images)), want)
		t.Logf("%s: alike %s", test.name, percent(a))
		if a < 0.7 {
			t.Errorf("%s: %s of the images are answered like in FP32, want 70 %%", test.name, percent(a))
		}
	}
	half, _, err := quantize.ToFloat16(c.model, quantize.Float16Options{HalfIO: true})
	if err != nil {
		t.Fatal(err)
	}
	if port := c.open(t, half, two).session.Info().Inputs[0]; port.Type.String() != "float16" {
		t.Errorf("with HalfIO the input is %v", port)
	}
}

// TestORTSearchReachesATarget asks for a little more than the first ten layers in INT8 give.
func TestORTSearchReachesATarget(t *testing.T) {
	const images = 4
	c := openClassifier(t, "mobilenet", 0, images)
	score, err := quantize.SignalToNoise(t.Context(), c.model, c.calibration(0, images))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := quantize.Layers(c.model, quantize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	recipe := quantize.Recipe{Options: quantize.Options{Exclude: layers[10:]}} // to be quick
	m, _, err := recipe.Make(t.Context(), c.model, c.calibration(0, images))
	if err != nil {
		t.Fatal(err)
	}
	all, err := score(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	recipe.Search = &quantize.Search{Score: score, Target: all + 1}
	_, report, err := recipe.Make(t.Context(), c.model, c.calibration(0, images))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f dB with all layers; %v", all, report.Search.Steps)
	if report.Search.Score < all+1 || len(report.Search.Excluded) == 0 || len(report.Search.Excluded) > 5 {
		t.Errorf("the search ended at %v dB with %q in FP32, want %v", report.Search.Score, report.Search.Excluded, all+1)
	}
}

// ONNX Runtime quantises weights on its own between layers that are quantised: see protect.
func TestORTLayersInFP32StayThat(t *testing.T) {
	const images = 4
	c := openClassifier(t, "mobilenet", 0, images)
	excluded := []string{"MobilenetV1/Conv2d_6_pointwise", "MobilenetV1/Conv2d_8_depthwise", "MobilenetV1/Conv2d_10_pointwise"}
	ranges, err := quantize.Calibrate(t.Context(), c.model, c.calibration(0, images), quantize.Method{Name: quantize.MinMax})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := quantize.Quantize(c.model, ranges, quantize.Options{Exclude: excluded})
	if err != nil {
		t.Fatal(err)
	}
	if kernels := kernelsOf(t, c.engine, m); kernels["QLinearConv"] != 24 || kernels["Conv"]+kernels["FusedConv"] != 3 {
		t.Errorf("the kernels are %v, want 24 QLinearConv and 3 in FP32", kernels)
	}
}
