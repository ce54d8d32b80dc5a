package openai

import (
	"encoding/json"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A dialect is what a server understands.
type dialect struct {
	chat     bool // conversations, else completions
	ids      bool // prompts are token ids, and so are answers
	extras   bool // fields that are not OpenAI's: min_tokens, ignore_eos
	usage    bool // streams end with the numbers of tokens
	newLimit bool // the limit of tokens is called max_completion_tokens
}

// body is a request for an answer.
func (s *session) body(p *backend.Prompt) []byte {
	d := s.dialect
	b := append(make([]byte, 0, 256+len(p.Text)+len(p.Text)/8+8*len(p.IDs)), `{"model":`...)
	b = appendJSON(b, s.model)
	b = d.limit(d.prompt(b, p), p.MaxTokens)
	b = strconv.AppendFloat(append(b, `,"temperature":`...), s.texts.Temperature, 'g', -1, 64)
	if p.Stop != "" {
		b = appendJSON(append(b, `,"stop":`...), p.Stop)
	}
	if d.extras {
		b = s.extras(b, p)
	}
	if d.ids || d.extras && s.texts.Logged {
		b = append(b, `,"return_token_ids":true`...)
	}
	if s.config.Stream {
		b = append(b, `,"stream":true`...)
	}
	if s.config.Stream && d.usage {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	return append(b, '}')
}

// limit appends how many tokens an answer may have; 0: any number.
func (d dialect) limit(b []byte, most int) []byte {
	if most <= 0 {
		return b
	}
	name := `,"max_tokens":`
	if d.newLimit {
		name = `,"max_completion_tokens":`
	}
	return strconv.AppendInt(append(b, name...), int64(most), 10)
}

// extras appends what is not OpenAI's.
func (s *session) extras(b []byte, p *backend.Prompt) []byte {
	if p.MinTokens > 0 {
		b = strconv.AppendInt(append(b, `,"min_tokens":`...), int64(p.MinTokens), 10)
	}
	if p.Exact {
		b = append(b, `,"ignore_eos":true`...)
	}
	if s.texts.KeepSpecial {
		b = append(b, `,"skip_special_tokens":false`...)
	}
	return b
}

// prompt appends what is to be continued.
func (d dialect) prompt(b []byte, p *backend.Prompt) []byte {
	switch {
	case d.chat:
		messages := p.Messages
		if len(messages) == 0 {
			messages = []backend.Message{{Role: "user", Content: p.Text}}
		}
		return appendJSON(append(b, `,"messages":`...), messages)
	case d.ids && len(p.IDs) > 0:
		b = append(b, `,"prompt":[`...)
		for i, id := range p.IDs {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(id), 10)
		}
		return append(b, ']')
	}
	return appendJSON(append(b, `,"prompt":`...), textOf(p))
}

// textOf is a prompt as one text.
func textOf(p *backend.Prompt) string {
	text := p.Text
	for i, m := range p.Messages {
		if i > 0 || text != "" {
			text += "\n"
		}
		text += m.Content
	}
	return text
}

func appendJSON(b []byte, value any) []byte {
	text, _ := json.Marshal(value) // strings, and structs of strings, have JSON
	return append(b, text...)
}
