package vision

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// windowSession is a model whose scores follow from voxel and place: cheap, and as
// different between neighbours as random ones.
func windowSession(t testing.TB, answer func(in, out []tensor.Tensor) error) backend.Session {
	t.Helper()
	port := func(name string, channels int64) []backend.Port {
		return []backend.Port{{Name: name, Type: tensor.Float32, Shape: tensor.Shape{-1, channels, windowSide, windowSide, windowSide}}}
	}
	engine, err := simulated.New(simulated.Config{Inputs: port("input", 1), Outputs: port("output", windowLabels), Answer: answer})
	if err != nil {
		t.Fatal(err)
	}
	session, err := engine.Open(t.Context(), backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func placeScores(in, out []tensor.Tensor) error {
	voxels, scores := tensor.Data[float32](in[0]), tensor.Data[float32](out[0])
	for i, v := range voxels {
		for c := range windowLabels {
			scores[c*windowVoxels+i] = v*float32(c-1) + float32((i*7+c*5)%11)*0.125
		}
	}
	return nil
}

// plainLabels is the reference's procedure without a ring: sums of the whole volume.
func plainLabels(image []float32, n [3]int, weights []float32) []byte {
	var sums [windowLabels][]float32
	for c := range sums {
		sums[c] = make([]float32, len(image))
	}
	norms := make([]float32, len(image))
	in, out := tensor.New(tensor.Float32, windowVoxels), tensor.New(tensor.Float32, windowLabels*windowVoxels)
	window, scores := tensor.Data[float32](in), tensor.Data[float32](out)
	for z := 0; z <= n[0]-windowSide; z += windowStep {
		for y := 0; y <= n[1]-windowSide; y += windowStep {
			for x := 0; x <= n[2]-windowSide; x += windowStep {
				place := func(i int) int {
					return ((z+i/windowSide/windowSide)*n[1]+y+i/windowSide%windowSide)*n[2] + x + i%windowSide
				}
				for i := range window {
					window[i] = image[place(i)]
				}
				placeScores([]tensor.Tensor{in}, []tensor.Tensor{out})
				for i, w := range weights {
					norms[place(i)] += w
					for c := range sums {
						sums[c][place(i)] += float32(scores[c*windowVoxels+i] * w)
					}
				}
			}
		}
	}
	labels := make([]byte, len(image))
	for i := range labels {
		best := sums[0][i] / norms[i]
		for c := 1; c < windowLabels; c++ {
			if v := sums[c][i] / norms[i]; v > best {
				best, labels[i] = v, byte(c)
			}
		}
	}
	return labels
}

func shapeOf(n [3]int) tensor.Shape { return tensor.Shape{int64(n[0]), int64(n[1]), int64(n[2])} }

func TestWindowsAddUp(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	n := [3]int{192, 128, 192}
	weights := windowWeights()
	p, err := newSlidingWindow(windowSession(t, placeScores), weights, n[1]*n[2], n[0]*n[1]*n[2])
	if err != nil {
		t.Fatal(err)
	}
	store, err := workload.NewStore(1, oneSlot(shapeOf(n)))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := p.Predict(t.Context(), []workload.Item{{}}, replies{}); !testenv.Names(err, "samples") {
		t.Errorf("error %v", err)
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	image := tensor.Data[float32](store.Slot(0, 0, 1))
	for k := range image {
		image[k] = float32(math.Sin(float64(k * k % 1009)))
	}
	got := replies{}
	if err := p.Predict(t.Context(), []workload.Item{{}}, got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0], plainLabels(image, n, weights)) {
		t.Error("the labels differ")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Checksums of what the reference's inference_utils.py and base_SUT.py make (mlcommons/inference,
// vision/medical_imaging/3d-unet-kits19; SciPy 1.10.1, NumPy 1.24.2): the weights, as
// little-endian float32, and the labels of the volume below with the model below.
const (
	referenceWeights = "c57fddf606d1dd655c30f50723c24837d5ffc9a4809ab4a9fbf64c5c90a2e967"
	referenceLabels  = "d095e280d71dc3d868732d7140bec67122254124e88e968b934051d24040d3a9"
)

// slopingScores are those of a model whose scores depend on the place in the window, so that
// the weights decide between windows.
func slopingScores(in, out []tensor.Tensor) error {
	x, scores := tensor.Data[float32](in[0]), tensor.Data[float32](out[0])
	const side = windowSide
	for i, v := range x {
		across, down, along := float32(i/(side*side))/side, float32(i/side%side)/side, float32(i%side)/side
		scores[i] = v * 0.5
		scores[windowVoxels+i] = 0.25 - v + across - along
		scores[2*windowVoxels+i] = float32(float32(v*v)*0.75) - 1.5 + down
	}
	return nil
}

func TestWindowWeights(t *testing.T) {
	if got := checksum(t, windowWeights()); got != referenceWeights {
		t.Errorf("weights %s, want %s", got, referenceWeights)
	}
}

func TestLabelsEqualReference(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	n := [3]int{128, 192, 256}
	weights := windowWeights()
	p, err := newSlidingWindow(windowSession(t, slopingScores), weights, n[1]*n[2], n[0]*n[1]*n[2])
	if err != nil {
		t.Fatal(err)
	}
	store, err := workload.NewStore(1, oneSlot(shapeOf(n)))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	state := uint64(7)
	image := tensor.Data[float32](store.Slot(0, 0, 1))
	for i := range image {
		state = state*6364136223846793005 + 1442695040888963407
		image[i] = float32(state>>40&1023)/256 - 2
	}
	got := replies{}
	if err := errors.Join(p.Use(store), p.Predict(t.Context(), []workload.Item{{}}, got), p.Close()); err != nil {
		t.Fatal(err)
	}
	if sum := checksum(t, got[0]); sum != referenceLabels {
		t.Errorf("labels %s, want %s", sum, referenceLabels)
	}
}

// checksum is the SHA-256 of numbers as they lie in memory.
func checksum[T float32 | byte](t *testing.T, numbers []T) string {
	t.Helper()
	hash := sha256.New()
	if err := binary.Write(hash, binary.LittleEndian, numbers); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func TestWindowsAllocateNothing(t *testing.T) {
	n := [3]int{128, 128, 128}
	p, err := newSlidingWindow(windowSession(t, func(_, _ []tensor.Tensor) error { return nil }), windowWeights(), n[1]*n[2], n[0]*n[1]*n[2])
	if err != nil {
		t.Fatal(err)
	}
	row := tensor.New(tensor.Float32, int64(len(p.labels)))
	window := tensor.Data[float32](p.out)
	for i := range window {
		window[i] = 1
	}
	if allocs := testing.AllocsPerRun(2, func() {
		p.cut(tensor.Data[float32](row), n, 0, 0, 0)
		p.add(n, 0, 0, 0)
		if err := p.finish(p.labels, n, 0, 128); err != nil {
			t.Error(err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations in a window", allocs)
	}
}

func TestWindowErrors(t *testing.T) {
	n := [3]int{192, 128, 128}
	broken := errors.New("broken")
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	for name, test := range map[string]struct {
		answer func(in, out []tensor.Tensor) error
		want   string
	}{
		"the model fails": {func(_, _ []tensor.Tensor) error { return broken }, "sample 0 … broken"},
		"the scores are no numbers": {func(_, out []tensor.Tensor) error {
			tensor.Data[float32](out[0])[windowVoxels+5] = float32(math.NaN())
			return nil
		}, "sample 0 … voxel 5 … not numbers"},
		"it is interrupted": {func(_, _ []tensor.Tensor) error { cancel(stopped); return nil }, "sample 0 … stopped"},
	} {
		p, err := newSlidingWindow(windowSession(t, test.answer), windowWeights(), n[1]*n[2], n[0]*n[1]*n[2])
		if err != nil {
			t.Fatal(err)
		}
		store, err := workload.NewStore(1, oneSlot(shapeOf(n)))
		if err != nil {
			t.Fatal(err)
		}
		within := t.Context()
		if strings.HasPrefix(name, "it is") {
			within = ctx
		}
		err = errors.Join(p.Use(store), p.Predict(within, []workload.Item{{}}, replies{}))
		if !testenv.Names(err, test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
		if err := errors.Join(p.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkAddWindow(b *testing.B) {
	n := [3]int{128, 128, 128}
	p, err := newSlidingWindow(windowSession(b, func(_, _ []tensor.Tensor) error { return nil }), windowWeights(), n[1]*n[2], n[0]*n[1]*n[2])
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(4 * windowVoxels)
	b.ReportAllocs()
	for b.Loop() {
		p.add(n, 0, 0, 0)
	}
}
