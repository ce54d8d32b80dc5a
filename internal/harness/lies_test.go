package harness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/prompts"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// A question is a request, and the answer of an honest server: words of one token each.
type question struct {
	nth    int
	stream bool
	words  []string
	ids    []int32
}

const (
	queries      = 40
	honestTokens = 64
	mostTokens   = 128
)

// A liar answers all requests for as many tokens as the benchmark wants.
type liar struct {
	stream func(q question) []string // the data of events; all end with [DONE] unless the last is empty
	whole  func(q question) string   // the answer to a request without a stream
	raw    bool                      // events are written as they are
	always bool                      // it lies before the traffic too
	later  bool                      // it lies in the later turns of conversations only
	calls  bool                      // its events in traffic are those of chats already
	asked  atomic.Int64

	observer
	traffic atomic.Bool // it has begun: the server lies
}

func (l *liar) Phase(name string) { l.traffic.Store(name == "traffic") }

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Prompt    json.RawMessage   `json:"prompt"`
		Messages  []json.RawMessage `json:"messages"`
		Tools     []json.RawMessage `json:"tools"`
		MaxTokens int               `json:"max_tokens"`
		Stream    bool              `json:"stream"`
	}
	if r.Method == http.MethodGet || json.Unmarshal(body, &q) != nil {
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		return
	}
	asked := int(l.asked.Add(1))
	n, stream, whole := honestTokens, l.stream, l.whole
	if !l.traffic.Load() {
		n = min(q.MaxTokens, n)
	}
	if !l.traffic.Load() && !l.always || l.later && len(q.Messages) == 1 {
		stream, whole = honest, honestWhole
	}
	h := fnv.New64a()
	_, _ = h.Write(slices.Concat(append(q.Messages, q.Prompt)...))
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	a := question{nth: asked, stream: q.Stream}
	for range n {
		id := int32(random.IntN(vocab.Plain))
		a.ids, a.words = append(a.ids, id), append(a.words, vocab.Words[id])
	}
	if !q.Stream {
		time.Sleep(20 * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, whole(a))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	events := stream(a)
	if q.Messages != nil && !(l.calls && l.traffic.Load()) {
		events = inChat(events, q.Tools != nil)
	}
	if l.raw && l.traffic.Load() {
		fmt.Fprint(w, strings.Join(events, ""))
		return
	}
	for _, e := range append(events, "[DONE]") {
		if e == "" {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", e)
	}
}

// inChat has the events of completions as those of a chat, whose text may be the arguments of a call.
func inChat(events []string, calls bool) (list []string) {
	name, before := "weather", "" // in the first piece, and in its repetitions
	for _, e := range events {
		var event map[string]any
		if json.Unmarshal([]byte(e), &event) != nil {
			list = append(list, e)
			continue
		}
		choices, _ := event["choices"].([]any)
		for _, c := range choices {
			choice := c.(map[string]any)
			text, ok := choice["text"]
			delete(choice, "text")
			switch {
			case ok && text == "":
				choice["delta"] = map[string]any{}
			case ok && calls:
				function := map[string]any{"arguments": text}
				if before == "" || before == text {
					function["name"], before = name, text.(string)
				} else {
					before = "-"
				}
				choice["delta"] = map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "1", "function": function}}}
			case ok:
				choice["delta"] = map[string]any{"content": text}
			}
			if calls && choice["finish_reason"] == "stop" {
				choice["finish_reason"] = "tool_calls"
			}
		}
		data, _ := json.Marshal(event)
		list = append(list, string(data))
	}
	return list
}

// Parts of streams.

func text(s string) string { return textIn(0, s) }

func textIn(choice int, s string) string {
	quoted, _ := json.Marshal(s)
	return fmt.Sprintf(`{"choices":[{"index":%d,"text":%s,"finish_reason":null}]}`, choice, quoted)
}

func texts(words ...string) (events []string) {
	for _, w := range words {
		events = append(events, text(w))
	}
	return events
}

func idsOf(ids []int32, s string) string {
	quoted, _ := json.Marshal(s)
	list, _ := json.Marshal(ids)
	return fmt.Sprintf(`{"choices":[{"index":0,"text":%s,"token_ids":%s}]}`, quoted, list)
}

func usage(n int) string {
	return fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, n)
}

const finish = `{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`

// told is a stream of words with a number of tokens at its end.
func told(n int, words ...string) []string { return append(texts(words...), finish, usage(n)) }

func honest(q question) []string { return told(len(q.words), q.words...) }

