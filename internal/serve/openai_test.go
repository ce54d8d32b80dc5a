package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

const echoRoom = 8

// echo repeats a prompt, each token a little later, and then 0, which ends it.
func echo(words workload.Tokenizer) *workload.Workload {
	w := &workload.Workload{
		Samples: 1, EndTokens: []int32{0}, Row: func(int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Int32, Shape: tensor.Shape{echoRoom}}}
		},
	}
	w.Exchange = &workload.Exchange{
		Inputs: []workload.Input{{Name: "ids", Slot: workload.Slot{Type: tensor.Int32, Shape: tensor.Shape{-1}}}},
		Complete: func(sent []tensor.Shape) ([]workload.Slot, error) {
			if n := sent[0][0]; n < 1 || n > echoRoom {
				return nil, fmt.Errorf("%d tokens, want 1 to %d", n, echoRoom)
			}
			return w.Row(0), nil
		},
		Check: func(row []tensor.Tensor) error {
			if slices.Contains(tensor.Data[int32](row[0]), 999) {
				return fmt.Errorf("the model does not know 999")
			}
			return nil
		},
		Sequences: &workload.Sequences{
			ForRows: func(limits []int) *workload.Workload {
				own := *w
				own.Samples = len(limits)
				own.NewDecoder = func(workload.Sessions, int) (workload.Decoder, error) { return &echoing{limits: limits}, nil }
				return &own
			},
			Text: &workload.TextFormat{MaxPrompt: echoRoom, MaxAnswer: echoRoom + 1, Tokens: byteTokens, Tokenizer: words},
		},
	}
	return w
}

func byteTokens(dst []int32, response []byte) []int32 {
	for _, b := range response {
		dst = append(dst, int32(b))
	}
	return dst
}

// letters are words of one letter, but that é has two tokens.
type letters struct{}

func (letters) Encode(text string) (ids []int32, err error) {
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

// EncodePlain shows that nothing is added to the text.
func (l letters) EncodePlain(text string) ([]int32, error) { return l.Encode(strings.ToUpper(text)) }

func (letters) Decode(ids []int32) (string, error) {
	var b []byte
	for _, id := range ids {
		b = append(b, byte(id))
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), nil
}

type echoing struct {
	limits []int
	store  *workload.Store
}

func (p *echoing) Use(s *workload.Store) error { p.store = s; return nil }
func (*echoing) Close() error                  { return nil }
func (p *echoing) Predict(context.Context, []workload.Item, workload.Reply) error {
	return fmt.Errorf("it pulls")
}

// Serve implements workload.Decoder.
func (p *echoing) Serve(ctx context.Context, source workload.Source) error {
	var items []workload.Item
	for {
		var open bool
		if items, open = source.Admit(items[:0], 4, true); len(items) == 0 && !open {
			return nil
		}
		for _, item := range items {
			var said []byte
			row := append(slices.Clone(tensor.Data[int32](p.store.Slot(0, item.Row, 1))), -1)
			for _, id := range row[:slices.IndexFunc(row, func(t int32) bool { return t < 0 })] {
				if n := p.limits[item.Row]; n > 0 && len(said) == n {
					break
				}
				said = append(said, byte(id))
				source.Token(item.Ticket, said[len(said)-1:])
			}
			if n := p.limits[item.Row]; n == 0 || len(said) < n {
				said = append(said, 0)
				source.Token(item.Ticket, said[len(said)-1:])
			}
			source.Done(item.Ticket, said, len(said))
		}
	}
}

// An echoSource is that model.
type echoSource struct {
	*source
	words workload.Tokenizer
}

func (echoSource) Parts() ([]workload.File, error) { return nil, nil }

func (s echoSource) OpenWorkload(context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	past := []backend.Port{{Name: "past", Type: tensor.Float32, Shape: tensor.Shape{-1, 8}}}
	return echo(s.words), map[string]workload.Ports{workload.Only: {Inputs: past}}, nil
}

func (s echoSource) OpenSequences(ctx context.Context, limits []int, done harness.Answered) (*harness.Service, *workload.Workload, error) {
	return openSequencesOf(ctx, echo(s.words), s.engine, limits, done)
}

// startTexts offers the echo.
func startTexts(t *testing.T, words workload.Tokenizer, room int) string {
	t.Helper()
	engine, err := simulated.New(simulated.Config{})
	if err != nil {
		t.Fatal(err)
	}
	offer, err := Open(t.Context(), echoSource{&source{engine: engine}, words}, Options{Name: "m", Room: room})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, stop := startOffer(t, offer, Web{OpenAI: NewOpenAI([]*Offer{offer})})
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections() // the server waits five seconds for a connection that was never used
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got := len(offer.writer.free.room); got != room {
			t.Errorf("%d of %d rows are free when all is over", got, room)
		}
	})
	return endpoint
}

