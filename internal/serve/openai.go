package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An OpenAI offers models that write texts in OpenAI's protocol: completions and chat completions, whole or as
// a stream of events; and models that make videos of texts.
type OpenAI struct {
	models []*textModel
	films  []*taskModel // that make videos
	ids    atomic.Uint64
}

// A textModel is one of these models.
type textModel struct {
	*sequenceModel
	*workload.TextFormat
}

// maxPrompt is how many bytes a request may have.
const maxPrompt = 4 << 20

// NewOpenAI offers those of the models that write texts or make videos of texts; nil: none of them does.
func NewOpenAI(offers []*Offer) *OpenAI {
	a := &OpenAI{}
	for _, o := range offers {
		if o.task != nil && o.task.exchange.Film != nil {
			a.films = append(a.films, o.task)
		}
		if o.writer == nil {
			continue
		}
		if text := o.writer.exchange.Sequences.Text; text != nil {
			a.models = append(a.models, &textModel{o.writer, text})
		}
	}
	if a.models == nil && a.films == nil {
		return nil
	}
	return a
}

// Has reports whether a model answers prompts.
func (a *OpenAI) Has(name string) bool {
	return a != nil && (slices.ContainsFunc(a.models, func(m *textModel) bool { return m.name == name }) ||
		slices.ContainsFunc(a.films, func(m *taskModel) bool { return m.metadata.Name == taskOf(name) }))
}

// Routes are the paths of the protocol.
func (a *OpenAI) Routes() []oipserver.Route {
	routes := []oipserver.Route{
		{Pattern: "GET /v1/models", Handle: a.list},
		{Pattern: "POST /v1/completions", Handle: func(w http.ResponseWriter, r *http.Request) error { return a.complete(w, r, false) }},
		{Pattern: "POST /v1/chat/completions", Handle: func(w http.ResponseWriter, r *http.Request) error { return a.complete(w, r, true) }},
		{Pattern: "GET /v1/", Handle: oipserver.NotFound},
		{Pattern: "POST /v1/", Handle: oipserver.NotFound},
	}
	if a.films != nil {
		routes = append(routes, oipserver.Route{Pattern: "POST /v1/videos/generations", Handle: a.film})
	}
	for i := range routes {
		routes[i].Error = errorDocument
	}
	return routes
}

func (a *OpenAI) list(w http.ResponseWriter, _ *http.Request) error {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, m := range a.models {
		list.Data = append(list.Data, model{m.name, "model", "mlperf"})
	}
	for _, m := range a.films {
		list.Data = append(list.Data, model{strings.TrimSuffix(m.metadata.Name, protocol.TaskSuffix), "model", "mlperf"})
	}
	return respond(w, list)
}

func respond(w http.ResponseWriter, document any) error {
	text, err := json.Marshal(document, jsontext.AllowInvalidUTF8(true)) // a text may end within a character
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // an error means that the client has gone
	return nil
}

// An apiError is an error as clients of the protocol know it.
type apiError struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    int    `json:"code"`
	} `json:"error"`
}

func errorDocument(err error) any {
	var d apiError
	d.Error.Message, d.Error.Type, d.Error.Code = err.Error(), "invalid_request_error", protocol.CodeOf(err).HTTP()
	if d.Error.Code >= http.StatusInternalServerError {
		d.Error.Type = "server_error"
	}
	return d
}

func invalid(err error) error { return &protocol.Error{Code: protocol.InvalidArgument, Err: err} }