func wholeOf(n int, s string) string {
	quoted, _ := json.Marshal(s)
	return fmt.Sprintf(`{"choices":[{"index":0,"text":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, quoted, n)
}

func honestWhole(q question) string { return wholeOf(len(q.words), strings.Join(q.words, "")) }

// The fates of a run. A limitation is made, a problem makes the run INVALID; of failed answers the kind counts.
const (
	valid  = "valid"
	failed = "failed: "
	wrong  = "INVALID: "
	marked = "marked: "

	counts    = wrong + "tokens: the servers tell of "
	unchecked = marked + "unchecked_tokens "
	alike     = marked + "alike_answers "
	inPieces  = marked + "tokens_in_pieces 2560 of "
	noText    = failed + "more tokens than text"
	afterEnd  = failed + "more after the end"
	repeated  = failed + "repeated events"
	another   = failed + "another choice"
	tooLong   = failed + "answer too long"
)

// A lie is what a server does, and the fates of its run with the tokenizer and without it.
type lie struct {
	name           string
	known, unknown string
	stream         func(q question) []string
}

var lies = append([]lie{
	{"one letter and the most tokens", noText, noText, func(question) []string { return told(mostTokens, "a") }},
	{"one letter and half of the tokens", noText, noText, func(question) []string { return told(honestTokens, "a") }},
	{"no text and the most tokens", noText, noText, func(question) []string { return told(mostTokens) }},
	{"no text and five tokens", noText, noText, func(question) []string { return told(5) }},
	{"no text and two tokens", alike, alike, func(question) []string { return told(2) }},
	{"no text and one token", wrong + "the SUT completed sample", wrong + "the SUT completed sample", func(question) []string { return told(1) }},
	{"the same two tokens for all", alike, alike, func(question) []string { return told(2, " token01", " token02") }},
	{"the same answer for all", alike, alike, func(question) []string { return told(30, slices.Repeat([]string{" token01", " token02"}, 15)...) }},
	{"one of three answers", alike, alike, func(q question) []string {
		return told(20, slices.Repeat([]string{vocab.Words[q.nth%3]}, 20)...)
	}},
	{"all in one piece", inPieces + "40", inPieces + "40", func(q question) []string { return told(honestTokens, strings.Join(q.words, "")) }},
	{"a token and the rest in another piece", inPieces + "80", inPieces + "80", func(q question) []string {
		return told(honestTokens, q.words[0], strings.Join(q.words[1:], ""))
	}},
	{"whole answers without a reason", failed + "no finish_reason", failed + "no finish_reason", func(q question) []string { return append(texts(q.words...), usage(honestTokens)) }},
	{"half answers without a reason", failed + "no finish_reason", failed + "no finish_reason", func(q question) []string { return texts(q.words[:honestTokens/2]...) }},
	{"a reason that is empty", failed + "no finish_reason", failed + "no finish_reason", func(q question) []string {
		return append(texts(q.words...), `{"choices":[{"index":0,"text":"","finish_reason":""}]}`, usage(honestTokens))
	}},
	{"a tool that was not offered", failed + "broken off (tool_calls)", failed + "broken off (tool_calls)", func(q question) []string {
		return append(texts(q.words...), `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}`, finish, usage(honestTokens))
	}},
	{"45 tokens more", counts + "4360 in 40 answers, the tokenizer counts 2560 ", unchecked, func(q question) []string { return told(honestTokens+45, q.words...) }},
	{"twice the tokens", counts, unchecked, func(q question) []string { return told(2*honestTokens, q.words...) }},
	{"six tokens more", counts, unchecked, func(q question) []string { return told(honestTokens+6, q.words...) }},
	{"45 more in every second answer", counts, unchecked, func(q question) []string { return told(honestTokens+45*(q.nth%2), q.words...) }},
	{"64 more in every fourth answer", counts, unchecked, func(q question) []string {
		if q.nth%4 != 0 {
			return honest(q)
		}
		return told(mostTokens, q.words...)
	}},
	{"most tokens in the first event, and none at the end", counts, unchecked, func(q question) []string {
		return append([]string{usage(mostTokens)}, append(texts(q.words...), finish)...)
	}},
	{"most tokens with the end", counts, unchecked, func(q question) []string {
		return append(texts(q.words...), `{"choices":[{"index":0,"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":128}}`)
	}},
	{"usage grows by two with each piece", counts, unchecked, func(q question) (list []string) {
		for i, w := range q.words {
			list = append(list, text(w), usage(2*(i+1)))
		}
		return append(list, finish)
	}},
	{"a token for each byte, up to the most", counts, unchecked, func(q question) []string {
		return told(mostTokens, strings.Split(strings.Join(q.words, "")[:mostTokens], "")...)
	}},
	{"a negative number of tokens", failed + "malformed event", failed + "malformed event", func(q question) []string { return told(-honestTokens, q.words...) }},
	{"more tokens than asked for", tooLong, tooLong, func(q question) []string { return told(mostTokens+1, q.words...) }},
	{"a billion tokens", tooLong, tooLong, func(q question) []string { return told(1e9, q.words...) }},
	{"more pieces than asked for", tooLong, tooLong, func(q question) []string { return told(mostTokens, slices.Repeat(q.words, 3)...) }},
	{"more pieces than tokens", failed + "more pieces than tokens", failed + "more pieces than tokens", func(q question) []string { return told(honestTokens-1, q.words...) }},
	{"nothing", failed + "empty answer", failed + "empty answer", func(question) []string { return nil }},
	{"nothing but an end", failed + "empty answer", failed + "empty answer", func(question) []string { return []string{finish} }},
	{"no end", failed + "stream without an end", failed + "stream without an end", func(q question) []string { return append(texts(q.words...), "") }},

	{"every event twice", repeated, repeated, func(q question) []string { return told(mostTokens, twice(q.words)...) }},
	{"every event of half an answer three times", repeated, repeated, func(q question) []string {
		var list []string
		for _, w := range q.words[:32] {
			list = append(list, w, w, w)
		}
		return told(96, list...)
	}},
	{"every event twice, the tokens once", failed + "more pieces than tokens", failed + "more pieces than tokens", func(q question) []string { return told(honestTokens, twice(q.words)...) }},

	{"63 pieces after the end", afterEnd, afterEnd, func(q question) []string {
		return slices.Concat(texts(q.words...), []string{finish}, texts(q.words[:63]...), []string{usage(127)})
	}},
	{"a piece after the end", afterEnd, afterEnd, func(q question) []string { return append(honest(q), text("a")) }},
	{"a piece with the usage", afterEnd, afterEnd, func(q question) []string {
		return append(texts(q.words...), finish, `{"choices":[{"index":0,"text":" token01"}],"usage":{"completion_tokens":65}}`)
	}},
	{"token ids after the end", afterEnd, afterEnd, func(q question) []string { return append(honest(q), `{"choices":[{"token_ids":[1]}]}`) }},
	{"an end between two pieces, and another one", afterEnd, afterEnd, func(q question) []string {
		return append(append(texts(q.words[:9]...), finish), honest(q)...)
	}},
	{"two numbers of tokens after the end", afterEnd, afterEnd, func(q question) []string { return append(honest(q), usage(mostTokens)) }},

	{"choice 7", another, another, func(q question) (list []string) {
		for _, w := range q.words {
			list = append(list, textIn(7, w))
		}
		return append(list, usage(honestTokens))
	}},
	{"choice -1", another, another, func(q question) []string { return append(texts(q.words...), textIn(-1, "a"), usage(mostTokens)) }},
	{"three choices in an event", another, another, func(q question) (list []string) {
		for _, w := range q.words {
			one := fmt.Sprintf(`{"index":0,"text":%q}`, w)
			list = append(list, `{"choices":[`+one+`,`+strings.Replace(one, "0", "1", 1)+`,`+strings.Replace(one, "0", "2", 1)+`]}`)
		}
		return append(list, usage(mostTokens))
	}},
	{"two choices in turn", another, another, func(q question) (list []string) {
		for _, w := range q.words {
			list = append(list, text(w), textIn(1, w))
		}
		return append(list, finish, usage(mostTokens))
	}},
	{"a second choice after the end", another, another, func(q question) []string { return append(honest(q), textIn(1, "a")) }},

	{"one id for all, without a text", alike, alike, func(question) []string {
		return []string{idsOf(slices.Repeat([]int32{1}, honestTokens), ""), finish, usage(honestTokens)}
	}},
	{"twice the ids and usage, with a text", counts, unchecked, func(q question) []string {
		return []string{idsOf(slices.Repeat([]int32{1}, mostTokens), strings.Join(q.words, "")), finish, usage(mostTokens)}
	}},
	{"twice the ids, with a text", counts, counts + "2560 in 40 answers, and send the ids of 5120", func(q question) []string {
		return []string{idsOf(slices.Repeat(q.ids, 2), strings.Join(q.words, "")), finish, usage(honestTokens)}
	}},
	{"twice the usage, with ids", counts, counts + "5120 in 40 answers, and send the ids of 2560", func(q question) []string {
		return []string{idsOf(q.ids, strings.Join(q.words, "")), finish, usage(mostTokens)}
	}},
	{"many ids of one letter", noText, noText, func(question) []string {
		return []string{idsOf(slices.Repeat([]int32{1}, mostTokens), "a"), finish, usage(mostTokens)}
	}},
	{"ids of another model, without a text", wrong + "the tokenizer cannot read an answer", unchecked, func(q question) []string {
		return []string{idsOf([]int32{5, 100_000 + q.ids[0], q.ids[1], q.ids[2], q.ids[3]}, ""), finish}
	}},
	{"ids and a usage of their number, with half of the text", counts, unchecked, func(q question) []string {
		return []string{idsOf(q.ids, strings.Join(q.words[:32], "")), finish, usage(honestTokens)}
	}},

	{"prompts of a cache", marked + "cached_tokens 80 of 120", marked + "cached_tokens 80 of 120", func(q question) []string {
		return append(texts(q.words...), finish, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":64,"prompt_tokens_details":{"cached_tokens":2}}}`)
	}},
	{"an error beside the text", failed + "error in the stream", failed + "error in the stream", func(q question) []string {
		return append(texts(q.words...), `{"error":"lost"}`, finish, usage(honestTokens))
	}},
}, fillers()...)

