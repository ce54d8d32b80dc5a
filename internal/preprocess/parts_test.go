package preprocess

import (
	"bytes"
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// part draws a part of n pixels.
func part(rng *rand.Rand, src, dst int) span {
	first := rng.IntN(dst)
	return span{src: src, dst: dst, first: first, size: 1 + rng.IntN(dst-first)}
}

// sides draws two sides: any, or a multiple or a half of each other, for which kernels take other ways.
func sides(rng *rand.Rand) (src, dst int) {
	src, dst = 1+rng.IntN(40), 1+rng.IntN(40)
	switch rng.IntN(4) {
	case 0:
		src = dst * (1 + rng.IntN(4))
	case 1:
		dst = src
	}
	return src, dst
}

// TestAPartOfAResizedImageIsThatOfTheWhole resizes to a part in all kernels.
func TestAPartOfAResizedImageIsThatOfTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 400 {
		var x, y span
		x.src, x.dst = sides(rng)
		y.src, y.dst = sides(rng)
		all := task{kernel: Kernel(1 + i%7), channels: 3, x: whole(x.src, x.dst), y: whole(y.src, y.dst)}
		some := all
		some.x, some.y = part(rng, x.src, x.dst), part(rng, y.src, y.dst)
		src := noise(uint32(i), 3*x.src*y.src)
		if method := all.method(); method != methodCorners {
			comparePart(t, all, some, resizedBytes(t, all, src), resizedBytes(t, some, src))
		}
		if all.kernel != DeepLabBilinear {
			comparePart(t, all, some, resizedFloats(t, all, src), resizedFloats(t, some, src))
		}
	}
}

func resizedBytes(t *testing.T, k task, src []byte) []byte {
	t.Helper()
	var rows byteRows
	if err := rows.start(k, src); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, k.width()*k.y.size)
	for y := range k.y.size {
		rows.row(y, out[y*k.width():][:k.width()])
	}
	return out
}

func resizedFloats(t *testing.T, k task, src []byte) []float32 {
	t.Helper()
	var rows floatRows[byte]
	if err := rows.start(k, src); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, k.width()*k.y.size)
	for y := range k.y.size {
		rows.row(y, out[y*k.width():][:k.width()])
	}
	return out
}

func comparePart[T comparable](t *testing.T, all, some task, whole, part []T) {
	t.Helper()
	for y := range some.y.size {
		want := whole[(some.y.first+y)*all.width()+3*some.x.first:][:some.width()]
		if got := part[y*some.width():][:some.width()]; !slices.Equal(got, want) {
			t.Errorf("%v: row %d of the part %+v, %+v = %v, want %v", all.kernel, y, some.x, some.y, got, want)
			return
		}
	}
}

// TestNoKernelLeavesTheSourceOfASpan spoils all pixels that source says a part does not need.
func TestNoKernelLeavesTheSourceOfASpan(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 300 {
		x := span{src: 1 + rng.IntN(120), dst: 1 + rng.IntN(60)}
		x = part(rng, x.src, x.dst)
		k := task{kernel: Kernel(1 + i%4), channels: 1, x: x, y: whole(1, 1)}
		from, to := x.source()
		if from < 0 || to > x.src || from >= to {
			t.Fatalf("source of %+v is %d to %d", x, from, to)
		}
		src := noise(uint32(i), x.src)
		want := resizedFloats(t, k, src)
		for at := range src {
			if at < from || at >= to {
				src[at] ^= 0xff
			}
		}
		if got := resizedFloats(t, k, src); !slices.Equal(got, want) {
			t.Errorf("%v of %+v depends on more than pixels %d to %d", k.kernel, x, from, to)
		}
	}
}

// small are the pipelines with outputs of few pixels, which takes their arithmetic little time.
func small() []Pipeline {
	list := reference()
	for i := range list {
		list[i].Size = 16
	}
	return append(list, deepLab(16))
}

func pipelineOf(t *testing.T, p Pipeline, img Image) tensor.Tensor {
	t.Helper()
	dst := tensor.New(p.Type, p.Shape()...)
	if err := p.Apply(dst, img, &Scratch{}); err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestLayoutsHoldTheSameValues(t *testing.T) {
	img := Image{Width: 23, Height: 31, Pix: noise(9, 3*23*31)}
	for _, p := range small() {
		p.Layout = NHWC
		rows := pipelineOf(t, p, img)
		p.Layout = NCHW
		planes := pipelineOf(t, p, img)
		n, size := p.Size*p.Size, p.Type.Size()
		for i := range 3 * n {
			a, b := rows.Bytes()[i*size:][:size], planes.Bytes()[(i%3*n+i/3)*size:][:size]
			if !bytes.Equal(a, b) {
				t.Errorf("%s: value %d of pixel %d is % x in NHWC and % x in NCHW", p.Name, i%3, i/3, a, b)
				break
			}
		}
	}
}

// TestOnlyTheNeededPartOfAFileIsDecoded compares with decoding all of it, for outputs of few pixels.
func TestOnlyTheNeededPartOfAFileIsDecoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	samplings := []jpeg.Sampling{jpeg.Sampling420, jpeg.Sampling422, jpeg.Sampling444}
	var s Scratch
	for i := range 60 {
		m := jpeg.NewRGB(1+rng.IntN(90), 1+rng.IntN(90))
		copy(m.Pix, noise(uint32(i), len(m.Pix)))
		var file bytes.Buffer
		if err := jpeg.Encode(&file, m, jpeg.EncodeOptions{Quality: 60, Sampling: samplings[i%3], ExifOrientation: 1 + i%8}); err != nil {
			t.Fatal(err)
		}
		list := small()
		p := list[i%len(list)]
		got := tensor.New(p.Type, p.Shape()...)
		if _, err := p.ApplyFile(got, file.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		img, err := new(Scratch).decode(file.Bytes(), !p.IgnoreOrientation, func(from Size) image.Rectangle {
			return image.Rect(0, 0, from.Width, from.Height)
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := pipelineOf(t, p, img); !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s of %d×%d pixels, orientation %d: the file gives another tensor than its image", p.Name, m.Width, m.Height, 1+i%8)
		}
	}
}

func TestAScratchCanBeUsedForOnePipelineAfterAnother(t *testing.T) {
	images := []Image{
		{Width: 50, Height: 40, Pix: noise(3, 3*50*40)}, {Width: 2, Height: 31, Pix: noise(4, 3*2*31)},
		{Width: 32, Height: 32, Pix: noise(5, 3*32*32)}, {Width: 1, Height: 1, Pix: noise(6, 3)},
	}
	var used Scratch
	for range 2 {
		for _, p := range small() {
			for _, img := range images {
				got := tensor.New(p.Type, p.Shape()...)
				if err := p.Apply(got, img, &used); err != nil {
					t.Fatal(err)
				}
				if want := pipelineOf(t, p, img); !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("%s of %d×%d pixels gives another tensor with a used Scratch", p.Name, img.Width, img.Height)
				}
			}
		}
	}
}

// TestBatchesOfOneAreTheSame has an axis more in the output.
func TestBatchesOfOneAreTheSame(t *testing.T) {
	img := Image{Width: 9, Height: 12, Pix: noise(2, 3*9*12)}
	for _, p := range small() {
		got := tensor.New(p.Type, append(tensor.Shape{1}, p.Shape()...)...)
		if err := p.Apply(got, img, &Scratch{}); err != nil || !bytes.Equal(got.Bytes(), pipelineOf(t, p, img).Bytes()) {
			t.Errorf("%s: a batch of one is another tensor, %v", p.Name, err)
		}
	}
}
