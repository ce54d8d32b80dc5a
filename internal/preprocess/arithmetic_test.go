package preprocess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// numpy is a step as NumPy does it with arrays of float32: one operation, one rounding.
func numpy(op Op, v, by float32) float32 {
	switch op {
	case Subtract:
		return float32(float64(v) - float64(by))
	case Divide:
		return float32(float64(v) / float64(by))
	}
	return float32(float64(v) * float64(by))
}

func TestStepsAreRoundedOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 1))
	for range 300 {
		var steps []Step
		for range 1 + rng.IntN(4) {
			steps = append(steps, Step{Op(1 + rng.IntN(3)), [3]float32{rng.Float32() + 0.1, rng.Float32()*300 + 1, -rng.Float32() - 0.01}})
		}
		pixels := floatNoise(rng.Uint32(), 3*(1+rng.IntN(5)))
		want := slices.Clone(pixels)
		for i := range want {
			for _, s := range steps {
				want[i] = numpy(s.Op, want[i], s.By[i%3])
			}
		}
		for _, s := range steps {
			s.apply(pixels)
		}
		if !slices.Equal(pixels, want) {
			t.Fatalf("%v: %v, want %v", steps, pixels, want)
		}
	}
}

// A table has for each byte and channel what the steps make of it; conversion cuts off towards zero.
func TestTablesHoldWhatTheStepsMake(t *testing.T) {
	steps := []Step{{Subtract, [3]float32{127.5, 100, 0.5}}, {Multiply, [3]float32{0.5, 1, 0.25}}}
	var f tables[float32]
	var u tables[uint8]
	var s tables[int8]
	f.fill(steps)
	u.fill(nil)
	s.fill(steps)
	for v := range 256 {
		for c := range 3 {
			want := numpy(Multiply, numpy(Subtract, float32(v), steps[0].By[c]), steps[1].By[c])
			if f[c][v] != want || u[c][v] != uint8(v) {
				t.Errorf("byte %d in channel %d: %v and %d, want %v", v, c, f[c][v], u[c][v], want)
			}
			if cut := math.Trunc(float64(want)); cut >= -128 && cut <= 127 && float64(s[c][v]) != cut {
				t.Errorf("byte %d in channel %d: %d, want %v", v, c, s[c][v], cut)
			}
		}
	}
}

func TestADivisionAtTheEndIsTheSameOnTheWay(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 2))
	by := [3]float32{0.229, 0.224, 0.225}
	for range 50 {
		size := 1 + rng.IntN(6)
		divided, moved := output[float32]{dst: make([]float32, 3*size*size), size: size, planar: true}, output[float32]{dst: make([]float32, 3*size*size), size: size, planar: true}
		for y := range size {
			line := floatNoise(rng.Uint32(), 3*size)
			divided.quotients(y, line, by)
			Step{Divide, by}.apply(line)
			moved.floats(y, line)
		}
		if !slices.Equal(divided.dst, moved.dst) {
			t.Fatalf("%v, want %v", divided.dst, moved.dst)
		}
	}
}

func TestOnlyADivisionAtTheEndIsCutOff(t *testing.T) {
	sub, div := each(Subtract, 1), each(Divide, 2)
	for _, c := range []struct {
		name  string
		steps []Step
		left  int
		cut   bool
	}{
		{"nothing", nil, 0, false}, {"a division", []Step{div}, 0, true}, {"a division behind another step", []Step{sub, div}, 1, true},
		{"a division before another step", []Step{div, sub}, 2, false}, {"two divisions", []Step{div, div}, 1, true}, {"no division", []Step{sub}, 1, false},
	} {
		steps, by := cutDivision(c.steps)
		if len(steps) != c.left || (by != nil) != c.cut || by != nil && *by != div.By {
			t.Errorf("%s: %v and %v", c.name, steps, by)
		}
	}
}

