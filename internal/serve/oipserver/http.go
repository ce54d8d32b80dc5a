package oipserver

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// handler answers all paths.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/health/live", func(w http.ResponseWriter, _ *http.Request) {})
	mux.HandleFunc("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) { writeReady(w, s.ready()) })
	about := func(w http.ResponseWriter, _ *http.Request) error {
		return writeJSON(w, protocol.ServerMetadata{Name: s.config.Name, Version: s.config.Version, Extensions: extensions})
	}
	mux.HandleFunc("GET /v2", s.guarded(about))
	mux.HandleFunc("GET /v2/{$}", s.guarded(about))
	mux.HandleFunc("GET /metrics", s.guarded(s.writeMetrics))
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.HandleFunc("GET "+path, s.guarded(s.describe))
		mux.HandleFunc("GET "+path+"/ready", func(w http.ResponseWriter, r *http.Request) {
			m, err := s.modelOf(r)
			if err != nil {
				s.writeError(w, err)
				return
			}
			writeReady(w, m.Ready() && !s.draining())
		})
		mux.HandleFunc("GET "+path+"/stats", s.guarded(s.statistics))
		mux.HandleFunc("POST "+path+"/infer", s.guarded(s.infer))
	}
	for _, path := range []string{"/v2/systemsharedmemory/", "/v2/cudasharedmemory/"} {
		mux.HandleFunc(path, s.guarded(func(http.ResponseWriter, *http.Request) error {
			return protocol.Errorf(protocol.Unsupported, "shared memory is not supported")
		}))
	}
	for _, route := range s.config.Routes {
		mux.HandleFunc(route.Pattern, s.guarded(func(w http.ResponseWriter, r *http.Request) error {
			if s.draining() {
				return errDraining
			}
			return route.Handle(w, r)
		}))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.expect(w, 0) // the deadline of the request before would hold for this one, too
		s.expectBody(w, r)
		mux.ServeHTTP(w, r)
	})
}

// expectBody gives a client time to send what it says that it sends, also where nobody reads it: package http waits for a
// part of that before it answers. Who reads a body says anew how long that may take, and ends the deadline.
func (s *Server) expectBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(allowance(s.config.Limits.Body, 0)) // which only fails where the connection is lost
	}
}

// expect gives a client time to take an answer of so many bytes, from now on.
func (s *Server) expect(w http.ResponseWriter, size int64) {
	_ = http.NewResponseController(w).SetWriteDeadline(allowance(s.config.Limits.Answer, size)) // without one it only takes longer
}

var errDraining = &protocol.Error{Code: protocol.Unavailable, Err: errors.New("the server is being shut down")}

// guarded asks for a token, and writes errors.
func (s *Server) guarded(f func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.permitted(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.writeError(w, protocol.Errorf(protocol.Unauthorized, "want one of the server's tokens (Authorization: Bearer …)"))
			return
		}
		err := checkEncoding(r)
		if err == nil {
			err = f(w, r)
		}
		if err != nil {
			s.writeError(w, err)
		}
	}
}

// checkEncoding refuses a body that is compressed: it would be taken for what was compressed.
func checkEncoding(r *http.Request) error {
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "" || strings.EqualFold(encoding, "identity") {
		return nil
	}
	return protocol.Errorf(protocol.Unsupported, "the request is encoded (Content-Encoding: %s), want it as it is", encoding)
}

func (s *Server) modelOf(r *http.Request) (Model, error) {
	return s.find(r.PathValue("model"), r.PathValue("version"))
}

func (s *Server) describe(w http.ResponseWriter, r *http.Request) error {
	m, err := s.modelOf(r)
	if err != nil {
		return err
	}
	return writeJSON(w, m.Metadata())
}

func (s *Server) statistics(w http.ResponseWriter, r *http.Request) error {
	m, err := s.modelOf(r)
	if err != nil {
		return err
	}
	text, err := protocol.StatisticsJSON([]protocol.ModelStatistics{m.Statistics()})
	if err != nil {
		return err
	}
	return writeText(w, "application/json", text)
}

// writeReady says yes, or no in the way of Triton.
func writeReady(w http.ResponseWriter, on bool) {
	if !on {
		w.WriteHeader(http.StatusBadRequest)
	}
}

func writeJSON(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeText(w, "application/json", text)
}

func writeText(w http.ResponseWriter, kind string, text []byte) error {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // whom it does not reach does not want it
	return nil
}

// writeError answers with an error.
func (s *Server) writeError(w http.ResponseWriter, err error) {
	code := protocol.CodeOf(err)
	text, _ := json.Marshal(map[string]string{"error": err.Error()}, jsontext.AllowInvalidUTF8(true)) // which no string makes fail
	s.requests.failed(code)
	s.expect(w, 0)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.Header().Del(protocol.HeaderLength)
	if code == protocol.TooLarge || code == protocol.TimedOut {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(code.HTTP())
	fmt.Fprintf(w, "%s\n", text)
}
