package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
)

const (
	eventBuffer = 16 << 10 // of a stream, to begin with
	maxEvent    = 1 << 20  // length of an event
)

var errLongEvent = fmt.Errorf("an event is longer than %d bytes", maxEvent)

// events reads the data of server-sent events; ids, comments and events without data are left out.
type events struct {
	lines *bufio.Scanner
	data  []byte
}

// A serverFault is an error that a server writes between the events of a stream.
type serverFault struct{ text string }

func (f serverFault) Error() string { return f.text }

func newEvents(r io.Reader, buffer []byte) *events {
	e := &events{lines: bufio.NewScanner(r)}
	e.lines.Buffer(buffer, maxEvent)
	return e
}

// next returns the data of the next event, which are valid until the next call; io.EOF where the stream ends. An event that is called
// error, a field of this name, and lines of JSON or HTML are a serverFault.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	started, failed := false, false
	for e.lines.Scan() {
		line := e.lines.Bytes()
		if len(line) == 0 && (started || failed) {
			switch data := bytes.TrimSpace(e.data); {
			case failed:
				return nil, serverFault{"event: error " + string(data)}
			case len(data) > 0 && data[0] != ':':
				return e.data, nil
			}
			e.data, started = e.data[:0], false // it keeps the connection open
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			name, value, _ := bytes.Cut(line, []byte{':'})
			switch {
			case string(name) == "event":
				failed = string(bytes.TrimSpace(value)) == "error"
			case string(name) == "error", line0(line) == '{', line0(line) == '<':
				return nil, serverFault{string(line)}
			}
			continue
		}
		if started {
			e.data = append(e.data, '\n')
		}
		started = true
		e.data = append(e.data, bytes.TrimPrefix(value, []byte{' '})...)
		if len(e.data) > maxEvent {
			return nil, errLongEvent
		}
	}
	switch err := e.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, errLongEvent
	case err != nil:
		return nil, err
	case failed:
		return nil, serverFault{"event: error " + string(e.data)}
	case started: // without an empty line behind it
		return e.data, nil
	}
	return nil, io.EOF
}

// line0 is the first byte of a line; 0: it is empty.
func line0(line []byte) byte {
	if len(line) == 0 {
		return 0
	}
	return line[0]
}

// An event is what counts in the JSON of an event, or of an answer that comes whole.
type event struct {
	Choices []struct {
		Index        int            `json:"index"`
		Text         jsontext.Value `json:"text"`
		Delta        content        `json:"delta"`
		Message      content        `json:"message"`
		FinishReason string         `json:"finish_reason"`
		TokenIDs     jsontext.Value `json:"token_ids"`
	} `json:"choices"`
	Usage   usage          `json:"usage"`
	Error   jsontext.Value `json:"error"`
	ID      jsontext.Value `json:"id"`
	Object  string         `json:"object"`
	Detail  jsontext.Value `json:"detail"` // of servers that FastAPI answers for
	Message string         `json:"message"`
}

