//go:build ort

package arch

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	ort "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// useRuntime loads the library that MLPERF_ORT_LIB names, once for all tests.
func useRuntime(t testing.TB) {
	t.Helper()
	library := os.Getenv("MLPERF_ORT_LIB")
	if library == "" {
		t.Fatal("MLPERF_ORT_LIB must name the shared library of ONNX Runtime")
	}
	if ort.IsInitialized() {
		return
	}
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(); err != nil {
		t.Fatal(err)
	}
}

// A network is a model loaded into ONNX Runtime.
type network struct {
	t       *testing.T
	model   *onnx.Model
	session *ort.DynamicAdvancedSession
}

// load opens a model with its own outputs.
func load(t *testing.T, m *onnx.Model) network {
	t.Helper()
	session := openSession(t, m)
	t.Cleanup(func() { session.Destroy() })
	return network{t, m, session}
}

// openSession writes a model to a file and opens it. With strict inference a shape that differs from what ONNX Runtime works out is an error.
func openSession(t testing.TB, m *onnx.Model) *ort.DynamicAdvancedSession {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		t.Fatal(err)
	}
	defer options.Destroy()
	if err := options.AddSessionConfigEntry("session.strict_shape_type_inference", "1"); err != nil {
		t.Fatal(err)
	}
	var inputs, outputs []string
	for _, v := range m.Graph.FreeInputs() {
		inputs = append(inputs, v.Name)
	}
	for _, v := range m.Graph.Outputs {
		outputs = append(outputs, v.Name)
	}
	session, err := ort.NewDynamicAdvancedSession(path, inputs, outputs, options)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// run feeds images to the network and returns its outputs, integers as floats.
func (n network) run(images ...[]float32) [][]float32 {
	n.t.Helper()
	shape := []int64{int64(len(images))}
	for _, d := range n.model.Graph.FreeInputs()[0].Type.Shape[1:] {
		shape = append(shape, d.Size)
	}
	in, err := ort.NewTensor(ort.NewShape(shape...), slices.Concat(images...))
	if err != nil {
		n.t.Fatal(err)
	}
	return n.runValue(in)
}

// runValue feeds a value to the network, and destroys it.
func (n network) runValue(in ort.Value) [][]float32 {
	n.t.Helper()
	defer in.Destroy()
	batch := int(in.GetShape()[0])
	results := make([]ort.Value, len(n.model.Graph.Outputs))
	if err := n.session.Run([]ort.Value{in}, results); err != nil {
		n.t.Fatal(err)
	}
	outputs := make([][]float32, len(results))
	for i, r := range results {
		n.checkShape(n.model.Graph.Outputs[i], r.GetShape(), batch)
		outputs[i] = floatsOf(r)
		if err := r.Destroy(); err != nil {
			n.t.Error(err)
		}
	}
	return outputs
}

func floatsOf(v ort.Value) []float32 {
	switch t := v.(type) {
	case *ort.Tensor[int64]:
		return toFloats(t.GetData())
	case *ort.Tensor[int32]:
		return toFloats(t.GetData())
	}
	return slices.Clone(v.(*ort.Tensor[float32]).GetData())
}

func toFloats[T int32 | int64](ints []T) []float32 {
	floats := make([]float32, len(ints))
	for i, v := range ints {
		floats[i] = float32(v)
	}
	return floats
}

func (n network) checkShape(v *onnx.Value, got ort.Shape, batch int) {
	n.t.Helper()
	want := slices.Clone(got)
	for i, d := range v.Type.Shape {
		switch {
		case d.Known():
			want[i] = d.Size
		case d.Param == onnx.BatchAxis:
			want[i] = int64(batch)
		}
	}
	if !slices.Equal(got, want) {
		n.t.Errorf("%s has the shape %v, want %v", v, got, want)
	}
}

// scale returns the range of a classifier's pixels: ResNet wants them from 0 to 255 less
// about 114, MobileNets from -1 to 1.
func scale(a Architecture) float32 {
	if a.Name == "resnet50" {
		return 120
	}
	return 1
}

// noise is an image of independent pixels.
func noise(seed uint64, scale float32) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	img := make([]float32, 3*224*224)
	for i := range img {
		img[i] = scale * (2*rng.Float32() - 1)
	}
	return img
}

