//go:build goexperiment.simd && amd64 && !go1.27

package preprocess

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestVectors compares vector instructions with the code without them, on images of random sizes.
func TestVectors(t *testing.T) {
	if !vectors {
		t.Skip("this processor has no AVX2")
	}
	defer func() { vectors = true }()
	random := rand.New(rand.NewPCG(1, 1))
	names := []string{"mobilenet_224", "mobilenet_224_uint8", "imagenet_tflite_tpu_224", "coco_mobilenet_300", "coco_pt_mobilenet_300", "coco_resnet34_1200",
		"openimages_retinanet_800", "yolo_640", "mobile_detection_320_float32"}
	for range 60 {
		img := Image{Width: 1 + random.IntN(120), Height: 1 + random.IntN(90)}
		img.Pix = noise(random.Uint32(), 3*img.Width*img.Height)
		size := 1 + random.IntN(100)
		for _, name := range names {
			p := lookup(t, name)
			p.Size = size
			vectors = false
			want := applied(t, p, img).Bytes()
			vectors = true
			if got := applied(t, p, img).Bytes(); !bytes.Equal(got, want) {
				t.Fatalf("%s of %d×%d to %d: other values with vector instructions", name, img.Width, img.Height, size)
			}
		}
	}
}