type usage struct {
	CompletionTokens int64 `json:"completion_tokens"`
	PromptTokens     int64 `json:"prompt_tokens"`
	Details          struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// ends are the reasons for which an answer is whole, as servers write them.
var ends = map[string]bool{
	"stop": true, "length": true, // OpenAI and all who follow it
	"eos": true, "eos_token": true, "stop_sequence": true, // TGI
	"end_turn": true, "max_tokens": true, // gateways to Anthropic's models
}

// brokenOff are the reasons that servers give for an answer that is not whole; others are counted together.
var brokenOff = map[string]bool{
	"abort": true, "aborted": true, "cancelled": true, "canceled": true, "content_filter": true, "error": true, "timeout": true,
	toolCalls: true, "function_call": true, // unless the request offers tools
	"refusal": true, "recitation": true, "safety": true, "network_error": true, "not_finished": true, "repetition": true, "sensitive": true,
}

const toolCalls = "tool_calls"

type content struct {
	Content          jsontext.Value `json:"content"`
	ToolCalls        jsontext.Value `json:"tool_calls"`
	FunctionCall     jsontext.Value `json:"function_call"`
	ReasoningContent jsontext.Value `json:"reasoning_content"`
	Reasoning        jsontext.Value `json:"reasoning"`
}

// calls reports whether the answer, or this piece of it, is the call of a tool. Servers also write empty lists where there is none.
func (c *content) calls() bool {
	empty := func(v jsontext.Value) bool {
		return len(v) == 0 || v.Kind() == 'n' || len(bytes.TrimSpace(v[1:len(v)-1])) == 0
	}
	return !empty(c.ToolCalls) || !empty(c.FunctionCall)
}

// A toolCall is the call of a tool in an answer, or a piece of one.
type toolCall struct {
	Index    *int   `json:"index"` // of the call in the answer; nil: its place in the list
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// addCalls appends the names and arguments of tool calls to the text of an answer: they are its tokens. Pieces of a call have its index: of
// its id, type and name the last counts, and arguments follow each other.
func (a *answer) addCalls(list ...jsontext.Value) error {
	for _, v := range list {
		if v.Kind() != '[' {
			continue
		}
		var calls []toolCall
		if err := json.Unmarshal(v, &calls); err != nil {
			return err
		}
		for i, c := range calls {
			if c.Index != nil {
				i = *c.Index
			}
			at, there := slices.BinarySearchFunc(a.calls, i, func(c indexedCall, i int) int { return cmp.Compare(c.index, i) })
			if !there {
				if len(a.calls) == mostCalls {
					return fmt.Errorf("the answer has more than %d calls of tools", mostCalls)
				}
				a.calls = slices.Insert(a.calls, at, indexedCall{index: i, ToolCall: backend.ToolCall{Type: "function"}})
			}
			call := &a.calls[at]
			if name := c.Function.Name; name != call.Name { // some servers write it in each piece
				a.text, a.named = append(a.text, name...), a.named+len(name)
			}
			call.Type, call.ID = cmp.Or(c.Type, call.Type), cmp.Or(c.ID, call.ID)
			call.Name, call.arguments = cmp.Or(c.Function.Name, call.Name), append(call.arguments, c.Function.Arguments...)
			a.text = append(a.text, c.Function.Arguments...)
		}
	}
	return nil
}

// An indexedCall is a call of a tool with its index in the answer.
type indexedCall struct {
	index int
	backend.ToolCall
	arguments []byte // which come in pieces
}

// mostCalls is how many tools an answer may call.
const mostCalls = 1000

// toolCalls are the calls of the answer, in the order of their index.
func (a *answer) toolCalls() (list []backend.ToolCall) {
	for _, c := range a.calls {
		c.Arguments = string(c.arguments)
		list = append(list, c.ToolCall)
	}
	return list
}

// namedCalls is how many calls name a tool.
func (a *answer) namedCalls() (n int64) {
	for _, c := range a.calls {
		if c.Name != "" {
			n++
		}
	}
	return n
}

// texts are the reasons and the text of the answer as the event writes them in JSON, with quotes; nil: the event has none. Of
// several names the first that is not empty counts: servers write the same under an old and a new one.
func (e *event) texts() (reasons, text jsontext.Value) {
	if len(e.Choices) == 0 {
		return nil, nil
	}
	first := func(list ...jsontext.Value) jsontext.Value {
		for _, v := range list {
			if v.Kind() == '"' && len(v) > len(`""`) {
				return v
			}
		}
		return nil
	}
	c := &e.Choices[0]
	return first(c.Delta.ReasoningContent, c.Delta.Reasoning, c.Message.ReasoningContent, c.Message.Reasoning),
		first(c.Text, c.Delta.Content, c.Message.Content)
}

// fault is what went wrong, as the server says it in data; empty: nothing. What has no choices, no usage and no id is no part of an answer.
func (e *event) fault(data []byte) string {
	if len(e.Error) == 0 || e.Error.Kind() == 'n' {
		empty := len(e.Error) == 0 && e.Choices == nil && e.Usage == (usage{})
		if e.Object == "error" || empty && (len(e.ID) == 0 || len(e.Detail) > 0 || e.Message != "") {
			return cmp.Or(e.Message, string(e.Detail), string(data))
		}
		return ""
	}
	var object struct {
		Message string `json:"message"`
	}
	var text string
	_, _ = json.Unmarshal(e.Error, &object), json.Unmarshal(e.Error, &text) // servers write either
	return cmp.Or(object.Message, text, string(e.Error))
}

// A shape is the JSON of an event around its text and its token ids. The events of a stream usually differ in nothing
// else: to find the two there takes a tenth of the time of parsing the event.
type shape struct {
	before, between, after []byte
	reasons                bool // the text is reasoning
}

// find returns the text and the token ids of an event of this shape, as they are written; false: it may be of another shape.
func (s *shape) find(data []byte) (text, ids jsontext.Value, ok bool) {
	around := len(s.before) + len(s.after)
	if around == 0 || len(data) < around || !bytes.HasPrefix(data, s.before) || !bytes.HasSuffix(data, s.after) {
		return nil, nil, false
	}
	text = data[len(s.before) : len(data)-len(s.after)]
	if len(s.between) > 0 {
		i := bytes.LastIndex(text, s.between)
		if i < 0 {
			return nil, nil, false
		}
		text, ids = text[:i], text[i+len(s.between):]
	}
	return text, ids, true
}

// learn takes the shape of an event that has a text, and apart from token ids nothing that the next may not have.
func (s *shape) learn(data []byte, e *event) {
	reasons, text := e.texts()
	if len(reasons) > 0 && len(text) > 0 {
		return
	}
	if len(text) == 0 {
		text = reasons
	}
	if len(e.Choices) != 1 || len(text) == 0 || e.Choices[0].FinishReason != "" || e.Usage.CompletionTokens != 0 || bytes.Count(data, text) != 1 {
		return
	}
	before, after, _ := bytes.Cut(data, text)
	var between []byte
	if ids := e.Choices[0].TokenIDs; ids.Kind() == '[' {
		if bytes.Count(after, ids) != 1 || bytes.Contains(before, ids) {
			return
		}
		between, after, _ = bytes.Cut(after, ids)
	}
	*s = shape{bytes.Clone(before), bytes.Clone(between), bytes.Clone(after), len(reasons) > 0}
}
