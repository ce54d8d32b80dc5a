//go:build ort

package arch

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
	ort "github.com/yalue/onnxruntime_go"
)

// pixels returns a built-in image, red, green and blue of each pixel. It is of the kind
// that the detectors' scores were measured on, but none of those images.
func pixels(seed uint64, size int) []uint8 {
	var all []uint8
	for pixel := range slices.Chunk(synth.NewScene(seed).Render(size, size).Pix, 4) {
		all = append(all, pixel[:3]...)
	}
	return all
}

// A picture makes the input of a model from a built-in image.
type picture func(t *testing.T, seeds ...uint64) ort.Value

// bytesLast is a batch of images for SSD-MobileNet.
func bytesLast(t *testing.T, seeds ...uint64) ort.Value {
	var all []uint8
	for _, seed := range seeds {
		all = append(all, pixels(seed, 300)...)
	}
	return newTensor(t, all, int64(len(seeds)), 300, 300, 3)
}

// floatsLast makes batches of images from -1 to 1, as the mobile models take them.
func floatsLast(size int) picture {
	return func(t *testing.T, seeds ...uint64) ort.Value {
		var all []float32
		for _, seed := range seeds {
			for _, p := range pixels(seed, size) {
				all = append(all, float32(p)/127.5-1)
			}
		}
		return newTensor(t, all, int64(len(seeds)), int64(size), int64(size), 3)
	}
}

// floatsFirst makes single images from 0 to 1, scaled further, one colour after the other.
func floatsFirst(size int, scale func(colour int, v float32) float32) picture {
	return func(t *testing.T, seeds ...uint64) ort.Value {
		floats := make([]float32, 3*size*size)
		for i, p := range pixels(seeds[0], size) {
			floats[i%3*size*size+i/3] = scale(i%3, float32(p)/255)
		}
		return newTensor(t, floats, 1, 3, int64(size), int64(size))
	}
}

// yoloPictures are as many as the built-in data set of YOLO11l has.
const yoloPictures = 24

// letterboxed makes the inputs of the pictures of this data set.
func letterboxed(t *testing.T) picture {
	dir := filepath.Join(t.TempDir(), "coco")
	spec := synth.COCOSpec{Layout: synth.COCO, Seed: 1, Images: yoloPictures}
	testenv.Must(t, synth.WriteCOCO(t.Context(), dir, spec, nil, nil))
	pipeline, err := preprocess.Lookup("yolo_640")
	testenv.Must(t, err)
	return func(t *testing.T, seeds ...uint64) ort.Value {
		image := spec.List()[seeds[0]%yoloPictures]
		x, err := pipeline.Make(testenv.Read(t, filepath.Join(dir, "val2017", image.FileName)), &preprocess.Scratch{})
		testenv.Must(t, err)
		return newTensor(t, tensor.Data[float32](x), 1, 3, yoloSide, yoloSide)
	}
}

func unscaled(_ int, v float32) float32 { return v }

// normalised scales a colour as PyTorch's models want it.
func normalised(colour int, v float32) float32 {
	return (v - [3]float32{0.485, 0.456, 0.406}[colour]) / [3]float32{0.229, 0.224, 0.225}[colour]
}

func newTensor[T ort.TensorData](t *testing.T, data []T, dims ...int64) ort.Value {
	t.Helper()
	v, err := ort.NewTensor(ort.NewShape(dims...), data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// volume is a cube of a body with a few organs, scaled as the reference scales KiTS19.
func volume(seed uint64) []float32 {
	const n, air = 128, -2.34
	rng := rand.New(rand.NewPCG(seed, 2))
	organs := []ellipsoid{{center: [3]float64{64, 70, 64}, radii: [3]float64{200, 60, 70}, value: -0.7}}
	for range 14 {
		e := ellipsoid{value: 3*rng.Float64() - 1.2}
		for axis := range 3 {
			e.center[axis], e.radii[axis] = n*rng.Float64(), 6+26*rng.Float64()
		}
		organs = append(organs, e)
	}
	voxels := make([]float32, 0, n*n*n)
	for i := range n * n * n {
		value := air
		for k, e := range organs {
			if (k == 0 || value > air) && e.holds(float64(i/n/n), float64(i/n%n), float64(i%n)) {
				value = e.value
			}
		}
		voxels = append(voxels, float32(min(2.64, max(air, value+0.15*rng.NormFloat64()))))
	}
	return voxels
}

type ellipsoid struct {
	center, radii [3]float64
	value         float64
}

func (e ellipsoid) holds(point ...float64) bool {
	sum := 0.0
	for axis, p := range point {
		distance := (p - e.center[axis]) / e.radii[axis]
		sum += distance * distance
	}
	return sum < 1
}
