package arch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// architectures are all that there are.
var architectures = sync.OnceValue(func() []Architecture {
	list := []Architecture{
		ResNet50(), MobileNet(), SSDMobileNet(), SSDResNet34(), RetinaNet(), UNet3D(), UNet3DBraTS19(), SmallUNet3DBraTS19(),
		MobileNetEdgeTPU(), SSDMobileNetV2(), DeepLabV3Plus(), YOLO11l(),
		BERT(), E5(), ColBERT(), GNMTEncoder(), GNMTDecoder(), DLRM(), DLRMv2(), DLRMv3(), RNNTEncoder(), RNNTPrediction(), RNNTJoint(), MobileBERT(), RGAT(), PaintingSegmentation(), PaintingDetection(),
		Llama8B(), Llama70B(), Mixtral(), SmallMixtral(), GPTJ(), SmallGPTJ(),
	}
	for _, form := range []DecoderForm{FusedDecoder, FusedInt4, ExportedDecoder, PlainDecoder} {
		list = append(list, SmallLlama(form))
	}
	for _, w := range []WhisperSet{SmallWhisper(), Whisper()} {
		list = append(list, w.Encoder, w.First, w.Next)
	}
	for _, s := range []SDXLSet{SDXL(), SmallSDXL()} {
		list = append(list, s.TextEncoder, s.TextEncoder2, s.UNet, s.VAEDecoder)
	}
	for _, w := range []WanSet{Wan(), SmallWan()} {
		list = append(list, w.TextEncoder, w.Transformer, w.Transformer2, w.VAEDecoder)
	}
	return list
})

func lookup(t testing.TB, name string) Architecture {
	t.Helper()
	i := slices.IndexFunc(architectures(), func(a Architecture) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("no architecture %s", name)
	}
	return architectures()[i]
}

func build(t testing.TB, a Architecture, o Options) (*onnx.Model, Stats) {
	t.Helper()
	m, stats, err := a.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	return m, stats
}

func values(list []*onnx.Value) []onnx.Value {
	var out []onnx.Value
	for _, v := range list {
		out = append(out, *v)
	}
	return out
}

// classifiers returns the architectures with a last layer that can be chosen.
func classifiers() []Architecture {
	return slices.DeleteFunc(slices.Clone(architectures()), func(a Architecture) bool { return a.FeatureSize == 0 })
}

// The published figures are for 1000 classes: those of ResNet-50 from torchvision,
// those of MobileNet from Keras. The official ONNX files have one class more.
func TestCountsAreThePublishedOnes(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		want    Stats
	}{
		{"resnet50", Options{Classes: 1000}, Stats{Parameters: 25_557_032, Buffers: 53_120, MACs: 4_089_184_256}},
		{"resnet50", Options{}, Stats{Parameters: 25_557_032 + 2049, Buffers: 53_120, MACs: 4_089_184_256 + 2048}},
		{"resnet50", Options{Outputs: []string{"features:0"}}, Stats{Parameters: 25_557_032 - 2_049_000, Buffers: 53_120, MACs: 4_089_184_256 - 2_048_000}},
		{"mobilenet", Options{Classes: 1000}, Stats{Parameters: 4_231_976, Buffers: 21_888, MACs: 568_740_352}},
		{"mobilenet", Options{}, Stats{Parameters: 4_231_976 + 1025, Buffers: 21_888, MACs: 568_740_352 + 1024}},
	} {
		if _, got := build(t, lookup(t, c.name), c.options); got != c.want {
			t.Errorf("%s %+v has %+v, want %+v", c.name, c.options, got, c.want)
		}
	}
}

