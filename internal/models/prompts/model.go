package prompts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Config selects the prompts. The zero value of every field but Name is useful.
type Config struct {
	Name      string  // of the model
	Synthetic int     // number of synthetic prompts; 0: the prompts of a file
	Words     Lengths // of each, or tokens where there is a tokenizer; empty: defaultWords
	Answer    Lengths // maximum of tokens of an answer, if the prompt has none; empty: defaultAnswer
	Exact     bool    // answers have exactly that many

	Prefixes    int     // synthetic prompts begin with one of so many texts, in turns; 0: they share nothing
	PrefixWords Lengths // of each of these texts; empty: defaultWords

	// Task is embeddings or rerank, whose requests have so many inputs or documents; empty: answers are texts.
	Task   string
	Inputs int

	// Turns are those of a conversation that is made up, and of one of a file at most; empty: 1. Each waits for the answer before and Delays.
	Turns    Lengths
	Delays   Delays
	Recorded bool // turns follow the answers of the file instead of the server's

	All bool // a test has all prompts in memory, not only the first maxLoaded
}

const (
	// defaultWords and defaultAnswer are the default lengths of prompts and answers.
	defaultWords  = 256
	defaultAnswer = 128
	// maxLoaded is the number of prompts that a test draws from.
	maxLoaded = 1 << 17
	// seed is that of synthetic prompts.
	seed = 20260101
)

// errNoTruth is the error of Score.
var errNoTruth = errors.New("prompts of no benchmark have no reference answers: accuracy is undefined")

// Model returns the benchmark.
func Model(c Config) workload.Model {
	loaded := maxLoaded
	if c.All {
		loaded = math.MaxInt32
	}
	return workload.Model{
		Name: c.Name, Title: c.Name, Task: "text generation", Dataset: "prompts",
		Rules: config.Model{Name: c.Name}, PerformanceSampleCount: loaded,
		Options: []workload.Option{workload.ChooseTokenizer()},
		Open:    c.open,
		Score: func(context.Context, accuracy.Input, workload.Scoring) (*accuracy.Score, error) {
			return nil, errNoTruth
		},
	}
}

// inNames are the characters of names. A dot would separate keys of conf files.
const inNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// NameOf makes a name for folders and conf files from that of a model.
func NameOf(model string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(inNames, r) {
			return r
		}
		return '_'
	}, model)
}

// open reads or makes the prompts.
func (c Config) open(s workload.Setup) (*workload.Workload, error) {
	list, err := c.prompts(s)
	if err != nil {
		return nil, err
	}
	answer, err := c.Answer.read(defaultAnswer)
	if err != nil {
		return nil, userinput.Wrap("answer_tokens", err)
	}
	delays, err := c.Delays.read()
	if err != nil {
		return nil, userinput.Wrap("conversation_delay", err)
	}
	for i := range list.prompts {
		p := &list.prompts[i]
		for k := range p.Turns {
			t := &p.Turns[k]
			t.MaxTokens = cmp.Or(t.MaxTokens, answer.draw(streamOf(ofAnswer+(k+1)<<8, i)))
			t.Delay = cmp.Or(delays.draw(streamOf(ofDelay+k<<8, i)), t.Delay)
		}
		p.MaxTokens = cmp.Or(p.MaxTokens, answer.draw(streamOf(ofAnswer, i)))
		if p.Exact = p.Exact || c.Exact; p.Exact {
			p.MinTokens = p.MaxTokens
		}
	}
	return &workload.Workload{Samples: len(list.prompts), Prompts: list, Notes: []string{list.note}}, nil
}

// prompts are those of the file, or synthetic ones.
func (c Config) prompts(s workload.Setup) (*textPrompts, error) {
	tokens, err := openTokenizer(s)
	if err != nil {
		return nil, err
	}
	if c.Synthetic > 0 {
		return c.synthetic(s, tokens)
	}
	return c.readFile(s.DatasetDir, s.Count, tokens)
}