func TestRedAndBlueChangePlaces(t *testing.T) {
	pixels := []float32{1, 2, 3, 4, 5, 6}
	if swapRedBlue(pixels); !slices.Equal(pixels, []float32{3, 2, 1, 6, 5, 4}) {
		t.Errorf("%v", pixels)
	}
	for _, bgr := range []bool{false, true} {
		if got, want := (Pipeline{BGR: bgr}).channelOrder(), map[bool][3]int{false: {0, 1, 2}, true: {2, 1, 0}}[bgr]; got != want {
			t.Errorf("blue first %v: %v, want %v", bgr, got, want)
		}
	}
}

func TestPipelinesThatCannotBeAreNamed(t *testing.T) {
	good := Pipeline{Name: "mine", Size: 4, Kernel: CV2Linear, Type: tensor.Float32}
	img := Image{Width: 2, Height: 2, Pix: make([]byte, 12)}
	for _, c := range []struct {
		name string
		edit func(p *Pipeline)
		want string
	}{
		{"nothing wrong", func(*Pipeline) {}, ""},
		{"no size", func(p *Pipeline) { p.Size = 0 }, "pipeline mine: size 0, fit 0 or layout NCHW is not valid"},
		{"a fit that is none", func(p *Pipeline) { p.Fit = PadDeepLab + 1 }, "pipeline mine: size 4, fit 6 or layout NCHW is not valid"},
		{"a layout that is none", func(p *Pipeline) { p.Layout = NHWC + 1 }, "pipeline mine: size 4, fit 0 or layout Layout(2) is not valid"},
		{"padding of floats", func(p *Pipeline) { p.Fit, p.Float = PadDeepLab, true }, "pipeline mine: size 4, fit 5 or layout NCHW is not valid"},
		{"no kernel", func(p *Pipeline) { p.Kernel = 0 }, "pipeline mine: Kernel(0) does not resize bytes"},
		{"a kernel of floats for bytes", func(p *Pipeline) { p.Kernel = TFLiteBilinear }, "pipeline mine: TFLite ResizeBilinear does not resize bytes"},
		{"a kernel of bytes for floats", func(p *Pipeline) { p.Kernel, p.Float = DeepLabBilinear, true }, "pipeline mine: DeepLab resize_bilinear does not resize floats"},
		{"a step that is none", func(p *Pipeline) { p.Steps = []Step{{Op: 4}} }, "pipeline mine: operation 4 is not known"},
		{"a step that nobody filled in", func(p *Pipeline) { p.Steps = []Step{{}} }, "pipeline mine: operation 0 is not known"},
		{"a type that is none of the three", func(p *Pipeline) { p.Type = tensor.Float16 }, "pipeline mine: output type is float16, want float32, uint8 or int8"},
	} {
		p := good
		c.edit(&p)
		dst := tensor.New(tensor.Float32, 3, 4, 4)
		err := p.Apply(dst, img, &Scratch{})
		if (err != nil) != (c.want != "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestOutputsOfAnotherShapeAreRefused(t *testing.T) {
	p := Pipeline{Name: "mine", Size: 4, Kernel: CV2Linear, Type: tensor.Uint8, Layout: NHWC}
	img := Image{Width: 2, Height: 2, Pix: make([]byte, 12)}
	for _, c := range []struct {
		dst tensor.Tensor
		ok  bool
	}{
		{tensor.New(tensor.Uint8, 4, 4, 3), true}, {tensor.New(tensor.Uint8, 1, 4, 4, 3), true},
		{tensor.New(tensor.Uint8, 2, 4, 4, 3), false}, {tensor.New(tensor.Uint8, 3, 4, 4), false}, {tensor.New(tensor.Uint8, 48), false},
		{tensor.New(tensor.Int8, 4, 4, 3), false}, {tensor.New(tensor.Uint8, 1, 1, 4, 4, 3), false}, {tensor.Tensor{}, false},
	} {
		err := p.Apply(c.dst, img, &Scratch{})
		if (err == nil) != c.ok || err != nil && !strings.HasSuffix(err.Error(), "want uint8[4 4 3]") {
			t.Errorf("%v: %v", c.dst, err)
		}
		if _, err2 := p.ApplyFile(c.dst, []byte("GIF8"), &Scratch{}); err != nil && fmt.Sprint(err2) != err.Error() {
			t.Errorf("%v: %v of a file, %v of an image", c.dst, err2, err)
		}
	}
}
