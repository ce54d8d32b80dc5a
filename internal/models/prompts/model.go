package prompts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// Config selects the prompts. The zero value of every field but Name is useful.
type Config struct {
	Name      string // of the model
	Synthetic int    // number of synthetic prompts; 0: the prompts of a file
	Words     int    // of each; 0: defaultWords
	Answer    int    // maximum of tokens of an answer, if the prompt has none; 0: defaultAnswer
	Exact     bool   // answers have exactly that many
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
	return workload.Model{
		Name: c.Name, Title: c.Name, Task: "text generation", Dataset: "prompts",
		Rules: config.Model{Name: c.Name}, PerformanceSampleCount: maxLoaded,
		Open: c.open,
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
	for i := range list.prompts {
		p := &list.prompts[i]
		p.MaxTokens = cmp.Or(p.MaxTokens, c.Answer, defaultAnswer)
		if p.Exact = c.Exact; p.Exact {
			p.MinTokens = p.MaxTokens
		}
	}
	return &workload.Workload{Samples: len(list.prompts), Prompts: list, Notes: []string{list.note}}, nil
}

// prompts are those of the file, or synthetic ones.
func (c Config) prompts(s workload.Setup) (*textPrompts, error) {
	if c.Synthetic > 0 {
		n, words := c.Synthetic, cmp.Or(c.Words, defaultWords)
		if s.Count > 0 {
			n = min(n, s.Count)
		}
		return &textPrompts{synthetic(n, words, seed), fmt.Sprintf("%d synthetic prompts of %d common words each", n, words)}, nil
	}
	list, err := readFile(s.DatasetDir, s.Count)
	return &textPrompts{list, "prompts of " + s.DatasetDir}, err
}

// textPrompts are prompts in memory.
type textPrompts struct {
	prompts []backend.Prompt
	note    string
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
	return backend.Texts{
		IDs:  !slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool { return len(p.IDs) == 0 }),
		Chat: slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool { return len(p.Messages) > 0 }),
	}
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

// synthetic makes n prompts of common words from the seed. Each has its own random stream, so that prompts share no prefix that a
// server could cache.
func synthetic(n, words int, seed uint64) []backend.Prompt {
	list := make([]backend.Prompt, n)
	for i := range list {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		var b strings.Builder
		for k := range words {
			if k > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(common[r.IntN(len(common))])
		}
		list[i].Text = b.String()
	}
	return list
}
