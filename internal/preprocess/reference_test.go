package preprocess

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// TestThePipelinesAreThoseOfTheReference looks at the tensor of an image of one pixel, whose upper left value is the
// pixel after the arithmetic: as dataset.py of mlcommons/inference calculates it with NumPy (testdata/make_random.py has
// its functions), and as (pixel-127.5)·(1/127.5) for the mobile app.
func TestThePipelinesAreThoseOfTheReference(t *testing.T) {
	first := func(dst tensor.Tensor, layout Layout) (v [3]float64) {
		step := len(dst.Bytes()) / dst.Type.Size() / 3 // of planes
		if layout == NHWC {
			step = 1
		}
		for c := range v {
			switch dst.Type {
			case tensor.Float32:
				v[c] = float64(tensor.Data[float32](dst)[c*step])
			case tensor.Uint8:
				v[c] = float64(tensor.Data[uint8](dst)[c*step])
			case tensor.Int8:
				v[c] = float64(tensor.Data[int8](dst)[c*step])
			}
		}
		return v
	}
	float := func(a, b, c float32) [3]float64 { return [3]float64{float64(a), float64(b), float64(c)} }
	for _, want := range []struct {
		name  string
		text  string
		value [3]float64
	}{
		{"resnet50_vgg_224", "float32[3 224 224]", float(76.32, -16.779999, -52.940002)},
		{"mobilenet_224", "float32[3 224 224]", float(0.5686275, -0.21568626, -0.6)},
		{"mobilenet_224_uint8", "uint8[3 224 224]", float(200, 100, 51)},
		{"mobilenet_224_int8", "int8[3 224 224]", float(72, -28, -77)},
		{"imagenet_pytorch_224", "float32[3 224 224]", float(1.3070468, -0.28501397, -0.91555554)},
		{"imagenet_tflite_tpu_224", "float32[224 224 3]", float(-52.939003, -16.779, 76.32)},
		{"coco_mobilenet_300", "uint8[300 300 3]", float(200, 100, 51)},
		{"coco_pt_mobilenet_300", "float32[3 300 300]", float(0.5686275, -0.21568628, -0.6)},
		{"coco_resnet34_1200", "float32[3 1200 1200]", float(1.3070468, -0.28501397, -0.91555554)},
		{"coco_resnet34_tf_1200", "float32[3 1200 1200]", float(76.32, -16.779999, -52.940002)},
		{"openimages_retinanet_800", "float32[3 800 800]", float(0.78431374, 0.39215687, 0.2)},
		{"clip_vit_b32_224", "float32[3 224 224]", float(1.1274228, -0.25132027, -0.7549964)},
		{"mobile_classification_224_float32", "float32[224 224 3]", float(0.5686275, -0.21568629, -0.6)},
		{"mobile_classification_224_uint8", "uint8[224 224 3]", float(200, 100, 51)},
		{"mobile_classification_224_int8", "int8[224 224 3]", float(72, -28, -77)},
		{"mobile_detection_320_float32", "float32[320 320 3]", float(0.5686275, -0.21568629, -0.6)},
		{"mobile_detection_320_uint8", "uint8[320 320 3]", float(200, 100, 51)},
		{"mobile_detection_320_int8", "int8[320 320 3]", float(72, -28, -77)},
	} {
		p := lookup(t, want.name)
		dst := tensor.New(p.Type, p.Shape()...)
		if dst.String() != want.text || p.IgnoreOrientation != strings.HasPrefix(p.Name, "mobile_") {
			t.Errorf("%s makes %v and ignores orientations: %v, want %s", p.Name, dst, p.IgnoreOrientation, want.text)
		}
		p.Size = 8 // which does not change the first value, and is quick
		small := tensor.New(p.Type, p.Shape()...)
		if err := p.Apply(small, Image{Width: 1, Height: 1, Pix: []byte{200, 100, 51}}, &Scratch{}); err != nil {
			t.Fatal(err)
		}
		if got := first(small, p.Layout); got != want.value {
			t.Errorf("%s makes %v of (200, 100, 51), want %v", p.Name, got, want.value)
		}
	}
}

func TestKernelsAndLayoutsHaveNames(t *testing.T) {
	var names []string
	for k := Kernel(0); int(k) <= len(kernelNames); k++ {
		names = append(names, k.String())
	}
	want := []string{"Kernel(0)", "OpenCV INTER_LINEAR", "OpenCV INTER_AREA", "Pillow BILINEAR", "Pillow BICUBIC", "PyTorch bilinear",
		"TFLite ResizeBilinear", "DeepLab resize_bilinear", "Kernel(8)"}
	if !slices.Equal(names, want) {
		t.Errorf("kernels are called %q, want %q", names, want)
	}
	if NCHW.String() != "NCHW" || NHWC.String() != "NHWC" || Layout(7).String() != "Layout(7)" {
		t.Errorf("layouts are called %v, %v, %v", NCHW, NHWC, Layout(7))
	}
}
