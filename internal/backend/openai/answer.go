package openai

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

const (
	maxAnswer = 8 << 20  // bytes, and tokens, of the text of an answer
	maxWhole  = 32 << 20 // bytes of an answer that is no stream, with all that is around it
	// After its end an answer may have maxRest more bytes within graceAfterEnd: read to its end, its connection is used again.
	maxRest       = 16 << 10
	graceAfterEnd = 200 * time.Millisecond
)

// An answer is what comes back for a prompt.
type answer struct {
	session  *session
	prompt   *backend.Prompt
	request  uint64 // hash of its body
	sink     backend.Sink
	attempts int
	trace    *backend.Trace // nil: not kept
	started  bool           // the sink has the first piece
	ended    bool           // its request does not count as outstanding any more

	sent         time.Time
	shape        shape
	text         []byte
	ids          []int32
	piece        []int32       // ids of the last event; memory that is used again
	first, last  time.Duration // when the first and the last piece came
	pieces       int
	reasons      int           // pieces that are reasoning
	reasoned     int           // bytes of the text that are reasoning
	reasoning    bool          // the last piece is
	shown        bool          // a piece was
	calls        []indexedCall // of tools, by their index
	named        int           // bytes of the last piece that are names of tools
	hidden       int64         // tokens of reasoning as the server says
	usage        int64         // tokens as the server says; check takes hidden ones off, since nothing shows that they exist
	told         bool          // usage came after the end
	promptTokens int64
	cached       int64  // of promptTokens, taken from a cache
	items        []item // of embeddings and ranks
	finish       string // why the answer ended; empty: it goes on
	tokenized    bool   // its ids were made here
	tokens       int
	counted      string

	// Runs of equal pieces: where the last piece begins, how often it came in a row, the runs before it, and whether a
	// piece came once only.
	lastAt, times, runs int
	single              bool
}

// begin starts an attempt: what an earlier one left is gone, except for what the sink has.
func (a *answer) begin() {
	*a = answer{session: a.session, prompt: a.prompt, request: a.request, sink: a.sink, trace: a.trace, attempts: a.attempts + 1,
		started: a.started, sent: clock.Now()}
	if a.trace != nil {
		a.trace.Begin(a.sent)
	}
}

// resent counts a request that goes out again, because the server closed a connection that was open before.
func (a *answer) resent() {
	if a.trace != nil {
		a.trace.Attempts++
	}
	a.session.stats.resent()
}

// end says once that the request is no longer outstanding.
func (a *answer) end() {
	if !a.ended {
		a.ended = true
		a.session.stats.end()
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, eventBuffer); return &b }}

// A timedReader notes when its last read ended, and puts the end of the silence off.
type timedReader struct {
	io.Reader
	at      time.Time
	silence *time.Timer
	most    time.Duration // of silence
}

func (r *timedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.at = clock.Now()
	r.silence.Reset(r.most)
	return n, err
}

// read reads an answer, counts it and hands it over.
func (a *answer) read(r *timedReader) *failure {
	if IsTask(a.session.config.Route) {
		return a.readTask(r)
	}
	read := a.readWhole
	if a.session.config.Stream {
		read = a.readStream
	}
	f := read(r)
	if f == nil {
		f = a.check()
	}
	if f != nil {
		return f
	}
	took := clock.Since(a.sent)
	if a.session.config.Stream && a.pieces == 0 {
		a.start(nil, took) // tokens without text: the time of the first is not known
	}
	if a.promptTokens > 0 {
		atomic.StoreInt32(&a.prompt.Told, int32(a.promptTokens))
	}
	if a.trace != nil {
		a.trace.PromptTokens, a.trace.CachedTokens, a.trace.Finish = a.promptTokens, min(a.cached, a.promptTokens), a.finish
	}
	a.end() // the sink may send the next prompt
	a.sink.Done(backend.Answer{Text: a.text, Reasoning: a.reasoned, IDs: a.ids, Tokens: a.tokens, Prompt: a.promptTokens, Finish: a.finish,
		Model: cmp.Or(a.prompt.Model, a.session.model), Calls: a.toolCalls()})
	a.session.stats.answered(a, took)
	r.most = graceAfterEnd
	r.silence.Reset(graceAfterEnd)
	_, _ = io.CopyN(io.Discard, r, maxRest)
	return nil
}

