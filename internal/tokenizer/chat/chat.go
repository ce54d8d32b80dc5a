// Package chat renders the messages of a chat as the text that a model was trained on, by the template of its tokenizer, as
// HuggingFace's apply_chat_template does (chat_template of tokenizer_config.json, or chat_template.jinja beside it).
//
//	t := chat.Open("llama")   // nil: the folder has no template
//	text, err := t.Render([]map[string]any{{"role": "user", "content": "Who built the castle?"}})
//
// The template writes the special tokens itself, so none are added around the text. The text ends where the answer
// begins.
//
// A template is a Jinja program and a part of the model. It reads the messages, the special tokens and the date
// (strftime_now); it cannot read files. A process of its own parses and renders it (renderer.go), so that one that recurses without
// end, needs all memory or never ends does not end this one. Tools and documents are none. Of 105 published templates that Jinja2 parses, among them
// those of Llama 3, DeepSeek-R1, gpt-oss, Granite, Qwen and Mistral, 96 give the text of Jinja2 for five chats each; five of
// the others are lenient where Jinja2 fails, four differ in white space.
package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

const (
	configFile   = "tokenizer_config.json"
	templateFile = "chat_template.jinja"
	maxFile      = 4 << 20  // bytes of each
	maxText      = 16 << 20 // bytes of a chat
)

// A Template renders chats. Several goroutines may use it.
type Template struct {
	path, source string
	special      map[string]string // bos_token, eos_token, …
	err          error             // why the template cannot be used
	timeout      time.Duration     // of a chat
	busy         chan struct{}     // has an element while a chat is rendered; its owner uses renderer
	renderer     *renderer         // nil: none is running
}

// Open reads the template in the folder of a tokenizer; nil: the folder has none. A template that cannot be read or parsed is
// an error of Render only, since completions need no template.
func Open(folder string) *Template {
	t, err := open(folder)
	if err != nil {
		return &Template{err: err}
	}
	return t
}

func open(folder string) (*Template, error) {
	path := filepath.Join(folder, configFile)
	source, special := "", map[string]string(nil)
	text, err := fileio.ReadFile(path, maxFile)
	if err == nil {
		if source, special, err = parseConfig(text); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	own := filepath.Join(folder, templateFile)
	switch text, err := fileio.ReadFile(own, maxFile); {
	case err == nil:
		path, source = own, string(text)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if source == "" {
		return nil, nil
	}
	return &Template{path: path, source: source, special: special, timeout: 5 * time.Second, busy: make(chan struct{}, 1)}, nil
}

// parseConfig reads the default template and the special tokens of tokenizer_config.json.
func parseConfig(text []byte) (template string, special map[string]string, err error) {
	var document map[string]json.RawMessage
	if err := json.Unmarshal(text, &document); err != nil {
		return "", nil, err
	}
	special = map[string]string{}
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"} {
		raw := document[name]
		if raw == nil || string(raw) == "null" {
			continue // so that a template can test whether a token is defined
		}
		var token string
		if err := json.Unmarshal(raw, &token); err != nil {
			var added struct{ Content string }
			if err := json.Unmarshal(raw, &added); err != nil {
				return "", nil, fmt.Errorf("%s: %w", name, err)
			}
			token = added.Content
		}
		special[name] = token
	}
	raw := document["chat_template"]
	if raw == nil || json.Unmarshal(raw, &template) == nil {
		return template, special, nil
	}
	var several []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &several); err != nil {
		return "", nil, errors.New("chat_template: must be a string, or a list of names and templates")
	}
	for _, one := range several {
		if one.Name == "default" {
			return one.Template, special, nil
		}
	}
	return "", nil, errors.New("chat_template: the list has no default template")
}

// Render renders the messages of a chat, each with a role and a content, up to where the answer begins. It renders one chat at a
// time, so that an endless template takes one CPU only. The first chat starts the renderer, and so does one after a chat that
// ended it.
func (t *Template) Render(messages []map[string]any) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	text, err := t.render(messages)
	if err != nil {
		return "", fmt.Errorf("chat template of %s: %w", t.path, err)
	}
	return text, nil
}

func (t *Template) render(messages []map[string]any) (string, error) {
	begun := time.Now()
	timeout := time.NewTimer(t.timeout)
	defer timeout.Stop()
	select {
	case t.busy <- struct{}{}:
	case <-timeout.C:
		return "", fmt.Errorf("still rendering another chat after %v", t.timeout)
	}
	defer func() { <-t.busy }()
	if messages == nil {
		messages = []map[string]any{} // a list, not none
	}
	values := map[string]any{"messages": messages, "add_generation_prompt": true, "tools": nil, "documents": nil}
	for name, token := range t.special {
		values[name] = token
	}
	if t.renderer == nil {
		var err error
		if t.renderer, err = startRenderer(t.source); err != nil {
			return "", err
		}
	}
	late := time.AfterFunc(t.timeout-time.Since(begun), t.renderer.kill)
	answer, err := t.renderer.render(values)
	inTime := late.Stop()
	if err != nil || !inTime || answer.Last {
		reason := t.renderer.end()
		t.renderer = nil
		switch {
		case !inTime:
			return "", fmt.Errorf("not done after %v", t.timeout)
		case err != nil:
			return "", reason
		}
	}
	if answer.Error != "" {
		return "", errors.New(answer.Error)
	}
	return answer.Text, nil
}
