package preprocess

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A plainKernel says how much of each input pixel is in an output pixel along an axis, in float64 and by the definition of its
// library: nothing is rounded and nothing cut out.
type plainKernel func(src, dst, i int) map[int]float64

// between are the two pixels that a place lies between; those at the edge are repeated.
func between(at float64, src int) map[int]float64 {
	floor := math.Floor(at)
	limit := func(v float64) int { return int(min(max(v, 0), float64(src-1))) }
	weights := map[int]float64{}
	weights[limit(floor)] += 1 - (at - floor)
	weights[limit(floor+1)] += at - floor
	return weights
}

// halfPixels counts from the middles of pixels: OpenCV and PyTorch.
func halfPixels(src, dst, i int) map[int]float64 {
	return between((float64(i)+0.5)*float64(src)/float64(dst)-0.5, src)
}

// notBelow is the same where nothing lies before the first pixel.
func notBelow(src, dst, i int) map[int]float64 {
	return between(max((float64(i)+0.5)*float64(src)/float64(dst)-0.5, 0), src)
}

// corner counts from the upper left corners: TFLite.
func cornerOf(src, dst, i int) map[int]float64 {
	return between(float64(i)*float64(src)/float64(dst), src)
}

// aligned maps first and last pixels on each other: TensorFlow, as DeepLab uses it.
func aligned(src, dst, i int) map[int]float64 {
	if dst == 1 {
		return between(0, src)
	}
	return between(float64(i)*float64(src-1)/float64(dst-1), src)
}

// covered is the share of each input pixel that an output pixel covers: OpenCV's area where it shrinks.
func covered(src, dst, i int) map[int]float64 {
	scale := float64(src) / float64(dst)
	from, to := float64(i)*scale, float64(i+1)*scale
	weights := map[int]float64{}
	for k := range src {
		if share := min(to, float64(k+1)) - max(from, float64(k)); share > 0 {
			weights[k] = share / scale
		}
	}
	return weights
}

// enlarged is OpenCV's area where it enlarges: the nearest pixels, and between them only as much as an output pixel lies on
// both. It is rounded as there: a place at the edge of two pixels is in one or the other by the last digit.
func enlarged(src, dst, i int) map[int]float64 {
	inverse := float64(dst) / float64(src)
	k := math.Floor(float64(i) * (1 / inverse))
	share := float64(float32(max(0, float64(i)+1-(k+1)*inverse)))
	return between(k+share-math.Floor(share), src)
}

// filtered is Pillow's resize: a filter that is as wide as an output pixel, and its weights add up to 1.
func filtered(radius float64, weight func(float64) float64) plainKernel {
	return func(src, dst, i int) map[int]float64 {
		scale := float64(src) / float64(dst)
		stretch := max(scale, 1)
		center := (float64(i) + 0.5) * scale
		weights, sum := map[int]float64{}, 0.0
		for k := range src {
			if distance := math.Abs(float64(k)+0.5-center) / stretch; distance < radius {
				weights[k] = weight(distance)
				sum += weights[k]
			}
		}
		for k := range weights {
			weights[k] /= sum
		}
		return weights
	}
}

func plainTriangle(x float64) float64 { return 1 - x }

// plainCubic is Keys' convolution with a = -1/2.
func plainCubic(x float64) float64 {
	if x < 1 {
		return 1.5*x*x*x - 2.5*x*x + 1
	}
	return -0.5*x*x*x + 2.5*x*x - 4*x + 2
}

// plainly resizes an image of one channel.
func plainly(src []float32, from, to Size, x, y plainKernel) []float64 {
	out := make([]float64, to.Width*to.Height)
	for row := range to.Height {
		down := y(from.Height, to.Height, row)
		for column := range to.Width {
			sum := 0.0
			for a, wa := range x(from.Width, to.Width, column) {
				for b, wb := range down {
					sum += wa * wb * float64(src[b*from.Width+a])
				}
			}
			out[row*to.Width+column] = sum
		}
	}
	return out
}

// plainArea is what OpenCV does with INTER_AREA: if either side grows, it is no area.
func plainArea(from, to Size) plainKernel {
	if to.Width > from.Width || to.Height > from.Height {
		return enlarged
	}
	return covered
}

