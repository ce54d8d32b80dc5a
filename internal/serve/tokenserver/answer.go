package tokenserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// An answer is one that is sent.
type answer struct {
	server *Server
	w      http.ResponseWriter
	ctx    context.Context // of the request
	q      *request
	fault  Fault
	began  time.Time
	buffer []byte
}

// token is the id of the nth token of the answer.
func (q *request) token(n int) int {
	if q.right != nil {
		return int(q.right[n])
	}
	x := (q.seed + uint32(n)) * 0x9E3779B1 // Fibonacci hashing: the upper bits depend on the whole seed
	return int(x>>16) % vocab.Plain
}

// stream sends the tokens at their times.
func (a *answer) stream() {
	o, n := &a.server.options, a.q.tokens
	if a.fault == Endless {
		n = math.MaxInt
	}
	for first := 0; first < n; first += o.PerWrite {
		behind := first + min(o.PerWrite, n-first)
		if !a.wait(o.Prefill + time.Duration(first)*o.PerToken) {
			return
		}
		a.buffer = a.buffer[:0]
		for k := first; k < behind; k++ {
			a.buffer = append(a.buffer, a.server.chunks.of(a.q, k)...)
		}
		if first <= n/2 && n/2 < behind && !a.failInside() {
			return
		}
		if len(a.buffer) > 0 && !a.send(a.buffer) {
			return
		}
	}
	object := `"object":"text_completion","choices":[{"index":0,"text":"","finish_reason":"length"}]`
	if a.q.chat {
		object = fmt.Sprintf(`"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":%q}]`, a.q.finish())
	}
	end := fmt.Sprintf("data: {\"id\":\"1\",%s}\n\n", object)
	if !o.NoUsage && a.q.StreamOptions.IncludeUsage {
		end += fmt.Sprintf("data: {\"id\":\"1\",\"choices\":[],%s}\n\n", a.q.usage())
	}
	a.send([]byte(end + "data: [DONE]\n\n"))
}

// failInside does what the fault is in the middle of a stream. False: the stream ends.
func (a *answer) failInside() bool {
	switch a.fault {
	case Break:
		panic(http.ErrAbortHandler)
	case Stop:
		return false
	case Stall:
		<-a.ctx.Done()
		return false
	case ErrorInside:
		a.send([]byte("data: {\"error\":{\"message\":\"CUDA out of memory\",\"code\":500}}\n\ndata: [DONE]\n\n"))
		return false
	case Garbage:
		a.send([]byte("data: {\"choices\":[{\"index\":0,\"text\":\n\n"))
	case Twice:
		a.send(a.server.chunks.of(a.q, 0))
	case LongLine:
		a.send([]byte(`data: {"choices":[{"index":0,"text":"`))
		line := bytes.Repeat([]byte{'x'}, 1<<20)
		for range 10 {
			if !a.send(line) {
				return false
			}
		}
		a.send([]byte("\"}]}\n\n"))
	}
	return true
}

// wait waits until a time after the begin. False: the client has gone.
func (a *answer) wait(at time.Duration) bool {
	// A short wait does not end with the request: sleeping costs half of a timer with a select.
	const short = 50 * time.Millisecond
	switch d := at - clock.Since(a.began); {
	case d <= 0:
	case d <= short:
		time.Sleep(d)
	default:
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-a.ctx.Done():
		}
	}
	return a.ctx.Err() == nil
}

// send sends events at once. False: the client has gone.
func (a *answer) send(events []byte) bool {
	pieces := [][]byte{events}
	if a.fault == Trickle {
		pieces = slices.Collect(slices.Chunk(events, 1))
	}
	control := http.NewResponseController(a.w)
	for _, p := range pieces {
		if _, err := a.w.Write(p); err != nil || control.Flush() != nil {
			return false
		}
	}
	return true
}

