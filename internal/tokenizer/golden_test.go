package tokenizer

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func decode[T any](t testing.TB, name string, into *T) {
	t.Helper()
	*into = testenv.JSON[T](t, filepath.Join("testdata", name))
}

func goldenWordPiece(t testing.TB) *WordPiece {
	t.Helper()
	data, err := os.ReadFile("testdata/vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	v, err := ReadVocabulary(bytes.NewReader(data), "vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWordPiece(v)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWordPieceEqualsReference(t *testing.T) {
	var cases []struct {
		Text          string
		Tokens, Basic []string
		IDs           []int32
	}
	decode(t, "tokenize.json", &cases)
	w := goldenWordPiece(t)
	for _, c := range cases {
		ids := w.Append(nil, c.Text)
		if diff := cmp.Diff(c.IDs, ids, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Append(%.60q) (-want +got):\n%s", c.Text, diff)
		}
		if diff := cmp.Diff(c.Basic, Basic(c.Text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Basic(%.60q) (-want +got):\n%s", c.Text, diff)
		}
		for i, id := range ids {
			if got := w.Vocabulary().Piece(id); got != c.Tokens[i] {
				t.Errorf("piece %d of %.60q is %q, want %q", i, c.Text, got, c.Tokens[i])
			}
		}
	}
	if len(cases) < 60 {
		t.Errorf("there are only %d cases", len(cases))
	}
}

func TestJoinBPEEqualsReference(t *testing.T) {
	var golden struct {
		Cases []struct {
			Tokens []string
			Text   string
		} `json:"get_translation"`
	}
	decode(t, "detokenise.json", &golden)
	for _, c := range golden.Cases {
		tokens := c.Tokens
		for i, token := range tokens {
			if token == "</s>" {
				tokens = tokens[:i]
				break
			}
		}
		if got := JoinBPE(tokens); got != c.Text {
			t.Errorf("JoinBPE(%q) = %q, want %q", tokens, got, c.Text)
		}
	}
	if len(golden.Cases) == 0 {
		t.Error("no cases")
	}
}

func TestJoinedWordPieces(t *testing.T) {
	if got := JoinWordPieces([]string{"un", "##aff", "##able", "king", "##", "s"}); got != "unaffable king s" {
		t.Errorf("joined %q", got)
	}
}

// text is like what users have: mostly ASCII, with punctuation, and what needs care.
var text = strings.Repeat("The castle was built in 1895 by a king of the old river city, and it cost $5,000; the unaffable king's army opened in 1999. "+
	"He went to Zürich – to see the house that the people of the river had built before the war.\n", 40)

func BenchmarkWordPiece(b *testing.B) {
	w := goldenWordPiece(b)
	var ids []int32
	b.ReportAllocs()
	for b.Loop() {
		ids = w.Append(ids[:0], text)
	}
	reportWords(b)
}

func reportWords(b *testing.B) {
	words := len(strings.Fields(text))
	b.ReportMetric(float64(words)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mwords/s")
}
