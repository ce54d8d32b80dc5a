package tokenserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

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
	rights map[uint32]bool // prompts that got their answer, by what follows from them
}

// New returns a server.
func New(o Options) *Server {
	if o.Tokens == 0 {
		o.Tokens = 16
	}
	o.PerWrite = max(1, o.PerWrite)
	s := &Server{options: o, chunks: newChunks(), rights: map[uint32]bool{}}
	if o.Slots > 0 {
		s.slots = make(chan struct{}, o.Slots)
	}
	return s
}

// Requests is how many prompts have come.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// Rights is how many different prompts got the answer that is hidden in them.
func (s *Server) Rights() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rights)
}

// Open is how many requests are being answered or wait.
func (s *Server) Open() int { return int(s.open.Load()) }

// Keys is how many requests, of any kind, came with a key.
func (s *Server) Keys() int { return int(s.keys.Load()) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Authorization")
	if key != "" {
		s.keys.Add(1)
	}
	if s.options.Key != "" && key != "Bearer "+s.options.Key {
		refuse(w, &refusal{http.StatusUnauthorized, "Incorrect API key provided: " + strings.TrimPrefix(key, "Bearer ")})
		return
	}
	prompts := map[string]bool{"/v1/chat/completions": !s.options.NoChat, "/v1/completions": !s.options.NoText}
	switch path := r.URL.Path; {
	case path == "/v1/models":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
	case prompts[path]:
		s.open.Add(1)
		defer s.open.Add(-1)
		s.answer(w, r)
	default:
		refuse(w, &refusal{http.StatusNotFound, "Not Found"})
	}
}

func refuse(w http.ResponseWriter, r *refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	fmt.Fprintf(w, `{"error":{"message":%s,"code":%d}}`, quoted(r.text), r.status)
}

// answer answers a prompt, or does what is wrong with it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	n := int(s.requests.Add(1)) - 1
	fault := s.options.faultOf(n)
	if wrong := instead[fault]; wrong != nil {
		wrong(s, w, r)
		return
	}
	q, refused := s.read(r)
	if refused != nil {
		refuse(w, refused)
		return
	}
	if !s.occupy(r.Context()) {
		return
	}
	defer s.free()
	q.spoil(fault)
	if !q.Stream || s.options.WholeOnly {
		s.answerWhole(w, r.Context(), q)
		return
	}
	if fault != NoType {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	a := &answering{server: s, w: w, control: http.NewResponseController(w), q: q, fault: fault, began: time.Now(), ctx: r.Context()}
	a.stream()
}

// occupy waits for a slot. It returns false if the client has gone before there was one.
func (s *Server) occupy(ctx context.Context) bool {
	if s.slots == nil {
		return true
	}
	select {
	case s.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// free gives a slot back.
func (s *Server) free() {
	if s.slots != nil {
		<-s.slots
	}
}

func (s *Server) answerWhole(w http.ResponseWriter, ctx context.Context, q *request) {
	a := &answering{began: time.Now(), ctx: ctx}
	if !a.until(s.options.Prefill + time.Duration(max(0, q.tokens-1))*s.options.PerToken) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, q.whole(!s.options.NoUsage))
}
