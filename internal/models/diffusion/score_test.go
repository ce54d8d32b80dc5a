package diffusion

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
)

// A bench has captions, and networks that see the mean of each colour.
type bench struct {
	t       *testing.T
	scoring workload.Scoring
	images  [][]byte
	seen    []float32 // what a network was given last
}

const colours = 3

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t}
	engine, err := simulated.New(simulated.Config{Answer: b.see})
	if err != nil {
		t.Fatal(err)
	}
	b.scoring = workload.Scoring{DatasetDir: t.TempDir(), Engine: engine, Options: workload.Values{}}
	b.write(captionsPath, "caption\nred\n\"green \"\"grass\"\"\"\nblue\n")
	b.network(InceptionFile, "image", "features", 299, arch.EyesFeatures)
	b.network(CLIPImageFile, "pixel_values", "image_embeds", 224, arch.EyesFeatures)
	table := make([]float32, 3*arch.EyesFeatures)
	for i, colour := range []byte{200, 100, 50} {
		image := bytes.Repeat([]byte{10, 10, 10}, 16*16)
		for k := i; k < len(image); k += 3 {
			image[k] = colour
		}
		b.images = append(b.images, image)
		table[i*arch.EyesFeatures+i] = 5
	}
	b.table(table, 3, arch.EyesFeatures)
	mean, covariance := make([]float64, arch.EyesFeatures), make([]float64, arch.EyesFeatures*arch.EyesFeatures)
	mean[10] = 3
	if err := captions.WriteStatistics(filepath.Join(b.scoring.DatasetDir, captions.StatisticsFile), accuracy.FeatureStatistics{Mean: mean, Covariance: covariance}); err != nil {
		t.Fatal(err)
	}
	return b
}

const captionsPath = "captions/captions_source.tsv"

func (b *bench) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.scoring.DatasetDir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) table(values []float32, shape ...int64) {
	b.t.Helper()
	var buf bytes.Buffer
	if err := npy.Write(&buf, tensor.Of(values, shape...)); err != nil {
		b.t.Fatal(err)
	}
	b.write(ScoringFolder+"/"+CLIPTextTable, buf.String())
}

