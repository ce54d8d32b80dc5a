package tokenserver

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
)

// instead does what is wrong in the place of an answer. It returns false if there is an answer.
func (s *Server) instead(w http.ResponseWriter, r *http.Request, f Fault) bool {
	switch f {
	case Silence:
		_, _ = io.Copy(io.Discard, r.Body) // whether the client has gone is only seen behind it
		<-r.Context().Done()
	case Refuse:
		refuse(w, &refusal{http.StatusInternalServerError, "internal error"})
	case Busy:
		w.Header().Set("Retry-After", "0")
		refuse(w, &refusal{http.StatusTooManyRequests, "too many requests"})
	case WrongType:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body>Welcome</body></html>")
	case Compressed:
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "data: [DONE]\n\n")
		_ = z.Close() // the client has gone
	case Redirect:
		http.Redirect(w, r, s.RedirectTo, http.StatusTemporaryRedirect)
	case RedirectLossy:
		http.Redirect(w, r, s.RedirectTo, http.StatusFound)
	default:
		return false
	}
	return true
}