// definitions are the kernels that are linear in the pixels, in the order of the constants.
var definitions = []struct {
	kernel Kernel
	of     func(from, to Size) plainKernel
	off    float64 // by how much a byte may be off; 0: the kernel does not resize bytes
}{
	{CV2Linear, same(halfPixels), 1}, // bits are cut off between the directions
	{CV2Area, plainArea, 1},
	{PillowBilinear, same(filtered(1, plainTriangle)), 1.3}, // what is rounded between the directions, the second one adds up
	{PillowBicubic, same(filtered(2, plainCubic)), 1.3},
	{TorchBilinear, same(notBelow), 0},
	{TFLiteBilinear, same(cornerOf), 0},
}

// same is a definition that does not depend on the sizes.
func same(k plainKernel) func(from, to Size) plainKernel {
	return func(Size, Size) plainKernel { return k }
}

// anySizes draws the sizes of an image and of what becomes of it.
func anySizes(rng *rand.Rand) (from, to Size) {
	from.Width, to.Width = sides(rng)
	from.Height, to.Height = sides(rng)
	return from, to
}

func TestKernelsAreThoseOfTheirDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	var s Scratch
	for _, d := range definitions {
		for range 60 {
			from, to := anySizes(rng)
			src, dst := make([]float32, from.Width*from.Height), make([]float32, to.Width*to.Height)
			for i := range src {
				src[i] = rng.Float32() * 255
			}
			if err := s.ResizeFloats(dst, src, d.kernel, 1, from, to); err != nil {
				t.Fatal(err)
			}
			plain := d.of(from, to)
			for i, want := range plainly(src, from, to, plain, plain) {
				if math.Abs(float64(dst[i])-want) > 0.01 {
					t.Fatalf("%v from %v to %v: [%d] = %v, want %v", d.kernel, from, to, i, dst[i], want)
				}
			}
		}
	}
}

func TestKernelsOfBytesAreThoseOfTheirDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 2))
	var s Scratch
	for _, d := range definitions {
		if d.off == 0 {
			continue
		}
		for range 60 {
			from, to := anySizes(rng)
			src, dst := noise(rng.Uint32(), from.Width*from.Height), make([]byte, to.Width*to.Height)
			for i := range src {
				src[i] = 64 + src[i]/2 // bicubic goes beyond what is there, and must not be cut off in between
			}
			if err := s.ResizeBytes(dst, src, d.kernel, 1, from, to); err != nil {
				t.Fatal(err)
			}
			plain := d.of(from, to)
			for i, want := range plainly(floats(nil, src), from, to, plain, plain) {
				if math.Abs(float64(dst[i])-want) > d.off {
					t.Fatalf("%v from %v to %v: [%d] = %v, want %.2f", d.kernel, from, to, i, dst[i], want)
				}
			}
		}
	}
}

// What DeepLab resizes loses a fraction when it is truncated, and nothing else.
func TestDeepLabIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 3))
	var s Scratch
	for range 60 {
		from, to := Size{1 + rng.IntN(30), 1 + rng.IntN(30)}, Size{1 + rng.IntN(30), 1 + rng.IntN(30)}
		src, dst := noise(rng.Uint32(), 3*from.Width*from.Height), make([]byte, 3*to.Width*to.Height)
		if err := s.ResizeBytes(dst, src, DeepLabBilinear, 3, from, to); err != nil {
			t.Fatal(err)
		}
		for c := range 3 {
			channel := make([]float32, from.Width*from.Height)
			for i := range channel {
				channel[i] = float32(src[3*i+c])
			}
			if from.Width == to.Width && from.Height == to.Height {
				continue
			}
			for i, want := range plainly(channel, from, to, aligned, aligned) {
				if got := float64(dst[3*i+c]); got > want+0.01 || got < want-1.01 {
					t.Fatalf("from %v to %v: channel %d of [%d] is %v, want %.2f", from, to, c, i, got, want)
				}
			}
		}
	}
}

