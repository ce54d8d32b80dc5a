package tokenserver

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
)

// instead is what is done in the place of an answer.
var instead = map[Fault]func(s *Server, w http.ResponseWriter, r *http.Request){
	Silence: func(_ *Server, _ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // whether the client has gone is only seen behind it
		<-r.Context().Done()
	},
	Refuse: func(_ *Server, w http.ResponseWriter, _ *http.Request) {
		refuse(w, &refusal{http.StatusInternalServerError, "internal error"})
	},
	Busy: func(_ *Server, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		refuse(w, &refusal{http.StatusTooManyRequests, "too many requests"})
	},
	WrongType: func(_ *Server, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body>Welcome</body></html>")
	},
	Compressed: func(_ *Server, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "data: [DONE]\n\n")
		_ = z.Close() // the client has gone
	},
	Redirect: func(s *Server, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.RedirectTo, http.StatusTemporaryRedirect)
	},
	RedirectLossy: func(s *Server, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.RedirectTo, http.StatusFound)
	},
}

// inside is what is done in the middle of an answer. It returns true if that ends it.
var inside = map[Fault]func(a *answering) (over bool){
	Break: func(*answering) bool { panic(http.ErrAbortHandler) },
	Stop:  func(*answering) bool { return true },
	Stall: func(a *answering) bool {
		<-a.ctx.Done()
		return true
	},
	ErrorInside: func(a *answering) bool {
		a.send([]byte("data: {\"error\":{\"message\":\"CUDA out of memory\",\"code\":500}}\n\ndata: [DONE]\n\n"))
		return true
	},
	Garbage: func(a *answering) bool {
		a.send([]byte("data: {\"choices\":[{\"index\":0,\"text\":\n\n"))
		return false
	},
	Twice: func(a *answering) bool {
		a.send(a.server.chunks.of(a.q, 0))
		return false
	},
	LongLine: func(a *answering) bool {
		a.longLine()
		return false
	},
}
