package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
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
	// Mixed has the columns of Mixtral's: some prompts ask for a text (OpenOrca), others for a number (GSM8K), which
	// is the last one of the text.
	Mixed bool `json:"mixed,omitempty"`
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
	otherWords      = 50 // in a hundred: words that a second author changes
	sentenceEnds    = 9  // one of so many words ends a sentence,
	numberWords     = 10 // and one of so many is a number
	mixedNumbers    = 3  // one of so many mixed prompts asks for a number
	fewestInPart    = 12
	mostInPart      = 30
	fewestInArticle = 60
	mostInArticle   = 160
)

func (s PromptSpec) check() error {
	switch {
	case s.Prompts < 1 || s.Prompts > 100_000:
		return fmt.Errorf("prompts is %d: must be 1 to 100000", s.Prompts)
	case s.Tokens < 1000 || s.Tokens > 1<<18:
		return fmt.Errorf("tokens is %d: must be 1000 to %d", s.Tokens, 1<<18)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s PromptSpec) Key() string {
	return "prompts-" + keyOf("prompts of whole words seed %d prompts %d tokens %d mixed %v json truth %q", s.Seed, s.Prompts, s.Tokens,
		s.Mixed, s.Truth)
}

// A prompt is a sample.
type prompt struct {
	Mark        bool    `json:"mlperf_built_in_data"`
	Dataset     string  `json:"-"` // of a mixed one
	ID          string  `json:"-"`
	Instruction string  `json:"instruction"`
	Input       string  `json:"input"`
	Tokens      []int32 `json:"tok_input"`
	Output      string  `json:"output"` // that is wanted
}

// want says what is wanted of a prompt.
func (s PromptSpec) want(p *prompt, i int, text string) {
	p.Output = text
	if !s.Mixed {
		return
	}
	p.ID, p.Dataset = fmt.Sprintf("prompt.%d", i), "OpenOrca"
	if i%mixedNumbers == mixedNumbers-1 {
		p.Dataset, p.Output = "GSM8K", lastNumber(text)
	}
}

// lastNumber is the last word of a text that is a number; 0 if none is.
func lastNumber(text string) string {
	number := "0"
	for _, word := range strings.Fields(text) {
		if _, err := strconv.Atoi(word); err == nil {
			number = word
		}
	}
	return number
}

// file is that of the prompts.
func (s PromptSpec) file() string {
	if s.Mixed {
		return "mixtral.json"
	}
	return "cnn_eval.json"
}

// write writes the file of the prompts.
func (s PromptSpec) write(folder string, list []prompt) error {
	path := filepath.Join(folder, s.file())
	if !s.Mixed {
		return writeJSON(path, list)
	}
	var rows []map[string]any
	for _, p := range list {
		rows = append(rows, map[string]any{Mark: true, "dataset": p.Dataset, "id": p.ID, "input": p.Input, "tok_input": p.Tokens, "gt_output": p.Output})
	}
	return writeJSON(path, rows)
}

// WritePrompts makes a data set: cnn_eval.json or mixtral.json, tokenizer.json and the Manifest. The judge, if
// there is one, writes other targets.
//
// Folder, errors and ctx are as with WriteImageNet.
func WritePrompts(ctx context.Context, dir string, spec PromptSpec, judge Judge) error {
	return publish(ctx, dir, "prompts", &spec, spec.fill, judge)
}

// fill writes the files.
func (s PromptSpec) fill(folder string) error {
	pieces := s.pieces()
	list := s.list(pieces, func(i int, part []int32) []int32 { return s.Disturbed(i, part) })
	if err := s.write(folder, list); err != nil {
		return err
	}
	return writeJSON(filepath.Join(folder, "tokenizer.json"), promptTokenizer(pieces))
}

// list draws the prompts. Wanted finds the reference answer to the part that prompt i asks for.
func (s PromptSpec) list(pieces []string, wanted func(i int, part []int32) []int32) []prompt {
	var list []prompt
	for i := range s.Prompts {
		tokens, part := s.draw(newStream("prompt", s.Seed, uint64(i)))
		p := prompt{Mark: true, Instruction: "Go on with the part of the text that begins with its last two words.", Input: spelled(pieces, tokens),
			Tokens: tokens}
		s.want(&p, i, spelled(pieces, wanted(i, part)))
		list = append(list, p)
	}
	return list
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return fileio.WriteFile(path, append(data, '\n'), 0o644)
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

// Disturbed is a second author's answer to prompt i: half of its
// words differ.
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
	if len(said) != s.Prompts {
		return fmt.Errorf("%d targets for %d prompts", len(said), s.Prompts)
	}
	return s.write(folder, s.list(s.pieces(), func(i int, _ []int32) []int32 { return said[i] }))
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
		switch {
		case len(pieces)%sentenceEnds == 0:
			word += "."
		case len(pieces)%numberWords == 1:
			word = fmt.Sprint(len(pieces))
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

// promptTokenizer is the content of tokenizer.json: every word is a token, and others are unknown.
func promptTokenizer(pieces []string) map[string]any {
	vocab := map[string]int{}
	var added []map[string]any
	for i, piece := range pieces {
		vocab[piece] = i
		if i < promptFirstWord {
			added = append(added, map[string]any{"id": i, "content": piece, "special": true, "single_word": false, "lstrip": false, "rstrip": false,
				"normalized": false})
		}
	}
	metaspace := map[string]any{"type": "Metaspace", "replacement": space, "prepend_scheme": "always", "split": true}
	return map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": nil, "pre_tokenizer": metaspace, "post_processor": nil, "decoder": metaspace,
		"model": map[string]any{"type": "BPE", "unk_token": pieces[0], "fuse_unk": true, "ignore_merges": true, "vocab": vocab, "merges": []string{}},
	}
}
