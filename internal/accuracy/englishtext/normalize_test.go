package englishtext

import (
	"cmp"
	"os"
	"testing"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// golden returns texts with the results of openai-whisper's normalizer. ENGLISHTEXT_GOLDEN names a file of another seed of make_golden.py.
func golden(t testing.TB) [][2]string {
	return testenv.JSON[[][2]string](t, cmp.Or(os.Getenv("ENGLISHTEXT_GOLDEN"), "testdata/golden.json.gz"))
}

func TestNormalizeEqualsWhisper(t *testing.T) {
	for _, c := range golden(t) {
		if got := Normalize(c[0]); got != c[1] {
			t.Errorf("Normalize(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

func FuzzNormalizeGivesText(f *testing.F) {
	for _, c := range golden(f)[:300] {
		f.Add(c[0])
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := Normalize(text); utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("Normalize(%q) = %q", text, got)
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	cases := golden(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Normalize(cases[i%len(cases)][0])
	}
}