// say posts a request and returns status and answer.
func say(t *testing.T, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestCompletions(t *testing.T) {
	url := startTexts(t, letters{}, 4)
	for _, c := range []struct{ name, path, body, want string }{
		{"a text", "completions", `{"prompt":"abc"}`, `"choices":[{"index":0,"text":"abc","finish_reason":"stop"}],`},
		{"tokens", "completions", `{"prompt":[104,105],"return_token_ids":true}`, `"index":0,"text":"hi","token_ids":[104,105,0],"finish_reason":"stop"`},
		{"a chat", "chat/completions", `{"model":"m","messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]}`, `"message":{"role":"assistant","content":"a\nb"}`},
		{"a limit", "completions", `{"prompt":"abcdef","max_tokens":2}`, `"index":0,"text":"ab","finish_reason":"length"`},
		{"usage", "completions", `{"prompt":"abc","temperature":0,"n":1,"stop":null}`, `"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}`},
	} {
		if status, got := say(t, url+"/v1/"+c.path, c.body); status != 200 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s, want %s", c.name, status, got, c.want)
		}
	}
	for _, c := range []struct {
		name, body string
		status     int
	}{
		{"no JSON", "{", 400}, {"no prompt", "{}", 400}, {"an empty prompt", `{"prompt":""}`, 400}, {"too long", `{"prompt":"123456789"}`, 400}, {"unknown to the model", `{"prompt":[999]}`, 400},
		{"another model", `{"model":"n","prompt":"a"}`, 404}, {"endless", `{"prompt":"` + strings.Repeat("a", 5<<20), 413},
	} {
		status, got := say(t, url+"/v1/completions", c.body)
		var said struct{ Error struct{ Message string } }
		if err := json.Unmarshal([]byte(got), &said); status != c.status || err != nil || said.Error.Message == "" {
			t.Errorf("%s: %d %s, want %d", c.name, status, got, c.status)
		}
	}
	if r, err := http.Get(url + "/v1/models"); err != nil || r.StatusCode != 200 {
		t.Errorf("the list of models: %v, %v", r, err)
	}
}

// TestErrorsHaveOneForm: also those that the server itself answers with on the paths of the protocol.
func TestErrorsHaveOneForm(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	testenv.Must(t, os.WriteFile(tokens, []byte("0123456789abcdef"), 0o600))
	engine, err := simulated.New(simulated.Config{})
	testenv.Must(t, err)
	offer, err := Open(t.Context(), echoSource{&source{engine: engine}, letters{}}, Options{Name: "m", Room: 1})
	testenv.Must(t, err)
	url, stop := startOffer(t, offer, Web{OpenAI: NewOpenAI([]*Offer{offer}), TokenFile: tokens})
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		testenv.Must(t, stop())
	}()
	for _, c := range []struct {
		name, method, path, token, encoding, body string
		status                                    int
	}{
		{"no token", "POST", "completions", "", "", `{"prompt":"a"}`, 401},
		{"no token for the list", "GET", "models", "", "", "", 401},
		{"compressed", "POST", "chat/completions", "0123456789abcdef", "gzip", "x", 501},
		{"an unknown path", "POST", "embeddings", "0123456789abcdef", "", "{}", 404},
		{"an unknown path to read", "GET", "files", "0123456789abcdef", "", "", 404},
		{"another method", "POST", "models", "0123456789abcdef", "", "", 404},
		{"no JSON", "POST", "completions", "0123456789abcdef", "", "{", 400},
		{"another model", "POST", "completions", "0123456789abcdef", "", `{"model":"n","prompt":"a"}`, 404},
	} {
		q, err := http.NewRequestWithContext(t.Context(), c.method, url+"/v1/"+c.path, strings.NewReader(c.body))
		testenv.Must(t, err)
		if c.token != "" {
			q.Header.Set("Authorization", "Bearer "+c.token)
		}
		if c.encoding != "" {
			q.Header.Set("Content-Encoding", c.encoding)
		}
		r, err := http.DefaultClient.Do(q)
		testenv.Must(t, err)
		text, err := io.ReadAll(r.Body)
		testenv.Must(t, err, r.Body.Close())
		want := "invalid_request_error"
		if c.status >= 500 {
			want = "server_error"
		}
		var said apiError
		if err := json.Unmarshal(text, &said); err != nil || r.StatusCode != c.status || said.Error.Code != c.status || said.Error.Message == "" || said.Error.Type != want {
			t.Errorf("%s: %d %s, want status %d as OpenAI's error", c.name, r.StatusCode, text, c.status)
		}
	}
}

