package prompts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	table "github.com/mlperf-go/mlperf/internal/dataset/prompts"
)

// readFile reads prompts, of whichever kind of file. Count limits how many are read; 0: all.
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

// A row is one of a table.
type row struct {
	t *table.Table
	i int
}

// textFields are the names that a text has, the first of which counts.
var textFields = []string{"prompt", "text", "question", "instruction", "input", "article", "content"}

// tokenFields are the names that token ids have, and limitFields those of the length of the answer.
var (
	tokenFields = []string{"prompt_token_ids", "token_ids", "input_tokens", "tok_input"}
	limitFields = []string{"max_tokens", "max_completion_tokens", "output_tokens", "output_len", "output_length"}
)

// first is the value of the first of these columns that has one.
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
	if p.MaxTokens, err = r.limit(); err != nil {
		return p, err
	}
	if p.IDs, err = r.tokens(); err != nil {
		return p, err
	}
	if p.Messages, err = r.messages(); err != nil {
		return p, err
	}
	if p.Messages == nil {
		p.Text, err = r.text(len(p.IDs) > 0)
	}
	if err == nil && isEmpty(p) {
		err = errors.New("the prompt is empty")
	}
	return p, err
}

// isEmpty reports whether a prompt says nothing.
func isEmpty(p backend.Prompt) bool {
	spoken := func(m backend.Message) bool { return m.Content != "" }
	return p.Text == "" && len(p.IDs) == 0 && !slices.ContainsFunc(p.Messages, spoken)
}

// messages are those of a row that has a chat or a conversation; nil: it has none.
func (r row) messages() ([]backend.Message, error) {
	if v, ok := r.t.Value(r.i, "messages"); ok {
		return messagesOf(v)
	}
	if v, ok := r.t.Value(r.i, "conversations"); ok {
		return turnsOf(v)
	}
	return nil, nil
}

// text is that of the prompt. One that has token ids needs none.
func (r row) text(optional bool) (string, error) {
	v, column := r.first(textFields)
	text, ok := v.(string)
	switch {
	case v == nil && optional:
		return "", nil
	case v == nil:
		return "", fmt.Errorf("there is no prompt, want one of %s, messages, conversations, %s", strings.Join(textFields, ", "), tokenFields[0])
	case !ok:
		return "", fmt.Errorf("%s is no text", column)
	}
	return text, nil
}

func (r row) tokens() ([]int32, error) {
	v, column := r.first(tokenFields)
	ids, ok := v.([]int32)
	if v != nil && (!ok || slices.ContainsFunc(ids, func(id int32) bool { return id < 0 })) {
		return nil, fmt.Errorf("%s are no token ids", column)
	}
	return ids, nil
}

func (r row) limit() (int, error) {
	const most = 1 << 20
	v, column := r.first(limitFields)
	n, ok := v.(int64)
	if v != nil && (!ok || n < 1 || n > most) {
		return 0, fmt.Errorf("%s is %.40s, want a whole number from 1 to %d", column, fmt.Sprint(v), most)
	}
	return int(n), nil
}

// fieldsOf are texts of an element of a list of objects.
func fieldsOf(list []any, i int, names ...string) ([]string, error) {
	object, ok := list[i].(map[string]any)
	if !ok {
		return nil, errors.New("want an object")
	}
	texts := make([]string, len(names))
	for k, name := range names {
		if texts[k], ok = object[name].(string); !ok && object[name] != nil {
			return nil, fmt.Errorf("%s is no text", name)
		}
	}
	return texts, nil
}

// messagesOf are those of a chat.
func messagesOf(v any) ([]backend.Message, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("messages is no list of objects")
	}
	messages := []backend.Message{}
	for i := range list {
		f, err := fieldsOf(list, i, "role", "content")
		if err == nil && f[0] == "" {
			err = errors.New("there is no role")
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		messages = append(messages, backend.Message{Role: f[0], Content: f[1]})
	}
	return messages, nil
}

// roles are those of messages by their names in ShareGPT.
var roles = map[string]string{"human": "user", "user": "user", "system": "system", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant"}

// turnsOf are the turns of a conversation up to the first one that is an answer to a user.
func turnsOf(v any) ([]backend.Message, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("conversations is no list of objects")
	}
	messages, asked := []backend.Message{}, false
	for i := range list {
		m, err := turnOf(list, i)
		switch {
		case err != nil:
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		case m.Role != "assistant":
			messages, asked = append(messages, m), asked || m.Role == "user"
		case asked:
			return messages, nil
		}
	}
	return messages, nil
}

// turnOf is a turn of a conversation.
func turnOf(list []any, i int) (backend.Message, error) {
	f, err := fieldsOf(list, i, "from", "value")
	if err != nil {
		return backend.Message{}, err
	}
	role, known := roles[strings.ToLower(f[0])]
	if !known {
		return backend.Message{}, fmt.Errorf("from is %.40q, want human, gpt or system", f[0])
	}
	return backend.Message{Role: role, Content: f[1]}, nil
}
