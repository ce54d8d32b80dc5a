package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// An echo says a prompt once more, each token a little later, and then 0, which ends it.
type echo struct {
	pair
	rows   int
	limits []int
	words  workload.Words
	chat   workload.Chat
}

const echoRoom = 8

func (e *echo) Outputs(string) []string { return nil }

func (e *echo) Len() int { return max(1, e.rows) }
func (e *echo) Row(int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Int32, Shape: tensor.Shape{echoRoom}}}
}
func (e *echo) Sent() []workload.Sent {
	return []workload.Sent{{Name: "ids", Slot: workload.Slot{Type: tensor.Int32, Shape: tensor.Shape{-1}}}}
}
func (e *echo) Complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if n := sent[0][0]; n < 1 || n > echoRoom {
		return nil, fmt.Errorf("%d tokens, want 1 to %d", n, echoRoom)
	}
	return e.Row(0), nil
}
func (e *echo) Elsewhere(rows int) workload.Prompted {
	return &echo{rows: rows, limits: make([]int, rows), words: e.words}
}
func (e *echo) Limit(row, tokens int) { e.limits[row] = tokens }
func (e *echo) Check(row []tensor.Tensor) error {
	if slices.Contains(tensor.Data[int32](row[0]), 999) {
		return fmt.Errorf("the model does not know 999")
	}
	return nil
}
func (e *echo) Room() (prompt, answer int) { return echoRoom, echoRoom + 1 }
func (e *echo) Tokens(dst []int32, response []byte) []int32 {
	for _, b := range response {
		dst = append(dst, int32(b))
	}
	return dst
}
func (e *echo) Ends(token int32) bool { return token == 0 }
func (e *echo) Words() workload.Words { return e.words }
func (e *echo) Chat() workload.Chat   { return e.chat }
func (e *echo) NewPredictor(workload.Sessions, int) (workload.Predictor, error) {
	return &echoing{echo: e}, nil
}

// letters are words of one letter, but that é has two tokens.
type letters struct{}

func (letters) Encode(text string) (ids []int32, err error) {
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

// EncodeWhole shows that nothing is added to the text.
func (l letters) EncodeWhole(text string) ([]int32, error) { return l.Encode(strings.ToUpper(text)) }

func (letters) Decode(ids []int32) (string, error) {
	var b []byte
	for _, id := range ids {
		b = append(b, byte(id))
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), nil
}

type echoing struct {
	echo  *echo
	store *workload.Store
}

func (p *echoing) Use(s *workload.Store) error { p.store = s; return nil }
func (*echoing) Close() error                  { return nil }
func (p *echoing) Predict(context.Context, []workload.Item, workload.Reply) error {
	return fmt.Errorf("it pulls")
}

// Serve implements workload.Puller.
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
				if n := p.echo.limits[item.Row]; n > 0 && len(said) == n {
					break
				}
				said = append(said, byte(id))
				source.(workload.Streamer).Token(item.Ticket, said[len(said)-1:])
			}
			if n := p.echo.limits[item.Row]; n == 0 || len(said) < n {
				said = append(said, 0)
				source.(workload.Streamer).Token(item.Ticket, said[len(said)-1:])
			}
			source.Done(item.Ticket, said, len(said))
		}
	}
}

// An echoSource is that model.
type echoSource struct {
	*source
	words workload.Words
	chat  workload.Chat
}

func (echoSource) Parts() ([]workload.File, error) { return nil, nil }

func (s echoSource) OpenWorkload(context.Context) (workload.Workload, map[string]workload.Ports, error) {
	past := []backend.Port{{Name: "past", Type: tensor.Float32, Shape: tensor.Shape{-1, 8}}}
	return &echo{words: s.words, chat: s.chat}, map[string]workload.Ports{workload.Only: {Inputs: past}}, nil
}

func (s echoSource) OpenSequences(ctx context.Context, rows int, done bench.Answered) (*bench.Service, workload.Writer, error) {
	settings := loadgen.DefaultSettings()
	settings.Scenario = loadgen.Offline
	e := &echo{words: s.words, chat: s.chat}
	m := workload.Model{Name: "echo", Open: func(workload.Setup) (workload.Workload, error) { return e.Elsewhere(rows), nil }}
	service, err := bench.OpenService(ctx, bench.Config{Model: m, Settings: settings, Engine: s.engine, Instances: 1, MaxBatch: 4, Observer: nobody{}}, done)
	return service, e, err
}

// startTalk offers the echo.
func startTalk(t *testing.T, words workload.Words, room int) string {
	t.Helper()
	return startChat(t, words, nil, room)
}

