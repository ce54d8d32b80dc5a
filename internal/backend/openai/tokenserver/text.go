package tokenserver

import (
	"encoding/json"
	"fmt"
	"strings"
)

// words are the tokens that the server knows: token id n is words[n]. Some need escapes in JSON,
// and some are more than a byte. Behind the Plain ones are those of answers to questions.
var words = func() [96]string {
	var list [96]string
	for i := range list {
		list[i] = fmt.Sprintf(" token%02d", i)
	}
	for i := range 10 {
		list[firstDigit+i], list[firstLetter+i] = string(rune('0'+i)), string(rune('A'+i))
	}
	list[answerIs], list[boxBegin], list[boxEnd], list[Hidden] = " ANSWER: ", `\boxed{`, "}", " ==> "
	list[programBegin], list[programEnd] = "```python\nprint(int(input()) + ", ")\n```"
	list[5], list[17], list[29], list[41] = " \"quoted\"", "\n", " café", " 😀"
	return list
}()

// id is that of the nth token of the answer to a prompt.
func id(seed uint32, n int) int { return int(seed+uint32(n)*7) % Plain }

func quoted(text string) []byte {
	b, _ := json.Marshal(text) // a string has JSON
	return b
}

// text is all that the server says.
func (q *request) text() string {
	if q.mute {
		return ""
	}
	var b strings.Builder
	for n := range q.tokens {
		b.WriteString(words[q.token(n)])
	}
	return b.String()
}

// chunks are the events of all tokens, by route, with and without ids, as vLLM's look.
type chunks [2][2][len(words)][]byte

func newChunks() *chunks {
	c := &chunks{}
	for i, word := range words {
		text, ids := string(quoted(word)), fmt.Sprintf(`,"token_ids":[%d]`, i)
		for k, extra := range []string{"", ids} {
			c[0][k][i] = fmt.Appendf(nil, `data: {"id":"cmpl-8d2e0f0e2a9f4f7d9c2b6f0a1b3c5d7e","object":"text_completion","created":1730000000,`+
				`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"text":%s,"logprobs":null,"finish_reason":null%s}]}`+"\n\n", text, extra)
			c[1][k][i] = fmt.Appendf(nil, `data: {"id":"chatcmpl-8d2e0f0e2a9f4f7d9c2b6f0a1b3c5d7e","object":"chat.completion.chunk","created":1730000000,`+
				`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":%s},"logprobs":null,"finish_reason":null%s}]}`+"\n\n", text, extra)
		}
	}
	return c
}

// of returns the event of a token.
func (c *chunks) of(q *request, n int) []byte {
	if q.mute {
		return nil
	}
	route, ids := 0, 0
	if q.chat {
		route = 1
	}
	if q.ReturnIDs != nil && *q.ReturnIDs {
		ids = 1
	}
	return c[route][ids][q.token(n)]
}

// end are the events after the last token.
func (q *request) end(usage bool) []byte {
	object := `"object":"text_completion","choices":[{"index":0,"text":"","finish_reason":"length"}]`
	if q.chat {
		object = `"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"length"}]`
	}
	text := fmt.Sprintf("data: {\"id\":\"1\",%s}\n\n", object)
	if usage && q.StreamOptions.IncludeUsage {
		text += fmt.Sprintf("data: {\"id\":\"1\",\"choices\":[],%s}\n\n", q.usage())
	}
	return []byte(text + "data: [DONE]\n\n")
}

func (q *request) usage() string {
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, q.length, q.tokens, q.length+q.tokens)
}

// whole is the answer that is no stream.
func (q *request) whole(usage bool) string {
	field := fmt.Sprintf(`"text":%s`, quoted(q.text()))
	if q.chat {
		field = fmt.Sprintf(`"message":{"role":"assistant","content":%s}`, quoted(q.text()))
	}
	if q.ReturnIDs != nil && *q.ReturnIDs {
		ids := make([]int, q.tokens)
		for n := range ids {
			ids[n] = q.token(n)
		}
		text, _ := json.Marshal(ids) // numbers have JSON
		field += `,"token_ids":` + string(text)
	}
	tail := ""
	if usage {
		tail = "," + q.usage()
	}
	return fmt.Sprintf(`{"id":"1","model":"m","choices":[{"index":0,%s,"finish_reason":"length"}]%s}`, field, tail)
}