// events are the pieces of a stream.
func events(t *testing.T, url, body string) (list []string) {
	t.Helper()
	r, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	for s := bufio.NewScanner(r.Body); s.Scan(); {
		if text, ok := strings.CutPrefix(s.Text(), "data: "); ok {
			list = append(list, text)
		}
	}
	return list
}

func TestStreamHasAPieceForEachToken(t *testing.T) {
	url := startTexts(t, letters{}, 4)
	list := events(t, url, `{"prompt":"aéb","stream":true,"stream_options":{"include_usage":true}}`)
	var text, ends []string
	for _, e := range list[:len(list)-1] {
		var d struct {
			Choices []struct {
				Text   string
				Finish *string `json:"finish_reason"`
			}
			Usage map[string]int
		}
		if err := json.Unmarshal([]byte(e), &d); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		for _, c := range d.Choices {
			if c.Finish != nil {
				ends = append(ends, *c.Finish)
			} else {
				text = append(text, c.Text)
			}
		}
		if d.Usage != nil && d.Usage["completion_tokens"] != 5 {
			t.Errorf("usage is %v", d.Usage)
		}
	}
	if !slices.Equal(text, []string{"a", "é", "b"}) || !slices.Equal(ends, []string{"stop"}) || list[len(list)-1] != "[DONE]" {
		t.Errorf("pieces %q, ends %q, last %q", text, ends, list[len(list)-1])
	}
	whole := []string{}
	for _, e := range events(t, url, `{"prompt":"aéb","stream":true,"return_token_ids":true}`) {
		if i := strings.Index(e, `"text":`); i >= 0 {
			whole = append(whole, e[i:strings.Index(e, `}`)])
		}
	}
	want := []string{ // both tokens of é come with its text, and the one that ends the answer without a text
		`"text":"a","token_ids":[97],"finish_reason":null`, `"text":"é","token_ids":[195,169],"finish_reason":null`, `"text":"b","token_ids":[98],"finish_reason":null`,
		`"text":"","token_ids":[0],"finish_reason":null`, `"text":"","finish_reason":"stop"`,
	}
	if !slices.Equal(whole, want) {
		t.Errorf("with token ids the pieces are %q, want %q", whole, want)
	}
	url = startTexts(t, nil, 4)
	if list := events(t, url, `{"prompt":[7,8],"stream":true,"return_token_ids":true}`); !strings.Contains(list[0], `"text":" 7","token_ids":[7]`) {
		t.Errorf("without a tokenizer: %s", list)
	}
	if status, got := say(t, url+"/v1/completions", `{"prompt":"a"}`); status != 400 || !strings.Contains(got, "no tokenizer") {
		t.Errorf("a text without a tokenizer: %d %s", status, got)
	}
}

