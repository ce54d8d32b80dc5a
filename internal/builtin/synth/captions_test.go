package synth

import (
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/clip"
)

func smallCaptions() CaptionSpec { return CaptionSpec{Seed: 1, Captions: 30, Tokens: 700, Side: 4} }

func writeCaptions(t *testing.T, spec CaptionSpec) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), spec.Key())
	if err := WriteCaptions(t.Context(), dir, spec, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Their readers understand the table with its quotes, and the vocabulary, of which one caption of seven has
// more tokens than are read.
func TestCaptionsAreReadByTheTokenizerBesideThem(t *testing.T) {
	spec := smallCaptions()
	dir := writeCaptions(t, spec)
	list, err := captions.Read(dir, 0)
	if err != nil || len(list) != spec.Captions {
		t.Fatalf("%d captions, %v, want %d", len(list), err, spec.Captions)
	}
	quotes := 0
	for kind, folder := range map[clip.Kind]string{clip.First: "tokenizer", clip.Second: "tokenizer_2"} {
		words, err := clip.Open(filepath.Join(dir, folder), kind)
		if err == nil {
			err = words.Fits(spec.Tokens)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, caption := range list {
			ids := make([]int64, clip.Length)
			whole, err := words.Encode(ids, caption)
			if err != nil || whole == (i%longCaption == longCaption-1) {
				t.Errorf("%s: caption %d, %q, is there as a whole: %t, %v", folder, i, caption, whole, err)
			}
			quotes += strings.Count(caption, `"`)
		}
	}
	if quotes == 0 {
		t.Error("no caption has a quote")
	}
}

func TestLatentsAreNoiseOfDeviationOne(t *testing.T) {
	l, err := captions.ReadLatents(writeCaptions(t, smallCaptions()))
	if err != nil || l.Height != 4 || l.Width != 4 {
		t.Fatalf("latents %+v, %v", l, err)
	}
	squares, seen := 0.0, map[float32]bool{}
	for _, v := range l.Values {
		squares += float64(v) * float64(v)
		seen[v] = true
	}
	if mean := squares / float64(len(l.Values)); math.Abs(mean-1) > 1e-6 || len(seen) != len(l.Values) {
		t.Errorf("the mean square is %v, and %d of %d numbers differ", mean, len(seen), len(l.Values))
	}
}

func TestEqualSpecsMakeEqualCaptions(t *testing.T) {
	spec, other := smallCaptions(), smallCaptions()
	other.Seed = 2
	files := filesOf(t, writeCaptions(t, spec))
	if !maps.Equal(files, filesOf(t, writeCaptions(t, spec))) {
		t.Error("equal specs make other files")
	}
	for name, content := range filesOf(t, writeCaptions(t, other)) {
		if files[name] == content {
			t.Errorf("another seed has the same %s", name)
		}
	}
	if spec.Key() == other.Key() {
		t.Errorf("both have the key %s", spec.Key())
	}
}

func TestSpecsOfCaptionsThatCannotBe(t *testing.T) {
	for want, spoil := range map[string]func(*CaptionSpec){
		"captions is 1, want 2 to 100000": func(s *CaptionSpec) { s.Captions = 1 },
		"captions is 100001":              func(s *CaptionSpec) { s.Captions = 100_001 },
		"tokens is 599, want 600":         func(s *CaptionSpec) { s.Tokens = 599 },
		"side is 0, want 1 to 1024":       func(s *CaptionSpec) { s.Side = 0 },
		"side is 1025":                    func(s *CaptionSpec) { s.Side = 1025 },
	} {
		s := smallCaptions()
		spoil(&s)
		wantError(t, WriteCaptions(t.Context(), filepath.Join(t.TempDir(), "set"), s, nil), "making the built-in captions: ", want)
	}
}
