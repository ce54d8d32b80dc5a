package sentences

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

func ExampleSplit() {
	for _, s := range Split("Mr. Smith paid $3.50 for it.  \"Too much!\" he said. Was it?") {
		fmt.Printf("%q\n", s)
	}
	// Output:
	// "Mr. Smith paid $3.50 for it."
	// "\"Too much!\""
	// "he said."
	// "Was it?"
}

type example struct {
	Text      string
	Sentences []string
}

// golden returns texts with their sentences of NLTK. SENTENCES_GOLDEN names a file of another seed of make_golden.py.
func golden(t testing.TB) []example {
	return testenv.JSON[[]example](t, cmp.Or(os.Getenv("SENTENCES_GOLDEN"), "testdata/golden.json.gz"))
}

func TestSplitEqualsNLTK(t *testing.T) {
	for _, c := range golden(t) {
		if diff := gocmp.Diff(c.Sentences, Split(c.Text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("sentences of %q (-want +got):\n%s", c.Text, diff)
		}
	}
}

func FuzzSplitLosesOnlySpace(f *testing.F) {
	f.Add("One\xff. Two\xc3.")
	for _, c := range golden(f)[:60] {
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
	cases := golden(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Split(cases[i%len(cases)].Text)
	}
}
