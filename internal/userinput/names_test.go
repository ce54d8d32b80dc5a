package userinput

import (
	"fmt"
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"SingleStream", "single-stream", true},
		{"3d unet", "3D-UNet", true},
		{"TensorRT", "tensor__rt", true},
		{"resnet50", "resnet-5", false},
		{"mobilenet", "mobilenet.v2", false},
	} {
		if got := Same(c.a, c.b); got != c.same {
			t.Errorf("Same(%q, %q) = %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func TestNearest(t *testing.T) {
	choices := []string{"min_duration", "max_duration", "target_qps", "mode", "Bert-99", "bert-98", strings.Repeat("a", longestName+1)}
	for name, want := range map[string]string{
		"min-duration": "min_duration", "mni_duration": "min_duration", "MAX_DURATION": "max_duration", "mod": "mode", "targetqps": "target_qps",
		"target": "target_qps", "max_": "max_duration", "max": "", "zzz": "", "": "", "bert-9x": "Bert-99", "BERT-98": "bert-98",
		strings.Repeat("a", longestName+1): "", // too long to look for
	} {
		if got := Nearest(name, choices); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"ca", "abc", 3}, {"a cat", "an act", 2}, {"same", "same", 0}} {
		if got := Distance(c.a, c.b); got != c.want || Distance(c.b, c.a) != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d both ways", c.a, c.b, got, c.want)
		}
	}
}

func ExampleWant() {
	fmt.Printf("unknown model %q%s\n", "resnet5", Want("resnet5", []string{"bert", "resnet50"}, "bert or resnet50"))
	fmt.Printf("unknown model %q%s\n", "alexnet", Want("alexnet", []string{"bert", "resnet50"}, "bert or resnet50"))
	// Output:
	// unknown model "resnet5"; did you mean resnet50? Must be bert or resnet50
	// unknown model "alexnet": must be bert or resnet50
}
