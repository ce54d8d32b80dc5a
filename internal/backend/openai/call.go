package openai

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
)

const (
	maxAnswer = 8 << 20  // text of an answer
	maxWhole  = 32 << 20 // an answer that is no stream, with all that is around it
)

// A call is an answer on its way. Its memory is used again for others.
type call struct {
	session *session
	watched *watched
	prompt  *backend.Prompt
	sink    backend.Sink
	sent    time.Time

	events events
	event  event
	shape  shape
	text   []byte
	ids    []int32

	started      bool          // the sink was told of the first piece
	left         bool          // it does not count as under way any more
	begun, last  time.Duration // when the first and the last piece came
	done         bool          // the stream has said that it is over
	pieces       int
	usage        int
	promptTokens int
	finish       string
	cut          bool // its ids were made here
	tokens       int
	counted      string
}

// begin forgets the answer before. What the sink was told cannot be taken back.
func (c *call) begin() {
	c.text, c.ids, c.pieces, c.usage, c.promptTokens, c.finish, c.done = c.text[:0], c.ids[:0], 0, 0, 0, "", false
	c.events.reset()
}

// leave says that the call is not under way any more.
func (c *call) leave() {
	if !c.left {
		c.left = true
		c.session.stats.active.Add(-1)
	}
}

// answered hands the answer over.
func (c *call) answered(took time.Duration) {
	if c.session.config.Stream && c.pieces == 0 {
		c.first(nil, took) // its tokens have no text, and when the first one came is not told
	}
	if c.promptTokens > 0 {
		atomic.StoreInt32(&c.prompt.Told, int32(min(c.promptTokens, math.MaxInt32)))
	}
	c.leave() // the sink may send the next one
	c.sink.Done(backend.Answer{Text: c.text, IDs: c.ids, Tokens: c.tokens})
	c.session.stats.answered(c, took)
}

const doneMark = "[DONE]"

// isDone reports whether an event ends the stream. Servers may have space around that.
func isDone(data []byte) bool {
	return bytes.IndexByte(data, '{') < 0 && string(bytes.TrimSpace(data)) == doneMark
}

// stream reads an answer in pieces.
func (c *call) stream(body io.Reader) *failure {
	c.session.watch.answering(c.watched)
	for {
		err := c.events.fill(body)
		at := time.Now()
		now := at.Sub(c.sent)
		c.session.watch.heard(c.watched, at)
		if f := c.take(now); f != nil || c.done {
			return f
		}
		switch {
		case errors.Is(err, io.EOF):
			return c.ended(now)
		case err != nil:
			return &failure{kind: kindBroken, err: err}
		}
	}
}

// take takes the events that were read.
func (c *call) take(now time.Duration) *failure {
	for !c.done {
		data, ok := c.events.next()
		if !ok {
			return nil
		}
		if f := c.on(data, now); f != nil {
			return f
		}
	}
	return nil
}

// ended says what the end of a stream means.
func (c *call) ended(now time.Duration) *failure {
	if data, ok := c.events.last(); ok {
		if f := c.on(data, now); f != nil {
			return f
		}
	}
	if !c.done {
		return failf(kindUnending, "the stream ended after %d pieces without %s", c.pieces, doneMark)
	}
	return nil
}

// on takes an event.
func (c *call) on(data []byte, now time.Duration) *failure {
	if isDone(data) {
		c.done = true
		return nil
	}
	if !c.shape.read(&c.event, data) {
		return c.noJSON(data)
	}
	if f := c.about(); f != nil || len(c.event.text) == 0 {
		return f
	}
	return c.piece(now)
}

// noJSON quotes what should have been an event.
func (c *call) noJSON(data []byte) *failure {
	if twice := c.event.twice; twice != nil {
		return failf(kindMalformed, "an object of the answer has two keys %q", twice)
	}
	start := c.session.servers.Redact(string(data[:min(len(data), maxComplaint)]))
	return failf(kindMalformed, "%s is no JSON object", cut(strconv.Quote(start)))
}

// about takes what an event says beside the text.
func (c *call) about() *failure {
	e := &c.event
	if e.failed {
		text, _ := unquote(nil, e.fault)
		return failf(kindError, "%s", cmp.Or(c.session.quote(string(text)), saysNothing))
	}
	if e.odd != nil {
		return failf(kindMalformed, "the answer has %s tokens as the server says, which is no number of them", c.session.quote(string(e.odd)))
	}
	if e.completion > 0 {
		c.usage = e.completion
	}
	c.promptTokens = max(c.promptTokens, e.prompt)
	if e.finish != nil {
		c.finish = c.session.quote(string(e.finish))
	}
	if e.ids != nil {
		var ok bool
		if c.ids, ok = appendIDs(c.ids, e.ids); !ok {
			return failf(kindMalformed, "%s", c.session.quote(fmt.Sprintf("%q are no token ids", e.ids)))
		}
		return c.checkTokens(len(c.ids))
	}
	return nil
}

// piece takes a piece of the answer.
func (c *call) piece(now time.Duration) *failure {
	from := len(c.text)
	var ok bool
	if c.text, ok = unquote(c.text, c.event.text); !ok {
		return failf(kindMalformed, "%s", c.session.quote(fmt.Sprintf("%q is no text in JSON", c.event.text)))
	}
	if c.pieces++; c.pieces == 1 {
		c.first(c.text[from:], now)
	} else {
		c.session.stats.between.Add(now - c.last)
	}
	c.last = now
	switch most := c.prompt.MaxTokens; {
	case most > 0 && c.pieces > most:
		return failf(kindTooLong, "the answer goes on after the %d tokens that were asked for", most)
	case len(c.text) > maxAnswer:
		return failf(kindTooLong, "the answer is longer than %d bytes", maxAnswer)
	}
	return nil
}

func (c *call) first(piece []byte, now time.Duration) {
	c.session.stats.first.Add(now)
	c.begun = now
	if !c.started {
		c.started = true
		c.sink.First(piece, c.ids)
	}
}

// whole reads an answer that comes at once.
func (c *call) whole(body io.Reader) *failure {
	data, err := io.ReadAll(io.LimitReader(body, maxWhole+1))
	switch {
	case err != nil:
		return &failure{kind: kindBroken, err: err}
	case len(data) > maxWhole:
		return failf(kindTooLong, "the answer is longer than %d bytes", maxWhole)
	case !c.event.parse(data):
		return c.noJSON(data)
	}
	if f := c.about(); f != nil || len(c.event.text) == 0 {
		return f
	}
	var ok bool
	if c.text, ok = unquote(c.text, c.event.text); !ok {
		return failf(kindMalformed, "the answer is no text in JSON")
	}
	return nil
}
