package serve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A prompt is a request of OpenAI's protocol, as far as it is understood here.
type prompt struct {
	Model         string         `json:"model"`
	Prompt        jsontext.Value `json:"prompt"`
	Messages      []message      `json:"messages"`
	MaxTokens     *int           `json:"max_tokens"`
	MaxNew        *int           `json:"max_completion_tokens"`
	Stream        bool           `json:"stream"`
	StreamOptions streamOptions  `json:"stream_options"`
	ReturnIDs     bool           `json:"return_token_ids"`

	// What changes the meaning of a request, and is refused.
	Temperature *float64       `json:"temperature"`
	N           *int           `json:"n"`
	Stop        jsontext.Value `json:"stop"`
	IgnoreEnd   bool           `json:"ignore_eos"`
	MinTokens   int            `json:"min_tokens"`

	Others map[string]jsontext.Value `json:",embed"` // fields
	chat   bool
}

type message struct {
	Role    string      `json:"role"`
	Content messageText `json:"content"`
}

type messagePart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type streamOptions struct {
	Usage bool `json:"include_usage"`
}

// readPrompt reads a request, and finds what cannot be done.
func readPrompt(text []byte, chats bool) (*prompt, error) {
	p := &prompt{chat: chats}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, err
	}
	return p, cmp.Or(p.check(), checkFields(p.Others))
}

// usual are the only values of fields that would change the answer otherwise.
var usual = map[string]string{
	"echo": "false", "logprobs": "false", "top_logprobs": "0", "suffix": `""`, "best_of": "1", "logit_bias": "{}", "use_beam_search": "false",
	"frequency_penalty": "0", "presence_penalty": "0", "repetition_penalty": "1", "stop_token_ids": "[]",
	"tools": "[]", "functions": "[]", "response_format": `{"type":"text"}`,
}

// checkFields refuses fields that would change the answer.
func checkFields(fields map[string]jsontext.Value) error {
	for _, name := range slices.Sorted(maps.Keys(usual)) {
		var want, got any
		if err := errors.Join(json.Unmarshal([]byte(usual[name]), &want), json.Unmarshal([]byte(cmp.Or(string(fields[name]), "null")), &got)); err != nil {
			return err
		}
		if got != nil && !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s: not supported, want %s or nothing", name, usual[name])
		}
	}
	return nil
}

// A messageText is what a message says: a text, or parts that are.
type messageText string

// UnmarshalJSON implements json.Unmarshaler.
func (m *messageText) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		return json.Unmarshal(text, (*string)(m))
	}
	var parts []messagePart
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("a part of a message is of type %q, want text", p.Type)
		}
		*m += messageText(p.Text)
	}
	return nil
}

// check finds what cannot be done.
func (p *prompt) check() error {
	for _, c := range []struct {
		on   bool
		what string
	}{
		{p.Temperature != nil && *p.Temperature > 0, "temperature: the likeliest token is always taken, want 0"},
		{p.N != nil && *p.N != 1, "n: there is one answer"},
		{!slices.Contains([]string{"", "null", "[]"}, string(p.Stop)), "stop: answers end where the model ends them"},
		{p.IgnoreEnd, "ignore_eos: answers end where the model ends them"},
		{p.MinTokens > 0, "min_tokens: answers end where the model ends them"},
		{p.limit() < 0, "max_tokens is negative or 0, want at least 1"},
		{p.chat && len(p.Messages) == 0, "messages are missing"},
		{!p.chat && len(p.Prompt) == 0, "prompt is missing"},
	} {
		if c.on {
			return errors.New(c.what)
		}
	}
	return nil
}

// limit is how many tokens the answer may have; 0: as many as the benchmark allows; negative: not a number of tokens.
func (p *prompt) limit() int {
	for _, n := range []*int{p.MaxNew, p.MaxTokens} {
		switch {
		case n == nil:
		case *n < 1:
			return -1
		default:
			return *n
		}
	}
	return 0
}

// tokens are those of the prompt, for a model with a tokenizer and a chat template or without. Without a template the
// messages of a chat are one text, a line each.
func (p *prompt) tokens(t workload.Tokenizer, template workload.ChatTemplate) (ids []int32, err error) {
	if !p.chat && p.Prompt[0] == '[' {
		var list []*int32 // null would be taken for token 0
		if err := json.Unmarshal(p.Prompt, &list); err != nil {
			return nil, fmt.Errorf("prompt: want a text or a list of tokens: %w", err)
		}
		for i, id := range list {
			if id == nil || *id < 0 {
				return nil, fmt.Errorf("prompt: token %d is null or negative", i)
			}
			ids = append(ids, *id)
		}
		return ids, nil
	}
	if t == nil {
		return nil, errors.New("the model has no tokenizer here: want a prompt that is a list of tokens")
	}
	if !p.chat {
		var text *string
		if err := json.Unmarshal(p.Prompt, &text); err != nil {
			return nil, fmt.Errorf("prompt: want a text or a list of tokens: %w", err)
		}
		if text == nil {
			return nil, errors.New("prompt: want a text or a list of tokens: it is null")
		}
		return t.Encode(*text)
	}
	var lines []string
	var messages []map[string]any
	for _, m := range p.Messages {
		lines = append(lines, string(m.Content))
		messages = append(messages, map[string]any{"role": m.Role, "content": string(m.Content)})
	}
	if template == nil {
		return t.Encode(strings.Join(lines, "\n"))
	}
	text, err := template.Render(messages)
	if err != nil {
		return nil, err
	}
	return t.EncodeWhole(text)
}
