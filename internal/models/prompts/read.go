package prompts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	table "github.com/mlperf-go/mlperf/internal/dataset/prompts"
)

// readFile reads prompts of any kind of file, the first count; 0: all.
func readFile(path string, count int) ([]backend.Prompt, error) {
	t, err := table.Read(path, table.Options{Count: count})
	if err != nil {
		return nil, err
	}
	return promptsOf(t, path)
}

func promptsOf(t *table.Table, name string) ([]backend.Prompt, error) {
	list := make([]backend.Prompt, t.Len())
	for i := range list {
		var err error
		if list[i], err = (row{t, i}).prompt(); err != nil {
			return nil, &table.Error{File: name, Row: i, Err: err}
		}
	}
	return list, nil
}

// A row is a row of a table.
type row struct {
	t *table.Table
	i int
}

// textFields are the names of texts; the first in a row is used.
var textFields = []string{"prompt", "text", "question", "instruction", "input", "article", "content"}

// tokenFields are the names of token ids, and limitFields those of the length of the answer.
var (
	tokenFields = []string{"prompt_token_ids", "token_ids", "input_tokens", "tok_input"}
	limitFields = []string{"max_tokens", "max_completion_tokens", "output_tokens", "output_len", "output_length"}
)

// first is the first value of these columns.
func (r row) first(columns []string) (value any, column string) {
	for _, c := range columns {
		if v, ok := r.t.Value(r.i, c); ok {
			return v, c
		}
	}
	return nil, ""
}

// prompt makes a prompt of a row.
func (r row) prompt() (p backend.Prompt, err error) {
	const maxTokens = 1 << 20
	limit, column := r.first(limitFields)
	n, ok := limit.(int64)
	if limit != nil && (!ok || n < 1 || n > maxTokens) {
		return p, fmt.Errorf("%s is %.40s: must be a whole number from 1 to %d", column, fmt.Sprint(limit), maxTokens)
	}
	ids, column := r.first(tokenFields)
	p.MaxTokens = int(n)
	p.IDs, ok = ids.([]int32)
	if ids != nil && (!ok || slices.ContainsFunc(p.IDs, func(id int32) bool { return id < 0 })) {
		return p, fmt.Errorf("%s: must be token ids", column)
	}
	if p.Messages, err = r.messages(); err != nil {
		return p, err
	}
	if p.Messages == nil {
		p.Text, err = r.text(len(p.IDs) > 0)
	}
	if err == nil && p.Text == "" && len(p.IDs) == 0 && !slices.ContainsFunc(p.Messages, func(m backend.Message) bool { return m.Content != "" }) {
		err = errors.New("the prompt is empty")
	}
	return p, err
}

// messages are the messages of a chat or a conversation; nil: none.
func (r row) messages() ([]backend.Message, error) {
	if v, ok := r.t.Value(r.i, "messages"); ok {
		return messagesOf(v)
	}
	if v, ok := r.t.Value(r.i, "conversations"); ok {
		return turnsOf(v)
	}
	return nil, nil
}

// text is the text of the prompt, optional beside token ids.
func (r row) text(optional bool) (string, error) {
	v, column := r.first(textFields)
	text, ok := v.(string)
	switch {
	case v == nil && optional:
		return "", nil
	case v == nil:
		return "", fmt.Errorf("the row has no prompt: must be one of %s, messages, conversations, %s", strings.Join(textFields, ", "), tokenFields[0])
	case !ok:
		return "", fmt.Errorf("%s is not a text", column)
	}
	return text, nil
}

// fieldsOf are the texts of an object in a list.
func fieldsOf(list []any, i int, names ...string) ([]string, error) {
	object, ok := list[i].(map[string]any)
	if !ok {
		return nil, errors.New("expected an object")
	}
	texts := make([]string, len(names))
	for k, name := range names {
		if texts[k], ok = object[name].(string); !ok && object[name] != nil {
			return nil, fmt.Errorf("%s is not a text", name)
		}
	}
	return texts, nil
}

// messagesOf are the messages of a chat.
func messagesOf(v any) ([]backend.Message, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("messages is not a list of objects")
	}
	messages := []backend.Message{}
	for i := range list {
		f, err := fieldsOf(list, i, "role", "content")
		if err == nil && f[0] == "" {
			err = errors.New("the role is missing")
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		messages = append(messages, backend.Message{Role: f[0], Content: f[1]})
	}
	return messages, nil
}

// roles are the roles of messages by ShareGPT's names.
var roles = map[string]string{"human": "user", "user": "user", "system": "system", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant"}

// turnsOf are the turns of a conversation before the first answer to a user.
func turnsOf(v any) ([]backend.Message, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("conversations is not a list of objects")
	}
	messages, asked := []backend.Message{}, false
	for i := range list {
		f, err := fieldsOf(list, i, "from", "value")
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		role, known := roles[strings.ToLower(f[0])]
		switch {
		case !known:
			return nil, fmt.Errorf("turn %d: from is %.40q: must be human, gpt or system", i+1, f[0])
		case role != "assistant":
			messages, asked = append(messages, backend.Message{Role: role, Content: f[1]}), asked || role == "user"
		case asked:
			return messages, nil
		}
	}
	return messages, nil
}
