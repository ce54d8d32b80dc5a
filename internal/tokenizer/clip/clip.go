// Package clip has CLIP's tokenizer, as Stable Diffusion XL uses it.
//
//	t, err := clip.Open("model/tokenizer", clip.First)   // vocab.json and merges.txt
//	ids := make([]int64, clip.Length)
//	whole, err := t.Encode(ids, "a man riding a wave")   // a start, the words, an end, and filling
//
// A caption is cleaned and split into words, runs of marks and single digits, which package hf's BPE splits into tokens; the last
// token of a word ends with "</w>". The result always has 77 tokens: longer captions are truncated before the end token,
// shorter ones padded.
//
// Three tokenizers of one vocabulary (Kind) differ in the padding token, and whether it is special in a caption.
//
// # How equal is equal
//
// The tests compare with Python: ftfy 6 for the cleaning, and CLIP's algorithm for the rest;
// all 5,000 captions of the benchmark come out equal. Of ftfy one thing is left out: text
// that was decoded as another encoding than it has ("donâ€™t") stays as it is. Captions of
// ASCII, as all of the benchmark are, have none of it. Decoding tokens is left out too.
package clip

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
)

// Length is the number of tokens of a caption (tokenizer_config.json: model_max_length).
const Length = 77

// A Kind is one of CLIP's tokenizers.
type Kind uint8

// The kinds.
const (
	// First is the tokenizer of the first text encoder of Stable Diffusion XL, padded with the end token.
	First Kind = iota
	// Second is that of the second encoder, padded with "!", which therefore is a special token.
	Second
	// OpenCLIP is that of open_clip, for scores, padded with 0.
	OpenCLIP
)

// The files of a tokenizer, and what begins and ends a caption.
const (
	VocabularyFile = "vocab.json"
	mergesFile     = "merges.txt"

	startToken = "<|startoftext|>"
	endToken   = "<|endoftext|>"
	fillToken  = "!"

	maxFile = 64 << 20
)

// A Tokenizer converts captions to tokens. Several goroutines may use it.
type Tokenizer struct {
	bpe        *hf.Tokenizer
	kind       Kind
	start, end int32
	fill       int32
	special    []string // tokens that are found before any other step
}

// Open reads the tokenizer of a folder.
func Open(folder string, kind Kind) (*Tokenizer, error) {
	path := filepath.Join(folder, VocabularyFile)
	vocabulary, err := fileio.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the tokenizer: %w", err)
	}
	merges, err := fileio.ReadFile(filepath.Join(folder, mergesFile), maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the tokenizer: %w", err)
	}
	t, err := New(vocabulary, merges, kind)
	if err != nil {
		return nil, fmt.Errorf("reading the tokenizer %s: %w", folder, err)
	}
	return t, nil
}

// New makes a tokenizer of the contents of its files.
func New(vocabulary, merges []byte, kind Kind) (*Tokenizer, error) {
	var ids map[string]int32
	if err := json.Unmarshal(vocabulary, &ids); err != nil {
		return nil, fmt.Errorf("%s: must be an object of tokens with their numbers: %w", VocabularyFile, err)
	}
	pairs, err := readMerges(merges)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", mergesFile, err)
	}
	t := &Tokenizer{kind: kind, special: []string{startToken, endToken}}
	for token, id := range map[string]*int32{startToken: &t.start, endToken: &t.end, fillToken: &t.fill} {
		at, ok := ids[token]
		if !ok {
			return nil, fmt.Errorf("%s has no %q", VocabularyFile, token)
		}
		*id = at
	}
	switch kind {
	case First:
		t.fill = t.end
	case Second:
		t.special = append(t.special, fillToken)
	case OpenCLIP:
		t.fill, t.special = 0, nil
	}
	t.bpe, err = describe(ids, pairs)
	return t, err
}

// maxMerges is the number of merges that are used (transformers, tokenization_clip.py).
const maxMerges = 49152 - 256 - 2

// readMerges reads pairs of tokens, one a line, after a line that names the format.
func readMerges(data []byte) (pairs []string, err error) {
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, line := range lines[1:min(len(lines), maxMerges+1)] {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d: %d tokens, expected 2", i+2, len(fields))
		}
		pairs = append(pairs, fields[0]+" "+fields[1])
	}
	return pairs, nil
}

// wordPattern is CLIP's, for text in lower case: endings of short forms, runs of letters,
// single digits, runs of marks.
const wordPattern = `'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`

// describe writes the tokenizer as a tokenizer.json for package hf.
func describe(ids map[string]int32, pairs []string) (*hf.Tokenizer, error) {
	type object map[string]any
	text, err := json.Marshal(object{
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"Regex": wordPattern}, "behavior": "Removed", "invert": true},
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		}},
		"model": object{"type": "BPE", "vocab": ids, "merges": pairs, "end_of_word_suffix": "</w>"},
	})
	if err != nil {
		return nil, err
	}
	words, err := hf.Read(bytes.NewReader(text), "the tokenizer")
	if err != nil {
		return nil, err
	}
	for _, name := range hf.ByteCharacters { // otherwise parts of a caption would be lost
		for _, token := range []string{name, name + "</w>"} {
			if _, ok := words.ID(token); !ok {
				return nil, fmt.Errorf("%s has no %q: expected a token for each byte", VocabularyFile, token)
			}
		}
	}
	return words, nil
}

// Size is the size of the vocabulary.
func (t *Tokenizer) Size() int { return t.bpe.Size() }

// Fits returns an error unless every token has a row in a model's table.
func (t *Tokenizer) Fits(rows int) error { return t.bpe.Fits(rows) }

// Encode writes the tokens of a caption into ids, of length Length. It reports whether the caption was not truncated.
func (t *Tokenizer) Encode(ids []int64, caption string) (whole bool, err error) {
	if len(ids) != Length {
		return false, errors.New("clip: must be room for 77 tokens")
	}
	tokens, err := t.append(nil, caption)
	if err != nil {
		return false, err
	}
	const room = Length - 2
	whole = len(tokens) <= room
	tokens = tokens[:min(len(tokens), room)]
	for i := range ids {
		ids[i] = int64(t.fill)
	}
	ids[0], ids[1+len(tokens)] = int64(t.start), int64(t.end)
	for i, id := range tokens {
		ids[1+i] = int64(id)
	}
	return whole, nil
}

// append appends the tokens of a caption. Each part between special tokens is cleaned by itself.
func (t *Tokenizer) append(dst []int32, caption string) ([]int32, error) {
	for caption != "" {
		at, token := t.nextSpecial(caption)
		var err error
		if dst, err = t.bpe.Append(dst, clean(caption[:at], t.kind == OpenCLIP), hf.NoSpecial); err != nil {
			return nil, err
		}
		if token != "" {
			id, _ := t.bpe.ID(token)
			dst = append(dst, id)
		}
		caption = caption[at+len(token):]
	}
	return dst, nil
}

// nextSpecial returns the first special token of a text and its place; without one, the end of the text.
func (t *Tokenizer) nextSpecial(text string) (at int, token string) {
	at = len(text)
	for _, s := range t.special {
		if i := strings.Index(text, s); i >= 0 && i < at {
			at, token = i, s
		}
	}
	return at, token
}
