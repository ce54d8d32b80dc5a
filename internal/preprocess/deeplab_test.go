package preprocess

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func deepLab(size int) Pipeline {
	return Pipeline{Name: "deeplab", Size: size, Fit: PadDeepLab, Kernel: DeepLabBilinear, Type: tensor.Uint8, Layout: NHWC}
}

// randomBytes makes bytes with a linear congruential generator.
func randomBytes(n int, state uint64) []byte {
	b := make([]byte, n)
	for i := range b {
		state = state*6364136223846793005 + 1442695040888963407
		b[i] = byte(state >> 56)
	}
	return b
}

// shortSum begins the SHA-256 of data.
func shortSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
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
		{7, 5, 12, 12, 9, "6dc4b686858f5edd", "4f3060967bafbae7"},
		{683, 512, 512, 512, 384, "e6039f77fbf9abef", "c2913cce2c80e52d"},
		{300, 401, 512, 384, 512, "17bd99b1cb105673", "64ee50d6234e8eaf"},
		{1, 9, 4, 1, 4, "b993394bca9e1b02", "dcc4778972610847"},
		{64, 64, 100, 100, 100, "c6c19bc2acc50219", "f10fe6a00aea9d5c"},
		{1024, 37, 512, 512, 19, "5e08648dad9125eb", "f07c0fec766b85d7"},
	} {
		name := fmt.Sprintf("%d×%d to %d", c.width, c.height, c.size)
		from := Size{c.width, c.height}
		if x, y := PadDeepLab.spans(from, c.size); x.size != c.fitWidth || y.size != c.fitHeight {
			t.Errorf("%s: %d×%d pixels are the image's, want %d×%d", name, x.size, y.size, c.fitWidth, c.fitHeight)
		}
		got := tensor.New(tensor.Uint8, int64(c.size), int64(c.size), 3)
		img := Image{Width: c.width, Height: c.height, Pix: randomBytes(3*c.width*c.height, uint64(c.width))}
		if err := deepLab(c.size).Apply(got, img, &s); err != nil {
			t.Fatal(err)
		}
		if sum := shortSum(got.Bytes()); sum != c.image {
			t.Errorf("%s: image %s, want %s", name, sum, c.image)
		}
		classes, err := PadClasses(randomBytes(c.width*c.height, uint64(c.height)), from, c.size)
		if err != nil {
			t.Fatal(err)
		}
		if sum := shortSum(classes); sum != c.classes {
			t.Errorf("%s: classes %s, want %s", name, sum, c.classes)
		}
	}
}

func TestDeepLabLeavesPreparedImagesAlone(t *testing.T) {
	var s Scratch
	img := Image{Width: 64, Height: 64, Pix: randomBytes(3*64*64, 1)}
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
