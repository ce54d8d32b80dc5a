package userinput

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
		"target": "target_qps", "TARGET": "target_qps", "max_": "max_duration", "max": "", "zzz": "", "": "", "t": "", "targetqps": "target_qps",
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

func ExampleMeant() {
	fmt.Printf("unknown model %q%s\n", "resnet5", Meant("resnet5", []string{"bert", "resnet50"}))
	fmt.Printf("unknown model %q%s\n", "alexnet", Meant("alexnet", []string{"bert", "resnet50"}))
	// Output:
	// unknown model "resnet5"; did you mean resnet50?
	// unknown model "alexnet"
}

func TestThereIsNoNearestNameAmongNone(t *testing.T) {
	for _, name := range []string{"", "x", "something"} {
		if got := Nearest(name, nil); got != "" {
			t.Errorf("Nearest(%q) of none = %q", name, got)
		}
	}
}

// Of two that differ as much, the first is the nearest, and one that is the same is it in any case.
func TestTheFirstOfEquallyNearNamesCounts(t *testing.T) {
	if got := Nearest("bert-9x", []string{"bert-98", "bert-99"}); got != "bert-98" {
		t.Errorf("Nearest = %q, want the first", got)
	}
	if got := Nearest("bert-99", []string{"bert-98", "bert-99"}); got != "bert-99" {
		t.Errorf("Nearest = %q, want the name itself", got)
	}
	if got := Nearest("BERT-99", []string{"bert-98", "Bert-99"}); got != "Bert-99" {
		t.Errorf("Nearest = %q, want the name in the letters of the choice", got)
	}
}

// The time that a near name takes grows with the square of its length: somebody's whole file is none.
func TestLongNamesAreNearToNothing(t *testing.T) {
	choice := strings.Repeat("a", maxNameLength)
	if got := Nearest(choice, []string{choice}); got != choice {
		t.Error("a name of the longest length is not near to itself")
	}
	if got := Nearest(choice+"a", []string{choice, choice + "a"}); got != "" {
		t.Errorf("Nearest of %d letters = %q", maxNameLength+1, got)
	}
}

// slow is the definition: the fewest changes of the last letters, and of what is before them.
func slow(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	i, j := len(a)-1, len(b)-1
	replace := slow(a[:i], b[:j])
	if a[i] != b[j] {
		replace++
	}
	least := min(slow(a[:i], b)+1, slow(a, b[:j])+1, replace)
	if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
		least = min(least, slow(a[:i-1], b[:j-1])+1)
	}
	return least
}

func TestDistanceIsTheDefinitionOfIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, rng.IntN(6))
		for i := range b {
			b[i] = "abc"[rng.IntN(3)]
		}
		return string(b)
	}
	for range 500 {
		a, b := word(), word()
		if got, want := Distance(a, b), slow(a, b); got != want || Distance(b, a) != want {
			t.Errorf("Distance(%q, %q) = %d, and %d the other way round, want %d", a, b, got, Distance(b, a), want)
		}
	}
}