// waves is a smooth image.
func waves(seed uint64, scale float32) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	img := make([]float32, 0, 3*224*224)
	for range 3 {
		fx, fy, phase, base := 8*rng.Float64(), 8*rng.Float64(), 6*rng.Float64(), rng.Float64()-0.5
		for i := range 224 * 224 {
			wave := math.Sin(fx*float64(i%224)/224 + fy*float64(i/224)/224 + phase)
			img = append(img, scale*float32(0.5*wave+base))
		}
	}
	return img
}

func images(a Architecture) [][]float32 {
	s := scale(a)
	list := [][]float32{
		noise(1, s), waves(1, s), waves(2, s), noise(2, s), waves(3, s), noise(3, 0.3*s), waves(4, 0.3*s), waves(5, s),
	}
	if a.Inputs[0].Type.Shape[3] == onnx.Fixed(3) {
		for i := range list {
			list[i] = channelsLast(list[i])
		}
	}
	return list
}

// channelsLast turns an image of one colour after the other into one of pixels.
func channelsLast(img []float32) []float32 {
	n := len(img) / 3
	pixels := make([]float32, len(img))
	for i := range pixels {
		pixels[i] = img[i%3*n+i/3]
	}
	return pixels
}

func forEachClassifier(t *testing.T, test func(t *testing.T, a Architecture)) {
	useRuntime(t)
	for _, a := range classifiers() {
		t.Run(a.Name, func(t *testing.T) {
			if a.Name == "resnet50" {
				testenv.SkipLong(t, "8 billion operations for each image")
			}
			test(t, a)
		})
	}
}

func checkFinite(t *testing.T, what string, x []float32) {
	t.Helper()
	for _, v := range x {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			t.Fatalf("%s holds %v", what, v)
		}
	}
}

func TestORTRunsClassifiersInAnyBatch(t *testing.T) {
	forEachClassifier(t, func(t *testing.T, a Architecture) {
		m, _ := build(t, a, Options{})
		n := load(t, m)
		all := images(a)
		softmax := len(m.Graph.Outputs) - 1
		one := n.run(all[0])
		for _, batch := range []int{1, 3, 8} {
			out := n.run(all[:batch]...)
			checkFinite(t, "softmax", out[softmax])
			for i := range batch {
				checkDistribution(t, out[softmax][i*1001:][:1001])
			}
			if diff := largestDifference(out[softmax][:1001], one[softmax]); diff > 1e-6 {
				t.Errorf("image 0 in a batch of %d differs by %v from alone", batch, diff)
			}
			if softmax == 1 {
				checkArgMax(t, out[0], out[1])
			}
		}
	})
}

func checkDistribution(t *testing.T, p []float32) {
	t.Helper()
	sum := 0.0
	for _, v := range p {
		sum += float64(v)
	}
	if math.Abs(sum-1) > 1e-4 || slices.Max(p) > 0.9 || slices.Max(p) < 2.0/1001 {
		t.Errorf("probabilities sum up to %v, the largest is %v", sum, slices.Max(p))
	}
}

func checkArgMax(t *testing.T, indices, probabilities []float32) {
	t.Helper()
	for i, got := range indices {
		row := probabilities[i*1001:][:1001]
		if want := slices.Index(row, slices.Max(row)); int(got) != want {
			t.Errorf("ArgMax of image %d is %v, want %d", i, got, want)
		}
	}
}

func largestDifference(x, y []float32) float64 {
	largest := 0.0
	for i := range x {
		largest = max(largest, math.Abs(float64(x[i])-float64(y[i])))
	}
	return largest
}

func TestORTFeaturesTellImagesApart(t *testing.T) {
	forEachClassifier(t, func(t *testing.T, a Architecture) {
		m, _ := build(t, a, Options{Outputs: []string{a.Features}})
		n := load(t, m)
		all := images(a)
		out := n.run(all...)[0]
		checkFinite(t, "features", out)
		size := int(a.FeatureSize)
		for i := range all {
			x := out[i*size:][:size]
			if zero := share(x, func(v float32) bool { return v == 0 }); zero > 0.3 {
				t.Errorf("%v of the features of image %d are 0", zero, i)
			}
			for j := range i {
				y := out[j*size:][:size]
				if d := distance(x, y); d < 0.02 {
					t.Errorf("the features of images %d and %d differ by %v of their size", i, j, d)
				}
			}
		}
	})
}

