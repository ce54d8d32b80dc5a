package oipserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

const (
	// maxJSON is how long the JSON of a request may be whose tensors are binary.
	maxJSON = 256 << 10
	// jsonPerByte is how many characters an element takes in JSON for each of its bytes: 16 or
	// more for a float of 4.
	jsonPerByte = 8
)

// infer answers a request for an inference.
func (s *Server) infer(w http.ResponseWriter, r *http.Request) error {
	m, err := s.modelOf(r)
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	doc, err := s.receiveHead(control, r, m)
	if err != nil {
		return err
	}
	job, err := s.begin(&doc.Head)
	if err != nil {
		return err
	}
	defer job.End()
	if _, err := doc.Read(r.Body, job.Place); err != nil {
		return arriving(err)
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	specs, outputs, err := job.Run(r.Context())
	if err != nil {
		return err
	}
	return s.answer(w, m, &doc.Head, specs, outputs)
}

// receiveHead receives what comes before the tensors, within the time that all of a request may take.
func (s *Server) receiveHead(control *http.ResponseController, r *http.Request, m Model) (*protocol.Document, error) {
	if r.ContentLength < 0 {
		return nil, protocol.Errorf(protocol.InvalidArgument, "the request does not say how long it is: want a Content-Length")
	}
	head, form, err := s.formOf(r, m)
	if err != nil {
		return nil, err
	}
	if err := control.SetReadDeadline(allowance(s.config.Limits.Body, r.ContentLength)); err != nil {
		return nil, err
	}
	doc, err := s.readHead(r, m, head, form)
	if err != nil {
		return nil, arriving(err)
	}
	return doc, nil
}

// The forms of requests.
type requestForm uint8

const (
	jsonForm requestForm = iota
	binaryForm
	rawForm
)

// formOf finds out how a request is written, and checks what it says of its size. Head is how long
// its JSON is.
func (s *Server) formOf(r *http.Request, m Model) (head int64, form requestForm, err error) {
	most := m.MaxBytes()
	switch length := r.Header.Get(protocol.HeaderLength); length {
	case "":
		head, form, most = r.ContentLength, jsonForm, maxJSON+jsonPerByte*most
	case "0":
		form = rawForm
	default:
		n, err := strconv.ParseUint(length, 10, 31)
		if err != nil || int64(n) > r.ContentLength {
			return 0, 0, protocol.Errorf(protocol.InvalidArgument, "%s is %q, want how many of the %d bytes are JSON", protocol.HeaderLength, length, r.ContentLength)
		}
		if n > maxJSON {
			return 0, 0, protocol.Errorf(protocol.TooLarge, "the request has %d bytes of JSON, want at most %d", n, maxJSON)
		}
		head, form, most = int64(n), binaryForm, int64(n)+most
	}
	if r.ContentLength > most {
		return 0, 0, protocol.Errorf(protocol.TooLarge, "the request has %d bytes, the model takes at most %d", r.ContentLength, most)
	}
	return head, form, nil
}

// texts are buffers for JSON.
var texts = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, usualText)) }}

// usualText is how much JSON a request or an answer has beside binary tensors, and a buffer keeps.
const usualText = 4 << 10

// recycle keeps a buffer for others, unless it has become large.
func recycle(b *bytes.Buffer) {
	if b.Cap() <= usualText {
		texts.Put(b)
	}
}

// readHead reads what comes before the tensors.
func (s *Server) readHead(r *http.Request, m Model, head int64, form requestForm) (*protocol.Document, error) {
	about := m.Metadata()
	if form == rawForm {
		return rawDocument(m, r.ContentLength)
	}
	buffer := texts.Get().(*bytes.Buffer)
	defer recycle(buffer) // a document has copies of what it needs
	buffer.Reset()
	// This takes no more memory than arrives. A body that ends before its Content-Length is an error.
	if _, err := buffer.ReadFrom(io.LimitReader(r.Body, head)); err != nil {
		return nil, err
	}
	doc, err := protocol.FromRequestJSON(buffer.Bytes())
	if err != nil {
		return nil, invalid(err)
	}
	if rest := r.ContentLength - head; doc.BinarySize() != rest {
		return nil, protocol.Errorf(protocol.InvalidArgument, "the tensors have %d bytes, %d follow the JSON", doc.BinarySize(), rest)
	}
	doc.Model, doc.Version = about.Name, version(about)
	return doc, nil
}

// arriving names the code of an error on the way of a request to the model.
func arriving(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return protocol.Errorf(protocol.TimedOut, "the request did not arrive in time")
	}
	return invalid(err)
}

// invalid is an error of a request that has no code of its own.
func invalid(err error) error {
	var known *protocol.Error
	if errors.As(err, &known) {
		return err
	}
	return &protocol.Error{Code: protocol.InvalidArgument, Err: err}
}