func TestSequencesGetTheirOwnAnswers(t *testing.T) {
	url := startTexts(t, nil, 64)
	c := dial(t, url)
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			ids := []int32{int32(i + 1), int32(i + 2), int32(i%5 + 1)}[:i%3+1]
			if i%2 == 0 { // as a task, through the other protocol
				in := tensor.Of(ids, 1, int64(len(ids)))
				out, err := ask(c, "m-task", "ids", in)
				want := []byte{}
				for _, id := range ids {
					want = append(want, byte(id))
				}
				if err != nil || !bytes.Equal(out.Bytes(), append(want, 0)) {
					t.Errorf("%v became %v, %v", ids, out.Bytes(), err)
				}
				return
			}
			text, _ := json.Marshal(map[string]any{"prompt": ids, "stream": i%4 == 1, "return_token_ids": true})
			status, got := say(t, url+"/v1/completions", string(text))
			if want := fmt.Sprintf(`"token_ids":[%d`, ids[0]); status != 200 || !strings.Contains(got, want) {
				t.Errorf("%s became %d %s", text, status, got)
			}
		})
	}
	all.Wait()
	if stats, err := c.Statistics(t.Context(), "m-task", ""); err != nil || stats[0].InferenceCount != 60 {
		t.Errorf("statistics %+v, %v", stats, err)
	}
	for name, in := range map[string]tensor.Tensor{"too long": tensor.New(tensor.Int32, 1, 9), "another type": tensor.New(tensor.Int64, 1, 2), "unknown": tensor.Of([]int32{999}, 1, 1)} {
		if _, err := ask(c, "m-task", "ids", in); protocol.CodeOf(err) != protocol.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVanishedStreamFreesItsRow(t *testing.T) {
	url := startTexts(t, nil, 1)
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions", strings.NewReader(`{"prompt":[1,2,3],"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := http.DefaultClient.Do(q); err == nil {
			r.Body.Close()
		}
		cancel()
	}
	for end := time.Now().Add(10 * time.Second); ; {
		status, text := say(t, url+"/v1/completions", `{"prompt":[1]}`)
		if status == 200 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d %s", status, text)
		}
	}
}

func FuzzPrompt(f *testing.F) {
	f.Add([]byte(`{"prompt":"a","max_tokens":3}`), false)
	f.Add([]byte(`{"messages":[{"content":"a"}]}`), true)
	f.Add([]byte(`{"prompt":[1,2]}`), false)
	f.Fuzz(func(t *testing.T, text []byte, chat bool) {
		p, err := readPrompt(text, chat)
		if err != nil {
			return
		}
		if _, err := p.tokens(&workload.TextFormat{Tokenizer: letters{}}); err == nil && p.limit() < 0 {
			t.Error("a negative limit is taken")
		}
	})
}

// A decoding is a tokenizer that counts the tokens that it decodes.
type decoding struct {
	letters
	decode func(tokens []int32) string
	read   int
}

func (d *decoding) Decode(tokens []int32) (string, error) {
	d.read += len(tokens)
	return d.decode(tokens), nil
}

// Whatever the tokens, the pieces of a stream are the text: also of bytes that are parts of a character, and of words of which
// the first one of a text loses the blank before it.
func TestStreamEqualsTheWholeText(t *testing.T) {
	for name, decode := range map[string]func(tokens []int32) string{
		"bytes": func(tokens []int32) string {
			var b []byte
			for _, t := range tokens {
				b = append(b, "a \xc3\xa9\xf0\x9f\x98\x80"[t%8])
			}
			return strings.ToValidUTF8(string(b), "\ufffd")
		},
		"words": func(tokens []int32) string {
			var b strings.Builder
			for _, t := range tokens {
				b.WriteString([]string{" the", " a", "ing", " ", "", ".", " é", "s"}[t%8])
			}
			return strings.TrimPrefix(b.String(), " ")
		},
	} {
		random := rand.New(rand.NewPCG(6, 6))
		for range 200 {
			d := &decoding{decode: decode}
			c := &completion{textModel: &textModel{&sequenceModel{}, &workload.TextFormat{Tokenizer: d}}}
			sent := ""
			for range 1 + random.IntN(60) {
				next := random.Int32N(8)
				if n := len(c.tokens); name == "bytes" && n > 0 && c.tokens[n-1] >= 2 && c.tokens[n-1] != 3 && c.tokens[n-1] != 7 {
					next = c.tokens[n-1] + 1 // characters are whole in the end
				}
				c.tokens = append(c.tokens, next)
				text, ok := c.newText()
				if !ok && text != "" {
					t.Fatalf("%s: %q is sent of a text that is not whole", name, text)
				}
				sent += text
			}
			if whole := decode(c.tokens); !strings.HasPrefix(whole, sent) || len(whole)-len(sent) > 3*len("\ufffd") {
				t.Fatalf("%s: of %v %q is sent, which is %q", name, c.tokens, sent, whole)
			}
			if most := 6*len(c.tokens) + 40; d.read > most && name != "bytes" { // many of these may be parts of a character
				t.Errorf("%s: %d tokens were decoded for %d", name, d.read, len(c.tokens))
			}
		}
	}
}

// bytewise are words of which each byte is a token; a whole text begins with token 0.
type bytewise struct{}

func (bytewise) Encode(text string) ([]int32, error) {
	ids, _ := bytewise{}.EncodePlain(text)
	return append([]int32{0}, ids...), nil
}

