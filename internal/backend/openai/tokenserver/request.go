package tokenserver

import (
	"bytes"
	"encoding/json"
	"errors"
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

// mostTokens is how many tokens an answer may have: whole answers are put together in memory.
const mostTokens = 1 << 20

// A refusal is a status other than 200, with a reason.
type refusal struct {
	status int
	text   string
}

// read reads a request, and finds what this server does not do.
func (s *Server) read(r *http.Request) (*request, *refusal) {
	q := &request{chat: strings.HasSuffix(r.URL.Path, "/chat/completions")}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, q)
	}
	if err == nil {
		err = s.check(q)
	}
	if err == nil {
		err = q.measure(s.options.TextOnly)
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	q.decide(s.options.Tokens)
	s.know(q)
	if most, all := s.options.Context, q.length+q.tokens; most > 0 && all > most {
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens", most, all)}
	}
	return q, nil
}

// spoil takes out of an answer what a fault does not leave in it.
func (q *request) spoil(fault Fault) {
	if fault == Empty {
		q.tokens = 0
	}
	q.mute = fault == Mute
}

// check finds fields that are not understood, or make no sense.
func (s *Server) check(q *request) error {
	if s.options.NoExtras && (q.IgnoreEOS != nil || q.MinTokens != nil || q.ReturnIDs != nil) {
		//lint:ignore ST1005 as OpenAI says it
		return errors.New("Unrecognized request argument supplied")
	}
	if n := min(q.MaxTokens, q.MaxNew); n < 0 {
		return fmt.Errorf("max_tokens must be at least 1, got %d", n)
	}
	if n := max(q.MaxTokens, q.MaxNew); n > mostTokens {
		return fmt.Errorf("max_tokens must be at most %d, got %d", mostTokens, n)
	}
	return nil
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

// measure finds out how long the prompt is, and what is hidden in it.
func (q *request) measure(textOnly bool) error {
	if q.chat {
		return q.measureChat()
	}
	prompt := bytes.TrimSpace(q.Prompt)
	if len(prompt) == 0 {
		return errors.New("prompt is missing")
	}
	if prompt[0] != '[' {
		var text string
		if err := json.Unmarshal(prompt, &text); err != nil {
			return err
		}
		q.length, q.hidden, q.seed = len(strings.Fields(text)), behindText(text), seedOf([]byte(text))
		return nil
	}
	if textOnly {
		return errors.New("json: cannot unmarshal array into Go struct field CompletionRequest.prompt of type string")
	}
	var ids []int32
	if err := json.Unmarshal(prompt, &ids); err != nil {
		return err
	}
	q.length, q.hidden, q.seed = len(ids), behindIDs(ids), seedOf(prompt)
	return nil
}

// measureChat is measure of messages: an answer is hidden in the last of them.
func (q *request) measureChat() error {
	if len(q.Messages) == 0 {
		return errors.New("messages are missing")
	}
	var all []byte
	for _, m := range q.Messages {
		q.length += len(strings.Fields(m.Content))
		q.hidden, all = behindText(m.Content), append(all, m.Content...)
	}
	q.seed = seedOf(all)
	return nil
}

// seedOf is the number from which an answer follows.
func seedOf(prompt []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(prompt) // which never fails
	return h.Sum32()
}
