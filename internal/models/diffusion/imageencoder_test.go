package diffusion

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// networkOf is an engine whose networks all have these ports.
func networkOf(t *testing.T, inputs, outputs []backend.Port, answer func(inputs, outputs []tensor.Tensor) error) backend.Engine {
	t.Helper()
	e, err := simulated.New(simulated.Config{Inputs: inputs, Outputs: outputs, Answer: answer})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestImageEncoderPorts(t *testing.T) {
	f := tensor.Float32
	image := []backend.Port{port("pixel_values", f, -1, 3, 224, 224)}
	features := []backend.Port{port("image_embeds", f, -1, 512)}
	for _, c := range []struct {
		name            string
		inputs, outputs []backend.Port
		side, features  int
		want            string // of the error; empty: none
	}{
		{"the usual one", image, features, 224, 512, ""},
		{"one image at a time", []backend.Port{port("x", f, 1, 3, 224, 224)}, features, 224, 512, ""},
		{"any size", []backend.Port{port("x", f, -1, -1, -1, -1)}, features, 224, 512, ""},
		{"another size", []backend.Port{port("x", f, -1, 3, 336, 336)}, features, 336, 512, ""},
		{"a height alone", []backend.Port{port("x", f, -1, 3, 96, -1)}, features, 96, 512, ""},
		{"of several outputs that of the name", image, []backend.Port{port("hidden", f, -1, 50, 768), port("image_embeds", f, -1, 7)}, 224, 7, ""},
		{"else the first", image, []backend.Port{port("pooled", f, -1, 9), port("hidden", f, -1, 50, 768)}, 224, 9, ""},
		{"a pooled image", image, []backend.Port{port("features", f, -1, 64, -1, -1)}, 224, 64, ""},
		{"two inputs", append([]backend.Port{port("ids", tensor.Int64, -1, 77)}, image...), features, 0, 0, "must be one, float32[N 3 224 224]"},
		{"no input", []backend.Port{}, features, 0, 0, "must be one, float32[N 3 224 224]"},
		{"bytes", []backend.Port{port("x", tensor.Uint8, -1, 3, 224, 224)}, features, 0, 0, "must be one, float32[N 3 224 224]"},
		{"colours last", []backend.Port{port("x", f, -1, 224, 224, 3)}, features, 0, 0, "must be one, float32[N 3 224 224]"},
		{"a row", []backend.Port{port("x", f, -1, 150528)}, features, 0, 0, "must be one, float32[N 3 224 224]"},
		{"eight at once", []backend.Port{port("x", f, 8, 3, 224, 224)}, features, 0, 0, "must be one square image at a time"},
		{"not square", []backend.Port{port("x", f, -1, 3, 224, 192)}, features, 0, 0, "must be one square image at a time"},
		{"no output", image, []backend.Port{}, 0, 0, "the model has no output, expected features, image_embeds"},
		{"classes", image, []backend.Port{port("label", tensor.Int64, -1, 1)}, 0, 0, "the output label is int64[? 1]: must be features, float32[N n]"},
		{"a list", image, []backend.Port{port("image_embeds", f, 512)}, 0, 0, "the output image_embeds is float32[512]: must be features"},
		{"an unknown number", image, []backend.Port{port("image_embeds", f, -1, -1)}, 0, 0, "has no known number of features"},
	} {
		e, err := OpenImageEncoder(t.Context(), networkOf(t, c.inputs, c.outputs, nil), "eye.onnx", CLIPImages)
		if c.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), "eye.onnx: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want the file and %q", c.name, err, c.want)
			}
			continue
		}
		if err != nil || e.side != c.side || e.Features() != c.features {
			t.Errorf("%s: %+v, %v, want a side of %d and %d features", c.name, e, err, c.side, c.features)
			continue
		}
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An image of one colour has that colour at every size: what a network reads of it is known.
func TestImageEncoderInput(t *testing.T) {
	var given []float32
	answer := func(inputs, _ []tensor.Tensor) error {
		given = tensor.Data[float32](inputs[0])
		return nil
	}
	colour := [3]byte{255, 128, 0}
	for _, c := range []struct {
		kind ImageEncoderKind
		want func(channel int, v byte) float64
	}{
		{CLIPImages, func(channel int, v byte) float64 {
			return (float64(v)/255 - float64(clipMean[channel])) / float64(clipDeviation[channel])
		}},
		{Inception, func(_ int, v byte) float64 { return float64(v)/127.5 - 1 }},
	} {
		side := int64(c.kind.defaultSide())
		engine := networkOf(t, []backend.Port{port("x", tensor.Float32, -1, 3, side, side)}, []backend.Port{port(c.kind.output(), tensor.Float32, -1, 4)}, answer)
		e, err := OpenImageEncoder(t.Context(), engine, "eye.onnx", c.kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range [][2]int{{1, 1}, {16, 16}, {40, 20}, {int(side), int(side)}, {512, 512}} {
			image := make([]byte, 3*size[0]*size[1])
			for i := range image {
				image[i] = colour[i%3]
			}
			if _, err := e.Encode(t.Context(), image, size[0], size[1]); err != nil {
				t.Fatal(err)
			}
			n := int(side * side)
			if len(given) != 3*n {
				t.Fatalf("%d numbers are given, want %d", len(given), 3*n)
			}
			for i, v := range given {
				if want := c.want(i/n, colour[i/n]); math.Abs(float64(v)-want) > 1e-5 {
					t.Fatalf("kind %d, image of %v: number %d of plane %d is %v, want %v", c.kind, size, i%n, i/n, v, want)
				}
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCaptionEncoderPorts(t *testing.T) {
	ids := []backend.Port{port("input_ids", tensor.Int64, -1, 77)}
	embeds := []backend.Port{port("text_embeds", tensor.Float32, -1, 512)}
	for _, c := range []struct {
		name            string
		inputs, outputs []backend.Port
		want            string
	}{
		{"the usual one", ids, embeds, ""},
		{"short numbers", []backend.Port{port("x", tensor.Int32, 1, 77)}, embeds, ""},
		{"with a mask", append([]backend.Port{port("attention_mask", tensor.Int64, -1, 77)}, ids...), embeds, "must be one, int64[N 77]"},
		{"numbers that are not whole", []backend.Port{port("x", tensor.Float32, -1, 77)}, embeds, "must be one, int64[N 77]"},
		{"one text", []backend.Port{port("x", tensor.Int64, 77)}, embeds, "must be one, int64[N 77]"},
		{"features of each token", ids, []backend.Port{port("text_embeds", tensor.Float32, -1, 77, 512)}, "expected a known number of features"},
		{"an unknown number", ids, []backend.Port{port("text_embeds", tensor.Float32, -1, -1)}, "the output text_embeds has the shape [? ?], expected a known number of features"},
		{"no output", ids, nil, "the model has no output, expected features, text_embeds"},
	} {
		out, err := textPorts(c.inputs, c.outputs)
		if c.want == "" && (err != nil || out.Name != "text_embeds") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, %v, want %q", c.name, out, err, c.want)
		}
	}
}

func TestCaptionTable(t *testing.T) {
	write := func(name string, x tensor.Tensor) string {
		path := filepath.Join(t.TempDir(), name)
		f, err := os.Create(path)
		if err == nil {
			err = npy.Write(f, x)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.npy", tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 3, 2))
	upper := filepath.Join(t.TempDir(), "GOOD.NPY")
	if err := os.Link(good, upper); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{good, upper} {
		tower, err := openCaptionEncoder(t.Context(), nil, path, "", 3)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			row, err := tower.encode(t.Context(), i, "whatever it says")
			if want := fmt.Sprint([]float32{float32(2*i + 1), float32(2*i + 2)}); err != nil || fmt.Sprint(row) != want {
				t.Errorf("%s: caption %d has %v, %v, want %s", path, i, row, err, want)
			}
		}
		if err := tower.Close(); err != nil {
			t.Error(err)
		}
	}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.npy")
	if err := os.WriteFile(cut, data[:len(data)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"of fewer captions", write("x.npy", tensor.Of([]float32{1, 2}, 2, 1)), "has float32[2 1], expected float32[3 n]: a row for each caption"},
		{"without features", write("x.npy", tensor.New(tensor.Float32, 3, 0)), "expected float32[3 n]"},
		{"of a list", write("x.npy", tensor.New(tensor.Float32, 3)), "has float32[3], expected float32[3 n]"},
		{"of other numbers", write("x.npy", tensor.New(tensor.Int64, 3, 2)), "has int64[3 2], expected float32[3 n]"},
		{"too wide", write("x.npy", tensor.New(tensor.Float32, 3, 1<<14+1)), "expected float32[3 n]"},
		{"that was cut off", cut, cut + ": "},
		{"that is not there", filepath.Join(t.TempDir(), "none.npy"), "no such file"},
	} {
		if _, err := openCaptionEncoder(t.Context(), nil, c.path, "", 3); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("a table %s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestPixelRange(t *testing.T) {
	for v, want := range map[float32]byte{-1: 0, 1: 255, 0: 128, -1.5: 0, 100: 255, float32(math.Inf(1)): 255, float32(math.Inf(-1)): 0, math.MaxFloat32: 255} {
		got := make([]byte, 3)
		if err := toBytes(got, []float32{v, v, v}); err != nil || !bytes.Equal(got, []byte{want, want, want}) {
			t.Errorf("%v is %v, %v, want %d", v, got, err, want)
		}
	}
	for at := range 6 {
		planes := make([]float32, 6)
		planes[at] = float32(math.NaN())
		want := "not a number … pixel " + strconv.Itoa(at%2) + " … plane " + strconv.Itoa(at/2)
		if err := toBytes(make([]byte, 6), planes); !testenv.Names(err, want) {
			t.Errorf("number %d: %v, want %s", at, err, want)
		}
	}
}

// encoderOf is an eye of a kind whose images have a side, without a network.
func encoderOf(kind ImageEncoderKind, side int) *ImageEncoder {
	return &ImageEncoder{kind: kind, side: side, in: &planesOnly{tensor.New(tensor.Float32, 1, imageChannels, int64(side), int64(side))}}
}

type planesOnly struct{ t tensor.Tensor }

func (p *planesOnly) Tensor() tensor.Tensor { return p.t }
func (*planesOnly) Close() error            { return nil }

// Memory of one image serves the next, larger or smaller.
func TestImageEncoderReusesMemory(t *testing.T) {
	for _, kind := range []ImageEncoderKind{CLIPImages, Inception} {
		e := encoderOf(kind, 5)
		see := func(side int, from *ImageEncoder) []float32 {
			image := make([]byte, imageChannels*side*side)
			for i := range image {
				image[i] = byte(i * 7)
			}
			from.prepare(image, preprocess.Size{Width: side, Height: side})
			return slices.Clone(tensor.Data[float32](from.in.Tensor()))
		}
		for _, side := range []int{9, 3, 20, 5, 1, 20} {
			if got, fresh := see(side, e), see(side, encoderOf(kind, 5)); !slices.Equal(got, fresh) {
				t.Errorf("kind %d: an image of %d×%d is seen otherwise after others", kind, side, side)
			}
		}
	}
}