// startChat offers it with a template of chats.
func startChat(t *testing.T, words workload.Words, chat workload.Chat, room int) string {
	t.Helper()
	engine, err := simulated.New(simulated.Config{})
	if err != nil {
		t.Fatal(err)
	}
	offer, err := Open(t.Context(), echoSource{&source{engine: engine}, words, chat}, Options{Name: "m", Room: room})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, stop := startOffer(t, offer, Web{Talk: NewTalk([]*Offer{offer})})
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections() // for one that was never used a server waits five seconds
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got := len(offer.writer.free); got != room {
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

// roles is a template of chats: the first letter of each role, and what it says.
type roles struct{}

func (roles) Render(messages []map[string]any) (text string, err error) {
	for _, m := range messages {
		role := m["role"].(string)
		if role == "" {
			return "", errors.New("a message without a role")
		}
		text += role[:1] + m["content"].(string)
	}
	return text, nil
}

func TestAChatIsWrittenAsTheModelKnowsIt(t *testing.T) {
	url := startChat(t, letters{}, roles{}, 4)
	for body, want := range map[string]string{
		`{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]}`: `"content":"SAUB"`,
		`{"messages":[{"content":"b"}]}`:                                               "a message without a role",
	} {
		if _, text := say(t, url+"/v1/chat/completions", body); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", body, text, want)
		}
	}
	if _, text := say(t, url+"/v1/completions", `{"prompt":"abc"}`); !strings.Contains(text, `"text":"abc"`) {
		t.Errorf("what is no chat: %s", text)
	}
}

func TestATextIsContinued(t *testing.T) {
	url := startTalk(t, letters{}, 4)
	for _, c := range []struct{ name, path, body, want string }{
		{"a text", "completions", `{"prompt":"abc"}`, `"text":"abc"}],`},
		{"tokens", "completions", `{"prompt":[104,105],"return_token_ids":true}`, `"finish_reason":"stop","index":0,"text":"hi","token_ids":[104,105,0]`},
		{"a chat", "chat/completions", `{"model":"m","messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]}`, `"message":{"content":"a\nb","role":"assistant"}`},
		{"a limit", "completions", `{"prompt":"abcdef","max_tokens":2}`, `"finish_reason":"length","index":0,"text":"ab"`},
		{"usage", "completions", `{"prompt":"abc","temperature":0,"n":1,"stop":null}`, `"usage":{"completion_tokens":4,"prompt_tokens":3,"total_tokens":7}`},
	} {
		if status, got := say(t, url+"/v1/"+c.path, c.body); status != 200 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s, want %s", c.name, status, got, c.want)
		}
	}
	for _, c := range []struct {
		name, body string
		status     int
	}{
		{"no JSON", "{", 400}, {"no prompt", "{}", 400}, {"an empty prompt", `{"prompt":""}`, 400}, {"half a prompt", `{"prompt":[1,"a"]}`, 400},
		{"too long", `{"prompt":"123456789"}`, 400}, {"unknown to the model", `{"prompt":[999]}`, 400}, {"a negative token", `{"prompt":[1,-1,2]}`, 400},
		{"chance", `{"prompt":"a","temperature":0.7}`, 400}, {"several", `{"prompt":"a","n":2}`, 400}, {"stops", `{"prompt":"a","stop":["b"]}`, 400},
		{"no end", `{"prompt":"a","ignore_eos":true}`, 400}, {"a negative limit", `{"prompt":"a","max_tokens":-1}`, 400},
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

func TestAStreamHasAPieceForEachToken(t *testing.T) {
	url := startTalk(t, letters{}, 4)
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
	url = startTalk(t, nil, 4)
	if list := events(t, url, `{"prompt":[7,8],"stream":true,"return_token_ids":true}`); !strings.Contains(list[0], `"text":" 7","token_ids":[7]`) {
		t.Errorf("without a tokenizer: %s", list)
	}
	if status, got := say(t, url+"/v1/completions", `{"prompt":"a"}`); status != 400 || !strings.Contains(got, "no tokenizer") {
		t.Errorf("a text without a tokenizer: %d %s", status, got)
	}
}

func TestManyTalkAtOnceAndEachGetsItsOwnAnswer(t *testing.T) {
	url := startTalk(t, nil, 64)
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
		if _, err := ask(c, "m-task", "ids", in); oip.CodeOf(err) != oip.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAClientThatVanishesLeavesItsRow(t *testing.T) {
	url := startTalk(t, nil, 1)
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
		if _, err := p.tokens(letters{}, nil); err == nil && p.limit() < 0 {
			t.Error("a negative limit is taken")
		}
	})
}

// A deadWriter cannot bound how long a request may take to arrive.
type deadWriter struct{ *httptest.ResponseRecorder }

func (deadWriter) SetReadDeadline(time.Time) error {
	return errors.New("use of closed network connection")
}
func (deadWriter) SetWriteDeadline(time.Time) error { return nil }

func TestARequestThatCannotBeBoundedIsNoFaultOfTheClient(t *testing.T) {
	talk := &Talk{}
	for _, c := range []struct {
		path   string
		handle func(http.ResponseWriter, *http.Request) error
	}{
		{"/v1/completions", func(w http.ResponseWriter, r *http.Request) error { return talk.complete(w, r, false) }},
		{"/v1/audio/transcriptions", talk.transcribe},
	} {
		w := deadWriter{httptest.NewRecorder()}
		err := c.handle(w, httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(`{"prompt":[1]}`)))
		if got := w.Body.String(); err != nil || w.Code != http.StatusInternalServerError || !strings.Contains(got, "a deadline of reading: use of closed network connection") {
			t.Errorf("%s: %v, %d %s, want status 500", c.path, err, w.Code, got)
		}
	}
}