func TestBuiltModelsHaveTheOfficialInterface(t *testing.T) {
	for _, a := range architectures() {
		m, _ := build(t, a, Options{})
		if diff := cmp.Diff(a.Inputs, values(m.Graph.Inputs)); diff != "" {
			t.Errorf("%s: inputs differ (-want +got):\n%s", a.Name, diff)
		}
		if diff := cmp.Diff(a.Outputs, values(m.Graph.Outputs)); diff != "" {
			t.Errorf("%s: outputs differ (-want +got):\n%s", a.Name, diff)
		}
		if m.Opset("") != 17 || m.IRVersion != 8 {
			t.Errorf("%s: operator set %d, format version %d, want 17, 8", a.Name, m.Opset(""), m.IRVersion)
		}
		if err := m.Check(); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
}

// Open Model Zoo counts models whose batch norms are folded into the convolutions before
// them, so one parameter for each channel is gone, and all other constants: for
// SSD-ResNet34 centres and, twice, sizes of 15,130 boxes. Its operations are two for
// a multiply-accumulate and some for what is not counted here, at most 1 % more.
// The mobile papers count multiply-accumulates.
func TestFoldedCountsAreThePublishedOnes(t *testing.T) {
	for _, c := range []struct {
		name       string
		constants  int64
		parameters string // millions
		macs       float64
	}{
		{"ssd-mobilenet", 0, "6.807", 2.494e9 / 2},        // Open Model Zoo, ssd_mobilenet_v1_coco
		{"ssd-mobilenet-v2", 0, "16.818", 3.775e9 / 2},    // ssd_mobilenet_v2_coco
		{"ssd-resnet34", 90_780, "20.058", 433.411e9 / 2}, // ssd-resnet34-1200-onnx
		{"mobilenet-edgetpu", 0, "4.073", 990e6},          // 4.0 M with norms folded or not, 990 M
		{"yolo11l", 0, "25.341", 43.6e9},                  // Ultralytics' module with its norms folded, to the parameter
		{"deeplab-v3plus", 0, "2.256", 5.336e9},           // Texas Instruments' model zoo counts the last resize too
	} {
		_, got := build(t, lookup(t, c.name), Options{})
		folded := float64(got.Parameters-got.Buffers/2+c.constants) / 1e6
		if fmt.Sprintf("%.3f", folded) != c.parameters {
			t.Errorf("%s has %.3f M parameters without norms, want %s", c.name, folded, c.parameters)
		}
		if ratio := float64(got.MACs) / c.macs; ratio < 0.988 || ratio > 1.001 {
			t.Errorf("%s has %d multiply-accumulates, %.4f of what is published", c.name, got.MACs, ratio)
		}
	}
}

// The figures for 3D-UNet are those of PyTorch's counting of the reference's own module;
// MLPerf's table says 32.5 M. RetinaNet's, with frozen norms, are not published but for
// its anchors.
func TestCountsOfTheOtherArchitectures(t *testing.T) {
	for name, want := range map[string]Stats{
		"3d-unet": {Parameters: 31_190_243, MACs: 477_298_688_000},
		// Counted by hand from Generic_UNet of nnU-Net b38c69b with 32 filters, at most 320, and five outputs.
		"3d-unet-brats19":         {Parameters: 31_198_976, MACs: 1_848_564_623_360},
		"3d-unet-brats19-quarter": {Parameters: 1_953_344, MACs: 120_993_904_640},
		"retinanet":               {Parameters: 37_128_876, Buffers: 68_224, MACs: 201_208_394_752},
		// The official module has 13,115,303 parameters: seven relations of 512·512 + 3·512 have no part in any answer.
		"rgat": {Parameters: 13_115_303 - 7*(512*512+3*512), MACs: 11_315_712},
		// Tables of 512 numbers for items, users and categories, and 16,693,585 parameters of the official modules beside them.
		"dlrm-v3": {Parameters: 512*(1_000_000_000+10_000_000+128) + 16_693_585, MACs: 11_421_184},
		// Parameters of the official modules. Of the segmentation the work is that of a picture of one pixel.
		"pointpainting-segmentation": {Parameters: 39_761_331, Buffers: 56_800, MACs: 39_704_512},
		"pointpainting-detection":    {Parameters: 4_835_272, Buffers: 6_016, MACs: 139_726_819_328},
	} {
		if _, got := build(t, lookup(t, name), Options{}); got != want {
			t.Errorf("%s has %+v, want %+v", name, got, want)
		}
	}
}

// A change of these sums is a change of the files that users have in their caches:
// raise formatVersion with it.
func TestFilesAreTheSameByteByByte(t *testing.T) {
	checkFiles(t, map[string]string{
		"resnet50":          "9b09f1c1c2c50077893c69c887f66569b6054d1e295f884f1a69506ee2d6f2bd",
		"mobilenet":         "7af3e91970aafe55c6752713802bd87bb9c9bd19355ab1a11ab5f4ab8802b2a7",
		"ssd-mobilenet":     "6741652782fd6a15d45678d7703eb5039bbe05580da0c557d13d64977e608332",
		"mobilenet-edgetpu": "1c48eeba1f92aef965675b20bab52db90c1eddd76f96b60f7db1889f9b8b9f43",
		"ssd-mobilenet-v2":  "c720b4c27be9bc52c4944cb79dc27331c0da833471b46e13256c7a7c0c938978",
		"deeplab-v3plus":    "8c1686bb96f6e0ffae7faa9d5add269f5dc86eff374fd1075166eef9e65b9747",
	})
}

// checkFiles wants the files of architectures to have these SHA-256 sums.
func checkFiles(t *testing.T, sums map[string]string) {
	t.Helper()
	for name, want := range sums {
		t.Run(name, func(t *testing.T) {
			if !testenv.Long() && name != "mobilenet" {
				t.Skip("much arithmetic: make test")
			}
			t.Parallel()
			m, _ := build(t, lookup(t, name), Options{})
			h := sha256.New()
			if _, err := m.WriteTo(h); err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != want {
				t.Errorf("the SHA-256 of %s is %s, want %s", name, got, want)
			}
		})
	}
}

func TestWritingResNetNeedsLittleMemory(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	var n int64
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, _ := build(t, lookup(t, "resnet50"), Options{})
	var err error
	if n, err = m.WriteTo(io.Discard); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if n < 102_000_000 || n > 103_000_000 {
		t.Errorf("the file has %d bytes, want about 102 MB", n)
	}
	if allocated > 8<<20 {
		t.Errorf("writing %d bytes allocated %d, want at most 8 MiB", n, allocated)
	}
}

func TestTheFeatureNetworkIsTheWholeWithoutItsLastLayer(t *testing.T) {
	for _, a := range classifiers() {
		whole, _ := build(t, a, Options{})
		part, _ := build(t, a, Options{Outputs: []string{a.Features}})
		if got, want := part.Graph.Outputs[0].String(), a.Features+" float32"+onnx.Batched(a.FeatureSize).String(); got != want || len(part.Graph.Outputs) != 1 {
			t.Errorf("%s: output is %s, want %s", a.Name, got, want)
		}
		index := whole.Graph.Index()
		missing := len(whole.Graph.Initializers) - len(part.Graph.Initializers)
		if missing != 2 { // weights and bias of the last layer
			t.Errorf("%s: %d tensors are left out, want 2", a.Name, missing)
		}
		for _, tensor := range part.Graph.Initializers[:20] {
			got, err := tensor.Bytes()
			want, err2 := index.Initializer(tensor.Name).Bytes()
			if err != nil || err2 != nil || !slices.Equal(got, want) {
				t.Errorf("%s: tensor %q differs", a.Name, tensor.Name)
			}
		}
	}
}

func TestAGivenClassifierIsTheLastLayer(t *testing.T) {
	for _, a := range classifiers() {
		c := &Classifier{Weights: make([]float32, 7*a.FeatureSize), Bias: []float32{0, 1, 2, 3, 4, 5, 6}}
		for i := range c.Weights {
			c.Weights[i] = float32(i)
		}
		m, _ := build(t, a, Options{Classifier: c})
		if last := m.Graph.Outputs[len(m.Graph.Outputs)-1]; last.Type.Shape.String() != "[N 7]" {
			t.Errorf("%s: output is %v, want 7 classes", a.Name, last)
		}
		var weights, bias []float32
		for _, n := range m.Graph.Nodes {
			if n.Op == "Gemm" || n.Op == "Conv" && strings.Contains(n.Name, "Logits") {
				weights, _ = onnx.Elements[float32](m.Graph.Index().Initializer(n.Input(1)))
				bias, _ = onnx.Elements[float32](m.Graph.Index().Initializer(n.Input(2)))
			}
		}
		if !slices.Equal(weights, c.Weights) || !slices.Equal(bias, c.Bias) {
			t.Errorf("%s: the last layer has %d other weights and biases %v", a.Name, len(weights), bias)
		}
	}
}

func TestOutputsCanBeChosen(t *testing.T) {
	m, _ := build(t, lookup(t, "resnet50"), Options{Outputs: []string{"softmax_tensor:0", "stage1/block1/add:0"}})
	for _, n := range m.Graph.Nodes {
		if n.Op == "ArgMax" {
			t.Error("there still is an ArgMax")
		}
	}
	if got := valueNames(m.Graph.Outputs); got != "softmax_tensor:0, stage1/block1/add:0" {
		t.Errorf("outputs are %s", got)
	}
}

func TestBuildRefusesImpossibleOptions(t *testing.T) {
	a := lookup(t, "resnet50")
	noClasses := Architecture{Name: "detector", layers: func(*Builder, Options) {}}
	for _, c := range []struct {
		name, want string
		a          Architecture
		o          Options
	}{
		{"a negative number of classes", "-1 classes", a, Options{Classes: -1}},
		{"a classifier of the wrong size", "has 3 weights and 1 biases, expected 1×2048 and 1", a, Options{Classifier: &Classifier{make([]float32, 3), make([]float32, 1)}}},
		{"fewer biases than classes", "expected 5×2048 and 5", a, Options{Classes: 5, Classifier: &Classifier{make([]float32, 2048), make([]float32, 1)}}},
		{"an empty classifier", "expected 1001×2048 and 1001", a, Options{Classifier: &Classifier{}}},
		{"classes where there are none", "no classes to choose", noClasses, Options{Classes: 5}},
		{"an unknown output", `output "logit": no layer makes it; the usual outputs are ArgMax:0, softmax_tensor:0`, a, Options{Outputs: []string{"logit"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := c.a.Build(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Build() = %v, want %q", err, c.want)
			}
		})
	}
}

func TestKeysDifferWhereFilesDo(t *testing.T) {
	a := lookup(t, "mobilenet")
	classifier := func(first float32) *Classifier {
		c := &Classifier{Weights: make([]float32, 2*1024), Bias: make([]float32, 2)}
		c.Weights[0] = first
		return c
	}
	seen := make(map[string]string)
	for name, o := range map[string]Options{
		"the official model": {}, "another seed": {Seed: 99}, "fewer classes": {Classes: 2},
		"features": {Outputs: []string{a.Features}}, "two outputs": {Outputs: []string{a.Features, "x"}},
		"a classifier": {Classifier: classifier(0)}, "another classifier": {Classifier: classifier(1)},
	} {
		key, err := a.Key(o)
		if err != nil || !strings.HasPrefix(key, "mobilenet-") || len(key) != len("mobilenet-")+20 {
			t.Errorf("Key(%s) = %q, %v", name, key, err)
		}
		if seen[key] != "" {
			t.Errorf("%s and %s have the same key %s", name, seen[key], key)
		}
		seen[key] = name
	}
	explicit, _ := a.Key(Options{Seed: a.Seed, Classes: a.Classes})
	if official, _ := a.Key(Options{}); explicit != official {
		t.Errorf("the official options have the key %s if spelled out, else %s", explicit, official)
	}
	if resnet, _ := lookup(t, "resnet50").Key(Options{}); strings.TrimPrefix(resnet, "resnet50") == strings.TrimPrefix(explicit, "mobilenet") {
		t.Error("the architecture makes no difference")
	}
	if _, err := a.Key(Options{Classifier: &Classifier{}}); err == nil {
		t.Error("Key() accepts what Build() refuses")
	}
}

// zeroes is a source of so many bytes, of which none is wanted here.
type zeroes int64

func (z zeroes) Size() int64 { return int64(z) }

func (z zeroes) WriteTo(io.Writer) (int64, error) { return 0, errors.New("nobody should read this") }

// smallest is the smallest variant of an architecture.
func smallest(a Architecture) Options {
	return Options{Layers: min(a.Layers, 1), Rows: min(a.Rows, 64)}
}

// A checkpoint may lack any of the weights. Whichever it is, building ends with an error that names it.
func TestWeightsThatAreMissingEndTheBuilding(t *testing.T) {
	for _, a := range architectures() {
		t.Run(a.Name, func(t *testing.T) {
			var names []string
			o := smallest(a)
			o.Weights = func(name string, dims []int64) (onnx.Source, error) {
				names = append(names, name)
				return zeroes(4 * product(dims)), nil
			}
			_, _, err := a.Build(o)
			if err != nil {
				if !strings.Contains(err.Error(), "weights of a checkpoint") {
					t.Errorf("Build() = %v", err)
				}
				return
			}
			missing := errors.New("the checkpoint lacks it")
			n := len(names)
			for _, k := range []int{0, n / 4, n / 2, n - 1} {
				at := names[k]
				o.Weights = func(name string, dims []int64) (onnx.Source, error) {
					if name == at {
						return nil, missing
					}
					return zeroes(4 * product(dims)), nil
				}
				want := fmt.Sprintf("building %s: weights %q: ", a.Name, at)
				if _, _, err := a.Build(o); !errors.Is(err, missing) || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("Build() = %v, want %s…", err, want)
				}
			}
		})
	}
}

func TestGivenWeightsHaveToBeOfTheRightSize(t *testing.T) {
	a := lookup(t, "gnmt-encoder")
	o := smallest(a)
	o.Weights = func(name string, dims []int64) (onnx.Source, error) { return zeroes(4*product(dims) - 4), nil }
	if _, _, err := a.Build(o); err == nil || !strings.HasPrefix(err.Error(), "building gnmt-encoder: tensor ") || !strings.Contains(err.Error(), " bytes, expected ") {
		t.Errorf("Build() = %v, want an error about the size of a tensor", err)
	}
}

func TestAModelSaysWhoseWeightsItHas(t *testing.T) {
	a := lookup(t, "gnmt-encoder")
	o := smallest(a)
	random, _ := build(t, a, o)
	o.Weights = func(name string, dims []int64) (onnx.Source, error) { return zeroes(4 * product(dims)), nil }
	given, _ := build(t, a, o)
	for _, c := range []struct {
		m         *onnx.Model
		doc, says string
	}{{random, "knows nothing", fmt.Sprintf("random, seed %d", a.Seed)}, {given, "with weights of a checkpoint", "given"}} {
		if !strings.Contains(c.m.Doc, c.doc) || !slices.ContainsFunc(c.m.Metadata, func(p onnx.Property) bool { return p.Key == "weights" && p.Value == c.says }) {
			t.Errorf("the model says %q and %v, want %q and %q", c.m.Doc, c.m.Metadata, c.doc, c.says)
		}
	}
}

func TestVariantsAreSmallerThanTheOfficialModel(t *testing.T) {
	for _, a := range architectures() {
		whole, err := a.resolve(Options{})
		if err != nil || whole.Layers != a.Layers || whole.Rows != a.Rows || whole.Seed != a.Seed || whole.Classes != a.Classes {
			t.Errorf("%s: the zero options mean %+v, %v", a.Name, whole, err)
		}
		for _, c := range []struct {
			o    Options
			want string
		}{
			{Options{Layers: a.Layers + 1}, fmt.Sprintf("%s … %d layers … %d", a.Name, a.Layers+1, a.Layers)},
			{Options{Layers: -1}, fmt.Sprintf("%s … -1 layers … %d", a.Name, a.Layers)},
			{Options{Rows: a.Rows + 1}, fmt.Sprintf("%s … %d rows … %d", a.Name, a.Rows+1, a.Rows)},
			{Options{Rows: -1}, fmt.Sprintf("%s … -1 rows … %d", a.Name, a.Rows)},
		} {
			if _, _, err := a.Build(c.o); !testenv.Names(err, c.want) {
				t.Errorf("Build(%+v) = %v, want %s", c.o, err, c.want)
			}
			if _, err := a.Key(c.o); !testenv.Names(err, c.want) {
				t.Errorf("Key(%+v) = %v, want %s", c.o, err, c.want)
			}
		}
		if a.Layers > 1 {
			fewer, stats := build(t, a, Options{Layers: 1, Rows: min(a.Rows, 64)})
			_, all := build(t, a, Options{Rows: min(a.Rows, 64)})
			if stats.Parameters >= all.Parameters || stats.MACs > all.MACs {
				t.Errorf("%s with one layer has %+v, whole %+v", a.Name, stats, all)
			}
			if err := fewer.Check(); err != nil {
				t.Errorf("%s with one layer: %v", a.Name, err)
			}
		}
	}
}

func TestKeysKnowLayersAndRows(t *testing.T) {
	a := lookup(t, "gnmt-encoder")
	seen := map[string]Options{}
	for _, o := range []Options{{}, {Rows: 64}, {Rows: 65}} {
		key, err := a.Key(o)
		if other, twice := seen[key]; err != nil || twice {
			t.Errorf("Key(%+v) = %s, %v, as of %+v", o, key, err, other)
		}
		seen[key] = o
	}
	layered := lookup(t, "bert")
	whole, err := layered.Key(Options{Layers: layered.Layers})
	zero, errZero := layered.Key(Options{})
	one, errOne := layered.Key(Options{Layers: 1})
	if err != nil || errZero != nil || errOne != nil || whole != zero || one == zero {
		t.Errorf("keys of all layers %s and %s, of one %s, %v", whole, zero, one, errors.Join(err, errZero, errOne))
	}
}

// A beginning keeps so much of what is written and refuses the rest.
type beginning struct {
	bytes []byte
	room  int
}

var errEnough = errors.New("that is enough")

func (b *beginning) Write(p []byte) (int, error) {
	n := min(len(p), b.room-len(b.bytes))
	b.bytes = append(b.bytes, p[:n]...)
	if n < len(p) {
		return n, errEnough
	}
	return n, nil
}

// sumOfBeginnings is that of a model with the first 4 KiB of each of its tensors.
func sumOfBeginnings(t *testing.T, m *onnx.Model) string {
	t.Helper()
	for tensor := range m.Tensors() {
		if tensor.Data == nil {
			continue
		}
		b := &beginning{room: 4 << 10}
		if _, err := tensor.Data.WriteTo(b); err != nil && !errors.Is(err, errEnough) {
			t.Fatalf("tensor %q: %v", tensor.Name, err)
		}
		tensor.Data = onnx.Raw(b.bytes)
	}
	h := sha256.New()
	if _, err := m.WriteTo(h); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// Files are kept by their keys, so equal keys have to mean equal files. A change of these sums is one of the files
// that users have in their caches: raise formatVersion with it. TestFilesAreTheSameByteByByte has the other files.
func TestFilesBeginTheSame(t *testing.T) {
	checkBeginnings(t, map[string]string{
		"3d-unet":                         "804046b63f8a826fa8c2",
		"wan-mini-text-encoder":           "098000e87e3f4464085e",
		"wan-mini-transformer":            "7c96ab95e990328e11c8",
		"wan-mini-transformer-2":          "b530efcb23f0308d2a9e",
		"wan-mini-vae-decoder":            "af84b851dc7930509441",
		"3d-unet-brats19":                 "fc65c428427dc92aac2d",
		"3d-unet-brats19-quarter":         "7873e4f46847362e39a2",
		"retinanet":                       "33e1a5b51b598c66aa46",
		"yolo11l":                         "c5c32357d7c9596d7b7e",
		"ssd-resnet34":                    "b8fe68d5f7aa47162dc7",
		"bert":                            "d05957912eb481482ac8",
		"gnmt-encoder":                    "14881ff9edf4f51079f7",
		"gnmt-decoder":                    "322a3bc287a098f28e23",
		"dlrm":                            "75458fc5cb8c55b4f410",
		"dlrm-v2":                         "115d1904c7556d50b8f7",
		"rnnt-encoder":                    "4e11fc3b4eed2587228b",
		"rnnt-prediction":                 "e28bce9818acdd7233f3",
		"rnnt-joint":                      "738572806e19b6490b1e",
		"mobilebert":                      "214cb99b7cc54787af7d",
		"pointpainting-segmentation":      "fd04beaa48c88673ebfc",
		"pointpainting-detection":         "2c41c242a97646f67aa0",
		"dlrm-v3":                         "d4cbc86e817be87a0110",
		"rgat":                            "e28a6e20cb8ea8109741",
		"mixtral-70m":                     "845f91f00e9b5bccd01a",
		"gpt-j-60m":                       "a8e96b112070d5d15d6a",
		"llama-60m":                       "3ecb3d2361fef5000650",
		"llama-60m-plain":                 "0ce8f0afabd0e8128e28",
		"whisper-small-encoder":           "421641398823f1684cdd",
		"whisper-small-decoder":           "bb093c30ab7c3fc39fe9",
		"whisper-small-decoder_with_past": "6b32eab0a795b6e1f882",
		"sdxl-text-encoder":               "fdbaa2cabc44b00f64e7",
		"sdxl-vae-decoder":                "e21a002f315b25ea9710",
		"sdxl-mini-text-encoder":          "1060791659625b25da8e",
		"sdxl-mini-text-encoder-2":        "c3ea623fae34a7eaf521",
		"sdxl-mini-unet":                  "e809a045432df4b220ee",
		"sdxl-mini-vae-decoder":           "07caa5e53389f7e769b2",
	})
}

func TestLargeFilesBeginTheSame(t *testing.T) {
	testenv.SkipLong(t, "of the same layers as smaller ones, or rounded as a whole")
	checkBeginnings(t, map[string]string{
		"llama3.1-8b":                        "a15c23fe7b78b64d6021",
		"llama2-70b":                         "ec78e06749429d0a08e7",
		"mixtral-8x7b":                       "625c490598da738bd451",
		"gpt-j-6b":                           "69b4bf1ed7dfaa65d31b",
		"llama-60m-int4":                     "46e5020c0cbf2cf3dcd0",
		"llama-60m-export":                   "8c92b814493f7b2ad7d8",
		"whisper-large-v3-encoder":           "63e3aa897182ee448c00",
		"whisper-large-v3-decoder":           "20154d43e050e55b1920",
		"whisper-large-v3-decoder_with_past": "420ec9881d40345d4594",
		"sdxl-text-encoder-2":                "efb68d20c7e3022e3b03",
		"sdxl-unet":                          "d9e26b6b1e49fa3f5699",
	})
}

func checkBeginnings(t *testing.T, sums map[string]string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the last bits of sines differ between processors")
	}
	for name, want := range sums {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := build(t, lookup(t, name), Options{})
			if got := sumOfBeginnings(t, m); got != want {
				t.Errorf("the sum of %s is %s, want %s", name, got, want)
			}
		})
	}
}
