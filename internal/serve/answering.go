package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An answering is a prompt under way.
type answering struct {
	*talker
	prompt   *prompt
	row      int
	length   int // of the prompt
	id       string
	created  int64
	tokens   []int32 // of the answer so far
	told     int     // bytes of its text that were sent
	toldIDs  int
	spelling spelling
}

// begin puts a prompt into a row and submits it.
func (m *talker) begin(p *prompt) (*answering, error) {
	ids, err := p.tokens(m.Words(), m.Chat())
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
	a := &answering{talker: m, prompt: p, row: row, length: len(ids), created: time.Now().Unix()}
	a.spelling.read = a.read
	return a, nil
}

// whole answers at once.
func (a *answering) whole(w http.ResponseWriter) error {
	response, err := a.wait(a.row)
	if err != nil {
		return refuse(w, err)
	}
	a.tokens = a.Tokens(nil, response)
	text, err := a.text()
	if err != nil {
		return refuse(w, err)
	}
	choice := a.choice(text, a.tokens, a.finish(), false)
	return respond(w, http.StatusOK, a.document(choice, true, false))
}

// stream answers token by token.
func (a *answering) stream(w http.ResponseWriter, control *http.ResponseController) error {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	e := &eventWriter{w: w, control: control}
	for token := range a.calls[a.row].tokens {
		a.tokens = a.Tokens(a.tokens, token)
		a.tell(e, false)
	}
	response, err := a.wait(a.row)
	if err != nil {
		e.send(map[string]any{"error": map[string]any{"message": err.Error(), "code": http.StatusInternalServerError}})
		return nil
	}
	a.tokens = a.Tokens(a.tokens[:0], response) // of beams nothing was told before
	a.tell(e, true)
	e.send(a.document(a.choice("", nil, a.finish(), true), false, true))
	if a.prompt.StreamOptions.Usage {
		e.send(a.document(nil, true, true))
	}
	if !e.gone {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
	return nil
}

// An eventWriter sends documents as the events of a stream.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	gone    bool // the client has; the answer goes on, as a worker uses the row
}

// send sends a document, unless the client has gone.
func (e *eventWriter) send(document any) {
	text, err := json.Marshal(document)
	if e.gone = e.gone || err != nil || e.control.SetWriteDeadline(time.Now().Add(answerTime)) != nil; e.gone {
		return
	}
	_, err = fmt.Fprintf(e.w, "data: %s\n\n", text)
	e.gone = err != nil || e.control.Flush() != nil
}

// tell sends what is new of the text. The last letter may not be whole before the end.
func (a *answering) tell(e *eventWriter, last bool) {
	text, ok := a.news(last)
	if !ok {
		return
	}
	ids := a.tokens[a.toldIDs:]
	if text != "" || len(ids) > 0 && a.prompt.ReturnIDs {
		e.send(a.document(a.choice(text, ids, "", true), false, true))
		a.told, a.toldIDs = a.told+len(text), len(a.tokens)
	}
}

// news is what was not told of the text. At the end all of it is read: the tokens of beams may be others than those before.
func (a *answering) news(last bool) (text string, ok bool) {
	if !last {
		return a.spelling.next(a.worded())
	}
	text, err := a.text()
	return text[min(a.told, len(text)):], err == nil
}

// worded are the tokens, without the one that ends them.
func (a *answering) worded() []int32 {
	if n := len(a.tokens); n > 0 && a.Ends(a.tokens[n-1]) {
		return a.tokens[:n-1]
	}
	return a.tokens
}

// text is that of the tokens.
func (a *answering) text() (string, error) { return a.read(a.worded()) }

// read is the text of tokens. Without a tokenizer it is their numbers.
func (a *answering) read(list []int32) (string, error) {
	if words := a.Words(); words != nil {
		text, err := words.Decode(list)
		if err != nil {
			err = oip.Errorf(oip.Internal, "the model's answer: %w", err)
		}
		return text, err
	}
	var b strings.Builder
	for _, id := range list {
		fmt.Fprintf(&b, " %d", id)
	}
	return b.String(), nil
}

// finish says why the answer ended.
func (a *answering) finish() string {
	if n := len(a.tokens); n > 0 && a.Ends(a.tokens[n-1]) {
		return finishStop
	}
	return finishLength
}

// choice is the answer, or a piece of it.
func (a *answering) choice(text string, ids []int32, finish string, piece bool) map[string]any {
	c := map[string]any{"index": 0, "finish_reason": nil}
	if finish != "" {
		c["finish_reason"] = finish
	}
	switch {
	case a.prompt.chat && piece:
		c["delta"] = map[string]string{"role": "assistant", "content": text}
	case a.prompt.chat:
		c["message"] = map[string]string{"role": "assistant", "content": text}
	default:
		c["text"] = text
	}
	if a.prompt.ReturnIDs && ids != nil {
		c["token_ids"] = ids
	}
	return c
}

// document wraps a choice; nil: there is none.
func (a *answering) document(choice map[string]any, usage, piece bool) map[string]any {
	object := "text_completion"
	if a.prompt.chat {
		object = "chat.completion"
		if piece {
			object += ".chunk"
		}
	}
	d := map[string]any{"id": a.id, "object": object, "created": a.created, "model": a.name, "choices": []any{}}
	if choice != nil {
		d["choices"] = []any{choice}
	}
	if usage {
		d["usage"] = map[string]int{"prompt_tokens": a.length, "completion_tokens": len(a.tokens), "total_tokens": a.length + len(a.tokens)}
	}
	return d
}
