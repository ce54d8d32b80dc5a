package names

import (
	"fmt"
	"testing"
)

func TestCaseHyphensUnderscoresAndSpacesDoNotMatter(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"SingleStream", "single-stream", true},
		{"ssd_mobilenet", "SSD-MobileNet", true},
		{"3d unet", "3D-UNet", true},
		{"TensorRT", "tensor__rt", true},
		{"", "-_ ", true},
		{"resnet50", "resnet-5", false},
		{"mobilenet", "mobilenet.v2", false},
	} {
		if got := Same(c.a, c.b); got != c.same || Same(c.b, c.a) != c.same {
			t.Errorf("Same(%q, %q) = %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func ExamplePlain() {
	fmt.Println(Plain("Multi-Stream"), Plain("SSD_ResNet34"))
	// Output: multistream ssdresnet34
}
