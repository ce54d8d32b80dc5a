package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// infer sends binary tensors. A server that refuses the first request like that, and
// takes it in JSON, gets JSON from then on.
func (h *httpNode) infer(ctx context.Context, r *Request, id string) (*Answer, error) {
	form := h.form.Load()
	if form == formJSON {
		return h.post(ctx, r, id, protocol.JSON)
	}
	answer, err := h.post(ctx, r, id, protocol.Binary)
	if form == formBinary {
		return answer, err
	}
	if err == nil {
		h.form.CompareAndSwap(formAsked, formBinary)
		return answer, nil
	}
	if code := protocol.CodeOf(err); code != protocol.InvalidArgument && code != protocol.Unsupported {
		return answer, err
	}
	again, errJSON := h.post(ctx, r, id, protocol.JSON)
	if errJSON != nil {
		return nil, err
	}
	h.form.CompareAndSwap(formAsked, formJSON)
	return again, nil
}

// post sends a request and reads its answer.
func (h *httpNode) post(ctx context.Context, r *Request, id string, form protocol.Form) (*Answer, error) {
	buffer := h.heads.Get().(*[]byte)
	defer h.heads.Put(buffer)
	about := r.head(id)
	text, err := protocol.RequestJSON(&about, r.Tensors, form)
	if err != nil {
		return nil, err
	}
	head := h.appendHead((*buffer)[:0], http.MethodPost, h.inferAt(r.Model, r.Version))
	pieces := net.Buffers{nil, text}
	kind, size := "application/json", len(text)
	if form == protocol.Binary {
		head = fmt.Appendf(head, "%s: %d\r\n", protocol.HeaderLength, len(text))
		kind = "application/octet-stream"
		pieces = r.pieces(pieces)
		for _, p := range pieces[2:] {
			size += len(p)
		}
	}
	head = appendEnd(head, kind, size)
	*buffer, pieces[0] = head[:0], head
	x, err := h.rounds.begin(ctx, pieces)
	if err != nil {
		return nil, lost{err}
	}
	answer, read, err := h.read(x.Response, r)
	x.end(read)
	return answer, err
}

// pieces appends the bytes of the tensors that are sent.
func (r *Request) pieces(list net.Buffers) net.Buffers {
	for _, t := range r.Tensors {
		list = append(list, protocol.Wire(t))
	}
	return list
}

// read reads the answer to a request, and reports whether it has read all of it.
func (h *httpNode) read(resp *http.Response, r *Request) (answer *Answer, all bool, err error) {
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, mostReason))
		if err != nil {
			return nil, false, lost{err}
		}
		return nil, len(text) < mostReason, h.statusError(resp, text)
	}
	if answer, err = h.readAnswer(resp, r); err != nil {
		return nil, false, lost{err}
	}
	return answer, true, nil
}

// mostReason is what is read of what a server says of a request that it refuses.
const mostReason = 64 << 10

func (h *httpNode) readAnswer(resp *http.Response, r *Request) (*Answer, error) {
	if err := h.readable(resp); err != nil {
		return nil, err
	}
	d, err := h.readDocument(resp)
	if err != nil {
		return nil, err
	}
	place, err := r.Accept(&d.Head)
	if err != nil {
		return nil, err
	}
	outputs, err := d.Read(resp.Body, place)
	if err == nil {
		err = ended(resp.Body)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return &Answer{d.Head, outputs}, nil
}

// readDocument reads what an answer says of its tensors.
func (h *httpNode) readDocument(resp *http.Response) (*protocol.Document, error) {
	buffer := h.heads.Get().(*[]byte)
	defer h.heads.Put(buffer)
	text, err := h.readJSON(resp, buffer)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	d, err := protocol.FromResponseJSON(text)
	if err != nil {
		return nil, err
	}
	if n := d.BinarySize(); n < 0 || n > h.most-int64(len(text)) {
		return nil, fmt.Errorf("the answer claims tensors of %d bytes, want at most %d", n, h.most)
	}
	return d, nil
}

// readable finds out from its head whether an answer can be read.
func (h *httpNode) readable(resp *http.Response) error {
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return fmt.Errorf("the answer is compressed (%s), which nobody asked for", describe(coding, h.token))
	}
	if resp.ContentLength > h.most {
		return fmt.Errorf("the answer claims %d bytes, want at most %d", resp.ContentLength, h.most)
	}
	return nil
}

// readJSON reads the JSON of an answer: all of it, unless a header says how much. The buffer is used
// if it is large enough; a document has copies of what it needs.
func (h *httpNode) readJSON(resp *http.Response, buffer *[]byte) ([]byte, error) {
	length := resp.Header.Get(protocol.HeaderLength)
	if length == "" {
		return h.readAll(resp.Body)
	}
	n, err := strconv.ParseUint(length, 10, 31)
	beyond := resp.ContentLength >= 0 && int64(n) > resp.ContentLength
	if err != nil || beyond || n > maxText {
		return nil, fmt.Errorf("%s is %q, the answer has %d bytes", protocol.HeaderLength, describe(length, h.token), resp.ContentLength)
	}
	text := (*buffer)[:0]
	if n > uint64(cap(text)) {
		text = make([]byte, n)
	}
	text = text[:n]
	_, err = io.ReadFull(resp.Body, text)
	return text, err
}

// readAll reads an answer to its end.
func (h *httpNode) readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, h.most+1))
	if err == nil && int64(len(text)) > h.most {
		err = fmt.Errorf("it has more than %d bytes", h.most)
	}
	return text, err
}

// ended sees to it that an answer has ended.
func ended(r io.Reader) error {
	var one [1]byte
	switch n, err := r.Read(one[:]); {
	case n > 0:
		return errors.New("something follows the last tensor")
	case err != nil && err != io.EOF:
		return err
	}
	return nil
}
