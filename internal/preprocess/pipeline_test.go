package preprocess

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestLookupNamesPipelines(t *testing.T) {
	_, err := Lookup("resnet51")
	if err == nil || !strings.Contains(err.Error(), `"resnet51" is not known: must be one of resnet50_vgg_224, mobilenet_224`) {
		t.Errorf("Lookup of an unknown name: error %v", err)
	}
}

func TestApplyRefusesOtherTensors(t *testing.T) {
	img := Image{Width: 2, Height: 2, Pix: make([]byte, 12)}
	p := Pipeline{Name: "mine", Size: 4, Kernel: CV2Linear, Type: tensor.Uint8, Layout: NHWC}
	for _, c := range []struct {
		dst tensor.Tensor
		ok  bool
	}{
		{tensor.New(tensor.Uint8, 4, 4, 3), true}, {tensor.New(tensor.Uint8, 1, 4, 4, 3), true},
		{tensor.New(tensor.Uint8, 2, 4, 4, 3), false}, {tensor.New(tensor.Uint8, 3, 4, 4), false}, {tensor.New(tensor.Int8, 4, 4, 3), false},
	} {
		err := p.Apply(c.dst, img, &Scratch{})
		if (err == nil) != c.ok || err != nil && !strings.HasSuffix(err.Error(), "must be uint8[4 4 3]") {
			t.Errorf("Apply to %v: error %v", c.dst, err)
		}
	}
}

// It looks at the tensor of an image of one pixel, whose upper left value is the
// pixel after the arithmetic: as dataset.py of mlcommons/inference calculates it with NumPy (testdata/make_random.py has
// its functions), and as (pixel-127.5)·(1/127.5) for the mobile app.
func TestPipelineArithmetic(t *testing.T) {
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

// small are the pipelines with outputs of few pixels, whose arithmetic takes little time.
func small() []Pipeline {
	list := pipelines()
	for i := range list {
		list[i].Size = 16
	}
	return append(list, deepLab(16))
}

// applied returns the tensor of a fresh Scratch.
func applied(t *testing.T, p Pipeline, img Image) tensor.Tensor {
	t.Helper()
	dst := tensor.New(p.Type, p.Shape()...)
	if err := p.Apply(dst, img, &Scratch{}); err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestLayoutsHoldTheSameValues(t *testing.T) {
	img := Image{Width: 23, Height: 31, Pix: noise(9, 3*23*31)}
	for _, p := range small() {
		p.Layout = NHWC
		rows := applied(t, p, img)
		p.Layout = NCHW
		planes := applied(t, p, img)
		n, size := p.Size*p.Size, p.Type.Size()
		for i := range 3 * n {
			a, b := rows.Bytes()[i*size:][:size], planes.Bytes()[(i%3*n+i/3)*size:][:size]
			if !bytes.Equal(a, b) {
				t.Errorf("%s: value %d of pixel %d is % x in NHWC and % x in NCHW", p.Name, i%3, i/3, a, b)
				break
			}
		}
	}
}

func TestScratchKeepsNothing(t *testing.T) {
	images := []Image{
		{Width: 50, Height: 40, Pix: noise(3, 3*50*40)}, {Width: 2, Height: 31, Pix: noise(4, 3*2*31)},
		{Width: 32, Height: 32, Pix: noise(5, 3*32*32)}, {Width: 1, Height: 1, Pix: noise(6, 3)},
	}
	var used Scratch
	for range 2 {
		for _, p := range small() {
			for _, img := range images {
				got := tensor.New(p.Type, p.Shape()...)
				if err := p.Apply(got, img, &used); err != nil {
					t.Fatal(err)
				}
				if want := applied(t, p, img); !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("%s of %d×%d pixels gives another tensor with a used Scratch", p.Name, img.Width, img.Height)
				}
			}
		}
	}
}

// ApplyFile decodes the part of a file that the pipeline looks at.
func TestApplyFileEqualsDecodeAndApply(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var s Scratch
	for i := range 60 {
		file := jpegOf(t, 1+rng.IntN(90), 1+rng.IntN(90))
		p := small()[i%len(small())]
		got := tensor.New(p.Type, p.Shape()...)
		if err := p.ApplyFile(got, file, &s); err != nil {
			t.Fatal(err)
		}
		img, err := new(Scratch).Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := applied(t, p, img); !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s of %d×%d pixels: the file gives another tensor than its image", p.Name, img.Width, img.Height)
		}
	}
}

