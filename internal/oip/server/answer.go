package server

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// octets is the type of binary answers; nobody changes it.
var octets = []string{"application/octet-stream"}

// answer writes the outputs.
func (s *Server) answer(w http.ResponseWriter, m Model, asked *oip.Head, specs []oip.Spec, outputs []tensor.Tensor) error {
	about := m.Metadata()
	head := &oip.Head{Model: about.Name, Version: version(about), ID: asked.ID, Tensors: specs}
	form := oip.Binary
	if asked.WantsJSON {
		form = oip.JSON
	}
	buffer := texts.Get().(*bytes.Buffer)
	defer recycle(buffer)
	buffer.Reset()
	text, err := oip.AppendResponse(buffer.AvailableBuffer(), head, outputs, form)
	if err != nil {
		return &oip.Error{Code: oip.Unsupported, Err: err}
	}
	s.requests.answered()
	h := w.Header()
	if form == oip.JSON {
		s.expect(w, int64(len(text)))
		return writeText(w, "application/json", text)
	}
	var room [4][]byte
	pieces, size := appendSent(append(room[:0], text), specs, outputs)
	h["Content-Type"] = octets
	h["Content-Length"] = []string{strconv.Itoa(size)}
	h[oip.HeaderLength] = []string{strconv.Itoa(len(text))}
	s.expect(w, int64(size))
	for _, p := range pieces {
		if _, err := w.Write(p); err != nil {
			return nil // the client has gone
		}
	}
	return nil
}

// appendSent appends the elements of the outputs that are sent. Size is that of all pieces.
func appendSent(pieces [][]byte, specs []oip.Spec, outputs []tensor.Tensor) (all [][]byte, size int) {
	for i, t := range outputs {
		switch {
		case specs[i].Window.Region != "":
		case t.Type == tensor.String:
			pieces = append(pieces, oip.AppendBytes(nil, t.Strings()))
		default:
			pieces = append(pieces, t.Bytes())
		}
	}
	for _, p := range pieces {
		size += len(p)
	}
	return pieces, size
}
