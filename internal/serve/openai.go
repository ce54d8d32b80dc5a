package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An OpenAI offers models that write texts in OpenAI's protocol: completions and chat completions, whole or as
// a stream of events.
type OpenAI struct {
	models []*textModel
	ids    atomic.Uint64

	arriving atomic.Int64 // bytes of requests that are being read
}

// A textModel is one of these models.
type textModel struct {
	*sequences
	workload.TextWriter
}

const (
	maxPrompt   = 4 << 20   // bytes of a request
	maxArriving = 256 << 20 // of requests that are being read
	promptTime  = 10 * time.Second
	answerTime  = 30 * time.Second // until a client takes what it was sent
)

// NewOpenAI offers those of the models that write texts; nil: there is none.
func NewOpenAI(offers []*Offer) *OpenAI {
	a := &OpenAI{}
	for _, o := range offers {
		if o.writer == nil {
			continue
		}
		if w, ok := o.writer.writer.(workload.TextWriter); ok {
			a.models = append(a.models, &textModel{o.writer, w})
		}
	}
	if a.models == nil {
		return nil
	}
	return a
}

// Routes are the paths of the protocol.
func (a *OpenAI) Routes() []oipserver.Route {
	return []oipserver.Route{
		{Pattern: "GET /v1/models", Handle: a.list},
		{Pattern: "POST /v1/completions", Handle: func(w http.ResponseWriter, r *http.Request) error { return a.complete(w, r, false) }},
		{Pattern: "POST /v1/chat/completions", Handle: func(w http.ResponseWriter, r *http.Request) error { return a.complete(w, r, true) }},
	}
}

func (a *OpenAI) list(w http.ResponseWriter, _ *http.Request) error {
	data := []map[string]any{}
	for _, m := range a.models {
		data = append(data, map[string]any{"id": m.name, "object": "model", "owned_by": "mlperf"})
	}
	return respond(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// respond writes a document, which the client has to take in time.
func respond(w http.ResponseWriter, status int, document any) error {
	text, err := json.Marshal(document)
	if err == nil {
		err = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // an error means that the client has gone
	return nil
}

// refuse answers with an error as clients of the protocol know it.
func refuse(w http.ResponseWriter, err error) error {
	status := protocol.CodeOf(err).HTTP()
	return respond(w, status, map[string]any{"error": map[string]any{"message": err.Error(), "code": status}})
}

func invalid(err error) error { return &protocol.Error{Code: protocol.InvalidArgument, Err: err} }

// complete answers a prompt.
func (a *OpenAI) complete(w http.ResponseWriter, r *http.Request, chat bool) error {
	text, err := a.read(w, r)
	if err != nil {
		return refuse(w, err)
	}
	p, err := readPrompt(text, chat)
	if err != nil {
		return refuse(w, invalid(err))
	}
	m, err := a.find(p.Model)
	if err != nil {
		return refuse(w, err)
	}
	c, err := m.begin(p)
	if err != nil {
		return refuse(w, err)
	}
	defer m.give(c.row)
	c.id = "cmpl-" + strconv.FormatUint(a.ids.Add(1), 10)
	if p.Stream {
		c.stream(w)
		return nil
	}
	response, err := c.wait(c.row)
	if err == nil {
		c.tokens = c.Tokens(nil, response)
		text, err := c.decode(c.textTokens())
		if err == nil {
			return respond(w, http.StatusOK, c.document(c.choice(text, c.tokens, c.finishReason(), false), true, false))
		}
	}
	return refuse(w, err)
}

// read reads the body of a request, in time and with memory for those that arrive together.
func (a *OpenAI) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	size := r.ContentLength
	if size < 0 {
		size = maxPrompt
	}
	if size > maxPrompt {
		return nil, protocol.Errorf(protocol.TooLarge, "the request has %d bytes, want at most %d", size, maxPrompt)
	}
	defer a.arriving.Add(-size)
	if sum := a.arriving.Add(size); sum > maxArriving {
		return nil, protocol.Errorf(protocol.Unavailable, "%d bytes of requests are arriving: no room for %d more", sum-size, size)
	}
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(promptTime)); err != nil {
		return nil, protocol.Errorf(protocol.Internal, "setting a read deadline: %w", err)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPrompt))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, protocol.Errorf(protocol.TooLarge, "the request has more than %d bytes", large.Limit)
	case err != nil:
		return nil, invalid(err)
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return nil, protocol.Errorf(protocol.Internal, "setting a read deadline: %w", err)
	}
	return text, nil
}

// find finds a model by its name; an empty name is that of the only one.
func (a *OpenAI) find(name string) (*textModel, error) {
	if name == "" && len(a.models) == 1 {
		return a.models[0], nil
	}
	for _, m := range a.models {
		if m.name == name {
			return m, nil
		}
	}
	return nil, protocol.Errorf(protocol.NotFound, "there is no model %q", name)
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
	ids, err := p.tokens(m.Tokenizer(), m.ChatTemplate())
	if err != nil {
		return nil, invalid(err)
	}
	if _, err := m.Complete([]tensor.Shape{{int64(len(ids))}}); err != nil {
		return nil, invalid(err)
	}
	row, err := m.take()
	if err != nil {
		return nil, err
	}
	copy(tensor.Data[int32](m.store.Slot(0, row, 1)), ids)
	m.fill(row, len(ids)*tensor.Int32.Size())
	if p.Stream {
		_, most := m.Room()
		m.calls[row].tokens = make(chan []byte, most+1)
	}
	if err := m.submit(row, p.limit()); err != nil {
		m.give(row)
		return nil, err
	}
	return &completion{textModel: m, prompt: p, row: row, length: len(ids), created: time.Now().Unix()}, nil
}

// stream answers token by token. For a client that has gone it goes on, as a worker uses the row.
func (c *completion) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	control, gone := http.NewResponseController(w), false
	send := func(document any) {
		text, err := json.Marshal(document)
		if gone = gone || err != nil || control.SetWriteDeadline(time.Now().Add(answerTime)) != nil; gone {
			return
		}
		_, err = fmt.Fprintf(w, "data: %s\n\n", text)
		gone = err != nil || control.Flush() != nil
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
		send(map[string]any{"error": map[string]any{"message": err.Error(), "code": http.StatusInternalServerError}})
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
	if !gone {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
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
	return n > 0 && c.Ends(c.tokens[n-1])
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
	if t := c.Tokenizer(); t != nil {
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

// choice is the answer, or a piece of it.
func (c *completion) choice(text string, ids []int32, finish string, piece bool) map[string]any {
	choice := map[string]any{"index": 0, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	switch {
	case c.prompt.chat && piece:
		choice["delta"] = map[string]string{"role": "assistant", "content": text}
	case c.prompt.chat:
		choice["message"] = map[string]string{"role": "assistant", "content": text}
	default:
		choice["text"] = text
	}
	if c.prompt.ReturnIDs && ids != nil {
		choice["token_ids"] = ids
	}
	return choice
}

// document wraps a choice; nil: there is none.
func (c *completion) document(choice map[string]any, usage, piece bool) map[string]any {
	object := "text_completion"
	if c.prompt.chat {
		object = "chat.completion"
		if piece {
			object += ".chunk"
		}
	}
	d := map[string]any{"id": c.id, "object": object, "created": c.created, "model": c.name, "choices": []any{}}
	if choice != nil {
		d["choices"] = []any{choice}
	}
	if usage {
		d["usage"] = map[string]int{"prompt_tokens": c.length, "completion_tokens": len(c.tokens), "total_tokens": c.length + len(c.tokens)}
	}
	return d
}
