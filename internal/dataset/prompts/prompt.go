package prompts

import (
	"errors"
	"slices"
	"strings"
)

// A Prompt is what is said to a model, in one of three forms: as tokens, as a text, or as
// messages. Several may be there.
type Prompt struct {
	ID       string
	Tokens   []int32
	Text     string
	Messages []Message

	Wanted    string // what somebody else answered; empty if the file does not say
	MaxTokens int    // how long an answer may be; 0 if the file does not say
}

// A Message is one of a chat.
type Message struct {
	Role    string `json:"role"` // system, user, assistant
	Content string `json:"content"`
}

// The names under which files have the parts of a prompt; the first that is there counts.
// Those of the reference, of vLLM's and guidellm's benchmarks, and of HuggingFace's data sets.
var (
	tokenColumns   = []string{"tok_input", "input_tokens", "prompt_token_ids", "token_ids", "input_ids"}
	textColumns    = []string{"prompt", "text_input", "input", "text", "question", "instruction"}
	messageColumns = []string{"messages", "conversations", "conversation"}
	wantedColumns  = []string{"output", "gt_output", "ref_output", "ground_truth", "completion", "response", "answer", "highlights"}
	lengthColumns  = []string{"max_tokens", "output_tokens_count", "output_len", "output_length", "tok_output_length", "tok_ref_output_len"}
	idColumns      = []string{"id", "conversation_id", "qas_id"}
)

// first returns the column of a row that is there, or an empty name.
func (t *Table) first(i int, names []string) string {
	k := slices.IndexFunc(names, func(name string) bool { return t.rows[i][name] != nil })
	if k < 0 {
		return ""
	}
	return names[k]
}

// Prompts are the prompts of all rows. Each must have something to say.
func (t *Table) Prompts() ([]Prompt, error) {
	all := make([]Prompt, t.Len())
	for i := range all {
		if err := t.prompt(i, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (t *Table) prompt(i int, p *Prompt) (err error) {
	if name := t.first(i, tokenColumns); name != "" {
		p.Tokens, err = t.Tokens(i, name)
	}
	if name := t.first(i, textColumns); name != "" && err == nil {
		p.Text, err = t.Text(i, name)
	}
	if name := t.first(i, messageColumns); name != "" && err == nil {
		err = t.chat(i, name, p)
	}
	if name := t.first(i, wantedColumns); name != "" && err == nil && p.Wanted == "" {
		p.Wanted, _ = t.Text(i, name) // some files have lists of answers, which are of no use here
	}
	if name := t.first(i, lengthColumns); name != "" && err == nil {
		var n int64
		if n, err = t.Integer(i, name); err == nil && n < 0 {
			err = t.errorf(i, name, "the length of an answer is %d", n)
		}
		p.MaxTokens = int(n)
	}
	if name := t.first(i, idColumns); name != "" {
		p.ID, _ = t.Text(i, name)
	}
	if err == nil && len(p.Tokens) == 0 && p.Text == "" && len(p.Messages) == 0 {
		err = t.errorf(i, "", "there is nothing to say: want one of %s; the columns of the file are %s",
			strings.Join(slices.Concat(textColumns, messageColumns, tokenColumns), ", "), strings.Join(t.columns, ", "))
	}
	return err
}

// errMessages is for what is no chat.
var errMessages = errors.New(`want a list of messages, {"role": …, "content": …} or {"from": …, "value": …}`)

// chat reads messages up to the first answer, which is what is wanted.
func (t *Table) chat(i int, column string, p *Prompt) error {
	list, ok := t.rows[i][column].([]any)
	if !ok {
		return &Error{t.name, i, column, errMessages}
	}
	for _, item := range list {
		m, ok := message(item)
		if !ok {
			return &Error{t.name, i, column, errMessages}
		}
		if m.Role == "assistant" && len(p.Messages) > 0 {
			p.Wanted = m.Content
			return nil
		}
		p.Messages = append(p.Messages, m)
	}
	return nil
}

// message reads one, as OpenAI or as ShareGPT writes it.
func message(item any) (Message, bool) {
	fields, ok := item.(map[string]any)
	if !ok {
		return Message{}, false
	}
	role, ok := fields["role"].(string)
	content, ok2 := fields["content"].(string)
	if ok && ok2 {
		return Message{role, content}, true
	}
	from, ok := fields["from"].(string)
	content, ok2 = fields["value"].(string)
	switch from {
	case "human", "user":
		role = "user"
	case "gpt", "assistant", "chatgpt", "bard", "bing":
		role = "assistant"
	case "system":
		role = "system"
	default:
		ok = false
	}
	return Message{role, content}, ok && ok2
}

// Lengths are statistics of how long prompts are.
type Lengths struct {
	Rows            int
	Min, Max, Total int
	Mean            float64
	Unit            string // tokens, or characters where a prompt has no tokens
}

// Measure says how long prompts are.
func Measure(all []Prompt) Lengths {
	l := Lengths{Rows: len(all), Unit: "tokens"}
	if slices.ContainsFunc(all, func(p Prompt) bool { return len(p.Tokens) == 0 }) {
		l.Unit = "characters"
	}
	for i, p := range all {
		n := len(p.Tokens)
		if l.Unit == "characters" {
			n = p.characters()
		}
		if i == 0 {
			l.Min = n
		}
		l.Min, l.Max, l.Total = min(l.Min, n), max(l.Max, n), l.Total+n
	}
	if l.Rows > 0 {
		l.Mean = float64(l.Total) / float64(l.Rows)
	}
	return l
}

func (p *Prompt) characters() int {
	n := len([]rune(p.Text))
	for _, m := range p.Messages {
		n += len([]rune(m.Content))
	}
	return n
}