// openTokenizer opens the tokenizer that lengths are counted by; nil: they are counted in words.
func openTokenizer(s workload.Setup) (*hf.Tokenizer, error) {
	path := s.Options[workload.TokenizerOption]
	if path == "" {
		return nil, nil
	}
	tokens, err := hf.Open(path)
	return tokens, userinput.Wrap(workload.TokenizerOption, err)
}

// textPrompts are prompts in memory.
type textPrompts struct {
	prompts []backend.Prompt
	note    string
	tokens  *hf.Tokenizer // nil: none
}

// WithoutIDs implements workload.Prompts.
func (t *textPrompts) WithoutIDs() error {
	if slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool { return p.Text == "" && len(p.Messages) == 0 }) {
		return errors.New("the server takes no token ids, and some prompts have no text")
	}
	return nil
}

// Texts implements workload.Prompts.
func (t *textPrompts) Texts() backend.Texts {
	texts := backend.Texts{
		IDs:  !slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool { return len(p.IDs) == 0 }),
		Chat: slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool { return len(p.Messages) > 0 }),
		ChatOnly: slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool {
			return len(p.Turns) > 0 || p.Tools != nil || slices.ContainsFunc(p.Messages, func(m backend.Message) bool { return m.Raw != nil })
		}),
		Least: slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool { return p.Exact }),
	}
	if t.tokens != nil {
		texts.Tokenize = func(text []byte) ([]int32, error) { return t.tokens.Append(nil, string(text), hf.KeepSpecial) }
		texts.Detokenize = func(ids []int32) (string, error) { return t.tokens.Decode(ids, hf.KeepSpecial) }
	}
	return texts
}

// Prompt implements workload.Prompts.
func (t *textPrompts) Prompt(index int) *backend.Prompt { return &t.prompts[index] }

// First implements workload.Prompts: the text.
func (*textPrompts) First(_ int, piece []byte, _ []int32) []byte { return piece }

// Response implements workload.Prompts: the text.
func (*textPrompts) Response(_ int, a backend.Answer) ([]byte, int) { return a.Text, a.Tokens }

// common words. Most tokenizers have a token for each of the words.
var common = []string{"the", "a", "of", "and", "to", "in", "is", "it", "that", "for", "on", "with", "as", "was", "at", "by", "an", "be", "this", "from",
	"or", "had", "not", "are", "but", "have", "they", "which", "one", "you", "were", "all", "her", "she", "there", "would", "their", "we", "him", "been",
	"has", "when", "who", "will", "more", "no", "if", "out", "so", "said", "what", "up", "its", "about", "into", "than", "them", "can", "only", "other",
	"time", "new", "some", "could"}

// What a random stream is for. Each text has its own, so that it does not depend on the others.
const (
	ofText = iota // of a prompt: its words
	ofLength
	ofAnswer
	ofPrefix
	ofPrefixLength
	ofBlock
	ofTurns
	ofDelay
)

func streamOf(purpose, index int) *rand.Rand {
	return rand.New(rand.NewPCG(seed+uint64(purpose)<<32, uint64(index)))
}