// complete answers a prompt.
func (a *OpenAI) complete(w http.ResponseWriter, r *http.Request, chat bool) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPrompt))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return protocol.Errorf(protocol.TooLarge, "the request has more than %d bytes", large.Limit)
	}
	if err != nil {
		return invalid(err)
	}
	p, err := readPrompt(text, chat)
	if err != nil {
		return invalid(err)
	}
	i := slices.IndexFunc(a.models, func(m *textModel) bool { return m.name == p.Model || p.Model == "" && len(a.models) == 1 })
	if i < 0 {
		return protocol.Errorf(protocol.NotFound, "the server has no model %q", p.Model)
	}
	c, err := a.models[i].begin(p)
	if err != nil {
		return err
	}
	defer c.release(c.row)
	c.id = "cmpl-" + strconv.FormatUint(a.ids.Add(1), 10)
	if p.Stream {
		c.stream(w)
		return nil
	}
	response, err := c.wait(c.row)
	if err != nil {
		return err
	}
	c.tokens = c.Tokens(nil, response)
	answer, err := c.decode(c.textTokens())
	if err != nil {
		return err
	}
	return respond(w, c.document(c.choice(answer, c.tokens, c.finishReason(), false), true, false))
}

// A prompt is a request of OpenAI's protocol, with the fields that matter here.
type prompt struct {
	Model         string         `json:"model"`
	Prompt        jsontext.Value `json:"prompt"`
	Messages      []message      `json:"messages"`
	MaxTokens     *int           `json:"max_tokens"`
	MaxNew        *int           `json:"max_completion_tokens"`
	Stream        bool           `json:"stream"`
	StreamOptions streamOptions  `json:"stream_options"`
	ReturnIDs     bool           `json:"return_token_ids"`

	// These change the meaning of a request, and are refused.
	Temperature *float64       `json:"temperature"`
	N           *int           `json:"n"`
	Stop        jsontext.Value `json:"stop"`
	IgnoreEnd   bool           `json:"ignore_eos"`
	MinTokens   int            `json:"min_tokens"`

	Others map[string]jsontext.Value `json:",embed"` // fields
	chat   bool
}

type message struct {
	Role    string              `json:"role"`
	Content backend.MessageText `json:"content"`
}

type streamOptions struct {
	Usage bool `json:"include_usage"`
}

// neutral are the values of fields with which they do not change the answer; others are refused.
var neutral = map[string]string{
	"echo": "false", "logprobs": "false", "top_logprobs": "0", "suffix": `""`, "best_of": "1", "logit_bias": "{}", "use_beam_search": "false",
	"frequency_penalty": "0", "presence_penalty": "0", "repetition_penalty": "1", "stop_token_ids": "[]",
	"tools": "[]", "functions": "[]", "response_format": `{"type":"text"}`,
}

// readPrompt reads a request, and refuses what this server cannot do.
func readPrompt(text []byte, chat bool) (*prompt, error) {
	p := &prompt{chat: chat}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		on   bool
		what string
	}{
		{p.Temperature != nil && *p.Temperature > 0, "temperature: the likeliest token is always taken: must be 0"},
		{p.N != nil && *p.N != 1, "n: a request has one answer, expected 1"},
		{!slices.Contains([]string{"", "null", "[]"}, string(p.Stop)), "stop: answers end where the model ends them"},
		{p.IgnoreEnd, "ignore_eos: answers end where the model ends them"},
		{p.MinTokens > 0, "min_tokens: answers end where the model ends them"},
		{p.limit() < 0, "max_tokens is negative or 0: must be at least 1"},
		{p.chat && len(p.Messages) == 0, "messages are missing"},
		{!p.chat && len(p.Prompt) == 0, "prompt is missing"},
	} {
		if c.on {
			return nil, errors.New(c.what)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(neutral)) {
		var want, got any
		if err := errors.Join(json.Unmarshal([]byte(neutral[name]), &want), json.Unmarshal([]byte(cmp.Or(string(p.Others[name]), "null")),
			&got)); err != nil {
			return nil, err
		}
		if got != nil && !reflect.DeepEqual(got, want) {
			return nil, fmt.Errorf("%s: not supported, expected %s or nothing", name, neutral[name])
		}
	}
	return p, nil
}

// limit is how many tokens the answer may have; 0: as many as the benchmark allows; negative: not a number of tokens.
func (p *prompt) limit() int {
	for _, n := range []*int{p.MaxNew, p.MaxTokens} {
		switch {
		case n == nil:
		case *n < 1:
			return -1
		default:
			return *n
		}
	}
	return 0
}

