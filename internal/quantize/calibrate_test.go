package quantize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestRangesAreTheExtremesOfAllSamples(t *testing.T) {
	m := residualModel(t)
	ranges, err := Calibrate(t.Context(), m, calibration(2, 3), Method{Name: MinMax})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(m)
	if err != nil {
		t.Fatal(err)
	}
	if ranges.Samples != 5 {
		t.Errorf("%d samples were seen, want 5", ranges.Samples)
	}
	for name, got := range ranges.Values {
		want := Range{float32(math.Inf(1)), float32(math.Inf(-1))}
		for i, n := range []int64{2, 3} {
			for _, x := range evaluate(t, p, image(uint64(i), n), name)[0].float32s() {
				want = Range{min(want.Min, x), max(want.Max, x)}
			}
		}
		if got != want {
			t.Errorf("the range of %q is %v, want %v", name, got, want)
		}
	}
	if len(ranges.Values) != 8 {
		t.Errorf("%d values were observed, want 8: %v", len(ranges.Values), ranges.Values)
	}
}

func TestMeansOfChannelsCountEverySampleOnce(t *testing.T) {
	m := residualModel(t)
	ranges, err := Calibrate(t.Context(), m, calibration(1, 3), Method{Name: MinMax})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 3)
	for i, n := range []int64{1, 3} {
		for j, x := range image(uint64(i), n).data {
			want[j/144%3] += x / (4 * 144)
		}
	}
	got := ranges.Means[m.Graph.Inputs[0].Name]
	for c := range want {
		if math.Abs(float64(got[c])-want[c]) > 1e-6 {
			t.Errorf("the mean of channel %d of the image is %v, want %v", c, got[c], want[c])
		}
	}
}

func TestOneObservationServesAllMethods(t *testing.T) {
	m := residualModel(t)
	engine := &interpreter{}
	c := calibration(4, 4)
	c.Engine = engine
	c.Memory = 1 // one activation at a time
	o, err := Observe(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + len(o.values); engine.opened != want || engine.sessions != 0 {
		t.Errorf("%d sessions were opened and %d are left, want %d and 0", engine.opened, engine.sessions, want)
	}
	widest, err := o.Ranges(Method{Name: MinMax})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []Method{{Percentile, 99}, {Name: Entropy}} {
		ranges, err := o.Ranges(method)
		if err != nil {
			t.Fatal(err)
		}
		narrower := 0
		for name, r := range ranges.Values {
			all := widest.Values[name]
			if r.Min < all.Min || r.Max > all.Max || r.Min > r.Max {
				t.Errorf("%v: the range of %q is %v, the extremes are %v", method, name, r, all)
			}
			if r != all {
				narrower++
			}
		}
		if narrower == 0 {
			t.Errorf("%v cuts nothing", method)
		}
		if _, _, err := Quantize(m, ranges, Options{}); err != nil {
			t.Errorf("%v: %v", method, err)
		}
	}
	if _, err := o.Ranges(Method{Name: "median"}); err == nil {
		t.Error("an unknown method is accepted")
	}
}

func TestMemoryDoesNotChangeWhatIsObserved(t *testing.T) {
	m := residualModel(t)
	var lists []Ranges
	for _, memory := range []int64{1, 10000, 0} {
		c := calibration(4)
		c.Memory = memory
		r, err := Calibrate(t.Context(), m, c, Method{Percentile, 99})
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, r)
	}
	for i := range lists[:2] {
		if fmt.Sprint(lists[i]) != fmt.Sprint(lists[2]) {
			t.Errorf("with little memory the ranges are %v, with much %v", lists[i], lists[2])
		}
	}
}