// Resizing to a part gives that part of the whole, and looks at no pixels outside of source.
func TestResizePart(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	axis := func() span {
		s := span{src: 1 + rng.IntN(60), dst: 1 + rng.IntN(40)}
		switch rng.IntN(4) { // kernels take other ways for whole factors
		case 0:
			s.src = s.dst * (1 + rng.IntN(4))
		case 1:
			s.dst = s.src
		}
		s.first = rng.IntN(s.dst)
		s.size = 1 + rng.IntN(s.dst-s.first)
		return s
	}
	var s Scratch
	resize := func(t task, float bool, src []byte) (rows [][]float32) {
		for y := range t.y.size {
			row := make([]float32, t.width())
			if float {
				s.startFloats(t, src)(y, row)
			} else {
				line := make([]byte, t.width())
				s.startBytes(t, src)(y, line)
				for i, v := range line {
					row[i] = float32(v)
				}
			}
			rows = append(rows, row)
		}
		return rows
	}
	for i := range 400 {
		some := task{kernel: Kernel(i % 6), x: axis(), y: axis()}
		float := some.kernel == TFLiteBilinear || some.kernel == CV2Linear && i%4 < 2
		all := task{kernel: some.kernel, x: full(some.x.src, some.x.dst), y: full(some.y.src, some.y.dst)}
		src := noise(uint32(i), 3*some.x.src*some.y.src)
		whole := resize(all, float, src)
		left, right := some.x.source()
		top, bottom := some.y.source()
		for at := range src {
			if x, y := at/3%some.x.src, at/3/some.x.src; x < left || x >= right || y < top || y >= bottom {
				src[at] ^= 0xff
			}
		}
		for y, got := range resize(some, float, src) {
			want := whole[some.y.first+y][3*some.x.first:][:some.width()]
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("kernel %d: row %d of the part %+v, %+v = %v, want %v", some.kernel, y, some.x, some.y, got, want)
				break
			}
		}
	}
}

func TestPipelinesReuseMemory(t *testing.T) {
	data := photo(t)
	for _, name := range []string{"resnet50_vgg_224", "mobilenet_224", "coco_mobilenet_300"} {
		p := lookup(t, name)
		dst := tensor.New(p.Type, p.Shape()...)
		var s Scratch
		allocs := testing.AllocsPerRun(3, func() {
			if err := p.ApplyFile(dst, data, &s); err != nil {
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
				if err := p.ApplyFile(dst, data, &s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
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
	err = p.ApplyFile(tensor.New(p.Type, p.Shape()...), []byte("GIF89a"), &s)
	fmt.Println(err)
	// Output:
	// float32 NCHW [3 800 800]
	// float32 NHWC [800 800 3]
	// file is image/gif (begins with "GIF89a"): must be JPEG or PNG
}

// TestLookupChanges: NAME,KEY=VALUE,… changes how an image is resized, and the arithmetic.
func TestLookupChanges(t *testing.T) {
	img := Image{Width: 40, Height: 30, Pix: noise(3, 3*40*30)}
	sized := func(name string) Pipeline {
		p := lookup(t, name)
		p.Size = 16
		return p
	}
	square := Image{Width: 40, Height: 40, Pix: append(append([]byte{}, img.Pix...), make([]byte, 3*40*10)...)}
	stretched := Image{Width: 20, Height: 20, Pix: make([]byte, 3*20*20)}
	new(Scratch).ResizeBytes(stretched.Pix, img.Pix, PillowBilinear, Size{40, 30}, Size{20, 20})
	middle := Image{Width: 16, Height: 16}
	for y := 2; y < 18; y++ {
		middle.Pix = append(middle.Pix, stretched.Pix[3*(20*y+2):][:3*16]...)
	}
	for _, c := range []struct {
		name string
		img  Image
		same string
	}{
		{"mobilenet_224_uint8,resize=pad", square, "mobilenet_224_uint8,resize=stretch"},
		{"mobilenet_224_uint8,resize=20x20,kernel=pillow-bilinear", middle, "mobilenet_224_uint8,resize=16"},
		{"imagenet_pytorch_224,scale=255,mean=0.485/0.456/0.406,std=0.229/0.224/0.225", img, "imagenet_pytorch_224"},
		{"imagenet_pytorch_224,resize=18", img, "imagenet_pytorch_224"}, // 16/0.875
	} {
		got, want := applied(t, sized(c.name), img), applied(t, sized(c.same), c.img)
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s differs from %s", c.name, c.same)
		}
	}
	v := tensor.Data[float32](applied(t, sized("mobilenet_224,scale=1,mean=104/117/123,std=2,order=bgr"), Image{Width: 1, Height: 1, Pix: []byte{200, 100, 50}}))
	if v[0] != (50-104)/2. || v[256] != (100-117)/2. || v[512] != (200-123)/2. {
		t.Errorf("blue %v, green %v, red %v", v[0], v[256], v[512])
	}
	if p := lookup(t, "mobilenet_224,exif=ignore"); !p.IgnoreOrientation {
		t.Error("exif=ignore turns images")
	}
	if err := sized("mobilenet_224_uint8,resize=8").Apply(tensor.New(tensor.Uint8, 3, 16, 16), img, &Scratch{}); err == nil || !strings.Contains(err.Error(), "resized to 8 pixels, and the model takes 16") {
		t.Errorf("resize=8: error %v", err)
	}
	for _, change := range []string{"", "mean", "std=0", "mean=1/2", "resize=0", "resize=20x30", "kernel=lanczos", "order=gbr", "exif=1", "crop=3"} {
		if _, err := Lookup("mobilenet_224," + change); err == nil || !strings.Contains(err.Error(), `change "`+change+`" of a pre-processing is not known, expected resize=`) {
			t.Errorf("%q: error %v", change, err)
		}
	}
	if _, err := Lookup("mobile_detection_320_float32,order=bgr"); err == nil || !strings.Contains(err.Error(), "resizes in float32") {
		t.Errorf("order=bgr of floats: error %v", err)
	}
}