// tokens are those of the prompt; a model may lack a tokenizer or a chat template. Without a template the
// messages of a chat are one text, a line each.
func (p *prompt) tokens(format *workload.TextFormat) (ids []int32, err error) {
	if !p.chat && p.Prompt[0] == '[' {
		var list []*int32 // null would be taken for token 0
		if err := json.Unmarshal(p.Prompt, &list); err != nil {
			return nil, fmt.Errorf("prompt: must be a text or a list of tokens: %w", err)
		}
		for i, id := range list {
			if id == nil || *id < 0 {
				return nil, fmt.Errorf("prompt: token %d is null or negative", i)
			}
			ids = append(ids, *id)
		}
		return ids, nil
	}
	t := format.Tokenizer
	if t == nil {
		return nil, errors.New("the model has no tokenizer here: give a prompt that is a list of tokens")
	}
	if !p.chat {
		var text *string
		if err := json.Unmarshal(p.Prompt, &text); err != nil {
			return nil, fmt.Errorf("prompt: must be a text or a list of tokens: %w", err)
		}
		if text == nil {
			return nil, errors.New("prompt: must be a text or a list of tokens: it is null")
		}
		return t.Encode(*text)
	}
	var lines []string
	var messages []map[string]any
	for _, m := range p.Messages {
		lines = append(lines, string(m.Content))
		messages = append(messages, map[string]any{"role": m.Role, "content": string(m.Content)})
	}
	if format.ChatTemplate == nil {
		return t.Encode(strings.Join(lines, "\n"))
	}
	text, err := format.ChatTemplate(messages)
	if err != nil {
		return nil, err
	}
	return t.EncodePlain(text)
}

// A completion is a prompt whose answer is being written.
type completion struct {
	*textModel
	prompt  *prompt
	row     int
	length  int // of the prompt, in tokens
	id      string
	created int64
	tokens  []int32 // of the answer so far

	// Of a stream: what was sent.
	sent, sentTokens int // bytes of the text, and tokens
	from, to         int // the tokens that were decoded last
}

// begin puts a prompt into a row and submits it.
func (m *textModel) begin(p *prompt) (*completion, error) {
	ids, err := p.tokens(m.TextFormat)
	if err == nil {
		_, err = m.exchange.Complete([]tensor.Shape{{int64(len(ids))}})
	}
	if err != nil {
		return nil, invalid(err)
	}
	row, err := m.free.acquire()
	if err != nil {
		return nil, err
	}
	copy(tensor.Data[int32](m.store.Slot(0, row, 1)), ids)
	m.fill(row, len(ids)*tensor.Int32.Size())
	if p.Stream {
		m.calls[row].tokens = make(chan []byte, m.MaxAnswer+1)
	}
	if err := m.submit(row, p.limit()); err != nil {
		m.release(row)
		return nil, err
	}
	return &completion{textModel: m, prompt: p, row: row, length: len(ids), created: clock.Now().Unix()}, nil
}

