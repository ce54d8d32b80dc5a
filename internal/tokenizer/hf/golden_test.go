package hf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// A golden is what make_golden.mjs wrote.
type golden struct {
	Tokenizers map[string]json.RawMessage
	Texts      []string
	Cases      map[string][]goldenCase
}

// A goldenCase is numbers of tokens, with and without special tokens around the text, and the
// text that they stand for, without special tokens and with them.
type goldenCase struct {
	ids, plain       []int32
	skipped, decoded string
}

func (c *goldenCase) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.ids, &c.plain, &c.skipped, &c.decoded})
}

func readGolden(t testing.TB) *golden {
	t.Helper()
	g := testfile.JSON[golden](t, cmp.Or(os.Getenv("HF_GOLDEN"), "testdata/golden.json.gz")) // or another seed of make_golden.mjs, or real tokenizers, by hand
	return &g
}

func (g *golden) tokenizer(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Read(bytes.NewReader(g.Tokenizers[name]), name)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestTokensAreThoseOfTheLibrary(t *testing.T) {
	g := readGolden(t)
	for name, cases := range g.Cases {
		t.Run(name, func(t *testing.T) {
			tok := g.tokenizer(t, name)
			for i, text := range g.Texts {
				for special, want := range map[Special][]int32{AddSpecial: cases[i].ids, NoSpecial: cases[i].plain} {
					got, err := tok.Append(nil, text, special)
					if err != nil || !slices.Equal(got, want) {
						t.Fatalf("Append(%q, %t) = %s, %v, want %s", text, special, show(tok, got), err, show(tok, want))
					}
				}
			}
		})
	}
}

func TestTextIsThatOfTheLibrary(t *testing.T) {
	g := readGolden(t)
	for name, cases := range g.Cases {
		t.Run(name, func(t *testing.T) {
			tok := g.tokenizer(t, name)
			for _, c := range cases {
				for special, want := range map[Special]string{SkipSpecial: c.skipped, KeepSpecial: c.decoded} {
					if got, err := tok.Decode(c.ids, special); err != nil || got != want {
						t.Fatalf("Decode(%s, %t) = %q, %v, want %q", show(tok, c.ids), special, got, err, want)
					}
				}
			}
		})
	}
}

// show writes numbers with their tokens.
func show(tok *Tokenizer, ids []int32) string {
	out := ""
	for _, id := range ids {
		token, _ := tok.Token(id)
		out += fmt.Sprintf("%d:%q ", id, token)
	}
	return out
}
