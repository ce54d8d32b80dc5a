package oipserver

import (
	"net/http"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// octets is the type of binary answers; nobody changes it.
var octets = []string{"application/octet-stream"}

// answer writes the outputs.
func (s *Server) answer(w http.ResponseWriter, m Model, asked *protocol.Head, specs []protocol.Spec, outputs []tensor.Tensor) error {
	about := m.Metadata()
	head := &protocol.Head{Model: about.Name, Version: version(about), ID: asked.ID, Tensors: specs}
	form := protocol.Binary
	if asked.WantsJSON {
		form = protocol.JSON
	}
	text, err := protocol.ResponseJSON(head, outputs, form)
	if err != nil {
		return &protocol.Error{Code: protocol.Unsupported, Err: err}
	}
	s.requests.answered()
	h := w.Header()
	if form == protocol.JSON {
		s.expect(w, int64(len(text)))
		return writeText(w, "application/json", text)
	}
	var room [4][]byte
	pieces, size := appendSent(append(room[:0], text), outputs)
	h["Content-Type"] = octets
	h["Content-Length"] = []string{strconv.Itoa(size)}
	h[protocol.HeaderLength] = []string{strconv.Itoa(len(text))}
	s.expect(w, int64(size))
	for _, p := range pieces {
		if _, err := w.Write(p); err != nil {
			return nil // the client has gone
		}
	}
	return nil
}

// appendSent appends the elements of the outputs. Size is that of all pieces.
func appendSent(pieces [][]byte, outputs []tensor.Tensor) (all [][]byte, size int) {
	for _, t := range outputs {
		pieces = append(pieces, protocol.Wire(t))
	}
	for _, p := range pieces {
		size += len(p)
	}
	return pieces, size
}
