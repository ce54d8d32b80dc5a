package tokenserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"
)

// A request is what the server reads of one.
type request struct {
	Model     string          `json:"model"`
	Prompt    json.RawMessage `json:"prompt"`
	Messages  []message       `json:"messages"`
	Stream    bool            `json:"stream"`
	MaxTokens int             `json:"max_tokens"`
	MaxNew    int             `json:"max_completion_tokens"`
	IgnoreEOS *bool           `json:"ignore_eos"`
	MinTokens *int            `json:"min_tokens"`
	ReturnIDs *bool           `json:"return_token_ids"`

	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	chat   bool
	length int     // of the prompt
	seed   uint32  // follows from the prompt
	tokens int     // of the answer
	mute   bool    // they have no text
	hidden []int32 // behind the mark in the prompt
	says   []int32 // the tokens of the answer; nil: they follow from the seed
}

type message struct {
	Content string `json:"content"`
}

// maxBody is how long a request may be.
const maxBody = 64 << 20

// A refusal is a status other than 200, with a reason.
type refusal struct {
	status int
	text   string
}

func (s *Server) read(r *http.Request) (*request, *refusal) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	q := &request{chat: strings.HasSuffix(r.URL.Path, "/chat/completions")}
	if err := json.Unmarshal(body, q); err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	if s.options.NoExtras && (q.IgnoreEOS != nil || q.MinTokens != nil || q.ReturnIDs != nil) {
		return nil, &refusal{http.StatusBadRequest, "Unrecognized request argument supplied"}
	}
	if reason := q.measure(s.options.TextOnly); reason != "" {
		return nil, &refusal{http.StatusBadRequest, reason}
	}
	q.decide(s.options.Tokens)
	s.know(q)
	if most := s.options.Context; most > 0 && q.length+q.tokens > most {
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens", most, q.length+q.tokens)}
	}
	return q, nil
}

// decide says how many tokens the answer has, of which there are so many unless it must go on.
func (q *request) decide(usual int) {
	if q.tokens = max(q.MaxTokens, q.MaxNew); q.tokens == 0 {
		q.tokens = usual
	}
	if q.IgnoreEOS == nil || !*q.IgnoreEOS {
		q.tokens = min(q.tokens, usual)
	}
}

// measure finds out how long the prompt is.
func (q *request) measure(textOnly bool) (reason string) {
	h := fnv.New32a()
	prompt := bytes.TrimSpace(q.Prompt)
	switch {
	case q.chat && len(q.Messages) == 0:
		return "messages are missing"
	case q.chat:
		for _, m := range q.Messages {
			q.length += len(strings.Fields(m.Content))
			_, _ = io.WriteString(h, m.Content)
			q.hidden = behindText(m.Content)
		}
	case len(prompt) == 0:
		return "prompt is missing"
	case prompt[0] == '[' && textOnly:
		return "json: cannot unmarshal array into Go struct field CompletionRequest.prompt of type string"
	case prompt[0] == '[':
		var ids []int32
		if err := json.Unmarshal(prompt, &ids); err != nil {
			return err.Error()
		}
		q.length, q.hidden = len(ids), behindIDs(ids)
		_, _ = h.Write(prompt)
	default:
		var text string
		if err := json.Unmarshal(prompt, &text); err != nil {
			return err.Error()
		}
		q.length, q.hidden = len(strings.Fields(text)), behindText(text)
		_, _ = io.WriteString(h, text)
	}
	q.seed = h.Sum32()
	return ""
}
