package tokenserver

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// Options say how the server answers. The zero value answers at once, with 16 tokens.
type Options struct {
	Prefill  time.Duration // from a free slot to the first token
	PerToken time.Duration // from a token to the next
	Slots    int           // requests that are answered at once; the others wait in order; 0: any number
	PerWrite int           // tokens that are sent together; 0: 1

	Tokens  int // of an answer without a limit; 0: 16
	Context int // tokens of prompt and answer together, at most; 0: any number

	// Right is the share of the built-in questions that are answered right; the other answers are plain words.
	Right float64

	Key       string // that requests must have; empty: none
	TextOnly  bool   // prompts of token ids are refused with status 400
	NoUsage   bool   // answers do not have their numbers of tokens
	NoChat    bool   // there is no route for chat
	NoText    bool   // there is no route for completions
	NoExtras  bool   // fields that are not OpenAI's are refused with status 400
	WholeOnly bool   // answers are whole, even if a stream was asked for

	// Fault is the fault of the nth request, counted from 0; nil: none.
	Fault func(n int) Fault
}

// A Fault is what the server does instead of answering well.
type Fault uint8

// The faults.
const (
	None          Fault = iota
	Silence             // no answer, until the client gives up
	Refuse              // status 500
	Busy                // status 429
	Break               // the connection ends in the middle of the answer
	ErrorInside         // an event with an error in the middle of the answer
	Stop                // the stream ends in order, in the middle of the answer and without [DONE]
	Stall               // nothing follows the middle of the answer, and the connection stays
	Garbage             // an event that is not JSON
	Twice               // a token is sent twice
	Empty               // an answer without tokens
	LongLine            // an event of 10 MB
	WrongType           // a page of HTML with status 200
	Compressed          // a compressed answer
	Redirect            // status 307, to RedirectTo
	RedirectLossy       // status 302
	Endless             // an answer without an end
	Trickle             // the bytes of events come one by one
	NoType              // a stream without its content type
	Mute                // the tokens are counted, and have no text
)

var faultNames = []string{"none", "silence", "500", "429", "break", "error", "stop", "stall", "garbage", "twice", "empty", "long-line", "wrong-type",
	"compressed", "redirect", "redirect-lossy", "endless", "trickle", "no-type", "mute"}

// String is the name of the fault on command lines.
func (f Fault) String() string { return faultNames[f] }

// ParseFault returns the fault of a name.
func ParseFault(name string) (Fault, error) {
	i := slices.Index(faultNames, strings.ToLower(name))
	if i < 0 {
		return None, fmt.Errorf("unknown fault %q: must be one of %s", name, strings.Join(faultNames, ", "))
	}
	return Fault(i), nil
}

// A Server answers requests. It is an http.Handler.
type Server struct {
	options Options
	chunks  *chunks
	slots   chan struct{} // nil: any number

	// RedirectTo is where Redirect and RedirectLossy lead.
	RedirectTo string

	requests atomic.Int64
	open     atomic.Int64
	keys     atomic.Int64

	mu     sync.Mutex
	rights map[uint32]bool // seeds of the questions that were answered right
}

// New returns a server.
func New(o Options) *Server {
	if o.Tokens == 0 {
		o.Tokens = 16
	}
	o.PerWrite = max(1, o.PerWrite)
	if o.Fault == nil {
		o.Fault = func(int) Fault { return None }
	}
	s := &Server{options: o, chunks: newChunks(), rights: map[uint32]bool{}}
	if o.Slots > 0 {
		s.slots = make(chan struct{}, o.Slots)
	}
	return s
}

// Requests is the number of prompts that have come.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// Rights is the number of different questions that were answered right.
func (s *Server) Rights() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rights)
}

// Open is the number of requests that are answered or wait now.
func (s *Server) Open() int { return int(s.open.Load()) }

