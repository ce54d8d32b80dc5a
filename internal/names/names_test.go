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

func TestTheNearestNameIsTheOneWithTheFewestDifferences(t *testing.T) {
	choices := []string{"min_duration", "max_duration", "target_qps", "mode"}
	for name, want := range map[string]string{
		"min-duration": "min_duration", "mni_duration": "min_duration", "MAX_DURATION": "max_duration", "mod": "mode",
		"target": "target_qps", "zzz": "", "": "",
	} {
		if got := Nearest(name, choices); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"same", "same", 0}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
