package preprocess

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestLookupNamesThePipelinesThatThereAre(t *testing.T) {
	_, err := Lookup("resnet51")
	if err == nil || !strings.Contains(err.Error(), `"resnet51"`) || !strings.Contains(err.Error(), "resnet50_vgg_224, mobilenet_224") {
		t.Errorf("Lookup of an unknown name fails with %v", err)
	}
	seen := map[string]bool{}
	for _, p := range reference() {
		got, err := Lookup(p.Name)
		if err != nil || got.Name != p.Name || seen[p.Name] {
			t.Errorf("Lookup(%q) = %q, %v, or the name is there twice", p.Name, got.Name, err)
		}
		seen[p.Name] = true
	}
}

func TestApplyRefusesWhatDoesNotFit(t *testing.T) {
	good := Image{Width: 2, Height: 2, Pix: make([]byte, 12)}
	tests := []struct {
		name string
		edit func(p *Pipeline)
		dst  tensor.Tensor
		img  Image
		want string
	}{
		{"another type", nil, tensor.New(tensor.Uint8, 3, 224, 224), good, "output tensor is uint8[3 224 224], want float32[3 224 224]"},
		{"another layout", nil, tensor.New(tensor.Float32, 224, 224, 3), good, "want float32[3 224 224]"},
		{"two images", nil, tensor.New(tensor.Float32, 2, 3, 224, 224), good, "want float32[3 224 224]"},
		{"an image without pixels", nil, tensor.New(tensor.Float32, 3, 224, 224), Image{}, "image of 0×0 pixels"},
		{"an image with too few pixels", nil, tensor.New(tensor.Float32, 3, 224, 224), Image{Width: 2, Height: 2, Pix: make([]byte, 11)}, "has 11 bytes"},
		{"a type that models do not take", func(p *Pipeline) { p.Type = tensor.Int64 }, tensor.New(tensor.Int64, 3, 224, 224), good, "output type is int64"},
		{"no kernel", func(p *Pipeline) { p.Kernel = 0 }, tensor.New(tensor.Float32, 3, 224, 224), good, "does not resize bytes"},
		{"a kernel for float32 on bytes", func(p *Pipeline) { p.Kernel = TFLiteBilinear }, tensor.New(tensor.Float32, 3, 224, 224), good, "TFLite ResizeBilinear does not resize bytes"},
		{"an unknown operation", func(p *Pipeline) { p.Steps = []Step{{}} }, tensor.New(tensor.Float32, 3, 224, 224), good, "operation 0"},
		{"an unknown fit", func(p *Pipeline) { p.Fit = 99 }, tensor.New(tensor.Float32, 3, 224, 224), good, "fit 99"},
	}
	var s Scratch
	for _, tt := range tests {
		p := lookup(t, "resnet50_vgg_224")
		if tt.edit != nil {
			tt.edit(&p)
		}
		err := p.Apply(tt.dst, tt.img, &s)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), p.Name) {
			t.Errorf("Apply with %s fails with %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

// The quantised variants are the pixels themselves, or these minus 128.
func TestQuantisedVariantsHoldPixels(t *testing.T) {
	img := Image{Width: 300, Height: 280, Pix: noise(1, 3*300*280)}
	var s Scratch
	apply := func(name string) tensor.Tensor {
		p := lookup(t, name)
		dst := tensor.New(p.Type, p.Shape()...)
		if err := p.Apply(dst, img, &s); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	unit := tensor.Data[float32](apply("mobilenet_224"))
	raw := tensor.Data[uint8](apply("mobilenet_224_uint8"))
	shifted := tensor.Data[int8](apply("mobilenet_224_int8"))
	for i, v := range raw {
		if int(shifted[i]) != int(v)-128 {
			t.Fatalf("int8 value is %d where uint8 is %d", shifted[i], v)
		}
		if got := math.RoundToEven(float64(unit[i]+1) * 127.5); got != float64(v) {
			t.Fatalf("float32 value is %v where uint8 is %d", unit[i], v)
		}
	}
	raw = tensor.Data[uint8](apply("mobile_detection_320_uint8"))
	for i, v := range tensor.Data[int8](apply("mobile_detection_320_int8")) {
		// Both are truncated towards zero, so below 128 the fraction counts the other way.
		if d := int(v) + 128 - int(raw[i]); d != 0 && (d != 1 || v > 0) {
			t.Fatalf("int8 value is %d where uint8 is %d", v, raw[i])
		}
	}
}

func TestBlueFirstSwapsChannelsInEveryPath(t *testing.T) {
	img := Image{Width: 40, Height: 30, Pix: noise(2, 3*40*30)}
	var s Scratch
	for _, float := range []bool{false, true} {
		p := Pipeline{Size: 24, Kernel: CV2Linear, Float: float, Type: tensor.Float32, Layout: NHWC,
			Steps: []Step{{Subtract, [3]float32{1, 2, 3}}, {Divide, [3]float32{2, 4, 8}}}}
		q := p
		q.BGR = true
		q.Steps = []Step{{Subtract, [3]float32{3, 2, 1}}, {Divide, [3]float32{8, 4, 2}}}
		rgb, bgr := tensor.New(p.Type, p.Shape()...), tensor.New(p.Type, p.Shape()...)
		if err := p.Apply(rgb, img, &s); err != nil {
			t.Fatal(err)
		}
		if err := q.Apply(bgr, img, &s); err != nil {
			t.Fatal(err)
		}
		for i, v := range tensor.Data[float32](rgb) {
			if got := tensor.Data[float32](bgr)[i/3*3+2-i%3]; got != v {
				t.Fatalf("with Float: %v, blue first gives %v, want %v", float, got, v)
			}
		}
	}
}

func TestApplyDoesNotDependOnEarlierImages(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	big := Image{Width: 500, Height: 400, Pix: noise(3, 3*500*400)}
	small := Image{Width: 20, Height: 31, Pix: noise(4, 3*20*31)}
	for _, p := range reference() {
		if p.Size > 400 {
			continue
		}
		var used, fresh Scratch
		want, got := tensor.New(p.Type, p.Shape()...), tensor.New(p.Type, p.Shape()...)
		for _, img := range []Image{big, small, big} {
			if err := p.Apply(got, img, &used); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Apply(want, big, &fresh); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s gives another tensor with a used Scratch", p.Name)
		}
	}
}

// ApplyFile decodes no more of a file than the pipeline looks at.
func TestApplyFileGivesWhatDecodeAndApplyGive(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	files := [][]byte{read(t, "jpeg/testdata/images/exif6_400x300_420_q60.jpg")}
	for _, size := range []Size{{640, 60}, {601, 230}, {333, 500}, {90, 411}, {700, 233}, {1111, 240}, {240, 1000}} {
		files = append(files, photoOf(t, size.Width, size.Height))
	}
	var s, plain Scratch
	for _, p := range reference() {
		if p.Fit == Stretch {
			continue
		}
		got, want := tensor.New(p.Type, p.Shape()...), tensor.New(p.Type, p.Shape()...)
		for i, data := range files {
			if p.IgnoreOrientation && i == 0 {
				continue
			}
			if _, err := p.ApplyFile(got, data, &s); err != nil {
				t.Fatal(err)
			}
			img, err := plain.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Apply(want, img, &plain); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%s of an image of %d×%d pixels: ApplyFile gives another tensor", p.Name, img.Width, img.Height)
			}
		}
	}
}

func TestResizeRefusesSizesThatDoNotFit(t *testing.T) {
	var s Scratch
	two := Size{2, 2}
	for name, err := range map[string]error{
		"no channels":       s.ResizeBytes(nil, nil, CV2Linear, 0, two, two),
		"a height of zero":  s.ResizeBytes(nil, nil, CV2Linear, 1, two, Size{2, 0}),
		"a short source":    s.ResizeBytes(make([]byte, 4), make([]byte, 3), CV2Linear, 1, two, two),
		"a short result":    s.ResizeFloats(make([]float32, 3), make([]float32, 4), CV2Linear, 1, two, two),
		"no kernel":         s.ResizeFloats(make([]float32, 4), make([]float32, 4), 0, 1, two, two),
		"bytes for PyTorch": s.ResizeBytes(make([]byte, 9), make([]byte, 4), TorchBilinear, 1, two, Size{3, 3}),
	} {
		if err == nil {
			t.Errorf("resizing with %s does not fail", name)
		}
	}
}

func TestPipelinesSettleInTheirMemory(t *testing.T) {
	data := photo(t)
	for _, name := range []string{"resnet50_vgg_224", "mobilenet_224", "coco_mobilenet_300"} {
		p := lookup(t, name)
		dst := tensor.New(p.Type, p.Shape()...)
		var s Scratch
		allocs := testing.AllocsPerRun(3, func() {
			if _, err := p.ApplyFile(dst, data, &s); err != nil {
				t.Fatal(err)
			}
		})
		if allocs > 8 { // closures and shapes, nothing that grows with the image
			t.Errorf("ApplyFile of %s allocates %v times", name, allocs)
		}
	}
}

func BenchmarkPipeline(b *testing.B) {
	data := photo(b)
	for _, name := range []string{"resnet50_vgg_224", "mobilenet_224", "imagenet_pytorch_224", "coco_mobilenet_300", "openimages_retinanet_800"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			p := lookup(b, name)
			dst := tensor.New(p.Type, p.Shape()...)
			var s Scratch
			for b.Loop() {
				if _, err := p.ApplyFile(dst, data, &s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

func BenchmarkResize(b *testing.B) {
	pix := noise(1, 3*500*375)
	from, to := Size{500, 375}, Size{341, 256}
	dst := make([]byte, 3*341*256)
	for _, k := range []Kernel{CV2Area, CV2Linear, PillowBilinear, PillowBicubic} {
		b.Run(k.String()+" 341x256", func(b *testing.B) {
			b.ReportAllocs()
			var s Scratch
			for b.Loop() {
				if err := s.ResizeBytes(dst, pix, k, 3, from, to); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("OpenCV INTER_LINEAR float32 800x800", func(b *testing.B) {
		b.ReportAllocs()
		var s Scratch
		src, dst := floatNoise(1, len(pix)), make([]float32, 3*800*800)
		for b.Loop() {
			if err := s.ResizeFloats(dst, src, CV2Linear, 3, from, Size{800, 800}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestApplyFileReportsDamage(t *testing.T) {
	p := lookup(t, "mobilenet_224")
	dst := tensor.New(p.Type, p.Shape()...)
	var s Scratch
	for file, want := range map[string]bool{"truncated_320x240_420.jpg": true, "photo_7x5_420_q10.jpg": false} {
		damaged, err := p.ApplyFile(dst, read(t, "jpeg/testdata/images/"+file), &s)
		if err != nil || damaged != want {
			t.Errorf("ApplyFile of %s = %v, %v, want %v", file, damaged, err, want)
		}
	}
}

func ExampleLookup() {
	p, err := Lookup("openimages_retinanet_800")
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Type, p.Layout, p.Shape())

	p.Layout = NHWC
	fmt.Println(p.Type, p.Layout, p.Shape())

	var s Scratch
	_, err = p.ApplyFile(tensor.New(p.Type, p.Shape()...), []byte("GIF89a"), &s)
	fmt.Println(err)
	// Output:
	// float32 NCHW [3 800 800]
	// float32 NHWC [800 800 3]
	// file looks like a GIF image, want JPEG or PNG
}
