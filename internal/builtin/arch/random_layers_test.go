package arch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A randomNet adds random layers, and counts by itself what they hold and do.
type randomNet struct {
	*rand.Rand
	b          *Builder
	parameters int64
	macs       []func() int64 // of layers, once their results are known
	layers     []string
}

// pick is a number from 1 on.
func (r *randomNet) pick(most int) int64 { return 1 + r.Int64N(int64(most)) }

// axes are as many numbers as there are spatial axes, or one for all.
func (r *randomNet) axes(x *onnx.Value, most int) Axes {
	list := Axes{r.pick(most)}
	if r.IntN(2) == 0 {
		for range len(x.Type.Shape) - 3 {
			list = append(list, r.pick(most))
		}
	}
	return list
}

func (r *randomNet) pads(x *onnx.Value) Pads {
	switch r.IntN(3) {
	case 0:
		return PadSame()
	case 1:
		return Pads{Begin: r.axes(x, 2), End: r.axes(x, 2)}
	}
	return Pads{}
}

// kernelSize is the number of elements of a kernel, given for each axis or for all.
func kernelSize(kernel Axes, axes int) int64 {
	n := int64(1)
	for i := range axes {
		n *= kernel[min(i, len(kernel)-1)]
	}
	return n
}

// elements is how many numbers of one sample a value has.
func elements(v *onnx.Value) int64 {
	n := int64(1)
	for _, d := range v.Type.Shape[1:] {
		n *= d.Size
	}
	return n
}

// layer adds one to an image of channels.
func (r *randomNet) layer(name string, x *onnx.Value) *onnx.Value {
	channels, axes := x.Channels(), len(x.Type.Shape)-2
	kinds := []func() *onnx.Value{
		func() *onnx.Value {
			c := Conv{Filters: r.pick(5), Kernel: r.axes(x, 3), Strides: r.axes(x, 2), Dilations: r.axes(x, 2), Pads: r.pads(x)}
			if r.IntN(3) == 0 {
				c.Groups, c.Filters = channels, channels*r.pick(2)
			}
			each := channels / max(1, c.Groups) * kernelSize(c.Kernel, axes)
			if r.parameters += c.Filters * each; r.IntN(2) == 0 {
				c.Bias = Constant(1)
				r.parameters += c.Filters
			}
			y := r.b.Conv(name, x, c)
			r.macs = append(r.macs, func() int64 { return elements(y) * each })
			return y
		},
		func() *onnx.Value {
			c := ConvTranspose{Filters: r.pick(4), Kernel: r.axes(x, 2), Bias: Constant(2)}
			r.parameters += c.Filters * (channels*kernelSize(c.Kernel, axes) + 1)
			y := r.b.ConvTranspose(name, x, c)
			r.macs = append(r.macs, func() int64 { return elements(y) * channels })
			return y
		},
		func() *onnx.Value { return r.b.MaxPool(name, x, Pool{Kernel: r.axes(x, 3), Strides: r.axes(x, 2)}) },
		func() *onnx.Value { return r.b.Relu6(name, x) },
		func() *onnx.Value { return r.b.Add(name, x, r.b.scalar(2)) },
		func() *onnx.Value { return r.b.Concat(name, 1, x, x) },
		func() *onnx.Value {
			r.parameters += 2 * channels
			return r.b.BatchNorm(name, x, BatchNorm{})
		},
		func() *onnx.Value {
			return r.b.Resize(name, x, Resize{Sizes: r.axes(x, 9), Mode: "nearest", Coordinates: "asymmetric", Nearest: "floor"})
		},
		func() *onnx.Value {
			order := []int64{0, 1}
			for i := range axes {
				order = append(order, int64(axes+1-i))
			}
			return r.b.Transpose(name, x, order...)
		},
		func() *onnx.Value { return r.b.GlobalAveragePool(name, x) },
	}
	kind := r.IntN(len(kinds))
	r.layers = append(r.layers, fmt.Sprint(kind))
	return kinds[kind]()
}

// Whatever layers follow each other, the graph says of each value what its operators make of it by their definitions, and the counts are those
// of a plain sum. Windows that do not fit are the only error.
func TestRandomNetworksAreWhatTheirGraphSays(t *testing.T) {
	built := 0
	for seed := range uint64(60) {
		r := &randomNet{Rand: rand.New(rand.NewPCG(seed, 21)), b: NewBuilder("random", seed)}
		dims := []int64{r.pick(4)}
		for range 1 + r.IntN(3) {
			dims = append(dims, 3+r.pick(6))
		}
		x := r.b.Input("x", onnx.Float32, onnx.Batched(dims...))
		for i := range 1 + r.IntN(5) {
			x = r.layer(fmt.Sprint("layer", i), x)
		}
		r.b.Output(x)
		m, stats, err := r.b.Model()
		if err != nil {
			if !strings.Contains(err.Error(), "window") && !strings.Contains(err.Error(), "kernel") && !strings.Contains(err.Error(), "fit") {
				t.Errorf("seed %d, layers %v: %v", seed, r.layers, err)
			}
			continue
		}
		built++
		if err := m.Check(); err != nil {
			t.Errorf("seed %d, layers %v: %v", seed, r.layers, err)
		}
		for _, batch := range []int64{1, 3} { // every value is compared with its type on the way
			evaluate(t, m, map[string]array{"x": randoms(seed, append([]int64{batch}, dims...)...)})
		}
		macs := int64(0)
		for _, of := range r.macs {
			macs += of()
		}
		if stats.Parameters != r.parameters || stats.MACs != macs {
			t.Errorf("seed %d, layers %v: %d parameters and %d products, want %d and %d", seed, r.layers, stats.Parameters, stats.MACs, r.parameters, macs)
		}
	}
	if built < 30 {
		t.Errorf("%d of 60 networks could be built: they prove little", built)
	}
}

// Samples of a batch know nothing of each other.
func TestASampleIsTheSameInEveryBatch(t *testing.T) {
	for seed := range uint64(12) {
		r := &randomNet{Rand: rand.New(rand.NewPCG(seed, 22)), b: NewBuilder("random", seed)}
		x := r.b.Input("x", onnx.Float32, onnx.Batched(3, 8, 7))
		for i := range 3 {
			x = r.layer(fmt.Sprint("layer", i), x)
		}
		r.b.Output(x)
		m, _, err := r.b.Model()
		if err != nil {
			continue
		}
		images := randoms(seed, 3, 3, 8, 7)
		name := m.Graph.Outputs[0].Name
		together := evaluate(t, m, map[string]array{"x": images})[name]
		each := len(together.data) / 3
		for k := range 3 {
			one := newArray(onnx.Float32, 1, 3, 8, 7)
			copy(one.data, images.data[k*len(one.data):])
			if alone := evaluate(t, m, map[string]array{"x": one})[name]; !slices.Equal(alone.data, together.data[k*each:][:each]) {
				t.Errorf("seed %d, layers %v: sample %d is another one in a batch", seed, r.layers, k)
			}
		}
	}
}

// A factor of Resize makes exactly the size that is asked for, as ONNX rounds it: down.
func TestFactorsMakeTheSizeThatIsAskedFor(t *testing.T) {
	for in := int64(1); in < 70; in++ {
		for size := int64(1); size < 200; size++ {
			scale := scaleTo(in, size)
			if got := int64(float32(in) * scale); got != size {
				t.Errorf("%d elements times %v are %d, want %d", in, scale, got, size)
			}
			if exact := float64(size) / float64(in); float64(scale) > exact*(1+1e-6) {
				t.Errorf("from %d to %d the factor is %v, want %v", in, size, scale, exact)
			}
		}
	}
}
