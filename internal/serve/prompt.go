package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// A prompt is a request of OpenAI's protocol, as far as it is understood here.
type prompt struct {
	Model    string          `json:"model"`
	Prompt   json.RawMessage `json:"prompt"`
	Messages []struct {
		Role    string      `json:"role"`
		Content messageText `json:"content"`
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

// promptKeys are the keys of a request that mean something, of which no object may have one twice.
var promptKeys = append([]string{"model", "prompt", "messages", "role", "content", "type", "text", "max_tokens", "max_completion_tokens", "stream", "stream_options",
	"include_usage", "return_token_ids", "temperature", "n", "stop", "ignore_eos", "min_tokens"}, slices.Sorted(maps.Keys(usual))...)

// readPrompt reads a request, and finds what cannot be done.
func readPrompt(text []byte, chats bool) (*prompt, error) {
	p := &prompt{chat: chats}
	if err := oip.ReadJSON(text, p, promptKeys...); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := oip.ReadJSON(text, &fields); err != nil {
		return nil, err
	}
	return p, cmp.Or(p.check(), checkFields(fields))
}

// usual are fields that are understood as far as they ask for what is done in any case.
var usual = map[string]string{
	"echo": "false", "logprobs": "false", "top_logprobs": "0", "suffix": `""`, "best_of": "1", "logit_bias": "{}", "use_beam_search": "false",
	"frequency_penalty": "0", "presence_penalty": "0", "repetition_penalty": "1", "stop_token_ids": "[]",
	"tools": "[]", "functions": "[]", "response_format": `{"type":"text"}`,
}

// checkFields refuses fields that would change the answer: passed over, they would seem to have done so.
func checkFields(fields map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(usual)) {
		var want, got any
		if err := errors.Join(json.Unmarshal([]byte(usual[name]), &want), json.Unmarshal([]byte(cmp.Or(string(fields[name]), "null")), &got)); err != nil {
			return err
		}
		if got != nil && !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s: this is not done here, want %s or nothing", name, usual[name])
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
	var parts []struct{ Type, Text string }
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
		{p.stops(), "stop: answers end where the model ends them"},
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

// stops reports whether a text is to end the answer.
func (p *prompt) stops() bool {
	return !slices.Contains([]string{"", "null", "[]"}, string(p.Stop))
}

// limit is how many tokens the answer may have; 0: as many as the benchmark allows; negative: it is no number of tokens.
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

// tokens are those of the prompt, for a model with words and a way to write chats, or without.
func (p *prompt) tokens(words workload.Words, template workload.Chat) (ids []int32, err error) {
	if !p.chat && p.Prompt[0] == '[' {
		return tokensOf(p.Prompt)
	}
	if words == nil {
		return nil, fmt.Errorf("the model has no tokenizer here: want a prompt that is a list of tokens")
	}
	if p.chat {
		return p.chatTokens(words, template)
	}
	var text *string
	if err := oip.ReadJSON(p.Prompt, &text); err != nil {
		return nil, fmt.Errorf("prompt: want a text or a list of tokens: %w", err)
	}
	if text == nil {
		return nil, errors.New("prompt: want a text or a list of tokens: it is null")
	}
	return words.Encode(*text)
}

// tokensOf are the tokens of a list in JSON.
func tokensOf(list json.RawMessage) (ids []int32, err error) {
	var found []*int32 // null would be taken for token 0
	if err := oip.ReadJSON(list, &found); err != nil {
		return nil, fmt.Errorf("prompt: want a text or a list of tokens: %w", err)
	}
	for i, id := range found {
		if id == nil || *id < 0 {
			return nil, fmt.Errorf("prompt: token %d is null or negative", i)
		}
		ids = append(ids, *id)
	}
	return ids, nil
}

// chatTokens are those of the messages: by the template of the model, or else one after the other, a line each.
func (p *prompt) chatTokens(words workload.Words, template workload.Chat) ([]int32, error) {
	if template != nil {
		var messages []map[string]any
		for _, m := range p.Messages {
			messages = append(messages, map[string]any{"role": m.Role, "content": string(m.Content)})
		}
		text, err := template.Render(messages)
		if err != nil {
			return nil, err
		}
		return words.EncodeWhole(text)
	}
	var lines []string
	for _, m := range p.Messages {
		lines = append(lines, string(m.Content))
	}
	return words.Encode(strings.Join(lines, "\n"))
}