func share(x []float32, is func(float32) bool) float64 {
	n := 0
	for _, v := range x {
		if is(v) {
			n++
		}
	}
	return float64(n) / float64(len(x))
}

// distance is |x-y| / √(|x|·|y|).
func distance(x, y []float32) float64 {
	var xx, yy, dd float64
	for i := range x {
		d := float64(x[i]) - float64(y[i])
		xx += float64(x[i]) * float64(x[i])
		yy += float64(y[i]) * float64(y[i])
		dd += d * d
	}
	return math.Sqrt(dd) / math.Pow(xx*yy, 0.25)
}

func TestORTActivationsStayInRangeThroughAllLayers(t *testing.T) {
	forEachClassifier(t, func(t *testing.T, a Architecture) {
		whole, _ := build(t, a, Options{})
		var layers []string
		for _, n := range whole.Graph.Nodes {
			switch n.Op {
			case "BatchNormalization", "Relu", "Clip", "Add", "MaxPool":
				layers = append(layers, n.Outputs[0])
			}
		}
		m, _ := build(t, a, Options{Outputs: layers})
		n := load(t, m)
		for i, img := range images(a)[:3] {
			for l, out := range n.run(img) {
				checkFinite(t, layers[l], out)
				_, deviation := moments(out)
				zero := share(out, func(v float32) bool { return v == 0 })
				if deviation < 0.05 || deviation > 10 || zero > 0.9 || largestDifference(out, make([]float32, len(out))) > 200 {
					t.Errorf("image %d, %s: deviation %v, %v of it zero", i, layers[l], deviation, zero)
				}
			}
		}
	})
}

func TestORTAGivenClassifierScoresTheFeatures(t *testing.T) {
	forEachClassifier(t, func(t *testing.T, a Architecture) {
		const classes = 10
		c := &Classifier{Weights: make([]float32, classes*a.FeatureSize), Bias: make([]float32, classes)}
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range c.Weights {
			c.Weights[i] = float32(rng.NormFloat64())
		}
		for i := range c.Bias {
			c.Bias[i] = float32(rng.NormFloat64())
		}
		logits := map[string]string{
			"resnet50": "logits:0", "mobilenet": "MobilenetV1/Logits/SpatialSqueeze:0", "mobilenet-edgetpu": "MobilenetEdgeTPU/Logits/output:0",
		}[a.Name]
		m, _ := build(t, a, Options{Classifier: c, Outputs: []string{logits, a.Features}})
		out := load(t, m).run(images(a)[1])
		for class := range c.Bias {
			want := float64(c.Bias[class])
			for i, f := range out[1] {
				want += float64(c.Weights[class*len(out[1])+i]) * float64(f)
			}
			if got := float64(out[0][class]); math.Abs(got-want) > 1e-3 {
				t.Errorf("score of class %d is %v, want %v", class, got, want)
			}
		}
	})
}

func TestORTARewrittenModelGivesTheSameAnswers(t *testing.T) {
	useRuntime(t)
	a := lookup(t, "mobilenet")
	m, _ := build(t, a, Options{})
	want := load(t, m).run(images(a)[1])
	path := filepath.Join(t.TempDir(), "mobilenet.onnx")
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	rewritten, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := load(t, rewritten).run(images(a)[1])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("the answers differ")
	}
}

// TestORTLargeFilesAreTheSameByteByByte needs no library, but seconds.
func TestORTLargeFilesAreTheSameByteByByte(t *testing.T) {
	checkFiles(t, map[string]string{
		"ssd-resnet34": "870242837c7348ddc5fbf8509475ce516ba23f483ba3d20343ed13196c440ce8",
		"retinanet":    "356d5730064dcc8048085a7afce584e420e7b25f938bd3199d55eb6086bbf8d6",
		"3d-unet":      "40e93abeef4a2fe38ebcc8cb86bbda0c788e957e16e5a680eddfd1850202ae0c",
	})
}