// synthetic makes prompts of common words. They share no prefix that a server could cache, unless the configuration asks for it.
func (c Config) synthetic(s workload.Setup, tokens *hf.Tokenizer) (*textPrompts, error) {
	n, unit := c.Synthetic, "common words"
	if s.Count > 0 {
		n = min(n, s.Count)
	}
	if tokens != nil {
		unit = "tokens"
	}
	lengths, err := c.Words.read(defaultWords)
	if err != nil {
		return nil, userinput.Wrap("prompt_words", err)
	}
	ofPrefixes, err := c.PrefixWords.read(defaultWords)
	if err != nil {
		return nil, userinput.Wrap("prefix_words", err)
	}
	turns, err := c.Turns.read(1)
	if err != nil {
		return nil, userinput.Wrap("conversation_turns", err)
	}
	list := &textPrompts{make([]backend.Prompt, n), fmt.Sprintf("%d synthetic prompts of %v %s each", n, lengths, unit), tokens}
	prefixes := make([]string, c.Prefixes)
	for i := range prefixes {
		if prefixes[i], err = textOf(ofPrefixes.draw(streamOf(ofPrefixLength, i)), streamOf(ofPrefix, i), tokens, ""); err != nil {
			return nil, err
		}
	}
	if c.Turns != "" {
		list.note = strings.Replace(list.note, "synthetic prompts", fmt.Sprintf("synthetic conversations of %v turns", turns), 1)
	}
	if c.Prefixes > 0 {
		list.note += fmt.Sprintf(" after one of %d shared prefixes of %v", c.Prefixes, ofPrefixes)
	}
	for i := range list.prompts {
		prefix := ""
		if c.Prefixes > 0 {
			prefix = prefixes[i%c.Prefixes] + " "
		}
		p := &list.prompts[i]
		if p.Text, err = textOf(lengths.draw(streamOf(ofLength, i)), streamOf(ofText, i), tokens, prefix); err != nil {
			return nil, err
		}
		if c.Task != "" {
			if err := c.addInputs(p, i, lengths, tokens); err != nil {
				return nil, err
			}
			continue
		}
		if c.Turns == "" {
			continue
		}
		p.Messages, p.Text = []backend.Message{{Role: "user", Content: p.Text}}, ""
		for k := range turns.draw(streamOf(ofTurns, i)) - 1 {
			text, err := textOf(lengths.draw(streamOf(ofLength+(k+1)<<8, i)), streamOf(ofText+(k+1)<<8, i), tokens, "")
			if err != nil {
				return nil, err
			}
			p.Turns = append(p.Turns, backend.Turn{Messages: []backend.Message{{Role: "user", Content: text}}})
		}
	}
	return list, nil
}

// addInputs makes the inputs of a request for embeddings, of which its text is the first, or the documents of one for ranks.
func (c Config) addInputs(p *backend.Prompt, i int, lengths distribution, tokens *hf.Tokenizer) error {
	p.Inputs = []string{p.Text}
	for k := range c.Inputs - 1 {
		text, err := textOf(lengths.draw(streamOf(ofLength+(k+1)<<8, i)), streamOf(ofText+(k+1)<<8, i), tokens, "")
		if err != nil {
			return err
		}
		p.Inputs = append(p.Inputs, text)
	}
	if c.Task == "rerank" {
		const ofQuery = 16
		var err error
		p.Text, err = textOf(ofQuery, streamOf(ofAnswer, i), tokens, "")
		return err
	}
	return nil
}

// textOf is a text of so many common words, or tokens, that begins with a prefix, which does not count.
func textOf(length int, r *rand.Rand, tokens *hf.Tokenizer, prefix string) (string, error) {
	words := make([]string, length)
	for k := range words {
		words[k] = common[r.IntN(len(common))]
	}
	if tokens == nil {
		return prefix + strings.Join(words, " "), nil
	}
	count := func(text string) (int, error) {
		ids, err := tokens.Append(nil, text, hf.NoSpecial)
		return len(ids), err
	}
	before, err := count(prefix)
	if err != nil {
		return "", err
	}
	const tries = 1000 // one or two where words are tokens
	for range tries {
		text := prefix + strings.Join(words, " ")
		n, err := count(text)
		if err != nil {
			return "", err
		}
		more := 1
		switch n -= before; {
		case n == length:
			return text, nil
		case n > length: // fewer words, in proportion
			words, more = words[:min(len(words)*length/n, len(words)-1)], 0
		default:
			more = max(1, len(words)*(length-n)/max(n, 1))
		}
		for range max(more, 1-len(words)) {
			words = append(words, common[r.IntN(len(common))])
		}
	}
	return "", userinput.Errorf(workload.TokenizerOption, "no text of exactly %d tokens was found", length)
}
