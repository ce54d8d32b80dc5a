package hf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// A corner is a tokenizer for one thing that the library does, and what it makes of texts
// (make_corners.mjs).
type corner struct {
	Claim     string
	Tokenizer json.RawMessage
	Cases     []struct {
		Text             *string // nil where numbers are only decoded
		IDs, Plain       []int32
		Skipped, Decoded *string // nil where they are not looked at
	}
}

func readCorners(t testing.TB) (corners []corner) {
	t.Helper()
	data, err := os.ReadFile("testdata/corners.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &corners); err != nil {
		t.Fatal(err)
	}
	return corners
}

func TestCornersAreThoseOfTheLibrary(t *testing.T) {
	for _, c := range readCorners(t) {
		t.Run(c.Claim, c.check)
	}
}

// Whatever components are put together, a tokenizer is that of the library (make_random.mjs).
func TestTokenizersAtRandomAreThoseOfTheLibrary(t *testing.T) {
	for _, c := range testfile.JSON[[]corner](t, cmp.Or(os.Getenv("HF_RANDOM"), "testdata/random.json.gz")) { // or another seed, by hand
		t.Run(c.Claim, c.check)
	}
}

func (c *corner) check(t *testing.T) {
	tok, err := Read(bytes.NewReader(c.Tokenizer), "tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range c.Cases {
		if want.Text != nil {
			checkTokens(t, tok, *want.Text, AddSpecial, want.IDs)
			checkTokens(t, tok, *want.Text, NoSpecial, want.Plain)
		}
		if want.Decoded != nil {
			checkText(t, tok, want.IDs, SkipSpecial, *want.Skipped)
			checkText(t, tok, want.IDs, KeepSpecial, *want.Decoded)
		}
	}
}

func checkTokens(t *testing.T, tok *Tokenizer, text string, special Special, want []int32) {
	t.Helper()
	if got, err := tok.Append(nil, text, special); err != nil || !slices.Equal(got, want) {
		t.Errorf("Append(%q, %t) = %s, %v, want %s", text, special, show(tok, got), err, show(tok, want))
	}
}

func checkText(t *testing.T, tok *Tokenizer, ids []int32, special Special, want string) {
	t.Helper()
	if got, err := tok.Decode(ids, special); err != nil || got != want {
		t.Errorf("Decode(%s, %t) = %q, %v, want %q", show(tok, ids), special, got, err, want)
	}
}