// giveUp ends an answer that was given up: what came of it counts as one, for a load generator that waits for each, and not in what is
// measured here.
func (a *answer) giveUp() {
	a.trace.Finish = backend.Cancelled
	a.end()
	if a.session.config.Stream && !a.started {
		a.started = true
		a.sink.First(nil, nil)
	}
	a.sink.Done(backend.Answer{Text: a.text, IDs: a.ids, Tokens: max(1, a.pieces)})
	a.session.stats.givenUp(a.pieces)
}

// readStream reads the events of an answer that comes in pieces.
func (a *answer) readStream(r *timedReader) *failure {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	e := newEvents(r, *buffer)
	for {
		data, err := e.next()
		switch {
		case errors.Is(err, io.EOF):
			return failf(kindUnending, "the stream ended after %d pieces without %s", a.pieces, doneMark)
		case errors.Is(err, errLongEvent):
			return &failure{kind: kindTooLong, err: err}
		case errors.As(err, new(serverFault)):
			return failf(kindError, "%s", a.session.quote(err.Error()))
		case err != nil:
			return &failure{kind: kindBroken, err: err}
		case string(bytes.TrimSpace(data)) == doneMark:
			return nil
		}
		if f := a.take(data, r.at.Sub(a.sent)); f != nil {
			return f
		}
	}
}

const doneMark = "[DONE]"

// take takes the data of an event that came at a time.
func (a *answer) take(data []byte, now time.Duration) *failure {
	before, idsBefore, over := len(a.text), len(a.ids), a.finish != ""
	a.named = 0
	text, ids, ok := a.shape.find(data)
	if a.reasoning = a.shape.reasons; ok && a.add(text, ids) == nil {
		if a.reasoning {
			a.reasoned = len(a.text)
		}
	} else {
		var e event
		if f := a.parse(&e, data); f != nil {
			return f
		}
		a.shape.learn(data, &e)
	}
	if over && (len(a.text) > before || len(a.ids) > idsBefore) {
		return failf(kindAfterEnd, "the server ended the answer (%q) and sent another piece of it: %s", a.finish, a.session.quote(string(a.text[before:])))
	}
	if f := a.checkTokens(int64(len(a.ids))); f != nil || len(a.text) == before {
		return f
	}
	a.compare(before, before+a.named)
	if a.reasoning {
		a.reasons++
	}
	if a.pieces++; a.pieces == 1 {
		a.start(a.text, now)
	} else {
		a.session.stats.between.Add(now - a.last)
	}
	a.last = now
	if a.trace != nil {
		a.trace.Piece(now)
	}
	switch most := a.prompt.MaxTokens; {
	case most > 0 && a.pieces > most:
		return failf(kindTooLong, "the answer goes on after the %d tokens that were asked for", most)
	case len(a.text) > maxAnswer:
		return failf(kindTooLong, "the answer is longer than %d bytes", maxAnswer)
	}
	return nil
}

// compare compares the piece that begins at a place in the text with the one before it, which ended at another, until one differs from both
// of its neighbours. A name of a tool, which comes once whatever follows, is not part of pieces.
func (a *answer) compare(end, at int) {
	switch {
	case a.single || at == len(a.text):
		return
	case a.times > 0 && bytes.Equal(a.text[a.lastAt:end], a.text[at:]):
		a.times++
	default:
		a.single = a.times == 1
		a.times, a.runs = 1, a.runs+1
	}
	a.lastAt = at
}

// add appends a text and token ids as JSON has them, both or none.
func (a *answer) add(text, ids jsontext.Value) error {
	a.piece = a.piece[:0]
	if ids != nil {
		if err := json.Unmarshal(ids, &a.piece); err != nil {
			return err
		}
		if slices.ContainsFunc(a.piece, func(id int32) bool { return id < 0 }) {
			return fmt.Errorf("%s are not token ids", ids)
		}
	}
	if text != nil {
		longer, err := jsontext.AppendUnquote(a.text, text)
		if err != nil {
			return err
		}
		a.text = longer
	}
	a.ids = append(a.ids, a.piece...)
	return nil
}

