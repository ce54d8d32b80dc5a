package prompts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/regular"
)

const (
	maxLine  = 16 << 20 // of a file of prompts
	maxTotal = 4 << 30  // of the file
)

// ReadFile reads prompts: a JSON object on each line, or one list of them. Count limits how many
// are read; 0: all.
func ReadFile(path string, count int) ([]backend.Prompt, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := read(io.LimitReader(f, maxTotal), count)
	if err == nil && len(list) == 0 {
		err = errors.New("there is no prompt in it")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

func read(r io.Reader, count int) ([]backend.Prompt, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	first, err := firstByte(b)
	if err != nil {
		return nil, err
	}
	if first == '[' {
		return readList(b, count)
	}
	return readLines(b, count)
}

// firstByte is the first one that is no space; 0: there is none.
func firstByte(b *bufio.Reader) (byte, error) {
	for {
		c, err := b.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, b.UnreadByte()
		}
	}
}

// readList reads one list of objects, as ShareGPT's file is.
func readList(r io.Reader, count int) ([]backend.Prompt, error) {
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var list []backend.Prompt
	for n := 1; d.More() && (count == 0 || len(list) < count); n++ {
		var l line
		if err := d.Decode(&l); err != nil {
			return nil, fmt.Errorf("entry %d: %w", n, err)
		}
		p, err := l.prompt()
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", n, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// readLines reads an object on each line.
func readLines(r io.Reader, count int) ([]backend.Prompt, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	var list []backend.Prompt
	n := 0
	for n = 1; (count == 0 || len(list) < count) && s.Scan(); n++ {
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		p, err := l.prompt()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, p)
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than %d MiB", n, maxLine>>20)
	}
	return list, s.Err()
}

// A line is what an object may have.
type line map[string]json.RawMessage

// textFields are the names that a text has, the first of which counts.
var textFields = []string{"prompt", "text", "question", "instruction", "input", "article", "content"}

// limitFields are the names that the length of the answer has.
var limitFields = []string{"max_tokens", "max_completion_tokens", "output_tokens", "output_len", "output_length"}

// prompt makes a prompt of an object.
func (l line) prompt() (p backend.Prompt, err error) {
	if p.MaxTokens, err = l.limit(); err != nil {
		return p, err
	}
	switch {
	case l["messages"] != nil:
		err = json.Unmarshal(l["messages"], &p.Messages)
	case l["conversations"] != nil:
		p.Messages, err = turns(l["conversations"])
	default:
		p.Text, err = l.text()
	}
	if err != nil {
		return p, err
	}
	for i, m := range p.Messages {
		if m.Role == "" {
			return p, fmt.Errorf("message %d has no role", i+1)
		}
	}
	if p.Text == "" && len(p.Messages) == 0 {
		return p, errors.New("the prompt is empty")
	}
	return p, nil
}

func (l line) text() (string, error) {
	for _, name := range textFields {
		if raw := l[name]; raw != nil {
			var text string
			if err := json.Unmarshal(raw, &text); err != nil {
				return "", fmt.Errorf("%s is no text", name)
			}
			return text, nil
		}
	}
	return "", fmt.Errorf("there is no prompt, want one of %s, messages, conversations", strings.Join(textFields, ", "))
}

func (l line) limit() (int, error) {
	const most = 1 << 20
	for _, name := range limitFields {
		if raw := l[name]; raw != nil {
			var n int
			if err := json.Unmarshal(raw, &n); err != nil || n < 1 || n > most {
				return 0, fmt.Errorf("%s is %.40s, want a whole number from 1 to %d", name, raw, most)
			}
			return n, nil
		}
	}
	return 0, nil
}

// roles are those of messages by their names in ShareGPT.
var roles = map[string]string{"human": "user", "user": "user", "system": "system", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant"}

// turns are those of a conversation up to the first one that is an answer.
func turns(raw json.RawMessage) ([]backend.Message, error) {
	var list []struct {
		From  string `json:"from"`
		Value string `json:"value"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("conversations: %w", err)
	}
	var messages []backend.Message
	for i, turn := range list {
		role, known := roles[strings.ToLower(turn.From)]
		if !known {
			return nil, fmt.Errorf("turn %d is from %.40q, want human, gpt or system", i+1, turn.From)
		}
		if role == "assistant" && len(messages) > 0 {
			break
		}
		if role != "assistant" {
			messages = append(messages, backend.Message{Role: role, Content: turn.Value})
		}
	}
	return messages, nil
}
