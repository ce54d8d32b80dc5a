package sentences

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

type splitCase struct {
	Text      string
	Sentences []string
}

func goldenCases(t testing.TB) []splitCase {
	t.Helper()
	path := "testdata/golden.json.gz"
	if other := os.Getenv("SENTENCES_GOLDEN"); other != "" {
		path = other // another seed of make_golden.py, by hand
	}
	return testenv.JSON[[]splitCase](t, path)
}

func TestSentencesAreThoseOfNLTK(t *testing.T) {
	cases := goldenCases(t)
	if len(cases) < 500 {
		t.Errorf("there are only %d texts", len(cases))
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.Sentences, Split(c.Text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("sentences of %q (-want +got):\n%s", c.Text, diff)
		}
	}
}

func TestTheParametersOfEnglishAreAllThere(t *testing.T) {
	l := english()
	if a, s, c, w := len(l.abbreviations), len(l.starters), len(l.collocations), len(l.writing); a != 156 || s != 40 || c != 37 || w != 20366 {
		t.Errorf("%d abbreviations, %d starters, %d collocations, %d words; want 156, 40, 37, 20366", a, s, c, w)
	}
}

func TestSplitKnowsAbbreviationsInitialsAndNumbers(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		want        []string
	}{
		{"an abbreviation does not end a sentence", "Dr. Smith left. He was late.", []string{"Dr. Smith left.", "He was late."}},
		{"unless a starter follows", "It was Acme Inc. The price fell.", []string{"It was Acme Inc.", "The price fell."}},
		{"initials belong to names", "J. K. Rowling wrote it. We read it.", []string{"J. K. Rowling wrote it.", "We read it."}},
		{"closing quotes stay with their sentence", `He said "No." She left.`, []string{`He said "No."`, "She left."}},
		{"of several marks the last ends it", "Really?! Yes.", []string{"Really?!", "Yes."}},
		{"an empty text has no sentence", "", nil},
		{"lines do not matter", "One line\nand another", []string{"One line\nand another"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Split(c.text)); diff != "" {
				t.Errorf("Split(%q) (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func FuzzSplitLosesNothingButSpace(f *testing.F) {
	for _, c := range goldenCases(f)[:20] {
		f.Add(c.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		squeeze := func(s string) string { return strings.Join(pytext.Fields(s), "") }
		if got, want := squeeze(strings.Join(Split(text), "\n")), squeeze(string([]rune(text))); got != want {
			t.Errorf("the sentences of %q together are %q", text, got)
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	cases := goldenCases(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := cases[i%len(cases)]
		b.SetBytes(int64(len(c.Text)))
		Split(c.Text)
	}
}