// Keys is the number of requests of any kind that came with a key.
func (s *Server) Keys() int { return int(s.keys.Load()) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Authorization")
	if key != "" {
		s.keys.Add(1)
	}
	if s.options.Key != "" && key != "Bearer "+s.options.Key {
		refuse(w, http.StatusUnauthorized, "Incorrect API key provided: "+strings.TrimPrefix(key, "Bearer "))
		return
	}
	switch path := r.URL.Path; {
	case path == "/health": // as vLLM; guidellm asks before it begins
	case path == "/metrics": // as vLLM
		running, waiting := int(s.open.Load()), 0
		if s.slots != nil {
			running = len(s.slots)
			waiting = max(int(s.open.Load())-running, 0)
			fmt.Fprintf(w, "vllm:kv_cache_usage_perc %g\n", float64(running)/float64(cap(s.slots)))
		}
		fmt.Fprintf(w, "vllm:num_requests_running %d\nvllm:num_requests_waiting %d\n", running, waiting)
	case path == "/v1/models":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
	case path == "/v1/embeddings", path == "/v1/rerank":
		s.open.Add(1)
		defer s.open.Add(-1)
		s.serveTask(w, r)
	case path == "/v1/chat/completions" && !s.options.NoChat, path == "/v1/completions" && !s.options.NoText:
		s.open.Add(1)
		defer s.open.Add(-1)
		s.serve(w, r)
	default:
		refuse(w, http.StatusNotFound, "Not Found")
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%s,"code":%d}}`, quoted(message), status)
}

// serve answers a prompt, or does what its fault is.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	fault := s.options.Fault(int(s.requests.Add(1)) - 1)
	switch fault {
	case Silence:
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices that the client has gone only behind the body
		<-r.Context().Done()
		return
	case Refuse:
		refuse(w, http.StatusInternalServerError, "internal error")
		return
	case Busy:
		w.Header().Set("Retry-After", "0")
		refuse(w, http.StatusTooManyRequests, "too many requests")
		return
	case WrongType:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body>Welcome</body></html>")
		return
	case Compressed:
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "data: [DONE]\n\n")
		_ = z.Close()
		return
	case Redirect:
		http.Redirect(w, r, s.RedirectTo, http.StatusTemporaryRedirect)
		return
	case RedirectLossy:
		http.Redirect(w, r, s.RedirectTo, http.StatusFound)
		return
	}
	q, err := s.read(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if s.slots != nil {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-r.Context().Done():
			return
		}
	}
	if fault == Empty {
		q.tokens = 0
	}
	q.mute = fault == Mute
	a := &answer{server: s, w: w, ctx: r.Context(), q: q, fault: fault, began: clock.Now()}
	if !q.Stream || s.options.WholeOnly {
		a.sendWhole()
		return
	}
	if fault != NoType {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	a.stream()
}

// A request is what the server reads of one.
type request struct {
	Prompt    json.RawMessage `json:"prompt"`
	Messages  []message       `json:"messages"`
	Stream    bool            `json:"stream"`
	MaxTokens int             `json:"max_tokens"`
	MaxNew    int             `json:"max_completion_tokens"`
	IgnoreEOS *bool           `json:"ignore_eos"`
	MinTokens *int            `json:"min_tokens"`
	ReturnIDs *bool           `json:"return_token_ids"`

	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`

	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	chat   bool
	length int     // of the prompt, in tokens
	seed   uint32  // of plain answers; it follows from the prompt
	tokens int     // of the answer
	mute   bool    // they have no text
	tool   string  // that is called with the answer as its argument; empty: none
	right  []int32 // the answer of a built-in question; nil: plain words
	calls  []piece // of tools, in pieces, which answer a built-in question; nil: none

	words   []string // that answer a call of e2e-rag; nil: others do
	reasons int      // of these, first, which are reasoning
	answers bool     // they are the right answer to the question
}

