package prompts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// Config says which prompts there are. The zero value of every field but Name is useful.
type Config struct {
	Name      string // of what answers
	Synthetic int    // prompts to make up; 0: they are in a file
	Words     int    // of each; 0: defaultWords
	Answer    int    // tokens of an answer, at most, where a prompt does not say; 0: defaultAnswer
	Exact     bool   // answers are to have that many
}

const (
	// defaultWords and defaultAnswer are the lengths of prompts and answers that nobody chose.
	defaultWords  = 256
	defaultAnswer = 128
	// mostInMemory is how many prompts a test draws from.
	mostInMemory = 1 << 17
	// seed is that of made up prompts.
	seed = 20260101
)

// errNoTruth says that there is nothing to score answers with.
var errNoTruth = errors.New("there is no truth for prompts that belong to no benchmark: the accuracy of answers to them cannot be told")

// Model returns the benchmark.
func Model(c Config) workload.Model {
	return workload.Model{
		Name: c.Name, Title: c.Name, Task: "text generation", Dataset: "prompts",
		Rules: config.Model{Name: c.Name}, PerformanceSampleCount: mostInMemory,
		Open: c.open,
		Score: func(context.Context, accuracy.Input, workload.Scoring) (*accuracy.Score, error) {
			return nil, errNoTruth
		},
	}
}

// inNames are the characters that names may have. Dots are none of them: conf files separate by them.
const inNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// NameOf makes a name that folders and conf files can have of that of a model.
func NameOf(model string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(inNames, r) {
			return r
		}
		return '_'
	}, model)
}

// open reads the prompts or makes them up.
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

// prompts are those of the file, or made up ones.
func (c Config) prompts(s workload.Setup) (*texts, error) {
	if c.Synthetic > 0 {
		n, words := c.Synthetic, cmp.Or(c.Words, defaultWords)
		if s.Count > 0 {
			n = min(n, s.Count)
		}
		return &texts{synthetic(n, words, seed), fmt.Sprintf("%d prompts that are made up, of %d common words each", n, words)}, nil
	}
	list, err := readFile(s.DatasetDir, s.Count)
	return &texts{list, "prompts of " + s.DatasetDir}, err
}

// texts are prompts in memory.
type texts struct {
	prompts []backend.Prompt
	note    string
}

// WithoutIDs implements workload.Prompts.
func (t *texts) WithoutIDs() error {
	if slices.ContainsFunc(t.prompts, onlyIDs) {
		return errors.New("the server takes no token ids, and some prompts have no text")
	}
	return nil
}

// onlyIDs reports whether a prompt is nothing but token ids.
func onlyIDs(p backend.Prompt) bool { return p.Text == "" && len(p.Messages) == 0 }

// Texts implements workload.Prompts.
func (t *texts) Texts() backend.Texts {
	return backend.Texts{
		IDs:  !slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool { return len(p.IDs) == 0 }),
		Chat: slices.ContainsFunc(t.prompts, func(p backend.Prompt) bool { return len(p.Messages) > 0 }),
	}
}

// Prompt implements workload.Prompts.
func (t *texts) Prompt(index int) *backend.Prompt { return &t.prompts[index] }

// First implements workload.Prompts: the text.
func (*texts) First(_ int, piece []byte, _ []int32) []byte { return piece }

// Response implements workload.Prompts: the text.
func (*texts) Response(_ int, a backend.Answer) ([]byte, int) { return a.Text, a.Tokens }