func (bytewise) EncodePlain(text string) (ids []int32, err error) {
	for _, c := range []byte(text) {
		ids = append(ids, int32(c))
	}
	return ids, nil
}

func (bytewise) Decode([]int32) (string, error) { return "", nil }

// brackets put each message of a conversation into some.
func brackets(messages []map[string]any) (string, error) {
	text := ""
	for _, m := range messages {
		if m["role"] == "tool" {
			return "", errors.New("unknown role tool")
		}
		text += fmt.Sprintf("<%v:%v>", m["role"], m["content"])
	}
	return text, nil
}

func TestPromptTokens(t *testing.T) {
	for _, c := range []struct {
		name, text string
		words      workload.Tokenizer
		chat       func([]map[string]any) (string, error)
		want       []int32
		wrong      string
	}{
		{"a text", `{"prompt":"ab"}`, bytewise{}, nil, []int32{0, 'a', 'b'}, ""},
		{"tokens", `{"prompt":[3, 4]}`, bytewise{}, nil, []int32{3, 4}, ""},
		{"tokens, without words", `{"prompt":[3]}`, nil, nil, []int32{3}, ""},
		{"no tokens", `{"prompt":[]}`, nil, nil, nil, ""},
		{"a text, without words", `{"prompt":"ab"}`, nil, nil, nil, "tokenizer … list of tokens"},
		{"nothing", `{"prompt":null}`, bytewise{}, nil, nil, "prompt … text … list of tokens … null"},
		{"nothing among tokens", `{"prompt":[1,null,2]}`, bytewise{}, nil, nil, "prompt … token 1"},
		{"a negative token", `{"prompt":[-1]}`, nil, nil, nil, "prompt … token 0"},
		{"a fraction", `{"prompt":[1.5]}`, nil, nil, nil, "text … list of tokens"},
		{"more than a token can be", `{"prompt":[2147483648]}`, nil, nil, nil, "text … list of tokens"},
		{"lists", `{"prompt":[[1]]}`, nil, nil, nil, "text … list of tokens"},
		{"a number", `{"prompt":7}`, bytewise{}, nil, nil, "text … list of tokens"},
		{"a conversation", `{"messages":[{"role":"user","content":"a"},{"content":"b"}]}`, bytewise{}, brackets, append([]int32(nil), tokensIn("<user:a><:b>")...), ""},
		{"a conversation in parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"content":[]},{"content":null}]}`, bytewise{}, brackets, tokensIn("<user:ab><:><:>"), ""},
		{"a conversation without a template", `{"messages":[{"content":"a"},{"content":[{"type":"text","text":"b"}]}]}`, bytewise{}, nil, append([]int32{0}, tokensIn("a\nb")...), ""},
		{"a conversation without words", `{"messages":[{"content":"a"}]}`, nil, brackets, nil, "no tokenizer"},
		{"a role that is not known", `{"messages":[{"role":"tool"}]}`, bytewise{}, brackets, nil, "unknown role tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := readPrompt([]byte(c.text), strings.Contains(c.text, "messages"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.tokens(&workload.TextFormat{Tokenizer: c.words, ChatTemplate: c.chat})
			if c.wrong != "" && !testenv.Names(err, c.wrong) || c.wrong == "" && (err != nil || !slices.Equal(got, c.want)) {
				t.Errorf("%v, %v, want %v, %s", got, err, c.want, c.wrong)
			}
		})
	}
}

func tokensIn(text string) []int32 {
	ids, _ := bytewise{}.EncodePlain(text)
	return ids
}

func TestUnsupportedFieldsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"prompt":"a","temperature":0.1}`:                         "temperature: the likeliest token is always taken: must be 0",
		`{"prompt":"a","n":0}`:                                     "n: a request has one answer, expected 1",
		`{"prompt":"a","stop":"x"}`:                                "stop: answers end where the model ends them",
		`{"prompt":"a","ignore_eos":true}`:                         "ignore_eos: ",
		`{"prompt":"a","min_tokens":1}`:                            "min_tokens: ",
		`{"prompt":"a","max_tokens":3,"max_completion_tokens":-1}`: "max_tokens is negative or 0: must be at least 1",
		`{"prompt":"a","max_tokens":0}`:                            "max_tokens is negative or 0: must be at least 1",
		`{"prompt":"a","echo":true}`:                               "echo: not supported, expected false or nothing",
		`{"prompt":"a","logprobs":0}`:                              "logprobs: not supported, expected false or nothing",
		`{"prompt":"a","frequency_penalty":1e-9}`:                  "frequency_penalty: not supported, expected 0 or nothing",
		`{"prompt":"a","tools":[{"type":"function"}]}`:             "tools: not supported, expected [] or nothing",
		`{"prompt":"a","response_format":{"type":"json_object"}}`:  `response_format: not supported, expected {"type":"text"} or nothing`,
		`{"prompt":"a","suffix":"b"}`:                              `suffix: not supported, expected "" or nothing`,
		`{"prompt":"a","best_of":2}`:                               "best_of: not supported, expected 1 or nothing",
		`{"messages":[{"content":"a"}]}`:                           "prompt is missing",
		`{}`:                                                       "prompt is missing",
		`[]`:                                                       "JSON array into",
		`{"prompt":"a","prompt":"b"}`:                              `duplicate object member name "prompt"`,
		`{"prompt":"a","echo":true,"echo":false}`:                  `duplicate object member name "echo"`,
		`{"prompt":"a","max_tokens":1.5}`:                          `JSON number 1.5 into Go int within "/max_tokens"`,
		`{"prompt":"a","stream_options":[]}`:                       `JSON array into Go serve.streamOptions within "/stream_options"`,
		"{\"prompt\":\"\xff\"}":                                    "invalid UTF-8",
	} {
		if _, err := readPrompt([]byte(text), false); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`: `a part of a message is of type "image_url": must be text`,
		`{"messages":[{"content":["a"]}]}`:                                          `within "/messages/0/content/0"`,
		`{"messages":[{"content":"a","content":"b"}]}`:                              `duplicate object member name "content"`,
		`{"messages":{}}`:                          `within "/messages"`,
		`{"messages":[{"role":[],"content":"b"}]}`: `within "/messages/0/role"`,
		`{"messages":[{"content":7}]}`:             `within "/messages/0/content"`,
	} {
		if _, err := readPrompt([]byte(text), true); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := readPrompt([]byte(`{"prompt":"a"}`), true); !testenv.Names(err, "messages") {
		t.Errorf("a prompt for a conversation: %v", err)
	}
	for text, want := range map[string]int{`{"prompt":"a"}`: 0, `{"prompt":"a","max_tokens":3}`: 3, `{"prompt":"a","max_tokens":3,"max_completion_tokens":5}`: 5,
		`{"prompt":"a","temperature":0,"n":1,"stop":[],"min_tokens":0,"ignore_eos":false,"max_tokens":null}`:                                                                                                 0,
		`{"prompt":"a","echo":false,"logprobs":null,"frequency_penalty":-0.0,"presence_penalty":0e5,"repetition_penalty":1.0,"tools":[],"response_format":{"type":"text"},"top_p":0.5,"seed":7,"user":"me"}`: 0} {
		if p, err := readPrompt([]byte(text), false); err != nil || p.limit() != want {
			t.Errorf("%s: %+v, %v, want a limit of %d", text, p, err, want)
		}
	}
}

func TestStreamUsage(t *testing.T) {
	url := startTexts(t, letters{}, 4)
	for options, want := range map[string]bool{``: false, `,"stream_options":null`: false, `,"stream_options":{}`: false, `,"stream_options":{"include_usage":false}`: false, `,"stream_options":{"include_usage":true}`: true} {
		list := events(t, url, `{"prompt":"ab","stream":true`+options+`}`)
		var told []int
		for i, e := range list[:len(list)-1] {
			var d struct {
				Choices []any
				Usage   *struct {
					Prompt     int `json:"prompt_tokens"`
					Completion int `json:"completion_tokens"`
					Total      int `json:"total_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(e), &d); err != nil {
				t.Fatal(err)
			}
			if d.Usage == nil {
				continue
			}
			told = append(told, i)
			if len(d.Choices) != 0 || d.Usage.Total != d.Usage.Prompt+d.Usage.Completion || d.Usage.Prompt != 2 {
				t.Errorf("%q: the usage is %+v, with %d choices", options, *d.Usage, len(d.Choices))
			}
		}
		if (len(told) == 1) != want || want && told[0] != len(list)-2 {
			t.Errorf("%q: the usage is told in the events %v of %d", options, told, len(list))
		}
	}
}