// start tells the sink of the first piece.
func (a *answer) start(piece []byte, now time.Duration) {
	a.session.stats.first.Add(now)
	a.first = now
	if !a.started {
		a.started = true
		a.sink.First(piece, a.ids)
	}
}

// readWhole reads an answer that comes at once.
func (a *answer) readWhole(r *timedReader) *failure {
	data, f := readAll(r, maxWhole)
	if f != nil {
		return f
	}
	return a.parse(&event{}, data)
}

// readAll reads what comes at once, so many bytes at most.
func readAll(r *timedReader, most int64) ([]byte, *failure) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, &failure{kind: kindBroken, err: err}
	case int64(len(data)) > most:
		return nil, failf(kindTooLong, "the answer is longer than %d bytes", most)
	}
	return data, nil
}

// parse reads the JSON of an event or of a whole answer, and takes over what it has.
func (a *answer) parse(e *event, data []byte) *failure {
	if err := json.Unmarshal(data, e); err != nil {
		return a.malformed(err, data)
	}
	if fault := e.fault(data); fault != "" {
		return failf(kindError, "%s", a.session.quote(fault))
	}
	if e.Usage.CompletionTokens < 0 {
		return failf(kindMalformed, "the answer has %d tokens as the server says", e.Usage.CompletionTokens)
	}
	if n := e.Usage.CompletionTokens; n > 0 {
		if a.told && n != a.usage {
			return failf(kindAfterEnd, "the server ended the answer (%q), counted %d tokens, and then %d", a.finish, a.usage, n)
		}
		a.usage, a.told = n, a.finish != ""
	}
	a.hidden = max(a.hidden, e.Usage.Details.ReasoningTokens)
	a.promptTokens = max(a.promptTokens, min(e.Usage.PromptTokens, math.MaxInt32))
	a.cached = max(a.cached, e.Usage.PromptDetails.CachedTokens)
	if len(e.Choices) == 0 {
		return nil
	}
	choice := &e.Choices[0]
	if len(e.Choices) > 1 || choice.Index != 0 {
		return failf(kindChoices, "asked was for one answer, and the server sent choice %d", e.Choices[len(e.Choices)-1].Index)
	}
	offered := len(a.prompt.Tools) > 0 && string(a.prompt.ToolChoice) != `"none"`
	if called := choice.Delta.calls() || choice.Message.calls(); called && !offered {
		return failf(kindOff+" (tool_calls)", "the answer calls a tool, and its request offers none")
	}
	if reason := choice.FinishReason; reason != "" {
		a.session.givesReasons.Store(true)
		a.finish = a.session.quote(reason)
		if f := checkFinish(a.finish); f != nil && !(offered && a.finish == toolCalls) {
			return f
		}
	}
	reasons, text := e.texts()
	a.reasoning = len(reasons) > 0
	a.shown = a.shown || a.reasoning
	err := a.add(reasons, nil)
	if a.reasoning {
		a.reasoned = len(a.text)
	}
	if err := cmp.Or(err, a.add(text, choice.TokenIDs), a.addCalls(choice.Delta.ToolCalls, choice.Message.ToolCalls)); err != nil {
		return a.malformed(err, data)
	}
	return nil
}

// checkFinish refuses an answer that did not end for a reason that means an end.
func checkFinish(finish string) *failure {
	switch reason := strings.ToLower(finish); {
	case ends[reason]:
		return nil
	case brokenOff[reason]:
		return failf(kindOff+" ("+reason+")", "the answer has the finish_reason %q", finish)
	}
	return failf(kindOff, "the answer has the finish_reason %q, expected stop or length", finish)
}

// malformed quotes what should have been an event.
func (a *answer) malformed(err error, data []byte) *failure {
	return failf(kindMalformed, "%s", a.session.quote(fmt.Sprintf("%v: %s", err, data)))
}

// checkTokens refuses an answer of more tokens than were asked for: they would count.
func (a *answer) checkTokens(n int64) *failure {
	most := int64(a.prompt.MaxTokens)
	if most <= 0 {
		most = maxAnswer
	}
	if n > most {
		return failf(kindTooLong, "the answer has %d tokens as the server says, asked were at most %d", n, most)
	}
	return nil
}

