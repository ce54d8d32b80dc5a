package chat

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/jinja"
)

// A Template turns chats into texts. It may be used from several goroutines at once.
type Template struct {
	Path    string // of its file
	program *jinja.Template
	special map[string]string
}

func compile(c *config) (*Template, error) {
	program, err := jinja.Parse(c.template)
	if err != nil {
		return nil, err
	}
	return &Template{program: program, special: c.special}, nil
}

// Render writes the messages of a chat, up to where the answer begins. A message is what a template knows of it: its
// role and its content.
func (t *Template) Render(messages []map[string]any) (string, error) {
	values := map[string]any{"messages": messages, "add_generation_prompt": true, "tools": nil, "documents": nil}
	for name, token := range t.special {
		values[name] = token
	}
	text, err := t.program.Render(values)
	if err != nil {
		return "", fmt.Errorf("the chat template: %w", err)
	}
	return text, nil
}