// network writes a file whose ports are those of a network.
func (b *bench) network(name, in, out string, side, features int64) {
	b.t.Helper()
	n := arch.NewBuilder("eye", 1)
	x := n.Input(in, onnx.Float32, onnx.Batched(3, side, side))
	y := n.Flatten("flat", n.GlobalAveragePool("pool", x))
	n.Output(n.Dense(out, y, arch.Dense{Units: features}))
	m, _, err := n.Model()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, v := range m.Graph.Outputs {
		m.Graph.RenameValue(v.Name, out)
	}
	path := filepath.Join(b.scoring.DatasetDir, ScoringFolder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := m.WriteFile(b.t.Context(), path); err != nil {
		b.t.Fatal(err)
	}
}

// see makes features of an image: the mean of each colour, as bytes were.
func (b *bench) see(inputs, outputs []tensor.Tensor) error {
	features := tensor.Data[float32](outputs[0])
	clear(features)
	if inputs[0].Type != tensor.Float32 {
		for i, id := range tensor.Data[int64](inputs[0])[:3] {
			features[i] = float32(id)
		}
		return nil
	}
	b.seen = tensor.Data[float32](inputs[0])
	n := len(b.seen) / 3
	for c := range colours {
		v := b.seen[c*n+n/2]
		if n == 224*224 {
			features[c] = (v*clipDeviation[c] + clipMean[c]) * 255
		} else {
			features[c] = (v + 1) / 2 * 255
		}
	}
	return nil
}

func (b *bench) log(images ...[]byte) accuracy.Input {
	var log bytes.Buffer
	for i, image := range images {
		fmt.Fprintf(&log, "%c{\"seq_id\":%d,\"qsl_idx\":%d,\"data\":\"%X\"}\n", "[,"[min(i, 1)], i, i%3, image)
	}
	log.WriteString("]")
	return accuracy.Named("mlperf_log_accuracy.json", &log)
}

func TestScore(t *testing.T) {
	b := newBench(t)
	score, err := scoreImages(t.Context(), b.log(b.images[0], b.images[1], b.images[2], b.images[0]), b.scoring)
	if err != nil {
		t.Fatal(err)
	}
	want, table := 0.0, accuracy.FeatureTable{}
	for i, colour := range []float64{200, 100, 50} {
		want += 100 * colour / math.Sqrt(colour*colour+200) / 3
		row := make([]float32, arch.EyesFeatures)
		row[0], row[1], row[2] = 10, 10, 10
		row[i] = float32(colour)
		if err := table.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	clipScore, _ := score.Lookup(accuracy.CLIPScore)
	if math.Abs(clipScore.Value-want) > 1e-3 {
		t.Errorf("%s is %v, want %v", accuracy.CLIPScore, clipScore.Value, want)
	}
	s, _ := table.Statistics()
	distance := 9.0 // of the mean in the other statistics
	for k := range arch.EyesFeatures {
		distance += s.Mean[k]*s.Mean[k] + s.Covariance[k*arch.EyesFeatures+k]
	}
	if fid, _ := score.Lookup(accuracy.FIDScore); math.Abs(fid.Value-distance) > 1e-2 {
		t.Errorf("%s is %v, want %v", accuracy.FIDScore, fid.Value, distance)
	}
	if score.Coverage != (accuracy.Coverage{Samples: 3, Scored: 3, Repeated: 1}) || len(score.Warnings) != 2 || !strings.Contains(score.Warnings[0], "than Inception-v3") {
		t.Errorf("coverage %+v, warnings %q", score.Coverage, score.Warnings)
	}
	if line := score.Lines[0]; !strings.HasPrefix(line, "Accuracy Results: {'FID_SCORE': '") || !strings.Contains(line, "', 'CLIP_SCORE': '") {
		t.Errorf("line %q", line)
	}
}

func TestScoreErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		f          func(b *bench)
	}{
		{"no engine", "needs an engine", func(b *bench) { b.scoring.Engine = nil }},
		{"no captions", "opening the captions", func(b *bench) { b.scoring.DatasetDir = t.TempDir() }},
		{"no network for FID", "inception-model: scoring images needs networks, and", func(b *bench) { b.remove(ScoringFolder + "/" + InceptionFile) }},
		{"no network for CLIP", "clip-image-model: scoring images needs", func(b *bench) { b.remove(ScoringFolder + "/" + CLIPImageFile) }},
		{"no text tower", "clip-text-model: scoring images needs", func(b *bench) { b.remove(ScoringFolder + "/" + CLIPTextTable) }},
		{"no statistics", "reading the statistics", func(b *bench) { b.remove(captions.StatisticsFile) }},
		{"a network of another size", "has 8 features, the statistics have 64", func(b *bench) { b.network(InceptionFile, "image", "features", 299, 8) }},
		{"a network of captions", "the inputs are", func(b *bench) { b.scoring.Options[inceptionOption] = b.textTower() }},
		{"captions of another data set", "expected float32[3 n]: a row for each caption", func(b *bench) { b.table(make([]float32, 8), 2, 4) }},
		{"features of another size", "an image has 64 features, its text 4", func(b *bench) { b.table(make([]float32, 12), 3, 4) }},
		{"a caption of nothing", "have no direction", func(b *bench) { b.table(make([]float32, 3*64), 3, 64) }},
		{"half an image", "the response has 767 bytes: not a square image (1024×1024 has 3145728)", func(b *bench) { b.images[1] = b.images[1][:767] }},
		{"no images", "the covariance of the features of 0 images", func(b *bench) { b.images = nil }},
		{"a sample beyond", "beyond the 3 captions", func(b *bench) {
			b.write("ids", "0\n3\n")
			b.scoring.Options[idsOption] = filepath.Join(b.scoring.DatasetDir, "ids")
		}},
		{"indices that are none", `line 2 is "-1"`, func(b *bench) {
			b.write("ids", "0\n-1\n")
			b.scoring.Options[idsOption] = filepath.Join(b.scoring.DatasetDir, "ids")
		}},
		{"a tokenizer that is not there", "vocab.json", func(b *bench) { b.scoring.Options[clipTextOption] = b.textTower() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			c.f(b)
			log := b.log(b.images...)
			if len(b.images) == 0 {
				log = accuracy.Named("log", strings.NewReader("[]"))
			}
			if score, err := scoreImages(t.Context(), log, b.scoring); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("score %v, %v, want an error with %q", score, err, c.want)
			}
		})
	}
}

