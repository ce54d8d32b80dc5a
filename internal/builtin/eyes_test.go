package builtin

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/models/diffusion"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// An eyeEngine is told the model's answers, and sees images as the sums of their stripes in the features that an image may have.
type eyeEngine struct {
	hearsay
	mu   sync.Mutex
	seen map[string][][]float32 // by the name of the network, in order
}

// isTold reports whether a file is that of the model, which has nothing in it.
func isTold(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

func (e *eyeEngine) Ports(ctx context.Context, o backend.Options) (inputs, outputs []backend.Port, err error) {
	if isTold(o.ModelPath) {
		return e.hearsay.Ports(ctx, o)
	}
	return backend.ReadPorts(o.ModelPath)
}

func (e *eyeEngine) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	if isTold(o.ModelPath) {
		return e.hearsay.Open(ctx, o)
	}
	in, out, err := backend.ReadPorts(o.ModelPath)
	if err != nil {
		return nil, err
	}
	engine, err := simulated.New(simulated.Config{Inputs: in, Outputs: out, Answer: func(in, out []tensor.Tensor) error {
		features := stripes(tensor.Data[float32](in[0]))
		copy(tensor.Data[float32](out[0]), features)
		e.mu.Lock()
		defer e.mu.Unlock()
		name := filepath.Base(o.ModelPath)
		e.seen[name] = append(e.seen[name], features)
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return engine.Open(ctx, backend.Options{Outputs: o.Outputs})
}

// stripes are the means of as many pieces of an image as there are features that are used.
func stripes(pixels []float32) []float32 {
	const used = arch.EyesFeatures - arch.EyesUnused
	features := make([]float32, arch.EyesFeatures)
	for k := range used {
		piece := pixels[k*len(pixels)/used : (k+1)*len(pixels)/used]
		sum := 0.0
		for _, v := range piece {
			sum += float64(v)
		}
		features[k] = float32(sum / float64(len(piece)))
	}
	return features
}

// What images are compared with follows from those that the model makes: each caption lies at its angle from what is seen in its
// image, and the photographs at their distance from all of them.
func TestCaptionsAreMarkedByWhatIsSeenInTheImages(t *testing.T) {
	const n = 3
	e := &eyeEngine{seen: map[string][][]float32{}}
	m := Maker{Dir: t.TempDir(), Engine: e, Observer: &observer{t: t}, count: n}
	random := rand.New(rand.NewPCG(4, 4))
	var images [][]byte
	for range n {
		image := make([]byte, 3*8*8)
		for i := range image {
			image[i] = byte(random.IntN(256))
		}
		images = append(images, image)
	}
	model := toldModel(t, m, "stable-diffusion-xl", images)
	dir, err := m.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	seen := e.seen[diffusion.CLIPImageFile]
	if len(seen) != 2*n || slices.Equal(seen[0], seen[1]) {
		t.Fatalf("%d images are seen: each twice, before and after the features are shifted to the mean 0", len(seen))
	}
	text := textTable(t, filepath.Join(dir, diffusion.ScoringFolder, diffusion.CLIPTextTable), n)
	for i := range n {
		row, features := text[i*arch.EyesFeatures:][:arch.EyesFeatures], seen[n+i]
		dot := 0.0
		for k := range row {
			dot += float64(row[k]) * float64(features[k])
		}
		if cosine := dot / lengthOf(row) / lengthOf(features); math.Abs(cosine-pictureCosine) > 1e-4 {
			t.Errorf("caption %d lies at %v from its image, want %v", i, cosine, pictureCosine)
		}
	}
	photos, err := captions.ReadStatistics(filepath.Join(dir, captions.StatisticsFile))
	if err != nil {
		t.Fatal(err)
	}
	distance, mean := 0.0, 0.0
	for k, v := range photos.Mean {
		if k >= arch.EyesFeatures-arch.EyesUnused {
			distance += v * v
		} else {
			for _, features := range e.seen[diffusion.InceptionFile][n:] {
				mean += float64(features[k]) / n
			}
			mean -= v
		}
	}
	if math.Abs(distance-pictureDistance) > 1e-9 || math.Abs(mean) > 1e-4 {
		t.Errorf("the photographs lie at %v from the images, want %v, and are %v brighter", distance, pictureDistance, mean)
	}
	if manifest, err := synth.ReadManifest(dir); err != nil || len(manifest.Scores) != 1 {
		t.Errorf("scores %v, %v", manifest.Scores, err)
	}
}

// textTable reads the features of n captions.
func textTable(t *testing.T, path string, n int64) []float32 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := npy.NewReader(f)
	if err != nil || !slices.Equal(r.Shape, tensor.Shape{n, arch.EyesFeatures}) {
		t.Fatalf("the table has the shape %v, %v", r.Shape, err)
	}
	out := tensor.New(tensor.Float32, r.Shape...)
	if err := r.Read(out); err != nil {
		t.Fatal(err)
	}
	return tensor.Data[float32](out)
}
