package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// An httpTransport speaks HTTP/1.1 with a server.
type httpTransport struct {
	*http.Transport
	base  string // of all URLs
	token string // empty: none
	form  atomic.Int32
	// textOnly: the server's metadata do not name binary tensors
	textOnly atomic.Bool
}

// The forms of tensors that a server takes.
const (
	formUnknown int32 = iota
	formBinary
	formJSON
)

const (
	// idleTimeout is how long an idle connection is kept. A request on a connection that the server closes at that
	// moment fails: uvicorn closes them after 5 s.
	idleTimeout = 4 * time.Second
	maxText     = 1 << 20  // bytes of a document, or of the JSON before tensors
	maxReason   = 64 << 10 // bytes that are read of a refusal
)

func newHTTP(s *server, o Options, config *tls.Config) *httpTransport {
	base := url.URL{Scheme: "http", Host: "localhost"}
	if s.tls {
		base.Scheme = "https"
	}
	if s.network != "unix" {
		host, _, _ := strings.Cut(s.host, "%") // the zone of an address is of this machine only
		_, port, _ := net.SplitHostPort(s.address)
		base.Host = net.JoinHostPort(host, port)
	}
	return &httpTransport{base: base.String() + s.prefix, token: o.Token, Transport: &http.Transport{
		DialContext: s.dial, TLSClientConfig: config, TLSHandshakeTimeout: metadataTimeout, DisableCompression: true,
		MaxIdleConnsPerHost: o.Concurrency, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: 64 << 10, WriteBufferSize: 16 << 10,
		ReadBufferSize: 16 << 10,
	}}
}

func (h *httpTransport) close() error {
	h.CloseIdleConnections()
	return nil
}

// send sends a request and returns its answer. It follows no redirections.
func (h *httpTransport) send(ctx context.Context, method, path string, header http.Header, b *body, size int64) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, h.base+path, nil)
	if err != nil {
		return nil, err
	}
	if b != nil {
		r.Body, r.ContentLength = b, size
	}
	r.Header = header
	header.Set("User-Agent", "mlperf")
	if h.token != "" {
		header.Set("Authorization", "Bearer "+h.token)
	}
	return h.RoundTrip(r)
}

// modelPath is the path of something about a model.
func modelPath(model, version, what string) string {
	path := "/v2/models/" + url.PathEscape(model)
	if version != "" {
		path += "/versions/" + url.PathEscape(version)
	}
	return path + what
}

// get asks for a document in JSON.
func (h *httpTransport) get(ctx context.Context, path string) ([]byte, error) {
	r, err := h.send(ctx, http.MethodGet, path, http.Header{}, nil, 0)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("the answer has more than %d bytes", maxText)
	}
	if err == nil {
		err = h.statusError(r, text)
	}
	return text, err
}

// statusError is the error that the status of an answer stands for; nil: none.
func (h *httpTransport) statusError(r *http.Response, text []byte) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	var document struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &document) != nil || document.Error == "" {
		document.Error = string(text)
	}
	if to := r.Header.Get("Location"); to != "" {
		document.Error = "it redirects to " + quote(to, h.token) + ", which is not followed"
	}
	code := protocol.Internal
	switch r.StatusCode {
	case http.StatusNotFound:
		code = protocol.NotFound
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		code = protocol.Unavailable
	case http.StatusNotImplemented:
		code = protocol.Unsupported
	case http.StatusUnauthorized, http.StatusForbidden:
		code = protocol.Unauthorized
	default:
		if r.StatusCode/100 == 4 {
			code = protocol.InvalidArgument
		}
	}
	return protocol.Errorf(code, "%s: %s", quote(r.Status, h.token), quote(document.Error, h.token))
}

func (h *httpTransport) metadata(ctx context.Context) (*protocol.ServerMetadata, error) {
	text, err := h.get(ctx, "/v2")
	m := &protocol.ServerMetadata{}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	h.textOnly.Store(err == nil && !slices.Contains(m.Extensions, "binary_tensor_data"))
	return m, err
}

func (h *httpTransport) ready(ctx context.Context, model, version string) error {
	_, err := h.get(ctx, modelPath(model, version, "/ready"))
	if err != nil && protocol.CodeOf(err) == protocol.InvalidArgument {
		return fmt.Errorf("it is not ready: %w", err) // Triton's status 400
	}
	return err
}

func (h *httpTransport) model(ctx context.Context, model, version string) (*protocol.ModelMetadata, error) {
	text, err := h.get(ctx, modelPath(model, version, ""))
	if err != nil {
		return nil, err
	}
	return protocol.FromModelMetadataJSON(text)
}

