package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A VBenchSpec says everything about a built-in data set of prompts for videos, in the form in which the reference of Wan 2.2 has
// those of VBench: a prompt a line, and the noise that all videos begin with, as PyTorch saves it. The tokenizer of the built-in
// model lies beside them. Equal specs make equal files.
type VBenchSpec struct {
	Seed    uint64 `json:"seed"`
	Prompts int    `json:"prompts"`
	Tokens  int    `json:"tokens"`  // of the vocabulary
	Latents []int  `json:"latents"` // channels, frames, height and width of the noise
}

const (
	vbenchPrompts  = "vbench_prompts.txt"
	vbenchNoise    = "fixed_latent.pt"
	leastVideoWord = 300 // tokens: special ones, bytes and letters, and some words
)

func (s VBenchSpec) check() error {
	const mostSide, mostNumbers = 1 << 10, 1 << 26
	wrong := func(n int) bool { return n < 1 || n > mostSide }
	switch {
	case s.Prompts < 1 || s.Prompts > 100_000:
		return fmt.Errorf("prompts is %d: must be 1 to 100000", s.Prompts)
	case s.Tokens < leastVideoWord || s.Tokens > 1<<18:
		return fmt.Errorf("tokens is %d: must be %d to %d", s.Tokens, leastVideoWord, 1<<18)
	case len(s.Latents) != 4 || slices.ContainsFunc(s.Latents, wrong) || product(s.Latents) > mostNumbers:
		return fmt.Errorf("latents are %v: must be four extents up to %d with at most %d numbers", s.Latents, mostSide, mostNumbers)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s VBenchSpec) Key() string {
	return "vbench-" + keyOf("vbench seed %d prompts %d tokens %d latents %v", s.Seed, s.Prompts, s.Tokens, s.Latents)
}

// WriteVBench makes a data set.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteVBench(ctx context.Context, dir string, spec VBenchSpec) error {
	return publish(ctx, dir, "prompts of videos", &spec, spec.fill, nil)
}

// fill writes the files.
func (s VBenchSpec) fill(folder string) error {
	words, tokenizer, err := s.tokenizer()
	if err != nil {
		return err
	}
	memory := noise(newStream("video noise", s.Seed), product(s.Latents))
	latents, err := saveTensor("fixed_latent/", "FloatStorage", memory, append([]int{1}, s.Latents...))
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{vbenchPrompts: []byte(s.prompts(words)), vbenchNoise: latents, "tokenizer.json": tokenizer} {
		if err := fileio.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// prompts are sentences of 3 to 12 words, all different.
func (s VBenchSpec) prompts(words []string) string {
	words = words[:min(len(words), differentWords)]
	var b strings.Builder
	for i := range s.Prompts {
		r := newStream("video prompt", s.Seed, uint64(i))
		parts := []string{"a", words[i%len(words)], words[i/len(words)%len(words)]} // a pair of its own
		for range r.below(10) {
			parts = append(parts, words[r.below(len(words))])
		}
		if i == 0 {
			parts = append(parts, Mark) // a plain text has no other place for it
		}
		b.WriteString(strings.Join(parts, " ") + "\n")
	}
	return b.String()
}

// tokenizer makes words, and a tokenizer.json with tokens of them: of scores, as that of UMT5 has, and with bytes for all else.
func (s VBenchSpec) tokenizer() (words []string, file []byte, err error) {
	vocab := [][2]any{{"<pad>", 0.0}, {"</s>", 0.0}, {"<unk>", 0.0}}
	add := func(token string, score float64) { vocab = append(vocab, [2]any{token, score}) }
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), -20)
	}
	add("▁", -3)
	for c := 'a'; c <= 'z'; c++ {
		add(string(c), -9)
	}
	r := newStream("video words", s.Seed)
	for seen := map[string]bool{}; len(vocab) < s.Tokens; {
		if word := newWord(r); !seen[word] {
			seen[word] = true
			words = append(words, word)
			add("▁"+word, -4-0.01*float64(len(words)))
		}
	}
	special := func(id int, content string) map[string]any {
		return map[string]any{"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
	}
	text, end := map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}, map[string]any{"SpecialToken": map[string]any{"id": "</s>", "type_id": 0}}
	file, err = json.Marshal(map[string]any{
		"version":       "1.0",
		"added_tokens":  []any{special(0, "<pad>"), special(1, "</s>"), special(2, "<unk>")},
		"pre_tokenizer": map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
		"post_processor": map[string]any{"type": "TemplateProcessing", "single": []any{text, end}, "pair": []any{text, end},
			"special_tokens": map[string]any{"</s>": map[string]any{"id": "</s>", "ids": []int{1}, "tokens": []string{"</s>"}}}},
		"decoder": map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
		"model":   map[string]any{"type": "Unigram", "unk_id": 2, "vocab": vocab, "byte_fallback": true},
	})
	return words, file, err
}

func product(extents []int) int {
	n := 1
	for _, extent := range extents {
		n *= extent
	}
	return n
}
