package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A PromptSpec says everything about a built-in data set of prompts, in the form in which the
// reference of Llama 3.1 8B keeps the articles of CNN/DailyMail. Equal specs with the same
// truth make equal files.
//
// An article is a row of words in which no two follow each other twice. Somewhere in it a
// part ends with the mark of the end of a text. The prompt ends with the two words with
// which that part begins: what is wanted is the rest of it.
type PromptSpec struct {
	Seed    uint64 `json:"seed"`
	Prompts int    `json:"prompts"`
	Tokens  int    `json:"tokens"` // of the vocabulary
	// Truth names the model whose answers, disturbed, are the targets; empty: the parts
	// themselves are.
	Truth string `json:"truth,omitempty"`
}

// The tokens of the built-in vocabulary that are no words.
const (
	promptStart     = 1
	promptEnd       = 2
	promptFirstWord = 16
)

// What prompts look like.
const (
	promptPool      = 70 // different words in a prompt
	otherWords      = 50 // in a hundred: those that somebody would have said otherwise
	sentenceEnds    = 9  // one of so many words ends a sentence
	fewestInPart    = 12
	mostInPart      = 30
	fewestInArticle = 60
	mostInArticle   = 160
)

func (s PromptSpec) check() error {
	switch {
	case s.Prompts < 1 || s.Prompts > 100_000:
		return fmt.Errorf("prompts is %d, want 1 to 100000", s.Prompts)
	case s.Tokens < 1000 || s.Tokens > 1<<18:
		return fmt.Errorf("tokens is %d, want 1000 to %d", s.Tokens, 1<<18)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s PromptSpec) Key() string {
	return "prompts-" + keyOf("prompts seed %d prompts %d tokens %d truth %q", s.Seed, s.Prompts, s.Tokens, s.Truth)
}

// A prompt is a sample.
type prompt struct {
	Instruction string  `json:"instruction"`
	Input       string  `json:"input"`
	Tokens      []int32 `json:"tok_input"`
	Output      string  `json:"output"`
}

// WritePrompts makes a data set: cnn_eval.json, tokenizer.json and the Manifest. The judge, if
// there is one, writes other targets.
//
// Folder, errors and ctx are as with WriteImageNet.
func WritePrompts(ctx context.Context, dir string, spec PromptSpec, judge Judge) error {
	err := spec.check()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = publish(dir, Manifest{Version: FormatVersion, Prompts: &spec}, spec.fill, judge)
	}
	if err != nil {
		return fmt.Errorf("making the built-in prompts: %w", err)
	}
	return nil
}

const promptsFile = "cnn_eval.json"

// fill writes the files.
func (s PromptSpec) fill(folder string) error {
	pieces := s.pieces()
	var list []prompt
	for i := range s.Prompts {
		r := newStream("prompt", s.Seed, uint64(i))
		tokens, part := s.draw(r)
		list = append(list, prompt{
			Instruction: "Go on with the part of the text that begins with its last two words.",
			Input:       spelled(pieces, tokens), Tokens: tokens, Output: spelled(pieces, s.Disturbed(i, part)),
		})
	}
	if err := writeJSON(filepath.Join(folder, promptsFile), list); err != nil {
		return err
	}
	return writeJSON(filepath.Join(folder, "tokenizer.json"), promptTokenizer(pieces))
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// draw draws a prompt, and the part of it that is wanted.
func (s PromptSpec) draw(r *stream) (tokens, part []int32) {
	words := s.words(r, r.between(fewestInArticle, mostInArticle))
	n := r.between(fewestInPart, mostInPart)
	from := r.below(len(words) - n)
	tokens = append(tokens, promptStart)
	tokens = append(tokens, words[:from+n]...)
	tokens = append(tokens, promptEnd)
	tokens = append(tokens, words[from+n:]...)
	return append(tokens, words[from], words[from+1]), words[from+2 : from+n]
}

// words draws words of which no two follow each other twice.
func (s PromptSpec) words(r *stream, n int) []int32 {
	var pool []int32
	for known := map[int32]bool{}; len(pool) < promptPool; {
		if w := s.word(r); !known[w] {
			known[w] = true
			pool = append(pool, w)
		}
	}
	words, seen := []int32{pool[0]}, map[[2]int32]bool{}
	for len(words) < n {
		pair := [2]int32{words[len(words)-1], pool[r.below(len(pool))]}
		if pair[0] != pair[1] && !seen[pair] {
			seen[pair] = true
			words = append(words, pair[1])
		}
	}
	return words
}

func (s PromptSpec) word(r *stream) int32 {
	return int32(r.between(promptFirstWord, s.Tokens-1))
}

// Disturbed is what somebody would have said in the place of an answer to prompt i: half of its
// words are others.
func (s PromptSpec) Disturbed(i int, answer []int32) []int32 {
	r := newStream("target", s.Seed, uint64(i))
	var said []int32
	for _, token := range answer {
		if token < promptFirstWord {
			continue
		}
		if other := s.word(r); r.below(100) < otherWords {
			token = other
		}
		said = append(said, token)
	}
	return said
}

// WriteTargets replaces the targets by what was said, prompt by prompt.
func (s PromptSpec) WriteTargets(folder string, said [][]int32) error {
	path := filepath.Join(folder, promptsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var list []prompt
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != len(said) {
		return fmt.Errorf("%d targets for %d prompts", len(said), len(list))
	}
	pieces := s.pieces()
	for i, tokens := range said {
		list[i].Output = spelled(pieces, tokens)
	}
	return writeJSON(path, list)
}

// space is how a tokenizer of the SentencePiece kind writes the space before a word.
const space = "▁"

// pieces are the texts of the tokens.
func (s PromptSpec) pieces() []string {
	r := newStream("prompt words", s.Seed)
	pieces := []string{"<unk>", "<s>", "</s>"}
	for i := len(pieces); i < promptFirstWord; i++ {
		pieces = append(pieces, fmt.Sprintf("<reserved_%d>", i))
	}
	for seen := map[string]bool{}; len(pieces) < s.Tokens; {
		word := newWord(r)
		if seen[word] {
			continue
		}
		seen[word] = true
		if len(pieces)%sentenceEnds == 0 {
			word += "."
		}
		pieces = append(pieces, space+word)
	}
	return pieces
}

// spelled is the text of tokens. Marks are none.
func spelled(pieces []string, tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		if t >= promptFirstWord && int(t) < len(pieces) {
			b.WriteString(strings.ReplaceAll(pieces[t], space, " "))
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

// promptTokenizer is the content of tokenizer.json: every word is a piece, all as likely.
func promptTokenizer(pieces []string) map[string]any {
	var vocab [][2]any
	var added []map[string]any
	for i, piece := range pieces {
		vocab = append(vocab, [2]any{piece, -10})
		if i < promptFirstWord {
			added = append(added, map[string]any{"id": i, "content": piece, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
		}
	}
	metaspace := map[string]any{"type": "Metaspace", "replacement": space, "prepend_scheme": "always", "split": true}
	return map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": nil, "pre_tokenizer": metaspace, "post_processor": nil, "decoder": metaspace,
		"model": map[string]any{"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": vocab},
	}
}
