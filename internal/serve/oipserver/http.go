package oipserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// handler answers all paths.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	ready := func(w http.ResponseWriter, on bool) {
		if !on {
			w.WriteHeader(http.StatusBadRequest) // as Triton
		}
	}
	mux.HandleFunc("GET /v2/health/live", func(w http.ResponseWriter, _ *http.Request) {})
	mux.HandleFunc("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) { ready(w, s.ready()) })
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { // as vLLM; guidellm asks before it begins
		if !s.ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	about := func(w http.ResponseWriter, _ *http.Request) error {
		return writeJSON(w, protocol.ServerMetadata{Name: s.config.Name, Version: s.config.Version, Extensions: extensions})
	}
	mux.HandleFunc("GET /v2", s.guarded(about))
	mux.HandleFunc("GET /v2/{$}", s.guarded(about))
	mux.HandleFunc("GET /metrics", s.guarded(s.writeMetrics))
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.HandleFunc("GET "+path, s.guarded(func(w http.ResponseWriter, r *http.Request) error {
			m, err := s.modelOf(r)
			if err != nil {
				return err
			}
			return writeJSON(w, m.Metadata())
		}))
		mux.HandleFunc("GET "+path+"/ready", func(w http.ResponseWriter, r *http.Request) {
			m, err := s.modelOf(r)
			if err != nil {
				s.writeError(w, err, errorDocument(err))
				return
			}
			ready(w, m.Ready() && !s.draining())
		})
		mux.HandleFunc("GET "+path+"/stats", s.guarded(func(w http.ResponseWriter, r *http.Request) error {
			m, err := s.modelOf(r)
			if err != nil {
				return err
			}
			text, err := protocol.StatisticsJSON([]protocol.ModelStatistics{m.Statistics()})
			if err != nil {
				return err
			}
			return writeText(w, "application/json", text)
		}))
		mux.HandleFunc("GET "+path+"/config", s.guarded(func(w http.ResponseWriter, r *http.Request) error {
			m, err := s.modelOf(r)
			if err != nil {
				return err
			}
			return writeJSON(w, configOf(m))
		}))
		mux.HandleFunc("POST "+path+"/infer", s.guarded(s.infer))
	}
	for _, method := range []string{"GET", "POST"} { // not all of them, which would also answer for wrong methods of the paths above
		mux.HandleFunc(method+" /", s.guarded(NotFound))
	}
	for _, route := range s.config.Routes {
		document := errorDocument
		if route.Error != nil {
			document = route.Error
		}
		mux.HandleFunc(route.Pattern, s.guardedAs(document, func(w http.ResponseWriter, r *http.Request) error {
			if s.draining() {
				return errDraining
			}
			return route.Handle(w, r)
		}))
	}
	return mux
}

// NotFound refuses a path.
func NotFound(_ http.ResponseWriter, r *http.Request) error {
	return protocol.Errorf(protocol.NotFound, "this server has no %s %s", r.Method, r.URL.Path)
}

var errDraining = &protocol.Error{Code: protocol.Unavailable, Err: errors.New("the server is being shut down")}

// guarded is guardedAs with the errors of the protocol.
func (s *Server) guarded(f func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return s.guardedAs(errorDocument, f)
}

// guardedAs asks for a token, refuses compressed bodies, which would be taken for tensors, and writes errors as documents.
func (s *Server) guardedAs(document func(error) any, f func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch encoding := r.Header.Get("Content-Encoding"); {
		case !s.permitted(r.Header.Get("Authorization")):
			w.Header().Set("WWW-Authenticate", "Bearer")
			err = protocol.Errorf(protocol.Unauthorized, "expected one of the server's tokens (Authorization: Bearer …)")
		case encoding != "" && !strings.EqualFold(encoding, "identity"):
			err = protocol.Errorf(protocol.Unsupported, "the request is compressed (Content-Encoding: %s): send it plain", encoding)
		default:
			err = f(w, r)
		}
		if err != nil {
			s.writeError(w, err, document(err))
		}
	}
}

func (s *Server) modelOf(r *http.Request) (Model, error) {
	return s.find(r.PathValue("model"), r.PathValue("version"))
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
	_, _ = w.Write(text) // an error means that the client has gone
	return nil
}

func errorDocument(err error) any { return map[string]string{"error": err.Error()} }

// writeError answers with an error and its document.
func (s *Server) writeError(w http.ResponseWriter, err error, document any) {
	code := protocol.CodeOf(err)
	text, _ := json.Marshal(document, jsontext.AllowInvalidUTF8(true)) // which no string makes fail
	s.requests.failed(code)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.Header().Del(protocol.HeaderLength)
	if code == protocol.TooLarge { // the body is not read
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(code.HTTP())
	fmt.Fprintf(w, "%s\n", text)
}

// infer answers a request for an inference.
func (s *Server) infer(w http.ResponseWriter, r *http.Request) error {
	m, err := s.modelOf(r)
	if err != nil {
		return err
	}
	doc, err := readHead(r, m)
	if err != nil {
		return invalid(err)
	}
	job, err := s.begin(&doc.Head)
	if err != nil {
		return err
	}
	defer job.End()
	if _, err := doc.Read(r.Body, job.Place); err != nil {
		return invalid(err)
	}
	specs, outputs, err := job.Run(r.Context())
	if err != nil {
		return err
	}
	about := m.Metadata()
	return s.answer(w, &protocol.Head{Model: about.Name, Version: version(about), ID: doc.ID, Tensors: specs}, outputs, doc.WantsJSON)
}

const (
	// maxJSON is how long the JSON of a request may be whose tensors are binary.
	maxJSON = 256 << 10
	// jsonPerByte is how many characters an element takes in JSON for each of its bytes: 16 or
	// more for a float of 4.
	jsonPerByte = 8
	// usualText is how much JSON a request or an answer has beside binary tensors, and a buffer keeps.
	usualText = 4 << 10
)

// texts are buffers for JSON.
var texts = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, usualText)) }}