// stream answers token by token. For a client that has gone it goes on, because a worker uses the row.
func (c *completion) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	control := http.NewResponseController(w)
	send := func(document any) {
		if text, err := json.Marshal(document, jsontext.AllowInvalidUTF8(true)); err == nil {
			fmt.Fprintf(w, "data: %s\n\n", text)
			_ = control.Flush() // an error means that the client has gone
		}
	}
	sendText := func(text string) {
		ids := c.tokens[c.sentTokens:]
		if text != "" || len(ids) > 0 && c.prompt.ReturnIDs {
			send(c.document(c.choice(text, ids, "", true), false, true))
			c.sent, c.sentTokens = c.sent+len(text), len(c.tokens)
		}
	}
	for token := range c.calls[c.row].tokens {
		c.tokens = c.Tokens(c.tokens, token)
		if text, ok := c.newText(); ok {
			sendText(text)
		}
	}
	response, err := c.wait(c.row)
	if err != nil {
		send(errorDocument(err))
		return
	}
	c.tokens = c.Tokens(c.tokens[:0], response) // with beams, no token came before
	if text, err := c.decode(c.textTokens()); err == nil {
		sendText(text[min(c.sent, len(text)):])
	}
	send(c.document(c.choice("", nil, c.finishReason(), true), false, true))
	if c.prompt.StreamOptions.Usage {
		send(c.document(nil, true, true))
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// newText is what the last tokens add to the text of a stream; false: they end within a character. It decodes the last few
// tokens only: decoding all for each one takes quadratic time. A few are needed because the meaning of a token depends
// on whether it is the first.
func (c *completion) newText() (text string, ok bool) {
	tokens := c.textTokens()
	known, err := c.decode(tokens[c.from:c.to])
	if err != nil {
		return "", false
	}
	all, err := c.decode(tokens[c.from:])
	if err != nil || strings.HasSuffix(all, "\ufffd") {
		return "", false
	}
	if len(all) > len(known) {
		c.from, c.to, text = c.to, len(tokens), all[len(known):]
	}
	return text, true
}

// ended reports whether the model ended the answer.
func (c *completion) ended() bool {
	n := len(c.tokens)
	return n > 0 && slices.Contains(c.ends, c.tokens[n-1])
}

// textTokens are the tokens without the one that ends them.
func (c *completion) textTokens() []int32 {
	if c.ended() {
		return c.tokens[:len(c.tokens)-1]
	}
	return c.tokens
}

// decode is the text of tokens; without a tokenizer their numbers.
func (c *completion) decode(list []int32) (string, error) {
	if t := c.Tokenizer; t != nil {
		text, err := t.Decode(list)
		if err != nil {
			err = protocol.Errorf(protocol.Internal, "the model's answer: %w", err)
		}
		return text, err
	}
	var b strings.Builder
	for _, id := range list {
		fmt.Fprintf(&b, " %d", id)
	}
	return b.String(), nil
}

func (c *completion) finishReason() string {
	if c.ended() {
		return "stop"
	}
	return "length"
}

// A choice is an answer, or a piece of it.
type choice struct {
	Index        int            `json:"index"`
	Text         *string        `json:"text,omitzero"`    // of completions
	Message      *choiceMessage `json:"message,omitzero"` // of chats
	Delta        *choiceMessage `json:"delta,omitzero"`   // of chats, as a stream
	TokenIDs     []int32        `json:"token_ids,omitzero"`
	FinishReason *string        `json:"finish_reason"`
}

type choiceMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (c *completion) choice(text string, ids []int32, finish string, piece bool) *choice {
	out := &choice{}
	if finish != "" {
		out.FinishReason = &finish
	}
	switch {
	case c.prompt.chat && piece:
		out.Delta = &choiceMessage{"assistant", text}
	case c.prompt.chat:
		out.Message = &choiceMessage{"assistant", text}
	default:
		out.Text = &text
	}
	if c.prompt.ReturnIDs {
		out.TokenIDs = ids
	}
	return out
}

// A document is an event of a stream, or the whole answer.
type document struct {
	ID      string    `json:"id"`
	Object  string    `json:"object"`
	Created int64     `json:"created"`
	Model   string    `json:"model"`
	Choices []*choice `json:"choices"`
	Usage   *usage    `json:"usage,omitzero"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// document wraps a choice; nil: none.
func (c *completion) document(one *choice, withUsage, piece bool) *document {
	d := &document{ID: c.id, Object: "text_completion", Created: c.created, Model: c.name}
	switch {
	case c.prompt.chat && piece:
		d.Object = "chat.completion.chunk"
	case c.prompt.chat:
		d.Object = "chat.completion"
	}
	if one != nil {
		d.Choices = append(d.Choices, one)
	}
	if withUsage {
		d.Usage = &usage{c.length, len(c.tokens), c.length + len(c.tokens)}
	}
	return d
}
