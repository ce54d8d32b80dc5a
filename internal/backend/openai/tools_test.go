package openai

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
)

// Calls of tools are answers of prompts that offer tools: their pieces are tokens, with times.
func TestToolCalls(t *testing.T) {
	const ms = time.Millisecond
	for _, stream := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			g, _ := openTokens(t, tokenserver.Options{Tokens: 9, Prefill: 30 * ms, PerToken: 5 * ms}, func(c *setup) { c.Stream, c.texts.Chat, c.texts.ChatOnly = stream, true, true })
			p := backend.Prompt{Messages: []backend.Message{{Role: "user", Content: "x"}}, Tools: []byte(`[{"type":"function","function":{"name":"weather"}}]`), ToolChoice: []byte(`"required"`)}
			r, err := ask(t, g, p)
			if err != nil || !strings.HasPrefix(r.text, "weather") || r.tokens != 9 || r.doneAt != 70*ms || stream && r.firstAt != 30*ms {
				t.Errorf("streamed %v: %+v, %v", stream, r, err)
			}
			if m := g.Measured(); m.Finished["tool_calls"] != 1 || stream && (m.Pieces != 9 || m.Between.Max != 5*ms) {
				t.Errorf("streamed %v: %+v", stream, m)
			}
			if p.Tools, p.ToolChoice = nil, nil; stream {
				if r, err := ask(t, g, p); err != nil || strings.HasPrefix(r.text, "weather") {
					t.Errorf("without tools: %+v, %v", r, err)
				}
			}
		})
	}
}

// What servers send as calls is judged like text.
func TestWrongToolCalls(t *testing.T) {
	const call = `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}}]}`
	const end = `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"a call":                        {[]string{call, end}, ""},
		"a call beside a text":          {[]string{`{"choices":[{"delta":{"content":"I look"}}]}`, call, end}, ""},
		"empty lists":                   {[]string{`{"choices":[{"delta":{"content":"a","tool_calls":[]}}]}`, `{"choices":[{"finish_reason":"stop"}]}`}, ""},
		"a reason without a call":       {[]string{`{"choices":[{"delta":{"content":"a"}}]}`, end}, `broken off: the answer has the finish_reason "tool_calls", and calls no tool`},
		"calls that are no list":        {[]string{`{"choices":[{"delta":{"tool_calls":{"a":1}}}]}`, end}, "empty answer"},
		"calls of numbers":              {[]string{`{"choices":[{"delta":{"tool_calls":[1]}}]}`}, "malformed event"},
		"an argument that is an object": {[]string{`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]}}]}`}, "malformed event"},
		"a call behind the end":         {[]string{call, end, call}, "more after the end"},
		"no reason for the end":         {[]string{call}, ""},
		"more tokens than a call has":   {[]string{call, end, `{"choices":[],"usage":{"completion_tokens":900}}`}, "more tokens than text"},
		"tokens around a call":          {[]string{call, end, `{"choices":[],"usage":{"completion_tokens":30}}`}, ""},
		"fewer tokens than pieces":      {[]string{call, call, end, `{"choices":[],"usage":{"completion_tokens":1}}`}, "more pieces than tokens"},
		"a function of old":             {[]string{`{"choices":[{"delta":{"content":"a","function_call":{"name":"f"}},"finish_reason":"function_call"}]}`}, "broken off (function_call)"},
		"cancelled":                     {[]string{call, `{"choices":[{"finish_reason":"cancelled"}]}`}, "broken off (cancelled)"},
	} {
		stream := "data: " + strings.Join(c.events, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
		_, failed := readStreamOf(&backend.Prompt{Tools: []byte(`[{}]`)}, strings.NewReader(stream))
		if c.want == "" && failed != nil || c.want != "" && (failed == nil || !strings.HasPrefix(failed.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, failed, c.want)
		}
	}
}

// Images, tools and turns are not dropped on the way to completions.
func TestChatsAreNotSentAsCompletions(t *testing.T) {
	for _, change := range []func(*setup){func(c *setup) { c.Route = Completions }, func(c *setup) { c.URLs = []string{c.URLs[0] + "/v1/completions"} }} {
		synctest.Test(t, func(t *testing.T) {
			_, c := serve(t, tokenserver.New(tokenserver.Options{}))
			c.texts.Chat, c.texts.ChatOnly = true, true
			change(&c)
			if _, _, err := open(t, c); !contains(err, "route: the prompts have images, tools or several turns") {
				t.Error(err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, c := serve(t, tokenserver.New(tokenserver.Options{NoChat: true}))
		c.texts.Chat, c.texts.ChatOnly, c.texts.IDs = true, true, true
		if _, _, err := open(t, c); !contains(err, "takes no prompts") {
			t.Error(err)
		}
	})
}

// The pieces of calls are put together by their index, as mlcommons/endpoints does (core/types.py, merge_tool_calls).
func TestPiecesOfToolCalls(t *testing.T) {
	event := func(calls string) string {
		return `data: {"choices":[{"delta":{"tool_calls":` + calls + `}}]}` + "\n\n"
	}
	stream := event(`[{"index":1,"id":"b","type":"function","function":{"name":"second"}},{"index":0,"id":"a","function":{"name":"fir","arguments":"{\"x\""}}]`) +
		event(`[{"index":0,"function":{"name":"first","arguments":": 1}"}},{"index":1,"id":"c","function":{"arguments":"{}"}}]`) +
		event(`[{"function":{"arguments":" "}}]`) + `data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	a, failed := readStreamOf(&backend.Prompt{Tools: []byte(`[{}]`)}, strings.NewReader(stream))
	want := []backend.ToolCall{
		{Type: "function", ID: "a", Name: "first", Arguments: `{"x": 1} `},
		{Type: "function", ID: "c", Name: "second", Arguments: "{}"},
	}
	if failed != nil || !slices.Equal(a.toolCalls(), want) {
		t.Errorf("%v, %+v", failed, a.toolCalls())
	}
}

// An answer without a text is one where the score counts it.
func TestEmptyAnswers(t *testing.T) {
	const stream = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for _, may := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			_, c := serve(t, answering(typeStream, stream))
			c.Stream, c.Route, c.texts.MayBeEmpty = true, Chat, may
			g, _, err := open(t, c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ask(t, g, backend.Prompt{Text: "x"}); (err == nil) != may {
				t.Errorf("may be empty %v: %v", may, err)
			}
		})
	}
}
