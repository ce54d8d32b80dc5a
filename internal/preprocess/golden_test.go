package preprocess

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

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

func TestDecodeEqualsOpenCV(t *testing.T) {
	type picture struct{ File, Note, SHA256 string }
	var s Scratch
	for _, want := range testenv.JSON[[]picture](t, "testdata/png.json") {
		img, err := s.Decode(testenv.Read(t, filepath.Join("testdata/png", want.File)))
		if err != nil || img.Width != 61 || img.Height != 43 || hash(img.Pix) != want.SHA256 {
			t.Errorf("%s (%s): pixels differ from the reference, or error: %v", want.File, want.Note, err)
		}
	}
	// cv2.imread of OpenCV 4.6.0
	const want = "ae0c3b81a86d67e99b81bd181d8ef5c53913fd717d116415f7e76039e338a59f"
	img, err := s.Decode(testenv.Read(t, "jpeg/testdata/images/exif6_400x300_420_q60.jpg"))
	if err != nil || img.Width != 300 || img.Height != 400 || hash(img.Pix) != want {
		t.Errorf("Decode of an image with orientation 6 gives %d×%d other pixels, or error: %v", img.Width, img.Height, err)
	}
}

var kernelsByName = map[string]Kernel{
	"cv2_area": CV2Area, "cv2_linear": CV2Linear, "pil_bilinear": PillowBilinear, "pil_bicubic": PillowBicubic,
}

