package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/workload"
)

// A prompt is a request of OpenAI's protocol, as far as it is understood here.
type prompt struct {
	Model    string          `json:"model"`
	Prompt   json.RawMessage `json:"prompt"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	MaxTokens     *int `json:"max_tokens"`
	MaxNew        *int `json:"max_completion_tokens"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	ReturnIDs bool `json:"return_token_ids"`

	// What changes the meaning of a request, and is refused.
	Temperature *float64        `json:"temperature"`
	N           *int            `json:"n"`
	Stop        json.RawMessage `json:"stop"`
	IgnoreEnd   bool            `json:"ignore_eos"`
	MinTokens   int             `json:"min_tokens"`

	chat bool
}

// readPrompt reads a request, and finds what cannot be done.
func readPrompt(text []byte, chat bool) (*prompt, error) {
	p := &prompt{chat: chat}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		on   bool
		what string
	}{
		{p.Temperature != nil && *p.Temperature > 0, "temperature: the likeliest token is always taken, want 0"},
		{p.N != nil && *p.N != 1, "n: there is one answer"},
		{len(p.Stop) > 0 && !bytes.Equal(p.Stop, []byte("null")) && !bytes.Equal(p.Stop, []byte("[]")), "stop: answers end where the model ends them"},
		{p.IgnoreEnd, "ignore_eos: answers end where the model ends them"},
		{p.MinTokens > 0, "min_tokens: answers end where the model ends them"},
		{p.limit() < 0, "max_tokens is negative"},
		{chat && len(p.Messages) == 0, "messages are missing"},
		{!chat && len(p.Prompt) == 0, "prompt is missing"},
	} {
		if c.on {
			return nil, fmt.Errorf("%s", c.what)
		}
	}
	return p, nil
}

// limit is how many tokens the answer may have; 0: as many as the benchmark allows.
func (p *prompt) limit() int {
	for _, n := range []*int{p.MaxNew, p.MaxTokens} {
		if n != nil {
			return *n
		}
	}
	return 0
}

// tokens are those of the prompt. A chat has no template here: its messages are one text.
func (p *prompt) tokens(words workload.Words) ([]int32, error) {
	var text string
	switch {
	case p.chat:
		var parts []string
		for _, m := range p.Messages {
			parts = append(parts, m.Content)
		}
		text = strings.Join(parts, "\n")
	case p.Prompt[0] == '[':
		var ids []int32
		if err := json.Unmarshal(p.Prompt, &ids); err != nil {
			return nil, fmt.Errorf("prompt: want a text or a list of tokens: %w", err)
		}
		return ids, nil
	default:
		if err := json.Unmarshal(p.Prompt, &text); err != nil {
			return nil, fmt.Errorf("prompt: want a text or a list of tokens: %w", err)
		}
	}
	if words == nil {
		return nil, fmt.Errorf("the model has no tokenizer here: want a prompt that is a list of tokens")
	}
	return words.Encode(text)
}