func (h *httpTransport) statistics(ctx context.Context, model, version string) ([]protocol.ModelStatistics, error) {
	text, err := h.get(ctx, modelPath(model, version, "/stats"))
	if err != nil {
		return nil, err
	}
	return protocol.FromStatisticsJSON(text)
}

// infer sends binary tensors. A server that refuses the first request like that, and takes it in JSON, gets JSON from then on.
func (h *httpTransport) infer(ctx context.Context, r *Request, id string) (*Answer, error) {
	form := h.form.Load()
	if form == formJSON {
		return h.post(ctx, r, id, protocol.JSON)
	}
	answer, err := h.post(ctx, r, id, protocol.Binary)
	if form == formBinary {
		return answer, err
	}
	if err == nil {
		h.form.CompareAndSwap(formUnknown, formBinary)
		return answer, nil
	}
	switch protocol.CodeOf(err) {
	case protocol.InvalidArgument, protocol.Unsupported:
	case protocol.Internal:
		if !h.textOnly.Load() { // MLServer fails with status 500 on what it does not know
			return nil, err
		}
	default:
		return nil, err
	}
	again, errJSON := h.post(ctx, r, id, protocol.JSON)
	if errJSON != nil {
		return nil, err
	}
	h.form.CompareAndSwap(formUnknown, formJSON)
	return again, nil
}

// post sends a request and reads its answer.
func (h *httpTransport) post(ctx context.Context, r *Request, id string, form protocol.Form) (*Answer, error) {
	text, err := protocol.RequestJSON(&protocol.Head{ID: id, Tensors: r.Specs, Wanted: r.Wanted}, r.Tensors, form)
	if err != nil {
		return nil, err
	}
	b := &body{pieces: net.Buffers{text}}
	size, header := int64(len(text)), http.Header{"Content-Type": {"application/json"}}
	if form == protocol.Binary {
		header.Set(protocol.HeaderLength, strconv.Itoa(len(text)))
		header.Set("Content-Type", "application/octet-stream")
		for _, t := range r.Tensors {
			wire := protocol.Wire(t)
			b.pieces, size = append(b.pieces, wire), size+int64(len(wire))
		}
	}
	answer, err := h.exchange(ctx, r, header, b, size)
	_ = b.Close()
	if err == nil && !b.sent() {
		err = lostError{errors.New("it answered before it had the whole request")}
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// exchange sends a request and reads its answer to the end.
func (h *httpTransport) exchange(ctx context.Context, r *Request, header http.Header, b *body, size int64) (*Answer, error) {
	resp, err := h.send(ctx, http.MethodPost, modelPath(r.Model, r.Version, "/infer"), header, b, size)
	if err != nil {
		return nil, lostError{err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxReason))
		if err != nil {
			return nil, lostError{err}
		}
		return nil, h.statusError(resp, text)
	}
	answer, err := h.read(resp, r)
	if err != nil {
		return nil, lostError{err}
	}
	return answer, nil
}

// read reads the answer to a request.
func (h *httpTransport) read(resp *http.Response, r *Request) (*Answer, error) {
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, fmt.Errorf("the answer is compressed (%s), which was not asked for", quote(coding, h.token))
	}
	if resp.ContentLength > maxAnswer {
		return nil, fmt.Errorf("the answer claims %d bytes, expected at most %d", resp.ContentLength, maxAnswer)
	}
	var text []byte
	var err error
	if length := resp.Header.Get(protocol.HeaderLength); length == "" {
		if text, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1)); err == nil && len(text) > maxAnswer {
			err = fmt.Errorf("it has more than %d bytes", maxAnswer)
		}
	} else {
		n, parseErr := strconv.ParseUint(length, 10, 31)
		if parseErr != nil || n > maxText || resp.ContentLength >= 0 && int64(n) > resp.ContentLength {
			return nil, fmt.Errorf("reading the answer: %s is %q, the answer has %d bytes", protocol.HeaderLength, quote(length, h.token), resp.ContentLength)
		}
		text = make([]byte, n)
		_, err = io.ReadFull(resp.Body, text)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	d, err := protocol.FromResponseJSON(text)
	if err != nil {
		return nil, err
	}
	if n := d.BinarySize(); n < 0 || n > maxAnswer {
		return nil, fmt.Errorf("the answer claims tensors of %d bytes, expected at most %d", n, maxAnswer)
	}
	place, err := r.Accept(&d.Head)
	if err != nil {
		return nil, err
	}
	outputs, err := d.Read(resp.Body, place)
	if err == nil {
		switch n, end := resp.Body.Read(make([]byte, 1)); {
		case n > 0:
			err = errors.New("something follows the last tensor")
		case end != nil && end != io.EOF:
			err = end
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return &Answer{d.Head, outputs}, nil
}