// readHead reads the part of a request before the tensors. It compares the claimed sizes with the model
// before it takes memory for them.
func readHead(r *http.Request, m Model) (*protocol.Document, error) {
	size, most := r.ContentLength, m.MaxBytes()
	if size < 0 {
		return nil, protocol.Errorf(protocol.InvalidArgument, "the request does not say how long it is: give a Content-Length")
	}
	head := size // bytes of JSON
	switch length := r.Header.Get(protocol.HeaderLength); length {
	case "":
		most = maxJSON + jsonPerByte*most
	case "0":
		head = 0
	default:
		n, err := strconv.ParseUint(length, 10, 31)
		if err != nil || int64(n) > size {
			return nil, protocol.Errorf(protocol.InvalidArgument, "%s is %q: must be how many of the %d bytes are JSON", protocol.HeaderLength, length, size)
		}
		if n > maxJSON {
			return nil, protocol.Errorf(protocol.TooLarge, "the request has %d bytes of JSON, expected at most %d", n, maxJSON)
		}
		head, most = int64(n), int64(n)+most
	}
	if size > most {
		return nil, protocol.Errorf(protocol.TooLarge, "the request has %d bytes, the model takes at most %d", size, most)
	}
	if head == 0 && r.Header.Get(protocol.HeaderLength) != "" {
		return rawDocument(m, size)
	}
	buffer := texts.Get().(*bytes.Buffer)
	defer func() {
		if buffer.Cap() <= usualText { // a document has copies of its parts
			texts.Put(buffer)
		}
	}()
	buffer.Reset()
	// This takes no more memory than arrives. A body that ends before its Content-Length is an error.
	if _, err := buffer.ReadFrom(io.LimitReader(r.Body, head)); err != nil {
		return nil, err
	}
	doc, err := protocol.FromRequestJSON(buffer.Bytes())
	if err != nil {
		return nil, err
	}
	if rest := size - head; doc.BinarySize() != rest {
		return nil, protocol.Errorf(protocol.InvalidArgument, "the tensors have %d bytes, %d follow the JSON", doc.BinarySize(), rest)
	}
	about := m.Metadata()
	doc.Model, doc.Version = about.Name, version(about)
	return doc, nil
}

// rawDocument is the head of a request that consists of the only input of the model, of one
// sample, or of the file of that sample.
func rawDocument(m Model, size int64) (*protocol.Document, error) {
	about := m.Metadata()
	if len(about.Inputs) != 1 {
		return nil, protocol.Errorf(protocol.InvalidArgument, "the model has %d inputs, a raw request is for models of one", len(about.Inputs))
	}
	port := about.Inputs[0]
	dtype, err := protocol.ParseDatatype(port.Datatype)
	if err != nil {
		return nil, err
	}
	var shape tensor.Shape // of one sample, or a single string
	for i, d := range port.Shape {
		if i == 0 || dtype == tensor.String {
			d = 1
		}
		shape = append(shape, d)
	}
	want := shape.Len() * int64(dtype.Size()) // negative where an extent is free: no request has this size
	if dtype != tensor.String && want != size {
		if f, ok := m.(FileModel); !ok || !f.TakesFiles() {
			return nil, protocol.Errorf(protocol.InvalidArgument, "the request has %d bytes, one sample of %s%v has %d", size, port.Datatype, shape,
				max(want, 0))
		}
		dtype, shape = tensor.String, tensor.Shape{1}
	}
	return protocol.RawDocument(protocol.Head{Model: about.Name, Version: version(about),
		Tensors: []protocol.Spec{{Name: port.Name, Type: dtype, Shape: shape, Size: size}}}), nil
}

// invalid is an error of a request that has no code of its own.
func invalid(err error) error {
	var known *protocol.Error
	if errors.As(err, &known) {
		return err
	}
	return &protocol.Error{Code: protocol.InvalidArgument, Err: err}
}

// octets is the type of binary answers. It is not changed.
var octets = []string{"application/octet-stream"}

// answer writes the outputs.
func (s *Server) answer(w http.ResponseWriter, head *protocol.Head, outputs []tensor.Tensor, asJSON bool) error {
	form := protocol.Binary
	if asJSON {
		form = protocol.JSON
	}
	text, err := protocol.ResponseJSON(head, outputs, form)
	if err != nil {
		return &protocol.Error{Code: protocol.Unsupported, Err: err}
	}
	s.requests.answered()
	if asJSON {
		return writeText(w, "application/json", text)
	}
	var room [4][]byte
	pieces, size := append(room[:0], text), len(text)
	for _, t := range outputs {
		wire := protocol.Wire(t)
		pieces, size = append(pieces, wire), size+len(wire)
	}
	h := w.Header()
	h["Content-Type"] = octets
	h["Content-Length"] = []string{strconv.Itoa(size)}
	h[protocol.HeaderLength] = []string{strconv.Itoa(len(text))}
	for _, p := range pieces {
		if _, err := w.Write(p); err != nil {
			return nil // the client has gone
		}
	}
	return nil
}