func twice(words []string) (list []string) {
	for _, w := range words {
		list = append(list, w, w)
	}
	return list
}

// fillers are lies of letters that show nothing, alone and behind an answer.
func fillers() (list []lie) {
	for name, s := range map[string]string{
		"spaces": " ", "tabs": "\t", "vertical tabs": "\v", "zero-width spaces": "\u200b", "joiners": "\u200d", "byte-order marks": "\ufeff",
		"replacements": "\ufffd", "soft hyphens": "\u00ad", "marks of direction": "\u202e", "zeros": "\x00", "combining marks": "\u0301", "variation selectors": "\ufe0f",
	} {
		filler := slices.Repeat([]string{s}, honestTokens)
		list = append(list,
			lie{"only " + name, counts, alike, func(question) []string { return told(honestTokens, filler...) }},
			lie{name + " behind the answer", counts, unchecked, func(q question) []string { return told(2*honestTokens, append(q.words, filler...)...) }},
		)
	}
	return list
}

// runOf runs a benchmark at a liar: that of the data set, which has a tokenizer, or without one prompts of no benchmark.
func runOf(t *testing.T, l *liar, s loadgen.Scenario, data string) (r *report.Results, err error) {
	t.Helper()
	return runAt(t, l, s, nil, func(cfg *Config) {
		cfg.Model = prompts.Model(prompts.Config{Name: "m", Synthetic: 24, Answer: prompts.Lengths(fmt.Sprint(mostTokens))})
		if data != "" {
			m, lookup := models.LookupAny("llama3.1-8b")
			testenv.Must(t, lookup)
			cfg.Model, cfg.DatasetDir, cfg.Settings.PerformanceSampleCountOverride = m.Remote(), data, 24
		}
	})
}

