package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/oip"
)

// An httpNode speaks HTTP/1.1 with a server.
type httpNode struct {
	node   *node
	base   url.URL
	rounds *http.Transport
	token  string
	most   int64 // bytes of an answer
	heads  sync.Pool
	asked  http.Request // what all requests have
	infers atomic.Pointer[inferring]
	form   atomic.Int32 // in which the server takes tensors: asked, then binary or json
}

// The forms that a server takes.
const (
	formAsked int32 = iota
	formBinary
	formJSON
)

// idle is how long a connection is kept without a request. Servers close theirs after 5 s or
// more (uvicorn): a request must not meet the end of a connection.
const idle = 4 * time.Second

func newHTTP(n *node, o Options, config *tls.Config) *httpNode {
	h := &httpNode{node: n, token: o.Token, most: o.MaxAnswer, base: url.URL{Scheme: "http", Host: n.address, Path: n.prefix}}
	if n.network == "unix" {
		h.base.Host = "localhost"
	}
	if n.tls {
		h.base.Scheme = "https"
		config = config.Clone()
		config.ServerName = n.host
	}
	h.rounds = &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return n.dial(ctx) },
		TLSClientConfig:     config,
		TLSHandshakeTimeout: askTimeout,
		DisableCompression:  true,
		MaxIdleConns:        o.Concurrency, MaxIdleConnsPerHost: o.Concurrency, IdleConnTimeout: idle,
		MaxResponseHeaderBytes: 64 << 10,
		ReadBufferSize:         16 << 10,
	}
	if n.tls {
		h.rounds.WriteBufferSize = 64 << 10
	}
	h.asked = http.Request{Host: h.base.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"User-Agent": {"mlperf"}}}
	if n.network != "unix" {
		h.asked.Host = net.JoinHostPort(n.host, portOf(n.address))
	}
	if h.token != "" {
		h.asked.Header["Authorization"] = []string{"Bearer " + h.token}
	}
	h.heads.New = func() any { b := make([]byte, 0, 1024); return &b }
	return h
}

func (h *httpNode) close() error {
	h.rounds.CloseIdleConnections()
	return nil
}

// path is that of something about a model.
func modelPath(model, version, what string) string {
	p := "/v2/models/" + url.PathEscape(model)
	if version != "" {
		p += "/versions/" + url.PathEscape(version)
	}
	return p + what
}

func (h *httpNode) request(ctx context.Context, method, path string) *http.Request {
	return h.requestAt(ctx, method, h.at(path))
}

// at is the URL of a path.
func (h *httpNode) at(path string) *url.URL {
	u := h.base
	u.RawPath = u.Path + path
	u.Path, _ = url.PathUnescape(u.RawPath) // of what was escaped before
	return &u
}

// inferring has the URL at which a model is asked, which nobody changes.
type inferring struct {
	model, version string
	url            *url.URL
}

// inferAt is the URL at which a model is asked. The last one is kept: most clients ask one model.
func (h *httpNode) inferAt(model, version string) *url.URL {
	if i := h.infers.Load(); i != nil && i.model == model && i.version == version {
		return i.url
	}
	i := &inferring{model, version, h.at(modelPath(model, version, "/infer"))}
	h.infers.Store(i)
	return i.url
}

func (h *httpNode) requestAt(ctx context.Context, method string, u *url.URL) *http.Request {
	r := h.asked.WithContext(ctx)
	r.Method, r.URL = method, u
	r.Header = make(http.Header, len(h.asked.Header)+2)
	maps.Copy(r.Header, h.asked.Header)
	return r
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// maxText bounds what is read of answers that are not tensors.
const maxText = 1 << 20

// get asks for a document of JSON.
func (h *httpNode) get(ctx context.Context, path string) ([]byte, error) {
	return h.document(h.request(ctx, http.MethodGet, path))
}

// document makes a request for a document, and reads it.
func (h *httpNode) document(q *http.Request) ([]byte, error) {
	r, err := h.rounds.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("the answer has more than %d bytes", maxText)
	}
	if err == nil {
		err = statusError(r, text)
	}
	return text, err
}

// statusError is the error that an answer stands for; nil: none.
func statusError(r *http.Response, text []byte) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	var said struct{ Error string }
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		said.Error = describe(string(text))
	}
	if to := r.Header.Get("Location"); to != "" {
		said.Error = "it points to " + describe(to) + ", which is not followed"
	}
	return oip.Errorf(codeOf(r.StatusCode), "%s: %s", r.Status, describe(said.Error))
}

func codeOf(status int) oip.Code {
	switch status {
	case http.StatusNotFound:
		return oip.NotFound
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return oip.Unavailable
	case http.StatusNotImplemented:
		return oip.Unsupported
	case http.StatusUnauthorized, http.StatusForbidden:
		return oip.Unauthorized
	}
	if status/100 == 4 {
		return oip.InvalidArgument
	}
	return oip.Internal
}

func (h *httpNode) server(ctx context.Context) (*oip.ServerMetadata, error) {
	text, err := h.get(ctx, "/v2")
	if err != nil {
		return nil, err
	}
	m := &oip.ServerMetadata{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("the description of a server: %w", err)
	}
	return m, nil
}

func (h *httpNode) ready(ctx context.Context, model, version string) error {
	_, err := h.get(ctx, modelPath(model, version, "/ready"))
	if err != nil && oip.CodeOf(err) == oip.InvalidArgument {
		return fmt.Errorf("it is not ready: %w", err) // Triton's 400
	}
	return err
}

func (h *httpNode) model(ctx context.Context, model, version string) (*oip.ModelMetadata, error) {
	text, err := h.get(ctx, modelPath(model, version, ""))
	if err != nil {
		return nil, err
	}
	return oip.ParseModelMetadata(text)
}

func (h *httpNode) statistics(ctx context.Context, model, version string) ([]oip.ModelStatistics, error) {
	text, err := h.get(ctx, modelPath(model, version, "/stats"))
	if err != nil {
		return nil, err
	}
	return oip.ParseStatistics(text)
}

// tell posts a document of JSON, whose answer does not matter.
func (h *httpNode) tell(ctx context.Context, path string, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	q := h.request(ctx, http.MethodPost, path)
	q.Header["Content-Type"] = []string{"application/json"}
	q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	_, err = h.document(q)
	return err
}

// regionPath is that of something about a region of shared memory.
func regionPath(region, what string) string {
	return "/v2/systemsharedmemory/region/" + url.PathEscape(region) + what
}

func (h *httpNode) register(ctx context.Context, g *oip.Region) error {
	return h.tell(ctx, regionPath(g.Name, "/register"), map[string]any{"key": g.Key, "offset": g.Offset, "byte_size": g.Size})
}

func (h *httpNode) unregister(ctx context.Context, region string) error {
	return h.tell(ctx, regionPath(region, "/unregister"), struct{}{})
}
