package quantize

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A designer draws networks of the layers that classifiers are made of.
type designer struct {
	*rand.Rand
	b    *networks.Builder
	next int // layers so far
}

func (d *designer) name(what string) string {
	d.next++
	return fmt.Sprintf("%s%d", what, d.next)
}

// activated adds a batch norm or none, and an activation function or none.
func (d *designer) activated(x *onnx.Value) *onnx.Value {
	if d.IntN(2) == 0 {
		x = d.b.BatchNorm(d.name("norm"), x, networks.BatchNorm{
			Gamma: networks.Uniform{Low: 0.3, High: 1.5}, Beta: networks.Uniform{Low: -0.5, High: 0.5},
			Mean: networks.Uniform{Low: -0.2, High: 0.2}, Variance: networks.Uniform{Low: 0.2, High: 2},
		})
	}
	switch d.IntN(3) {
	case 0:
		return d.b.Relu(d.name("relu"), x)
	case 1:
		return d.b.Relu6(d.name("relu6"), x)
	}
	return x
}

func (d *designer) conv(x *onnx.Value, filters int64) *onnx.Value {
	c := networks.Conv{Filters: filters, Kernel: networks.Axes{1 + 2*d.Int64N(2)}, Pads: networks.PadSame()}
	if filters == x.Channels() && d.IntN(2) == 0 {
		c.Groups = []int64{filters, 2}[d.IntN(2)]
	}
	if d.IntN(2) == 0 {
		c.Bias = networks.Uniform{Low: -0.5, High: 0.5}
	}
	return d.activated(d.b.Conv(d.name("conv"), x, c))
}

// design draws a network from images of 12×12 to five scores.
func design(t testing.TB, seed uint64) *onnx.Model {
	t.Helper()
	d := &designer{Rand: rand.New(rand.NewPCG(seed, 77)), b: networks.NewBuilder("drawn", seed)}
	x := d.conv(d.b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12)), 4+2*d.Int64N(3))
	for range 2 + d.IntN(3) {
		switch d.IntN(4) {
		case 0:
			x = d.b.Add(d.name("add"), x, d.conv(x, x.Channels()))
		case 1:
			x = d.b.Concat(d.name("concat"), 1, d.conv(x, 2), d.conv(x, 4))
		case 2:
			if x.Type.Shape[2].Size >= 6 {
				x = d.b.MaxPool(d.name("pool"), x, networks.Pool{Kernel: networks.Axes{2}, Strides: networks.Axes{2}})
			}
		default:
			x = d.conv(x, x.Channels())
		}
	}
	x = d.b.Flatten("features", d.b.GlobalAveragePool("mean", x))
	d.b.Output(d.b.Dense("scores", x, networks.Dense{Units: 5, Bias: networks.Uniform{Low: -1, High: 1}}))
	return built(t, d.b)
}

// signalOverNoise is how much larger a signal is than how much another one differs, in decibels.
func signalOverNoise(want, got array) float64 {
	power, noise := 0.0, 1e-30
	for i, w := range want.data {
		power += w * w
		noise += (got.data[i] - w) * (got.data[i] - w)
	}
	return 10 * math.Log10(power/noise)
}

// Whatever a network is made of, it computes the same when it is prepared or equalised, and nearly the same in lower
// precision. All of its layers become integers.
func TestDrawnNetworksComputeNearlyTheSameInLowerPrecision(t *testing.T) {
	for seed := range uint64(5) {
		m := design(t, seed)
		x := image(100+seed, 2) // which the calibration does not see
		want := evaluate(t, m, x, "scores:0")[0]
		check := func(how string, made *onnx.Model, least float64) {
			t.Helper()
			if got := signalOverNoise(want, evaluate(t, made, x, "scores:0")[0]); got < least {
				t.Errorf("seed %d, %s: %.1f dB, want %v", seed, how, got, least)
			}
		}
		p, err := Prepare(m)
		if err != nil {
			t.Fatal(err)
		}
		check("prepared", p, 110)
		half, _, err := ToFloat16(m, Float16Options{})
		if err != nil {
			t.Fatal(err)
		}
		check("in float16", half, 50)
		even, _, err := equalize(t.Context(), m, calibration(4, 4))
		if err != nil {
			t.Fatal(err)
		}
		check("equalised", even, 30) // values beyond what was seen are cut off
		ranges, err := Calibrate(t.Context(), m, calibration(4, 4), Method{Name: MinMax})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Activations: S8, PerTensor: true}, {SevenBitWeights: true, NoBiasCorrection: true}} {
			q, report, err := Quantize(m, ranges, o)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, o, err)
			}
			check(fmt.Sprintf("as %+v", o), q, 24)
			if all := ops(m)["Conv"] + ops(m)["Gemm"]; len(report.Layers) != all || len(report.Excluded) != 0 {
				t.Errorf("seed %d, %+v: %d of %d layers are integers, excluded %v", seed, o, len(report.Layers), all, report.Excluded)
			}
		}
	}
}
