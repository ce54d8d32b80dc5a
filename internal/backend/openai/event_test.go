package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A plain is an event as encoding/json reads it: the oracle.
type plain struct {
	Text, Finish, Error string
	Failed              bool
	IDs                 []int32
	Completion, Prompt  int
}

func slow(data []byte) (p plain, ok bool) {
	type text struct {
		Content   *string `json:"content"`
		Reasoning *string `json:"reasoning_content"`
	}
	var v struct {
		Choices []struct {
			Text    *string `json:"text"`
			Delta   *text   `json:"delta"`
			Message *text   `json:"message"`
			Finish  *string `json:"finish_reason"`
			IDs     []int32 `json:"token_ids"`
		} `json:"choices"`
		Usage *struct {
			Completion *int `json:"completion_tokens"`
			Prompt     *int `json:"prompt_tokens"`
		} `json:"usage"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &v) != nil {
		return p, false
	}
	p.Completion, p.Prompt = -1, -1
	if len(v.Choices) > 0 {
		c := v.Choices[0]
		take := func(s *string) {
			if s != nil && p.Text == "" {
				p.Text = *s
			}
		}
		take(c.Text)
		for _, t := range []*text{c.Delta, c.Message} {
			if t != nil {
				take(t.Content)
				take(t.Reasoning)
			}
		}
		if c.Finish != nil {
			p.Finish = *c.Finish
		}
		p.IDs = c.IDs
	}
	if u := v.Usage; u != nil && u.Completion != nil {
		p.Completion = *u.Completion
	}
	if u := v.Usage; u != nil && u.Prompt != nil {
		p.Prompt = *u.Prompt
	}
	if v.Error != nil {
		p.Failed, p.Error = true, v.Error.Message
	}
	return p, true
}

func fast(data []byte) (p plain, ok bool) {
	var e event
	if !e.parse(data) {
		return p, false
	}
	text, ok1 := unquote(nil, e.text)
	finish, ok2 := unquote(nil, e.finish)
	fault, ok3 := unquote(nil, e.fault)
	p = plain{Text: string(text), Finish: string(finish), Error: string(fault), Failed: e.failed, Completion: e.completion, Prompt: e.prompt}
	if e.ids != nil {
		ok4 := false
		if p.IDs, ok4 = appendIDs([]int32{}, e.ids); !ok4 {
			return p, false
		}
	}
	return p, ok1 && ok2 && ok3
}

// events of servers, as they send them.
var samples = []string{
	`{"id":"cmpl-1","object":"text_completion","created":1730000000,"model":"m","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null}]}`,
	`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}`,
	`{"choices":[{"index":0,"delta":{"content":"\"a\\b\"\n\u00e9\ud83d\ude00"},"finish_reason":"stop"}]}`,
	`{"choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]}`,
	`{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46,"prompt_tokens_details":{"cached_tokens":0}}}`,
	`{"choices":[{"index":0,"text":"x","token_ids":[1, 22,333],"prompt_token_ids":null}],"usage":{"completion_tokens":0}}`,
	`{"error":{"message":"out of \"memory\"","type":"x","code":500}}`,
	`{"error":null,"choices":[{"text":"a"},{"text":"b"}]}`,
	` { "choices" : [ { "message" : { "role":"assistant", "content" : "whole" } , "finish_reason" : "length" } ] } `,
	`{}`, `{"a":{"b":[1,-2.5e-3,true,false,null,"\u0000",[[]],{}]}}`,
	`{"choices":null,"usage":null}`, `{"choices":[null]}`, `{"choices":[{"text":null,"delta":null}]}`,
}

func TestEventsAreReadAsEncodingJSONReadsThem(t *testing.T) {
	for _, text := range samples {
		want, ok := slow([]byte(text))
		got, ok2 := fast([]byte(text))
		if diff := cmp.Diff(want, got); !ok || !ok2 || diff != "" {
			t.Errorf("%s: %v, %v, (-encoding/json +so):\n%s", text, ok, ok2, diff)
		}
	}
}

func TestWhatIsNoJSONObjectIsNoEvent(t *testing.T) {
	for _, text := range []string{
		"", " ", "x", "[]", `"a"`, "12", "null", "{", "}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":1}x`, `{"a":"b}`,
		`{"a":[1,]}`, `{"a":[1 2]}`, `{"a":tru}`, `{"a":01}`, `{"a":1.}`, `{"a":1e}`, `{"a":-}`, `{"choices":[{"text":"a"`, `{"choices":[{"text":"a"}`, `{a:1}`,
		`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}",
	} {
		var e event
		if e.parse([]byte(text)) {
			t.Errorf("%.80s is an event", text)
		}
	}
}

func TestAnEventWithAKeyTwiceIsNone(t *testing.T) {
	for text, key := range map[string]string{
		`{"choices":[{"text":"a"}],"choices":[{"text":"b"}]}`:                  "choices",
		`{"choices":[{"text":"a","text":"b"}]}`:                                "text",
		`{"choices":[{"delta":{"content":"a","x":1,"content":null}}]}`:         "content",
		`{"error":{"message":"it broke"},"error":null}`:                        "error",
		`{"usage":{"completion_tokens":3,"completion_tokens":30}}`:             "completion_tokens",
		`{"choices":[{"token_ids":[1],"finish_reason":null,"token_ids":[2]}]}`: "token_ids",
	} {
		var e event
		if e.parse([]byte(text)) || string(e.twice) != key {
			t.Errorf("%s is an event; the key that is there twice is %q, want %q", text, e.twice, key)
		}
	}
	for _, text := range []string{`{"x":1,"x":2}`, `{"usage":{"text":1},"text":2}`, `{"choices":[{"delta":{"content":"a"},"message":{"content":"b"}},{"text":"c","text":"d"}]}`} {
		var e event
		if !e.parse([]byte(text)) {
			t.Errorf("%s is no event", text)
		}
	}
}

func TestReadingAnEventAllocatesNothing(t *testing.T) {
	stream := bytes.Repeat([]byte("data: "+samples[0]+"\n\n"), 100)
	var e events
	var ev event
	var text []byte
	r := bytes.NewReader(stream)
	allocs := testing.AllocsPerRun(10, func() {
		r.Reset(stream)
		e.reset()
		text = text[:0]
		n := 0
		for e.fill(r) == nil {
			for data, ok := e.next(); ok; data, ok = e.next() {
				if !ev.parse(data) {
					t.Fatal("no event")
				}
				text, _ = unquote(text, ev.text)
				n++
			}
		}
		if n != 100 || len(text) != 600 {
			t.Fatalf("%d events, %d bytes of text", n, len(text))
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for 100 events", allocs)
	}
}

func TestStringsMeanWhatEncodingJSONSays(t *testing.T) {
	for _, raw := range []string{"", "a", `\"\\\/\b\f\n\r\t`, `\u0041\u00e9\u20ac`, `\ud83d\ude00`, `\ud83d`, `\ud83dx`, `\ud83dA`, `\ude00`, "é"} {
		var want string
		if err := json.Unmarshal([]byte(`"`+raw+`"`), &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := unquote(nil, []byte(raw)); !ok || string(got) != want {
			t.Errorf("unquote(%s) = %q, %v; want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{`\`, `\x`, `\u`, `\u12`, `\u12g4`, `a\`} {
		if got, ok := unquote(nil, []byte(raw)); ok {
			t.Errorf("unquote(%s) = %q", raw, got)
		}
	}
}

// Events of one shape are read without walking through them, and mean the same.
func TestAShapeChangesNothing(t *testing.T) {
	var sh shape
	for _, text := range append(append([]string{}, samples...),
		`{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"b"}]}`, `{"choices":[{"text":"c\""}]}`, `{"choices":[{"text":""}]}`, `{"choices":[{"text":"d"}],"x":1}`,
		`{"choices":[{"text":"e"`, `{"choices":[{"text":"f`, `{"choices":[{"text":"g"}]}}`, `{"choices":[{"text":"h","delta":{"content":"i"}}]}`, `{"choices":[{"text":"j","delta":{"content":"i"}}]}`,
		`{"choices":[{"text":"","delta":{"content":"k"}}]}`, `{"choices":[{"text":"","delta":{"content":"l"}}]}`, `{"choices":[{"text":"m","finish_reason":"stop"}]}`, `{"choices":[{"text":"n","finish_reason":"stop"}]}`,
	) {
		var want, got event
		ok, ok2 := want.parse([]byte(text)), sh.read(&got, []byte(text))
		want.at, got.at = 0, 0
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{}), cmpopts.EquateEmpty()); ok && diff != "" || ok != ok2 {
			t.Errorf("%s: %v, with a shape %v, (-without +with):\n%s", text, ok, ok2, diff)
		}
	}
}

// The memory of an event is used again for others, so that a shape may have nothing of it.
func TestAShapeKeepsNothingOfTheMemoryOfAnEvent(t *testing.T) {
	for _, text := range []string{
		`{"choices":[{"text":"m"}]}`,
		`{"choices":[{"text":"m","finish_reason":"stop"}]}`,
		`{"choices":[{"text":"m","token_ids":[1,2]}]}`,
		`{"choices":[{"text":"m"}],"error":{"message":"it broke"}}`,
		`{"choices":[{"text":""}],"usage":{"completion_tokens":2}}`,
	} {
		var sh shape
		var want, got event
		memory := []byte(text)
		if !sh.read(&got, memory) || !want.parse([]byte(text)) {
			t.Fatalf("%s is no event", text)
		}
		clear(memory)
		if ok := sh.read(&got, []byte(text)); !ok {
			t.Errorf("%s is no event the second time", text)
		}
		want.at, got.at = 0, 0
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s the second time (-want +got):\n%s", text, diff)
		}
	}
}

// What encoding/json takes is taken, and means the same; nothing panics.
func FuzzEvent(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := fast(data)
		want, valid := slow(data)
		if valid && !ok && plainlyWritten(data) {
			t.Errorf("%q is an event, and was refused", data)
		}
		if valid && ok && plainlyWritten(data) {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-encoding/json +so):\n%s", data, diff)
			}
		}
	})
}

// plainlyWritten leaves out what encoding/json understands in a way of its own: names in other
// cases or twice, bytes that are no UTF-8, null where something else is wanted, nesting without end.
func plainlyWritten(data []byte) bool {
	if bytes.ContainsAny(data, "\\") || bytes.Count(data, []byte("[")) > 8 || bytes.Count(data, []byte("{")) > 8 {
		return false
	}
	for _, c := range data {
		if c >= 0x80 || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	for _, name := range []string{"choices", "usage", "error", "text", "delta", "message", "content", "reasoning", "finish_reason", "token_ids", "_tokens"} {
		if bytes.Count(data, []byte(name)) > 1 {
			return false
		}
	}
	return json.Valid(data) && data[0] != 'n' && !bytes.Contains(data, []byte("null")) && !bytes.Contains(data, []byte("-"))
}

func BenchmarkEvents(b *testing.B) {
	stream := bytes.Repeat([]byte("data: "+samples[0]+"\n\n"), 100)
	var e events
	var ev event
	var sh shape
	r := bytes.NewReader(stream)
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(stream)
		e.reset()
		for e.fill(r) == nil {
			for data, ok := e.next(); ok; data, ok = e.next() {
				sh.read(&ev, data)
			}
		}
	}
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "events/s")
}