// sendWhole sends the answer at once, at the time of its last token.
func (a *answer) sendWhole() {
	o, q := &a.server.options, a.q
	if !a.wait(o.Prefill + time.Duration(max(0, q.tokens-1))*o.PerToken) {
		return
	}
	ids := make([]int32, q.tokens)
	for n := range ids {
		ids[n] = int32(q.token(n))
	}
	text := vocab.Text(ids)
	if q.mute {
		text = ""
	}
	field := fmt.Sprintf(`"text":%s`, quoted(text))
	if q.chat {
		field = fmt.Sprintf(`"message":{"role":"assistant","content":%s}`, quoted(text))
	}
	if q.words != nil {
		field = q.wholeWords()
	}
	if q.calls != nil {
		list, _ := json.Marshal(q.wholeCalls()) // of texts
		field = fmt.Sprintf(`"message":{"role":"assistant","content":null,"tool_calls":%s}`, list)
	}
	if q.tool != "" {
		field = fmt.Sprintf(`"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":%s,"arguments":%s}}]}`, quoted(q.tool), quoted(text))
	}
	if q.returnsIDs() {
		list, _ := json.Marshal(ids) // numbers have JSON
		field += `,"token_ids":` + string(list)
	}
	tail := ""
	if !o.NoUsage {
		tail = "," + q.usage()
	}
	a.w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(a.w, `{"id":"1","model":"m","choices":[{"index":0,%s,"finish_reason":%q}]%s}`, field, q.finish(), tail)
}

// finish is the reason why the answer ended.
func (q *request) finish() string {
	if q.tool != "" || q.calls != nil {
		return "tool_calls"
	}
	return "length"
}

func (q *request) usage() string {
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, q.length, q.tokens, q.length+q.tokens)
}

func (q *request) returnsIDs() bool { return q.ReturnIDs != nil && *q.ReturnIDs }

// chunks are the events of all tokens in the form of vLLM: of completions and of chat, each without and with ids.
type chunks [2][2][vocab.Size][]byte

func newChunks() *chunks {
	c := &chunks{}
	for i, word := range vocab.Words {
		text, ids := string(quoted(word)), fmt.Sprintf(`,"token_ids":[%d]`, i)
		for k, extra := range []string{"", ids} {
			c[0][k][i] = fmt.Appendf(nil, `data: {"id":"cmpl-8d2e0f0e2a9f4f7d9c2b6f0a1b3c5d7e","object":"text_completion","created":1730000000,`+
				`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"text":%s,"logprobs":null,"finish_reason":null%s}]}`+"\n\n", text, extra)
			c[1][k][i] = fmt.Appendf(nil, `data: {"id":"chatcmpl-8d2e0f0e2a9f4f7d9c2b6f0a1b3c5d7e","object":"chat.completion.chunk","created":1730000000,`+
				`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":%s},"logprobs":null,"finish_reason":null%s}]}`+
				"\n\n", text, extra)
		}
	}
	return c
}

// toolEvent is the event with a piece of the call of a tool.
const toolEvent = `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[%s]},"finish_reason":null}]}` + "\n\n"

// wholeCalls are the calls with their pieces together.
func (q *request) wholeCalls() (list []piece) {
	for _, p := range q.calls[:q.tokens] {
		if p.Function.Name != "" {
			list = append(list, p)
			continue
		}
		list[len(list)-1].Function.Arguments += p.Function.Arguments
	}
	return list
}

// of returns the event of the nth token.
func (c *chunks) of(q *request, n int) []byte {
	route, ids := 0, 0
	if q.chat {
		route = 1
	}
	if q.returnsIDs() {
		ids = 1
	}
	if q.mute {
		return nil
	}
	if q.words != nil {
		name := "content"
		if n < q.reasons {
			name = "reasoning_content"
		}
		return fmt.Appendf(nil, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"%s":%s},"finish_reason":null}]}`+"\n\n",
			name, quoted(q.words[n]))
	}
	if q.calls != nil {
		call, _ := json.Marshal(q.calls[n]) // of texts
		return fmt.Appendf(nil, toolEvent, call)
	}
	if q.tool != "" {
		call := fmt.Sprintf(`{"index":0,"function":{"arguments":%s}}`, quoted(vocab.Words[q.token(n)]))
		if n == 0 {
			call = fmt.Sprintf(`{"index":0,"id":"call_1","type":"function","function":{"name":%s,"arguments":%s}}`, quoted(q.tool),
				quoted(vocab.Words[q.token(n)]))
		}
		return fmt.Appendf(nil, toolEvent, call)
	}
	return c[route][ids][q.token(n)]
}