func (b *bench) remove(name string) {
	if err := os.Remove(filepath.Join(b.scoring.DatasetDir, filepath.FromSlash(name))); err != nil {
		b.t.Fatal(err)
	}
}

// textTower writes a text tower, and returns its path.
func (b *bench) textTower() string {
	b.t.Helper()
	n := arch.NewBuilder("tower", 1)
	ids := n.Input("input_ids", onnx.Int64, onnx.Batched(clip.Length))
	n.Output(n.Cast("text_embeds", n.Slice("part", ids, 1, 0, arch.EyesFeatures), onnx.Float32))
	m, _, err := n.Model()
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(b.scoring.DatasetDir, "text.onnx")
	if err := m.WriteFile(b.t.Context(), path); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// The features of a caption are the numbers of its first tokens here.
func TestCaptionEncoder(t *testing.T) {
	b := newBench(t)
	const tokenizer = "../../tokenizer/clip/testdata"
	tower, err := openCaptionEncoder(t.Context(), b.scoring.Engine, b.textTower(), tokenizer, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer tower.Close()
	words, err := clip.Open(tokenizer, clip.OpenCLIP)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, clip.Length)
	if _, err := words.Encode(ids, "a dog"); err != nil {
		t.Fatal(err)
	}
	features, err := tower.encode(t.Context(), 0, "a dog")
	if err != nil || len(features) != arch.EyesFeatures || !slices.Equal(features[:3], []float32{float32(ids[0]), float32(ids[1]), float32(ids[2])}) {
		t.Errorf("features %v, %v, want those of %d", features, err, ids)
	}
	if _, err := openCaptionEncoder(t.Context(), b.scoring.Engine, filepath.Join(b.scoring.DatasetDir, ScoringFolder, InceptionFile), tokenizer, 3); err == nil || !strings.Contains(err.Error(), "must be one, int64[N 77]") {
		t.Errorf("a network of images: %v", err)
	}
}

func TestScoreWritesImages(t *testing.T) {
	b := newBench(t)
	b.write("ids", "2\n1")
	b.scoring.Options[idsOption] = filepath.Join(b.scoring.DatasetDir, "ids")
	b.scoring.Keep = t.TempDir()
	if _, err := scoreImages(t.Context(), b.log(b.images...), b.scoring); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(b.scoring.Keep, "images")
	if text, err := os.ReadFile(filepath.Join(folder, captionsFile)); err != nil || string(text) != "2  blue\n1  green \"grass\"\n" {
		t.Errorf("captions %q, %v", text, err)
	}
	f, err := os.Open(filepath.Join(folder, "1.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil || m.Bounds().Dx() != 16 {
		t.Fatalf("%v, %v", m.Bounds(), err)
	}
	if r, g, blue, _ := m.At(3, 5).RGBA(); r>>8 != 10 || g>>8 != 100 || blue>>8 != 10 {
		t.Errorf("a pixel is %d %d %d", r>>8, g>>8, blue>>8)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 3 {
		t.Errorf("%d files, %v", len(files), err)
	}
	b.scoring.Options = nil
	b.scoring.Keep = t.TempDir()
	if _, err := scoreImages(t.Context(), b.log(b.images...), b.scoring); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(b.scoring.Keep, "images")); err == nil {
		t.Error("a folder for the official images, of which the data has none")
	}
}

// NaN features would spread to the mean of all images.
func TestFeaturesNaN(t *testing.T) {
	b := newBench(t)
	engine, err := simulated.New(simulated.Config{NaNEvery: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, err := OpenImageEncoder(t.Context(), engine, filepath.Join(b.scoring.DatasetDir, ScoringFolder, InceptionFile), Inception)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i, want := range []string{"", "feature 0 … not a number", ""} {
		features, err := e.Encode(t.Context(), b.images[0], 16, 16)
		if !testenv.Names(err, want) || err == nil && len(features) != e.Features() {
			t.Errorf("image %d: %v, %v, want %q", i, features, err, want)
		}
	}
}

// Whatever fails while the networks are opened, none is left open.
func TestOpenScorerClosesOnError(t *testing.T) {
	b := newBench(t)
	b.remove(captions.StatisticsFile)
	if _, err := scoreImages(t.Context(), b.log(b.images...), b.scoring); err == nil {
		t.Error("images are scored without statistics")
	}
	b.scoring.Options[clipTextOption] = filepath.Join(b.scoring.DatasetDir, ScoringFolder, InceptionFile)
	b.scoring.Options[clipTokenizerOption] = "../../tokenizer/clip/testdata"
	if _, err := scoreImages(t.Context(), b.log(b.images...), b.scoring); err == nil || !strings.Contains(err.Error(), "must be one, int64[N 77]") {
		t.Errorf("a network of images reads captions: %v", err)
	}
	if err := b.scoring.Engine.Close(); err != nil {
		t.Error(err)
	}
}

func TestImageEncoderErrors(t *testing.T) {
	b := newBench(t)
	for path, want := range map[string]string{"none.onnx": "none.onnx", captionsPath: "not an ONNX model"} {
		if _, err := OpenImageEncoder(t.Context(), b.scoring.Engine, filepath.Join(b.scoring.DatasetDir, path), CLIPImages); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	b.network("one.onnx", "image", "features", 299, 1)
	if _, err := OpenImageEncoder(t.Context(), b.scoring.Engine, filepath.Join(b.scoring.DatasetDir, ScoringFolder, "one.onnx"), Inception); err == nil || !strings.Contains(err.Error(), "has no known number of features") {
		t.Errorf("one feature: %v", err)
	}
	if err := b.scoring.Engine.Close(); err != nil {
		t.Error(err)
	}
}

func TestImageEncoderFiles(t *testing.T) {
	e := &ImageEncoder{kind: CLIPImages, side: 224}
	in, out := backend.Port{Name: "x", Type: tensor.Float32, Shape: tensor.Shape{-1, 3, 224, 224}}, backend.Port{Name: "y", Type: tensor.Float32, Shape: tensor.Shape{-1, 512}}
	for _, c := range []struct {
		name, want string
		in, out    []backend.Port
	}{
		{"two inputs", "must be one", []backend.Port{in, in}, []backend.Port{out}},
		{"bytes", "must be one", []backend.Port{{Type: tensor.Uint8, Shape: in.Shape}}, []backend.Port{out}},
		{"one channel", "must be one", []backend.Port{{Type: tensor.Float32, Shape: tensor.Shape{1, 1, 8, 8}}}, []backend.Port{out}},
		{"wide images", "one square image", []backend.Port{{Type: tensor.Float32, Shape: tensor.Shape{1, 3, 8, 9}}}, []backend.Port{out}},
		{"eight at once", "one square image", []backend.Port{{Type: tensor.Float32, Shape: tensor.Shape{8, 3, 8, 8}}}, []backend.Port{out}},
		{"no output", "has no output", []backend.Port{in}, nil},
		{"no features", "must be features", []backend.Port{in}, []backend.Port{{Name: "y", Type: tensor.Float32, Shape: tensor.Shape{-1}}}},
	} {
		if _, err := e.ports(c.in, c.out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	usual := out
	usual.Name = "image_embeds"
	if got, err := e.ports([]backend.Port{in}, []backend.Port{out, usual}); err != nil || got.Name != "image_embeds" {
		t.Errorf("of two outputs %v is read, %v", got, err)
	}
}

func FuzzIDs(f *testing.F) {
	f.Add([]byte("4475\n3627"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ids, err := parseIDs(data)
		for _, id := range ids {
			if err == nil && id < 0 {
				t.Errorf("index %d", id)
			}
		}
	})
}
