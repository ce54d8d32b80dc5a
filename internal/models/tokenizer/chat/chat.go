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
// (strftime_now); it cannot read files. Tools and documents are none. Of 105 published templates that Jinja2 parses, among them
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

	"github.com/ardanlabs/jinja"

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
	program *jinja.Template
	special map[string]string // bos_token, eos_token, …
	err     error             // why the template cannot be used
	timeout time.Duration     // of a chat
	busy    chan struct{}     // has an element while a chat is rendered
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
	program, err := jinja.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("chat template of %s: %w", path, err)
	}
	return &Template{program: program, special: special, timeout: 5 * time.Second, busy: make(chan struct{}, 1)}, nil
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
		return "", nil, errors.New("chat_template: want a string, or a list of names and templates")
	}
	for _, one := range several {
		if one.Name == "default" {
			return one.Template, special, nil
		}
	}
	return "", nil, errors.New("chat_template: the list has no default template")
}

// Render renders the messages of a chat, each with a role and a content, up to where the answer begins. It renders one chat at a
// time, so that an endless template takes one CPU only.
func (t *Template) Render(messages []map[string]any) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	timeout := time.NewTimer(t.timeout)
	defer timeout.Stop()
	select {
	case t.busy <- struct{}{}:
	case <-timeout.C:
		return "", fmt.Errorf("chat template: still rendering another chat after %v", t.timeout)
	}
	values := map[string]any{"messages": messages, "add_generation_prompt": true, "tools": nil, "documents": nil}
	for name, token := range t.special {
		values[name] = token
	}
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("%v", p)
			}
			<-t.busy
			done <- r
		}()
		r.text, r.err = t.program.Render(values)
	}()
	select {
	case r := <-done:
		switch {
		case r.err != nil:
			return "", fmt.Errorf("chat template: %w", r.err)
		case len(r.text) > maxText:
			return "", fmt.Errorf("chat template: the text has %d bytes, want at most %d", len(r.text), maxText)
		}
		return r.text, nil
	case <-timeout.C:
		return "", fmt.Errorf("chat template: not done after %v", t.timeout)
	}
}