// mostHidden is how many tokens of an answer may have no text: one that ends it, bytes of an unfinished character, a text
// that ended it (Prompt.Stop). Servers of chats also take the marks of reasoning, tools and turns out of it.
func (s *session) mostHidden() int64 {
	if s.dialect.chat {
		return 16
	}
	return 4
}

// mostAroundCall is how many tokens a model may write around the name and the arguments of a call of a tool, which servers take out. The
// templates of Llama, Qwen, DeepSeek and gpt-oss have 8 to 20.
const mostAroundCall = 32

// wantsCall reports whether the answer to a prompt has to call a tool.
func wantsCall(p *backend.Prompt) bool {
	return p.ToolChoice.Kind() == '{' || string(p.ToolChoice) == `"required"`
}

// fewestRuns is how many pieces an answer must have, each of them several times in a row, to have been repeated.
const fewestRuns = 8

// check refuses an answer that cannot count, and counts its tokens.
func (a *answer) check() *failure {
	texts := &a.session.texts
	// A token has a byte of text at least, except for hidden ones. After ignore_eos models go on with hidden tokens.
	most := int64(len(a.text))
	if most == 0 {
		most = int64(len(a.ids))
	}
	if f := a.checkTokens(a.usage); f != nil {
		return f
	}
	if !a.shown {
		a.usage -= min(max(a.hidden, 0), a.usage)
	}
	told := max(a.usage, int64(len(a.ids)))
	switch {
	case len(a.text) == 0 && a.usage == 0 && len(a.ids) == 0 && (a.finish == "" || !texts.MayBeEmpty):
		return failf(kindEmpty, "the server ended the answer (%q) without a text, and tells of no tokens", a.finish)
	case a.usage > 0 && int64(a.pieces-a.reasons) > a.usage:
		return failf(kindPieces, "the answer came in %d pieces, and has %d tokens as the server says: something was sent twice", a.pieces, a.usage)
	case told > most+a.session.mostHidden()+a.namedCalls()*mostAroundCall && !a.prompt.Exact:
		return failf(kindNoText, "the answer has %d tokens as the server says, and its text %d bytes", told, len(a.text))
	case !a.single && a.times > 1 && a.runs >= fewestRuns:
		return failf(kindRepeated, "the answer came in %d pieces, each several times in a row", a.pieces)
	case a.finish == toolCalls && a.namedCalls() == 0:
		return failf(kindOff, "the answer has the finish_reason %q, and calls no tool", a.finish)
	case a.namedCalls() == 0 && a.finish != "length" && wantsCall(a.prompt):
		return failf(kindNoCall, "the answer ended (%q) without a call, which tool_choice %s asks for", a.finish, a.prompt.ToolChoice)
	case a.finish == "" && a.session.givesReasons.Load():
		return failf(kindNoReason,
			"the answer ended after %d bytes without a finish_reason, which the server gives elsewhere: it may have been broken off", len(a.text))
	}
	if len(a.ids) == 0 && len(a.text) > 0 && (texts.Logged || a.usage == 0) {
		switch {
		case texts.Tokenize != nil:
			var err error
			if a.ids, err = texts.Tokenize(a.text); err != nil {
				return &failure{kind: kindMalformed, err: err}
			}
			a.tokenized = true
		case texts.Logged:
			return failf(kindNoIDs, "the server tells no token ids of its answer, and there is no tokenizer to make them of its text: "+
				"give tokenizer.json beside the data, or --tokenizer")
		}
	}
	switch {
	case a.tokenized:
		a.tokens, a.counted = len(a.ids), countedLocally
	case a.usage > 0 && (!texts.Logged || len(a.ids) == 0):
		a.tokens, a.counted = int(a.usage), countedByServer
	case len(a.ids) > 0: // an answer that is logged as token ids has as many tokens as these
		a.tokens, a.counted = len(a.ids), countedIDs
	default:
		a.tokens, a.counted = max(1, a.pieces), countedPieces
	}
	return nil
}
