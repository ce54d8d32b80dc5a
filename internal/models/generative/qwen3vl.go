package generative

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// endpointsRound is the first round whose reference client is mlcommons/endpoints. Its prompts and requests differ from those of LoadGen's
// client of v6.0.
const endpointsRound = "v6.1"

// qwen3VL is Qwen3-VL-235B-A22B on products with pictures (rules since v6.0). Interactive has a data set of its own.
func qwen3VL() workload.Model {
	return workload.Model{
		Name:    "qwen3-vl-235b-a22b",
		Title:   "Qwen3-VL-235B-A22B, Shopify's product catalogue",
		Task:    "category, brand and second-hand of a product from its texts and picture, as JSON",
		Dataset: "shopify-product-catalogue",
		BuiltIn: workload.Questions{Samples: 64, Best: 1},
		Source:  "https://huggingface.co/Qwen/Qwen3-VL-235B-A22B-Instruct",
		Papers:  []string{"Qwen Team, Qwen3-VL Technical Report, 2025"},
		Notes: []string{
			"pictures are sent as they lie in the data set; the reference saves them anew, in bytes that depend on its libraries",
			"requests have no temperature, top-p and top-k: under the rules those of the server's model apply",
		},

		Rules: config.Model{
			Name:   "qwen3-vl-235b-a22b",
			Sample: &config.SampleSize{InValues: 27051, OutValues: 500},
		},
		PerformanceSampleCount: 48289,
		Quality:                workload.Quality{Metric: "f1", Fraction: 0.99},
		OpenRemote:             openProducts,
		WholeBefore:            endpointsRound,
		Score:                  scoreProducts,
		RemoteOptions:          remoteOptions(),
	}
}

// productTokens is the greatest number of tokens of an answer (mlcommons/endpoints, examples/08_Qwen3-VL-235B-A22B_Example).
// LoadGen's client of v6.0 has no bound.
const productTokens = 150

// openProducts opens the catalogue for servers of chats with pictures.
func openProducts(s workload.Setup) (*workload.Workload, error) {
	older := s.Rules != "" && rounds.Before(s.Rules, endpointsRound)
	p := &productPrompts{}
	most, limit := productTokens, fmt.Sprintf("answers of up to %d tokens", productTokens)
	if older {
		most, limit = 0, "answers of any length"
	}
	c := productSource{folder: s.DatasetDir, count: s.Count, interactive: s.Interactive, older: older, messages: true}
	if err := c.read(func(i product) {
		p.prompts = append(p.prompts, backend.Prompt{Messages: i.messages, MaxTokens: most})
		p.truth = append(p.truth, i.Product)
	}); err != nil {
		return nil, err
	}
	if len(p.prompts) < s.Count {
		return nil, fmt.Errorf("opening the products: expected %d, %s has %d", s.Count, s.DatasetDir, len(p.prompts))
	}
	from := source{folder: s.DatasetDir, tokenizer: s.Options[tokenizerOption]}
	notes := []string{fmt.Sprintf("%d products of %s, prompts of %s, %s", len(p.prompts), s.DatasetDir, promptsOf(older), limit)}
	tokenizer, err := from.openTokenizer()
	switch {
	case err == nil:
		p.tokenizer = tokenizer
		notes = append(notes, from.tokenizerPath()+" counts tokens")
	case from.tokenizer != "":
		return nil, userinput.Wrap(tokenizerOption, err)
	}
	distinct := map[accuracy.Product]bool{}
	for _, t := range p.truth {
		distinct[t] = true
	}
	return &workload.Workload{Samples: len(p.prompts), Prompts: p, Alike: len(p.truth) - len(distinct), Notes: notes}, nil
}

// promptsOf names the round of the prompts.
func promptsOf(older bool) string {
	if older {
		return "v6.0"
	}
	return endpointsRound
}

// productPrompts implement workload.Prompts. Answers are logged as texts.
type productPrompts struct {
	prompts   []backend.Prompt
	truth     []accuracy.Product
	tokenizer *hf.Tokenizer // nil: none
}

// Texts implements workload.Prompts.
func (p *productPrompts) Texts() backend.Texts {
	t := backend.Texts{Chat: true, ChatOnly: true, OnlyOfficial: true, ServerSampling: true, MayBeEmpty: true}
	if len(p.prompts) > 0 {
		t.Pictured = p.prompts[0].Messages
	}
	if p.tokenizer != nil {
		t.Tokenize = func(text []byte) ([]int32, error) { return p.tokenizer.Append(nil, string(text), hf.KeepSpecial) }
		t.Detokenize = func(ids []int32) (string, error) { return p.tokenizer.Decode(ids, hf.KeepSpecial) }
	}
	return t
}

// WithoutIDs implements workload.Prompts: there are none.
func (*productPrompts) WithoutIDs() error { return nil }

// Prompt implements workload.Prompts.
func (p *productPrompts) Prompt(index int) *backend.Prompt { return &p.prompts[index] }

// First implements workload.Prompts: the text.
func (*productPrompts) First(_ int, piece []byte, _ []int32) []byte { return piece }

// Response implements workload.Prompts: the text.
func (*productPrompts) Response(_ int, a backend.Answer) ([]byte, int) { return a.Text, a.Tokens }

// scoreProducts scores a log by the catalogue.
func scoreProducts(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	var truth []accuracy.Product
	c := productSource{folder: s.DatasetDir, interactive: s.Interactive}
	if err := c.read(func(i product) { truth = append(truth, i.Product) }); err != nil {
		return nil, err
	}
	return accuracy.ScoreProducts(log, truth)
}
