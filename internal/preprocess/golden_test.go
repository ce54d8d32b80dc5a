package preprocess

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readList reads a list, packed or not, in testdata.
func readList[T any](t testing.TB, name string) []T {
	t.Helper()
	list := testenv.JSON[[]T](t, filepath.Join("testdata", name))
	if len(list) == 0 {
		t.Fatalf("%s has no entries", name)
	}
	return list
}

func hash(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// noise is the input of testdata/make_random.py.
func noise(seed uint32, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		seed = seed*1664525 + 1013904223
		out[i] = byte(seed >> 24)
	}
	return out
}

func floatNoise(seed uint32, n int) []float32 {
	b, out := noise(seed, 3*n), make([]float32, n)
	for i := range out {
		out[i] = float32(b[3*i]) + float32(b[3*i+1])/256 + float32(b[3*i+2])/65536
	}
	return out
}

func littleEndian(v []float32) []byte {
	var out []byte
	for _, f := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return out
}

var kernelsByName = map[string]Kernel{
	"cv2_area": CV2Area, "cv2_linear": CV2Linear, "pil_bilinear": PillowBilinear, "pil_bicubic": PillowBicubic,
	"torch_bilinear": TorchBilinear, "tflite_bilinear": TFLiteBilinear,
}

func TestDecodeEqualsOpenCVOnPNG(t *testing.T) {
	type picture struct{ File, Note, SHA256 string }
	var s Scratch
	for _, want := range readList[picture](t, "png.json") {
		img, err := s.Decode(read(t, filepath.Join("testdata/png", want.File)))
		if err != nil || img.Width != 61 || img.Height != 43 || hash(img.Pix) != want.SHA256 {
			t.Errorf("%s (%s): pixels differ from the reference, or error: %v", want.File, want.Note, err)
		}
	}
}

func TestDecodeRotatesAsEXIFAsks(t *testing.T) {
	// cv2.imread of OpenCV 4.6.0
	const want = "ae0c3b81a86d67e99b81bd181d8ef5c53913fd717d116415f7e76039e338a59f"
	var s Scratch
	img, err := s.Decode(read(t, "jpeg/testdata/images/exif6_400x300_420_q60.jpg"))
	if err != nil || img.Width != 300 || img.Height != 400 || hash(img.Pix) != want {
		t.Errorf("Decode of an image with orientation 6 gives %d×%d other pixels, or error: %v", img.Width, img.Height, err)
	}
}

func TestResizeEqualsTheReferenceOnSmallArrays(t *testing.T) {
	type array struct {
		Op, DType string
		SrcShape  [3]int `json:"src_shape"`
		DstShape  [3]int `json:"dst_shape"`
		Src, Dst  []float32
	}
	var s Scratch
	for _, c := range readList[array](t, "resize.json.gz") {
		k, channels := kernelsByName[c.Op], c.SrcShape[2]
		from, to := Size{c.SrcShape[1], c.SrcShape[0]}, Size{c.DstShape[1], c.DstShape[0]}
		got := make([]float32, len(c.Dst))
		var err error
		if c.DType == "uint8" {
			b := make([]byte, len(got))
			err = s.ResizeBytes(b, toBytes(c.Src), k, channels, from, to)
			got = floats(got, b)
		} else {
			err = s.ResizeFloats(got, c.Src, k, channels, from, to)
		}
		if err != nil {
			t.Fatal(err)
		}
		tolerance := 0.0
		if k == TorchBilinear {
			tolerance = 1e-4
		}
		for i, want := range c.Dst {
			if math.Abs(float64(got[i]-want)) > tolerance {
				t.Errorf("%v of %s from %v to %v: [%d] = %v, want %v", k, c.DType, c.SrcShape, c.DstShape, i, got[i], want)
				break
			}
		}
	}
}

func toBytes(v []float32) []byte {
	b := make([]byte, len(v))
	for i := range v {
		b[i] = byte(v[i])
	}
	return b
}