// An image of one colour stays one, however it is resized.
func TestOneColourStaysOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 4))
	var s Scratch
	for k := CV2Linear; k <= DeepLabBilinear; k++ {
		for range 40 {
			from, to := Size{1 + rng.IntN(50), 1 + rng.IntN(50)}, Size{1 + rng.IntN(50), 1 + rng.IntN(50)}
			colour := [3]byte{byte(rng.IntN(256)), 0, 255}
			src, dst := make([]byte, 3*from.Width*from.Height), make([]byte, 3*to.Width*to.Height)
			for i := range src {
				src[i] = colour[i%3]
			}
			fsrc, fdst := floats(nil, src), make([]float32, len(dst))
			if k != TorchBilinear && k != TFLiteBilinear {
				if err := s.ResizeBytes(dst, src, k, 3, from, to); err != nil {
					t.Fatal(err)
				}
				for i, v := range dst {
					if off := int(v) - int(colour[i%3]); off != 0 && (k != DeepLabBilinear || off != -1) {
						t.Fatalf("%v from %v to %v: byte %d is %d, want %d", k, from, to, i, v, colour[i%3])
					}
				}
			}
			if k == DeepLabBilinear {
				continue
			}
			if err := s.ResizeFloats(fdst, fsrc, k, 3, from, to); err != nil {
				t.Fatal(err)
			}
			for i, v := range fdst {
				if math.Abs(float64(v)-float64(colour[i%3])) > 1e-3 {
					t.Fatalf("%v from %v to %v: number %d is %v, want %d", k, from, to, i, v, colour[i%3])
				}
			}
		}
	}
}

// Mirrored images are resized to mirrored images by all kernels that count from the middles of pixels.
func TestMirroredImagesAreResizedMirrored(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 5))
	mirror := func(pix []float32, width int) []float32 {
		out := make([]float32, len(pix))
		for i, v := range pix {
			out[i/width*width+width-1-i%width] = v
		}
		return out
	}
	var s Scratch
	for _, k := range []Kernel{CV2Linear, CV2Area, PillowBilinear, PillowBicubic, TorchBilinear} {
		for range 30 {
			from, to := Size{2 + rng.IntN(40), 1 + rng.IntN(20)}, Size{2 + rng.IntN(40), 1 + rng.IntN(20)}
			if k == CV2Area && (to.Width > from.Width || to.Height > from.Height) {
				continue // which counts from the left
			}
			src := floatNoise(rng.Uint32(), from.Width*from.Height)
			one, other := make([]float32, to.Width*to.Height), make([]float32, to.Width*to.Height)
			if s.ResizeFloats(one, src, k, 1, from, to) != nil || s.ResizeFloats(other, mirror(src, from.Width), k, 1, from, to) != nil {
				t.Fatal("it is refused")
			}
			for i, v := range mirror(other, to.Width) {
				if math.Abs(float64(v-one[i])) > 1e-3 {
					t.Fatalf("%v from %v to %v: [%d] = %v, of the mirrored image %v", k, from, to, i, one[i], v)
				}
			}
		}
	}
}

// Channels do not look at each other.
func TestChannelsAreResizedByThemselves(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 6))
	var s Scratch
	for i := range 200 {
		k := Kernel(1 + i%4)
		from, to := anySizes(rng)
		channels := 1 + rng.IntN(4)
		src, dst := noise(uint32(i), channels*from.Width*from.Height), make([]byte, channels*to.Width*to.Height)
		if err := s.ResizeBytes(dst, src, k, channels, from, to); err != nil {
			t.Fatal(err)
		}
		for c := range channels {
			one, want := make([]byte, from.Width*from.Height), make([]byte, to.Width*to.Height)
			for i := range one {
				one[i] = src[i*channels+c]
			}
			if err := s.ResizeBytes(want, one, k, 1, from, to); err != nil {
				t.Fatal(err)
			}
			for i, v := range want {
				if dst[i*channels+c] != v {
					t.Fatalf("%v of %d channels from %v to %v: channel %d of [%d] is %d, by itself %d", k, channels, from, to, c, i, dst[i*channels+c], v)
				}
			}
		}
	}
}