// runAt runs a test at a server.
func runAt(t *testing.T, l lyingServer, s loadgen.Scenario, client func(*openai.Config), change func(*Config)) (r *report.Results, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := tokenConfig(t, nil, s, func(c *openai.Config) {
			c.Dial = tokentest.Serve(t, l).Dial
			if client != nil {
				client(c)
			}
		})
		l.observe(t)
		cfg.Observer = l
		set := &cfg.Settings
		set.MinQueryCount, set.ServerTargetLatencyPercentile, set.MinDuration = queries, 0.5, 10*time.Millisecond
		set.ServerTargetQPS, set.OfflineExpectedQPS = 1000, 1000
		change(&cfg)
		r, err = measure(t.Context(), cfg)
	})
	return r, err
}

// A lyingServer lies during the traffic, of which the observer tells it.
type lyingServer interface {
	http.Handler
	Observer
	observe(t *testing.T)
}

func (l *liar) observe(t *testing.T) { l.observer.t = t }

// checkFate compares a run with its fate.
func checkFate(t *testing.T, r *report.Results, err error, fate string, known bool) {
	t.Helper()
	if r == nil {
		t.Fatal(err)
	}
	kind, want, _ := strings.Cut(fate, ": ")
	ok := false
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, want) })
	}
	switch kind + ": " {
	case failed:
		ok = r.Result == report.Invalid && r.Performance.Samples == 0 && len(r.Generation.Failures) == 1 && r.Generation.Failures[0].Kind == want
	case wrong:
		ok = r.Result == report.Invalid && has(r.Problems)
	case marked:
		ok = r.Result == report.Valid && has(data(r.Limitations))
	default:
		own := 0
		if !known {
			own = 1 // tokens as counted by the servers
		}
		ok = r.Result == report.Valid && len(r.Limitations) == own
	}
	if !ok {
		t.Errorf("%v: %s, problems %q, limitations %v, failures %+v; want %s", err, r.Result, r.Problems, r.Limitations, r.Generation.Failures, fate)
	}
}

// No server can improve its number of tokens unnoticed.
func TestLyingServers(t *testing.T) {
	t.Parallel()
	data := articles(t, tokenserver.New(tokenserver.Options{}), 24)
	for i, c := range lies {
		if testing.Short() && i%3 != 0 {
			continue // for the race detector they are alike
		}
		t.Run(c.name, func(t *testing.T) {
			r, err := runOf(t, &liar{stream: c.stream}, loadgen.Server, data)
			checkFate(t, r, err, c.known, true)
			if testing.Short() {
				return
			}
			r, err = runOf(t, &liar{stream: c.stream}, loadgen.Server, "")
			checkFate(t, r, err, c.unknown, false)
		})
	}
}

// chatsOf writes a file of 24 chats of a user, with an image or with a tool each.
func chatsOf(t *testing.T, form string) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "dot.png"), []byte("\x89PNG\r\n\x1a\n and no picture"), 0o600))
	var rows []byte
	for i := range 24 {
		text := fmt.Sprintf("What is in picture %d?", i)
		row := map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}, "max_tokens": mostTokens}
		switch form {
		case "images":
			row = map[string]any{"prompt": text, "image": "dot.png", "max_tokens": mostTokens}
		case "tools":
			row["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": "weather"}}}
			row["tool_choice"] = "required"
		}
		line, err := json.Marshal(row)
		testenv.Must(t, err)
		rows = append(append(rows, line...), '\n')
	}
	path := filepath.Join(dir, "chats.jsonl")
	testenv.Must(t, os.WriteFile(path, rows, 0o600))
	return path
}