type message struct {
	Content   content           `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

// content is a text, or parts: texts, and images of which each is some tokens. The answer to a built-in product is in its picture.
type content struct {
	text   string
	images int
	answer []int32
}

const imageTokens = 64

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, &c.text) // also null
	}
	var parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		switch {
		case p.Type == "text":
			c.text += p.Text
		case p.Type == "image_url" && strings.HasPrefix(p.Image.URL, "data:image/"):
			c.text, c.images = c.text+p.Image.URL, c.images+1
			_, data, _ := strings.Cut(p.Image.URL, ";base64,")
			if picture, err := base64.StdEncoding.DecodeString(data); err == nil {
				c.answer = vocab.AnswerInText(string(picture))
			}
		default:
			return fmt.Errorf("a part of a message is of type %q: must be text, or image_url with its data", p.Type)
		}
	}
	return nil
}

const (
	maxBody   = 64 << 20 // bytes of a request
	maxTokens = 1 << 20  // of an answer: whole answers are put together in memory
)

// read reads a request, and refuses what this server does not do.
func (s *Server) read(r *http.Request) (*request, error) {
	q := &request{chat: strings.HasSuffix(r.URL.Path, "/chat/completions")}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, q); err != nil {
		return nil, err
	}
	o, limit := &s.options, max(q.MaxTokens, q.MaxNew)
	if choice := string(q.ToolChoice); len(q.Tools) > 0 && choice != "" && choice != `"auto"` && choice != `"none"` {
		q.tool = q.Tools[0].Function.Name
	}
	switch {
	case o.NoExtras && (q.IgnoreEOS != nil || q.MinTokens != nil || q.ReturnIDs != nil):
		//lint:ignore ST1005 as OpenAI writes it
		return nil, errors.New("Unrecognized request argument supplied")
	case min(q.MaxTokens, q.MaxNew) < 0:
		return nil, fmt.Errorf("max_tokens must be at least 1, got %d", min(q.MaxTokens, q.MaxNew))
	case limit > maxTokens:
		return nil, fmt.Errorf("max_tokens must be at most %d, got %d", maxTokens, limit)
	}
	answer, calls, err := q.readPrompt(o.TextOnly)
	if err != nil {
		return nil, err
	}
	if len(q.Messages) == 1 {
		q.chainReply(q.Messages[0].Content.text, o.Right)
	}
	if q.tokens = limit; limit == 0 {
		q.tokens = o.Tokens
	}
	if q.IgnoreEOS == nil || !*q.IgnoreEOS {
		q.tokens = min(q.tokens, o.Tokens)
	}
	right := q.isRight(o.Right)
	switch {
	case q.words != nil:
		if right, q.tokens = q.answers, len(q.words); limit > 0 {
			q.tokens = min(q.tokens, limit)
		}
	case calls != "" && len(q.Tools) > 0:
		if err := q.call(calls, right); err != nil {
			return nil, err
		}
	case right && len(answer) > 0:
		q.right, q.tokens = answer, min(q.tokens, len(answer))
	default:
		right = false
	}
	if right {
		s.mu.Lock()
		s.rights[q.seed] = true
		s.mu.Unlock()
	}
	if all := q.length + q.tokens; o.Context > 0 && all > o.Context {
		//lint:ignore ST1005 as vLLM writes it
		return nil, fmt.Errorf("This model's maximum context length is %d tokens. However, you requested %d tokens", o.Context, all)
	}
	return q, nil
}

// readPrompt finds the length and the seed of a prompt, and returns the answer that a built-in question has: tokens, or calls as JSON.
func (q *request) readPrompt(textOnly bool) (answer []int32, calls string, err error) {
	prompt := bytes.TrimSpace(q.Prompt)
	switch {
	case q.chat && len(q.Messages) == 0:
		return nil, "", errors.New("messages are missing")
	case q.chat:
		prompt = nil
		for _, m := range q.Messages {
			q.length += len(strings.Fields(m.Content.text)) + imageTokens*m.Content.images
			if answer, prompt = m.Content.answer, append(prompt, m.Content.text...); answer == nil {
				answer = vocab.AnswerInText(m.Content.text)
			}
			calls = vocab.JSONInText(m.Content.text)
		}
	case len(prompt) == 0:
		return nil, "", errors.New("prompt is missing")
	case prompt[0] == '[' && textOnly:
		return nil, "", errors.New("json: cannot unmarshal array into Go struct field CompletionRequest.prompt of type string")
	case prompt[0] == '[':
		var ids []int32
		if err := json.Unmarshal(prompt, &ids); err != nil {
			return nil, "", err
		}
		q.length, answer = len(ids), vocab.Answer(ids)
	default:
		var text string
		if err := json.Unmarshal(prompt, &text); err != nil {
			return nil, "", err
		}
		q.length, answer, prompt = len(strings.Fields(text)), vocab.AnswerInText(text), []byte(text)
	}
	h := fnv.New32a()
	_, _ = h.Write(prompt)
	q.seed = h.Sum32()
	return answer, calls, nil
}

// A piece is a part of the call of a tool.
type piece struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// call makes the pieces of the calls that answer a built-in question, which may be none. A wrong answer calls the first tool with an argument that
// it does not have.
func (q *request) call(calls string, right bool) error {
	var list []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if !right {
		calls = fmt.Sprintf(`[{"name":%s,"arguments":{"wrong":1}}]`, quoted(q.Tools[0].Function.Name))
	}
	if err := json.Unmarshal([]byte(calls), &list); err != nil {
		return fmt.Errorf("the calls behind the mark of a built-in question: %w", err)
	}
	const pieceBytes = 8
	for i, c := range list {
		p := piece{Index: i, ID: fmt.Sprintf("call_%d", i), Type: "function"}
		p.Function.Name = c.Name
		q.calls = append(q.calls, p)
		for part := range slices.Chunk([]rune(string(c.Arguments)), pieceBytes) {
			p := piece{Index: i}
			p.Function.Arguments = string(part)
			q.calls = append(q.calls, p)
		}
	}
	if len(q.calls) > 0 {
		q.tokens = min(len(q.calls), max(q.MaxTokens, q.MaxNew))
	}
	return nil
}

func quoted(text string) []byte {
	b, _ := json.Marshal(text) // a string has JSON
	return b
}