func TestResizeEqualsTheReferenceOnNoise(t *testing.T) {
	type run struct {
		Kernel, DType string
		Channels      int
		Src, Dst      [2]int
		Seed          uint32
		SHA256        string
	}
	var s Scratch
	for _, c := range readList[run](t, "random_resize.json") {
		from, to := Size{c.Src[0], c.Src[1]}, Size{c.Dst[0], c.Dst[1]}
		n := c.Channels * from.Width * from.Height
		got := make([]byte, c.Channels*to.Width*to.Height)
		var err error
		if c.DType == "uint8" {
			err = s.ResizeBytes(got, noise(c.Seed, n), kernelsByName[c.Kernel], c.Channels, from, to)
		} else {
			f := make([]float32, len(got))
			err = s.ResizeFloats(f, floatNoise(c.Seed, n), kernelsByName[c.Kernel], c.Channels, from, to)
			got = littleEndian(f)
		}
		if err != nil || hash(got) != c.SHA256 {
			t.Errorf("%s of %d channels of %s from %v to %v differs from the reference, or error: %v",
				c.Kernel, c.Channels, c.DType, from, to, err)
		}
	}
}

func TestPipelinesEqualTheReferenceFromFileToTensor(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	type tensorHash struct {
		Pipeline, Image string
		HWC             string `json:"sha256_hwc"`
		CHW             string `json:"sha256_chw"`
	}
	var s Scratch
	for _, c := range readList[tensorHash](t, "pipelines.json") {
		p := lookup(t, c.Pipeline)
		data := read(t, filepath.Join("jpeg/testdata/images", c.Image))
		for layout, want := range map[Layout]string{NHWC: c.HWC, NCHW: c.CHW} {
			p.Layout = layout
			dst := tensor.New(p.Type, p.Shape()...)
			if _, err := p.ApplyFile(dst, data, &s); err != nil || hash(dst.Bytes()) != want {
				t.Errorf("%s of %s in %v differs from the reference, or error: %v", c.Pipeline, c.Image, layout, err)
			}
		}
	}
}

func lookup(t testing.TB, name string) Pipeline {
	t.Helper()
	p, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPipelinesEqualTheReferenceOnNoiseOfAnySize(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	type run struct {
		Width, Height int
		Seed          uint32
		SHA256        map[string]string
	}
	var s Scratch
	for _, c := range readList[run](t, "random_pipelines.json") {
		img := Image{Width: c.Width, Height: c.Height, Pix: noise(c.Seed, 3*c.Width*c.Height)}
		for name, want := range c.SHA256 {
			p := lookup(t, name)
			p.Layout = NHWC
			dst := tensor.New(p.Type, append(tensor.Shape{1}, p.Shape()...)...)
			if err := p.Apply(dst, img, &s); err != nil || hash(dst.Bytes()) != want {
				t.Errorf("%s of %d×%d noise differs from the reference, or error: %v", name, c.Width, c.Height, err)
			}
		}
	}
}

func TestFitsEqualTheReference(t *testing.T) {
	type fit struct {
		Resized   [2]int
		Left, Top int
	}
	type picture struct {
		Width, Height int
		CV2           fit `json:"classification_cv2"`
		Torch         fit `json:"imagenet_pytorch"`
		CLIP          fit `json:"clip_vit_b32"`
		Mobile        fit `json:"mobile_classification_224"`
	}
	for _, c := range readList[picture](t, "geometry.json.gz") {
		for f, want := range map[Fit]fit{CropCV2: c.CV2, CropTorch: c.Torch, CropTorchFull: c.CLIP, CropTFLite: c.Mobile} {
			x, y := f.spans(Size{c.Width, c.Height}, 224)
			if got := (fit{[2]int{x.dst, y.dst}, x.first, y.first}); got != want || x.size != 224 || y.size != 224 {
				t.Errorf("fit %d of %d×%d = %+v, want %+v", f, c.Width, c.Height, got, want)
			}
		}
	}
}