// In chats with images and tools, and in all turns of conversations, lies have the same fates.
func TestLyingServersOfChats(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector has TestLyingServers")
	}
	forms := []string{"tools", "later turns"}
	if testenv.Long() {
		forms = append(forms, "images", "conversations")
	}
	for _, form := range forms {
		set := prompts.Config{Name: "m", Answer: prompts.Lengths(fmt.Sprint(mostTokens))}
		path := ""
		if form == "images" || form == "tools" {
			path = chatsOf(t, form)
		} else {
			set.Synthetic, set.Turns = 24, "3"
		}
		fates := map[string]string{"no text and five tokens": alike} // chats may have more hidden tokens
		switch form {
		case "conversations", "later turns":
			fates["no text and one token"] = alike // they have a token in each turn
		case "tools":
			noCall := failed + "broken off"
			maps.Copy(fates, map[string]string{"no text and five tokens": noCall, "no text and two tokens": noCall, "no text and one token": noCall,
				"one id for all, without a text": noCall, "ids of another model, without a text": noCall,
				"a tool that was not offered": failed + "more pieces than tokens"})
		}
		for _, c := range lies {
			fate := cmp.Or(fates[c.name], c.unknown)
			if at := strings.IndexAny(fate, "0123456789"); path == "" && at > 0 { // of other numbers of answers
				fate = fate[:at]
			}
			t.Run(form+"/"+c.name, func(t *testing.T) {
				r, err := runAt(t, &liar{stream: c.stream, later: form == "later turns"}, loadgen.Server, nil, func(cfg *Config) {
					cfg.Model, cfg.DatasetDir = prompts.Model(set), path
				})
				checkFate(t, r, err, fate, false)
			})
		}
	}
}

