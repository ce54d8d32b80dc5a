package hf

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// note appends what a table says to the file HF_TABLES, if there is to be one: testdata/tables.mjs compares it with the library.
func note(t *testing.T, kind, component string, given, result any) {
	t.Helper()
	testfile.Note(t, "HF_TABLES", map[string]any{"kind": kind, "component": json.RawMessage(component), "given": given, "result": result})
}

// componentOf reads a component of tokenizer.json.
func componentOf(t *testing.T, text string) *component {
	t.Helper()
	c := new(component)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// A change is a text, what becomes of it, and why.
type change struct{ claim, text, want string }

func checkNormalizer(t *testing.T, component string, cases []change) {
	t.Helper()
	normalize, err := newNormalizer(componentOf(t, component), "normalizer")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if got, err := normalize(wholeText(c.text)); err != nil || got.text != c.want {
			t.Errorf("%s: %s of %q is %q, %v, want %q", c.claim, component, c.text, got.text, err, c.want)
		}
		note(t, "normalizer", component, c.text, c.want)
	}
}

// A cutting is a text with its parts.
type cuttingCase struct {
	claim, text string
	want        []string
}

func checkPreTokenizer(t *testing.T, component string, cases []cuttingCase) {
	t.Helper()
	split, err := newPreTokenizer(componentOf(t, component), "pre_tokenizer")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		pieces, err := split([]piece{wholeText(c.text)})
		got := []string{}
		for _, p := range pieces {
			if p.text != "" {
				got = append(got, p.text)
			}
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %s of %q is %q, %v, want %q", c.claim, component, c.text, got, err, c.want)
		}
		note(t, "pre_tokenizer", component, c.text, append([]string{}, c.want...))
	}
}

// A decoding is tokens with their text.
type decoding struct {
	claim  string
	tokens []string
	want   string
}

func checkDecoder(t *testing.T, component string, cases []decoding) {
	t.Helper()
	d, err := newDecoder(componentOf(t, component), "decoder")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if got, err := d.text(slices.Clone(c.tokens)); err != nil || got != c.want {
			t.Errorf("%s: %s of %q is %q, %v, want %q", c.claim, component, c.tokens, got, err, c.want)
		}
		note(t, "decoder", component, c.tokens, c.want)
	}
}

// checkTokenizer compares the tokens of texts with a tokenizer that has these parts.
func checkTokenizer(t *testing.T, parts string, cases []cuttingCase) {
	t.Helper()
	tok, err := read(parts)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		ids, err := tok.Append(nil, c.text, AddSpecial)
		got := []string{}
		for _, id := range ids {
			token, _ := tok.Token(id)
			got = append(got, token)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %s of %q is %q, %v, want %q", c.claim, parts, c.text, got, err, c.want)
		}
		note(t, "tokenizer", parts, c.text, append([]string{}, c.want...))
	}
}
