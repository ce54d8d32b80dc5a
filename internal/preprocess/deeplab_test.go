package preprocess

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func deepLab(size int) Pipeline {
	return Pipeline{Name: "deeplab", Size: size, Fit: PadDeepLab, Kernel: DeepLabBilinear, Type: tensor.Uint8, Layout: NHWC}
}

// TestDeepLabResizesAndFillsUp compares with the same formulas in NumPy's float32: those of
// input_preprocess.py with TensorFlow's kernels. The image and the classes are noise.
func TestDeepLabResizesAndFillsUp(t *testing.T) {
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
		if x, y := PadDeepLab.spans(from, c.size); x.size != c.fitWidth || y.size != c.fitHeight {
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
		classes, err := PadClasses(noise(uint32(c.height), c.width*c.height), from, c.size)
		if err != nil {
			t.Fatal(err)
		}
		if sum := hash(classes); sum != c.classes {
			t.Errorf("%s: classes %s, want %s", name, sum, c.classes)
		}
	}
}

func TestDeepLabLeavesPreparedImagesAlone(t *testing.T) {
	var s Scratch
	img := Image{Width: 64, Height: 64, Pix: noise(1, 3*64*64)}
	got := tensor.New(tensor.Uint8, 64, 64, 3)
	if err := deepLab(64).Apply(got, img, &s); err != nil || !bytes.Equal(got.Bytes(), img.Pix) {
		t.Errorf("the image was changed, %v", err)
	}
}

func TestDeepLabRefusesWhatItCannotDo(t *testing.T) {
	floats := deepLab(8)
	floats.Float = true
	if err := floats.Apply(tensor.New(tensor.Uint8, 8, 8, 3), Image{Width: 2, Height: 2, Pix: make([]byte, 12)}, &Scratch{}); err == nil {
		t.Error("it fills up float32 pixels")
	}
	if _, err := PadClasses(make([]uint8, 5), Size{2, 3}, 8); err == nil {
		t.Error("it takes five classes for 2×3 pixels")
	}
}