// Lies that only calls of tools can have.
func TestLyingServersOfTools(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector has TestLyingServers")
	}
	path := chatsOf(t, "tools")
	call := func(index int, id, name, arguments string) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,"function":{"name":%q,"arguments":%q}}]}}]}`, index, id, name, arguments)
	}
	const ends = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	for name, c := range map[string]struct {
		fate   string
		stream func(q question) []string
	}{
		"a text instead of a call": {failed + "no call of a tool", honest},
		"a text that was cut off": {unchecked, func(q question) []string {
			return append(texts(q.words...), strings.Replace(finish, "stop", "length", 1), usage(64))
		}},
		"a call of one letter": {noText, func(question) []string { return []string{call(0, "1", "a", ""), ends, usage(50)} }},
		"a call in each piece": {noText, func(question) []string {
			return append(slices.Repeat([]string{call(0, "1", "a", "")}, 64), ends, usage(64))
		}},
		"names in each piece":        {unchecked, func(q question) []string { return append(calls(call, q.words), ends, usage(64)) }},
		"names in each piece, twice": {repeated, func(q question) []string { return append(calls(call, twice(q.words)), ends, usage(mostTokens)) }},
		"the same call for all":      {alike, func(question) []string { return []string{call(0, "1", "weather", "{}"), ends, usage(9)} }},
		"an end and another call": {afterEnd, func(q question) []string {
			return append(calls(call, q.words), ends, call(1, "2", "weather", "{}"), usage(64))
		}},
		"a number as the name": {failed + "malformed event", func(question) []string {
			return []string{`{"choices":[{"delta":{"tool_calls":[{"function":{"name":7}}]}}]}`, ends}
		}},
		"an index that is none": {failed + "malformed event", func(question) []string {
			return []string{`{"choices":[{"delta":{"tool_calls":[{"index":1e99}]}}]}`, ends}
		}},
		"calls without end": {tooLong, func(question) (list []string) {
			for i := range 2 * mostTokens {
				list = append(list, call(i, fmt.Sprint(i), "weather", "{}"))
			}
			return append(list, ends)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := runAt(t, &liar{stream: c.stream, calls: true}, loadgen.Server, nil, func(cfg *Config) {
				cfg.Model, cfg.DatasetDir = prompts.Model(prompts.Config{Name: "m"}), path
			})
			checkFate(t, r, err, c.fate, false)
		})
	}
}

// A tokenizer of the user checks numbers of tokens of all prompts, also of calls.
func TestTokenizerOfTheUser(t *testing.T) {
	t.Parallel()
	tokens := filepath.Join(t.TempDir(), "tokenizer.json")
	testenv.Must(t, os.WriteFile(tokens, tokentest.Tokenizer(t), 0o600))
	for _, form := range []string{"texts", "tools"} {
		path := chatsOf(t, form)
		for fate, stream := range map[string]func(q question) []string{
			valid:           honest,
			counts + "5120": func(q question) []string { return told(2*honestTokens, q.words...) },
		} {
			r, err := runAt(t, &liar{stream: stream}, loadgen.Server, nil, func(cfg *Config) {
				cfg.Model, cfg.DatasetDir = prompts.Model(prompts.Config{Name: "m"}), path
				cfg.Options = workload.Values{workload.TokenizerOption: tokens}
			})
			checkFate(t, r, err, fate, true)
		}
	}
}

// calls are the pieces of a call.
func calls(call func(index int, id, name, arguments string) string, pieces []string) (list []string) {
	for _, p := range pieces {
		list = append(list, call(0, "1", "weather", p))
	}
	return list
}

// A taskLiar changes the answers of an honest server of embeddings and ranks during the traffic.
type taskLiar struct {
	*tokenserver.Server
	lie func(nth int, answer string) string

	observer
	traffic atomic.Bool
	asked   atomic.Int64
}

func (l *taskLiar) Phase(name string)    { l.traffic.Store(name == "traffic") }
func (l *taskLiar) observe(t *testing.T) { l.observer.t = t }

func (l *taskLiar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !l.traffic.Load() {
		l.Server.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	l.Server.ServeHTTP(answer, r)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, l.lie(int(l.asked.Add(1)), answer.Body.String()))
}

// No server can leave out the work of embeddings and ranks unnoticed.
func TestLyingServersOfTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector has TestLyingServers")
	}
	vector, index, score := regexp.MustCompile(`"embedding":\[[^]]*\]`), regexp.MustCompile(`"index":\d`), regexp.MustCompile(`"relevance_score":[^}]*`)
	instead := func(of *regexp.Regexp, with string) func(int, string) string {
		return func(_ int, answer string) string { return of.ReplaceAllString(answer, with) }
	}
	const items = failed + "other items than were sent"
	for _, c := range []struct {
		route, name, fate string
		lie               func(nth int, answer string) string
	}{
		{openai.Embeddings, "none", valid, func(_ int, a string) string { return a }},
		{openai.Embeddings, "the same for all", alike, instead(vector, `"embedding":[1,2,3,4,5,6,7,8]`)},
		{openai.Embeddings, "the same for all of a request", alike + "24 of 96", func(_ int, a string) string { return vector.ReplaceAllString(a, vector.FindString(a)) }},
		{openai.Embeddings, "one of three", alike, func(nth int, a string) string {
			return vector.ReplaceAllString(a, fmt.Sprintf(`"embedding":[%d,2,3,4,5,6,7,8]`, 1+nth%3))
		}},
		{openai.Embeddings, "zeros", items, instead(vector, `"embedding":[0,0,0,0,0,0,0,0]`)},
		{openai.Embeddings, "empty ones", items, instead(vector, `"embedding":[]`)},
		{openai.Embeddings, "null", items, instead(vector, `"embedding":null`)},
		{openai.Embeddings, "shorter ones", items, instead(vector, `"embedding":[1]`)},
		{openai.Embeddings, "numbers beyond all", failed + "malformed event", instead(vector, `"embedding":[1e999,2,3,4,5,6,7,8]`)},
		{openai.Embeddings, "the same index", items, instead(index, `"index":0`)},
		{openai.Embeddings, "no index", items, instead(index, `"x":0`)},
		{openai.Embeddings, "ranks", items, instead(regexp.MustCompile(`"data"`), `"results"`)},
		{openai.Embeddings, "an error beside them", failed + "error in the stream", instead(regexp.MustCompile(`^{`), `{"error":"lost",`)},
		{openai.Embeddings, "half an answer", failed + "malformed event", func(_ int, a string) string { return a[:len(a)/2] }},
		{openai.Embeddings, "nothing", failed + "malformed event", func(int, string) string { return "" }},
		{openai.Embeddings, "a list", failed + "malformed event", func(int, string) string { return "[]" }},
		{openai.Rerank, "none", valid, func(_ int, a string) string { return a }},
		{openai.Rerank, "the same score for all", alike, instead(score, `"relevance_score":0.5`)},
		{openai.Rerank, "one score for all of a request", alike, func(nth int, a string) string {
			return score.ReplaceAllString(a, fmt.Sprintf(`"relevance_score":0.%d`, nth))
		}},
		{openai.Rerank, "scores that are null", items, instead(score, `"relevance_score":null`)},
		{openai.Rerank, "the same document", items, instead(index, `"index":1`)},
		{openai.Rerank, "the best alone", items, func(_ int, a string) string {
			return regexp.MustCompile(`"results":\[([^}]*})[^]]*`).ReplaceAllString(a, `"results":[$1`)
		}},
		{openai.Rerank, "embeddings", items, instead(regexp.MustCompile(`"results"`), `"data"`)},
		{openai.Rerank, "nothing", failed + "error in the stream", func(int, string) string { return "{}" }},
	} {
		t.Run(c.route+"/"+c.name, func(t *testing.T) {
			r, err := runAt(t, &taskLiar{Server: tokenserver.New(tokenserver.Options{Prefill: 20 * time.Millisecond}), lie: c.lie}, loadgen.Offline,
				func(o *openai.Config) { o.Route, o.Stream = c.route, false },
				func(cfg *Config) {
					cfg.Settings.UseTokenLatencies = false
					cfg.Model = prompts.Model(prompts.Config{Name: "m", Synthetic: 24, Task: c.route, Inputs: 4})
				})
			checkFate(t, r, err, c.fate, true)
		})
	}
}

// Servers that never give a finish_reason are taken at their word, which is marked; one that gives it sometimes is not.
func TestServersWithoutReasons(t *testing.T) {
	t.Parallel()
	data := articles(t, tokenserver.New(tokenserver.Options{}), 24)
	without := func(q question) []string { return append(texts(q.words...), usage(len(q.words))) }
	for name, c := range map[string]struct {
		known  string
		stream func(q question) []string
	}{
		"never": {marked + "uncertain_ends 40", without},
		"empty tool calls": {valid, func(q question) []string {
			return append([]string{`{"choices":[{"index":0,"delta":{"tool_calls":[ ],"function_call":null}}]}`}, honest(q)...)
		}},
		"sometimes": {wrong + "the SUT could not answer sample", func(q question) []string {
			if q.nth%20 == 19 {
				return honest(q)
			}
			return without(q)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := runOf(t, &liar{stream: c.stream, always: true}, loadgen.Server, data)
			checkFate(t, r, err, c.known, true)
			before := func(text string) bool {
				return testenv.Tells(text, "without a finish_reason")
			}
			if got := slices.ContainsFunc(r.Problems, before); got != (name == "sometimes") {
				t.Errorf("problems %q", r.Problems)
			}
		})
	}
}

// Answers may be alike where those of the data set are.
func TestAnswersAreAlikeAsInTheDataSet(t *testing.T) {
	t.Parallel()
	for fate, outputs := range map[string]int{valid: 3, alike + "3 of 21, expected 18": 20} {
		data := articles(t, tokenserver.New(tokenserver.Options{}), 24)
		var rows []map[string]any
		for i := range 24 {
			rows = append(rows, map[string]any{"tok_input": []int{i, 2 * i % 64, 7}, "output": vocab.Words[i%outputs]})
		}
		text, err := json.Marshal(rows)
		testenv.Must(t, err)
		testenv.Must(t, os.WriteFile(filepath.Join(data, "cnn_eval.json"), text, 0o600))
		r, err := runOf(t, &liar{stream: func(q question) []string { return told(2, vocab.Words[q.ids[0]%3], " token60") }}, loadgen.Server, data)
		checkFate(t, r, err, fate, true)
	}
}

// The same without streams.
func TestLyingServersWithoutStreams(t *testing.T) {
	t.Parallel()
	data := articles(t, tokenserver.New(tokenserver.Options{}), 24)
	for name, c := range map[string]struct {
		known, unknown string
		whole          func(q question) string
	}{
		"one letter":       {noText, noText, func(question) string { return wholeOf(mostTokens, "a") }},
		"no text":          {noText, noText, func(question) string { return wholeOf(mostTokens, "") }},
		"45 tokens more":   {counts, unchecked, func(q question) string { return wholeOf(honestTokens+45, strings.Join(q.words, "")) }},
		"more than asked":  {tooLong, tooLong, func(q question) string { return wholeOf(mostTokens+1, strings.Join(q.words, "")) }},
		"spaces":           {counts, alike, func(question) string { return wholeOf(honestTokens, strings.Repeat(" ", honestTokens)) }},
		"the same for all": {alike, alike, func(question) string { return wholeOf(4, " token01 token02 token03 token04") }},
		"another choice":   {another, another, func(q question) string { return strings.Replace(honestWhole(q), `"index":0`, `"index":1`, 1) }},
		"two choices": {another, another, func(q question) string {
			return strings.Replace(honestWhole(q), `"choices":[`, `"choices":[{"index":1,"text":"a"},`, 1)
		}},
		"as it should be": {valid, valid, honestWhole},
		"reasons": {valid, valid, func(q question) string {
			reasons, _ := json.Marshal(strings.Join(q.words[:60], ""))
			answer, _ := json.Marshal(strings.Join(q.words[60:], ""))
			return fmt.Sprintf(`{"choices":[{"index":0,"message":{"content":%s,"reasoning":%s,"reasoning_content":%s},"finish_reason":"stop"}],"usage":{"completion_tokens":64}}`, answer, reasons, reasons)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := runOf(t, &liar{whole: c.whole}, loadgen.Offline, data)
			checkFate(t, r, err, c.known, true)
			r, err = runOf(t, &liar{whole: c.whole}, loadgen.Offline, "")
			checkFate(t, r, err, c.unknown, false)
		})
	}
}

// What servers that do nothing wrong send in their own ways is VALID, and has no limitation.
func TestHonestServers(t *testing.T) {
	t.Parallel()
	data := articles(t, tokenserver.New(tokenserver.Options{}), 24)
	all := func(q question) string { return strings.Join(q.words, "") }
	for name, stream := range map[string]func(q question) []string{
		"one event for each token": honest,
		"OpenAI: usage is null until the end": func(q question) (list []string) {
			for _, e := range append([]string{text("")}, append(texts(q.words...), finish)...) {
				list = append(list, strings.TrimSuffix(e, "}")+`,"usage":null,"obfuscation":"x9"}`)
			}
			return append(list, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":64,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`)
		},
		"vLLM: usage with each event, the reason with the last text": func(q question) (list []string) {
			for i, w := range q.words {
				list = append(list, strings.TrimSuffix(text(w), "}")+fmt.Sprintf(`,"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, i+1))
			}
			list[63] = strings.Replace(list[63], "null", `"length"`, 1)
			return append(list, usage(64))
		},
		"vLLM: the token that ends the answer counts": func(q question) []string { return told(65, q.words...) },
		"vLLM: ids, with the id that ends the answer": func(q question) (list []string) {
			for i, w := range q.words {
				list = append(list, idsOf(q.ids[i:i+1], w))
			}
			return append(list, `{"choices":[{"index":0,"text":"","token_ids":[95],"finish_reason":"stop","stop_reason":null}]}`, usage(65))
		},
		"vLLM: gathered in tens (stream_interval)": func(q question) (list []string) {
			for part := range slices.Chunk(q.words, 10) {
				list = append(list, text(strings.Join(part, "")))
			}
			return append(list, finish, usage(64))
		},
		"vLLM: its prompts have no details": func(q question) []string {
			return append(texts(q.words...), finish, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":64,"prompt_tokens_details":null}}`)
		},
		"ids without the one that ends the answer": func(q question) []string {
			return []string{idsOf(q.ids[:60], strings.Join(q.words[:60], "")), text(q.words[60]), text(q.words[61]), text(q.words[62]), idsOf(q.ids[60:], q.words[63]), finish, usage(65)}
		},
		"ids alone": func(q question) []string { return []string{idsOf(q.ids, ""), finish, usage(64)} },
		"SGLang: what it met": func(q question) []string {
			return append(texts(q.words...), `{"choices":[{"index":0,"text":"","finish_reason":"stop","matched_stop":128009}]}`, usage(64))
		},
		"TensorRT-LLM: usage with the end": func(q question) []string {
			return append(texts(q.words...), `{"choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":64}}`)
		},
		"TGI: usage with the end and behind it": func(q question) []string {
			return append(texts(q.words...), `{"choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":{"completion_tokens":64}}`, usage(64))
		},
		"llama.cpp: times with the usage": func(q question) []string {
			return append(texts(q.words...), finish, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":64},"timings":{"predicted_n":64,"predicted_ms":5.5}}`)
		},
		"Ollama: an empty text with the end": func(q question) []string {
			return append(texts(q.words...), `{"choices":[{"index":0,"text":"","finish_reason":"stop"}],"system_fingerprint":"fp_ollama"}`, usage(64))
		},
		"OpenRouter: usage beside an empty text behind the end": func(q question) []string {
			return append(texts(q.words...), finish, `{"choices":[{"index":0,"text":"","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":64}}`)
		},
		"Azure: filters before the answer and behind it": func(q question) []string {
			return slices.Concat([]string{`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`}, texts(q.words...),
				[]string{finish, `{"choices":[{"index":0,"content_filter_offsets":{"check_offset":44},"finish_reason":null}]}`, usage(64)})
		},
		"the end comes twice": func(q question) []string { return append(texts(q.words...), finish, finish, usage(64)) },
		"no usage":            func(q question) []string { return append(texts(q.words...), finish) },
		"no usage, a letter at a time": func(q question) []string {
			return append(texts(strings.Split(all(q)[:100], "")...), finish)
		},
		"usage first and last": func(q question) []string { return append([]string{usage(1)}, honest(q)...) },
		"words that come twice now and then": func(q question) []string {
			words := slices.Concat(twice(q.words[:20]), q.words[:24])
			return told(64, words...)
		},
		"one word again and again": func(q question) []string {
			return told(64, append(q.words[:4:4], slices.Repeat(q.words[4:5], 60)...)...)
		},
		"an unfinished character at the end":      func(q question) []string { return told(64, append(q.words[:61:61], "�")...) },
		"an event without choices behind the end": func(q question) []string { return append(texts(q.words...), finish, `{"id":"x"}`, usage(64)) },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := runOf(t, &liar{stream: stream}, loadgen.Server, data)
			checkFate(t, r, err, valid, true)
		})
	}
	t.Run("a proxy: comments, names and carriage returns", func(t *testing.T) {
		r, err := runOf(t, &liar{raw: true, stream: func(q question) []string {
			list := []string{": PROCESSING\r\n\r\n", "retry: 10\r\n\r\n"}
			for _, e := range honest(q) {
				list = append(list, "id: 1\r\nevent: message\r\ndata: "+e+"\r\n\r\n: ping\r\n\r\n")
			}
			return append(list, "data: [DONE]\r\n\r\n")
		}}, loadgen.Server, data)
		checkFate(t, r, err, valid, true)
	})
}