func TestResizeEqualsTheReference(t *testing.T) {
	type array struct {
		Op       string
		SrcShape [3]int `json:"src_shape"`
		DstShape [3]int `json:"dst_shape"`
		Src, Dst []float32
	}
	var s Scratch
	for _, c := range testenv.JSON[[]array](t, "testdata/resize.json.gz") {
		from, to := Size{c.SrcShape[1], c.SrcShape[0]}, Size{c.DstShape[1], c.DstShape[0]}
		got, tolerance := make([]float32, len(c.Dst)), 0.0
		if c.Op == "torch_bilinear" {
			s.ResizeTorch(got, c.Src, from, to)
			tolerance = 1e-4
		} else {
			src, dst := make([]byte, len(c.Src)), make([]byte, len(c.Dst))
			for i, v := range c.Src {
				src[i] = byte(v)
			}
			s.ResizeBytes(dst, src, kernelsByName[c.Op], from, to)
			for i, v := range dst {
				got[i] = float32(v)
			}
		}
		for i, want := range c.Dst {
			if math.Abs(float64(got[i]-want)) > tolerance {
				t.Errorf("%s from %v to %v: [%d] = %v, want %v", c.Op, from, to, i, got[i], want)
				break
			}
		}
	}
	type run struct {
		Kernel   string
		Src, Dst [2]int
		Seed     uint32
		SHA256   string
	}
	for _, c := range testenv.JSON[[]run](t, "testdata/random_resize.json") {
		from, to := Size{c.Src[0], c.Src[1]}, Size{c.Dst[0], c.Dst[1]}
		got := make([]byte, 3*to.Width*to.Height)
		s.ResizeBytes(got, noise(c.Seed, 3*from.Width*from.Height), kernelsByName[c.Kernel], from, to)
		if hash(got) != c.SHA256 {
			t.Errorf("%s of noise from %v to %v differs from the reference", c.Kernel, from, to)
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

func TestPipelinesEqualTheReference(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	type tensorHash struct {
		Pipeline, Image string
		HWC             string `json:"sha256_hwc"`
		CHW             string `json:"sha256_chw"`
	}
	var s Scratch
	for _, c := range testenv.JSON[[]tensorHash](t, "testdata/pipelines.json") {
		t.Run(c.Pipeline+"/"+c.Image, func(t *testing.T) {
			p := lookup(t, c.Pipeline)
			data := testenv.Read(t, filepath.Join("jpeg/testdata/images", c.Image))
			for layout, want := range map[Layout]string{NHWC: c.HWC, NCHW: c.CHW} {
				p.Layout = layout
				dst := tensor.New(p.Type, p.Shape()...)
				if err := p.ApplyFile(dst, data, &s); err != nil || hash(dst.Bytes()) != want {
					t.Errorf("in %v it differs from the reference, or error: %v", layout, err)
				}
			}
		})
	}
}

func TestPipelinesOfNoiseEqualTheReference(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	type run struct {
		Width, Height int
		Seed          uint32
		SHA256        map[string]string
	}
	var s Scratch
	for _, c := range testenv.JSON[[]run](t, "testdata/random_pipelines.json") {
		img := Image{Width: c.Width, Height: c.Height, Pix: noise(c.Seed, 3*c.Width*c.Height)}
		for name, want := range c.SHA256 {
			t.Run(fmt.Sprintf("%s/%dx%d", name, c.Width, c.Height), func(t *testing.T) {
				p := lookup(t, name)
				p.Layout = NHWC
				dst := tensor.New(p.Type, append(tensor.Shape{1}, p.Shape()...)...)
				if err := p.Apply(dst, img, &s); err != nil || hash(dst.Bytes()) != want {
					t.Errorf("it differs from the reference, or error: %v", err)
				}
			})
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
	for _, c := range testenv.JSON[[]picture](t, "testdata/geometry.json.gz") {
		for f, want := range map[Fit]fit{CropCV2: c.CV2, CropTorch: c.Torch, CropTorchFull: c.CLIP, CropTFLite: c.Mobile} {
			x, y := f.spans(Size{c.Width, c.Height}, 224, 0)
			if got := (fit{[2]int{x.dst, y.dst}, x.first, y.first}); got != want || x.size != 224 || y.size != 224 {
				t.Errorf("fit %d of %d×%d = %+v, want %+v", f, c.Width, c.Height, got, want)
			}
		}
	}
}

func deepLab(size int) Pipeline {
	return Pipeline{Name: "deeplab", Size: size, Fit: PadDeepLab, Kernel: DeepLabBilinear, Type: tensor.Uint8, Layout: NHWC}
}

// The hashes are of the same formulas in NumPy's float32: those of input_preprocess.py with
// TensorFlow's kernels. The image and the classes are noise.
func TestDeepLabEqualsTheReference(t *testing.T) {
	var s Scratch
	for _, c := range []struct {
		width, height, size int
		fitWidth, fitHeight int
		image, classes      string
	}{
		{7, 5, 12, 12, 9, "2d53b4d0b1ff6ccb73ae05cb04c4da24df518ad6e7658f79c480c0f942325e96", "7a0bf210299705cecf674ad52d05d9343ded0e6c591a470ba197f3901775b998"},
		{683, 512, 512, 512, 384, "4269274e26d981d87f8919e87a6e076cea7725e270d72cd2f68214248b92e0f8", "f679ed7df010c3b77b7c5c737b0f0ec17a8878100495de7c2bce6626a2675d88"},
		{300, 401, 512, 384, 512, "7d77d58e09890c42396e2571ecd6cb14f94b23d7844581a3b378c0944a9a5cf2", "e11d63b2b80b3ee75c3556798da5e34d41d7b1eb9e00b72262f85e1e5f2c7dbf"},
		{1, 9, 4, 1, 4, "a1044a6d289daa2e27acf64c579a9b48e872ff6fa2d6cad077b117e2e05edfb7", "8570f7c3dc4e01ccea851a0ac821041a127162d575e7583d52f40da8472be9c4"},
		{64, 64, 100, 100, 100, "13bdefa296803a45715f4868dd340b8a04e5ba9455a13a034bfe09878dc2f5e7", "086ce568ecbd56a8e2d17f22de95926b4332ece8878872b6132db9155fa40b31"},
		{1024, 37, 512, 512, 19, "44482880d4705bba1b77fbe0301795a8dde0da560fb7499a5aca80afb1c09f0b", "0b8c369dd444efda19f46415aba57aa3aadd71aa12040def1d4c7c30e13cc1b6"},
	} {
		name := fmt.Sprintf("%d×%d to %d", c.width, c.height, c.size)
		from := Size{c.width, c.height}
		if x, y := PadDeepLab.spans(from, c.size, 0); x.size != c.fitWidth || y.size != c.fitHeight {
			t.Errorf("%s: %d×%d pixels are the image's, want %d×%d", name, x.size, y.size, c.fitWidth, c.fitHeight)
		}
		got := tensor.New(tensor.Uint8, int64(c.size), int64(c.size), 3)
		img := Image{Width: c.width, Height: c.height, Pix: noise(uint32(c.width), 3*c.width*c.height)}
		if err := deepLab(c.size).Apply(got, img, &s); err != nil {
			t.Fatal(err)
		}
		if sum := hash(got.Bytes()); sum != c.image {
			t.Errorf("%s: image %s, want %s", name, sum, c.image)
		}
		if sum := hash(PadClasses(noise(uint32(c.height), c.width*c.height), from, c.size)); sum != c.classes {
			t.Errorf("%s: classes %s, want %s", name, sum, c.classes)
		}
	}
}