// Layers that are left out later need no ranges that were not observed.
func TestRangesServeAnyChoiceOfLayers(t *testing.T) {
	m, ranges := calibrated(t)
	layers, err := Layers(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for set := range 1<<len(layers) - 1 {
		var o Options
		for i, l := range layers {
			if set>>i&1 == 1 {
				o.Exclude = append(o.Exclude, l)
			}
		}
		q, _, err := Quantize(m, ranges, o)
		if err != nil {
			t.Errorf("without %q: %v", o.Exclude, err)
			continue
		}
		evaluate(t, q, image(0, 1), "logits:0")
	}
}

func TestProgressTellsPassesAndSamples(t *testing.T) {
	var told []string
	c := calibration(2, 3)
	c.Progress = func(pass string, samples int) { told = append(told, fmt.Sprint(pass, " ", samples)) }
	if _, err := Calibrate(t.Context(), residualModel(t), c, Method{Name: Entropy}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(told, ", "); got != "extremes 2, extremes 5, histograms 2, histograms 5" {
		t.Errorf("progress tells %q", got)
	}
}

func TestCalibrationNamesTheOffender(t *testing.T) {
	broken := errors.New("disk on fire")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	one := func(data ...float32) Samples {
		return func(yield func([]tensor.Tensor, error) bool) {
			a := image(1, 1)
			copy(a.data, widen(data))
			yield([]tensor.Tensor{tensor.Of(a.float32s(), a.shape...)}, nil)
		}
	}
	calls := 0
	restless := func(yield func([]tensor.Tensor, error) bool) {
		calls++
		for range images(1) {
			one(float32(calls * 100))(yield)
		}
	}
	failing := func(yield func([]tensor.Tensor, error) bool) { yield(nil, broken) }
	for _, c := range []struct {
		name    string
		ctx     context.Context
		samples Samples
		options Options
		method  Method
		want    string
	}{
		{"no samples", t.Context(), images(), Options{}, Method{Name: MinMax}, "there are no samples"},
		{"a sample fails", t.Context(), failing, Options{}, Method{Name: MinMax}, "sample 0: disk on fire"},
		{"cancelled", cancelled, images(1), Options{}, Method{Name: MinMax}, "enough"},
		{"infinite", t.Context(), one(float32(math.Inf(1))), Options{}, Method{Name: MinMax}, "the model fails on these samples"},
		{"different each time", t.Context(), restless, Options{}, Method{Name: Entropy}, "do not repeat themselves"},
		{"unknown method", t.Context(), images(1), Options{}, Method{Name: "median"}, `unknown calibration method "median"`},
		{"unknown layer", t.Context(), images(1), Options{Exclude: []string{"nose"}}, Method{Name: MinMax}, `no layer "nose"`},
		{"nothing to do", t.Context(), images(1), Options{Ops: []string{"Add"}}, Method{Name: MinMax}, "nothing to quantise"},
	} {
		engine := &interpreter{}
		_, err := Calibrate(c.ctx, residualModel(t), Calibration{Engine: engine, Samples: c.samples, Options: c.options}, c.method)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Calibrate() fails with %v, want %q", c.name, err, c.want)
		}
		if engine.sessions != 0 {
			t.Errorf("%s: %d sessions are left open", c.name, engine.sessions)
		}
	}
	if _, err := Calibrate(t.Context(), residualModel(t), Calibration{Engine: &interpreter{}, Samples: failing}, Method{Name: MinMax}); !errors.Is(err, broken) {
		t.Errorf("the cause of %v is lost", err)
	}
}

// Bias correction makes the mean over the calibration samples what it was, where
// padding does not interfere.
func TestBiasCorrectionKeepsTheMeanOfALayer(t *testing.T) {
	b := networks.NewBuilder("single", 3)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12))
	x = b.Relu("positive", x)
	b.Output(b.Conv("conv", x, networks.Conv{Filters: 16, Kernel: networks.Axes{1}}))
	m := built(t, b)
	ranges, err := Calibrate(t.Context(), m, calibration(4), Method{Name: MinMax})
	if err != nil {
		t.Fatal(err)
	}
	shift := func(o Options) float64 {
		o.PerTensor, o.SevenBitWeights = true, true
		q, _, err := Quantize(m, ranges, o)
		if err != nil {
			t.Fatal(err)
		}
		want, got := evaluate(t, m, image(0, 4), "conv:0")[0], evaluate(t, q, image(0, 4), "conv:0")[0]
		worst := 0.0
		for c := range 16 {
			difference := 0.0
			for i := range want.data {
				if i/144%16 == c {
					difference += (got.data[i] - want.data[i]) / (4 * 144)
				}
			}
			worst = max(worst, math.Abs(difference))
		}
		return worst
	}
	with, without := shift(Options{}), shift(Options{NoBiasCorrection: true})
	t.Logf("the mean of a channel shifts by up to %.5f with correction, %.5f without", with, without)
	if with > without/3 {
		t.Errorf("the mean of a channel shifts by up to %v with correction, %v without", with, without)
	}
}
