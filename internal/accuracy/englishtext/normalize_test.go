package englishtext

import (
	"cmp"
	"os"
	"testing"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func goldenCases(t testing.TB) [][2]string {
	t.Helper()
	return testenv.JSON[[][2]string](t, cmp.Or(os.Getenv("ENGLISHTEXT_GOLDEN"), "testdata/golden.json.gz")) // or another seed of make_golden.py, by hand
}

func TestTextsAreNormalizedAsWhisperDoes(t *testing.T) {
	cases := goldenCases(t)
	if len(cases) < 1000 {
		t.Errorf("there are only %d texts", len(cases))
	}
	for _, c := range cases {
		if got := Normalize(c[0]); got != c[1] {
			t.Errorf("Normalize(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

func TestNormalizeInWords(t *testing.T) {
	for _, c := range []struct{ claim, text, want string }{
		{"short forms are spelled out", "I won't, they're", "i will not they are"},
		{"titles are words", "Mr. Smith", "mister smith"},
		{"numbers are in digits", "twenty-one thousand and five", "21005"},
		{"digits said one by one stay", "one oh one", "101"},
		{"currency goes before", "two dollars and seven cents", "$2.07"},
		{"the smallest number stays a word", "one", "one"},
		{"fillers do not count", "um hello uh", "hello"},
		{"British words are American", "colour of the theatre", "color of the theater"},
		{"large numbers do not overflow", "three decillion", "3000000000000000000000000000000000"},
		{"nothing stays nothing", "", ""},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if got := Normalize(c.text); got != c.want {
				t.Errorf("Normalize(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestTheListOfSpellingsIsThere(t *testing.T) {
	if n := len(spelling()); n != 1739 {
		t.Errorf("there are %d spellings, want 1739", n)
	}
}

func FuzzNormalizeGivesText(f *testing.F) {
	for _, c := range goldenCases(f)[:40] {
		f.Add(c[0])
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := Normalize(text); utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("Normalize(%q) = %q", text, got)
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	cases := goldenCases(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Normalize(cases[i%len(cases)][0])
	}
}
