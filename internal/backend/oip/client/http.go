package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// An httpNode speaks HTTP/1.1 with a server.
type httpNode struct {
	prefix string // of all paths
	token  string // empty: none
	rounds rounds
	fields []byte // of the heads of all requests, from the protocol on
	most   int64  // bytes of an answer
	heads  sync.Pool
	infers atomic.Pointer[inferring]
	form   atomic.Int32 // in which the server takes tensors: asked, then binary or json
}

// The forms that a server takes.
const (
	formAsked int32 = iota
	formBinary
	formJSON
)

func newHTTP(n *node, o Options, config *tls.Config) (*httpNode, error) {
	h := &httpNode{most: o.MaxAnswer, prefix: n.prefix, token: o.Token}
	host := "localhost"
	if n.network != "unix" {
		name, _, _ := strings.Cut(n.host, "%") // the zone of an address is this machine's alone
		host = net.JoinHostPort(name, portOf(n.address))
	}
	h.rounds = rounds{dial: n.dial, most: o.Concurrency}
	if n.tls {
		h.rounds.tls = config.Clone()
		h.rounds.tls.ServerName = n.host
	}
	fields := [][2]string{{"Host", host}, {"User-Agent", "mlperf"}}
	if o.Token != "" {
		fields = append(fields, [2]string{"Authorization", "Bearer " + o.Token})
	}
	h.fields = []byte(" HTTP/1.1\r\n")
	for _, f := range fields {
		if strings.ContainsFunc(f[1], unicode.IsControl) {
			return h, fmt.Errorf("server %s: its %s would have a line break or the like in it", n.name, f[0])
		}
		h.fields = fmt.Appendf(h.fields, "%s: %s\r\n", f[0], f[1])
	}
	h.heads.New = func() any { b := make([]byte, 0, 1024); return &b }
	return h, nil
}

func (h *httpNode) close() error {
	h.rounds.close()
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

// at is what a request for a path asks for: the path as it is sent.
func (h *httpNode) at(path string) string {
	u := url.URL{RawPath: h.prefix + path}
	u.Path, _ = url.PathUnescape(u.RawPath) // of what was escaped before
	return u.RequestURI()
}

// inferring has the path at which a model is asked, which nobody changes.
type inferring struct{ model, version, path string }

// inferAt is the path at which a model is asked. The last one is kept: most clients ask one model.
func (h *httpNode) inferAt(model, version string) string {
	if i := h.infers.Load(); i != nil && i.model == model && i.version == version {
		return i.path
	}
	i := &inferring{model, version, h.at(modelPath(model, version, "/infer"))}
	h.infers.Store(i)
	return i.path
}

// appendHead appends the head of a request, but for its end.
func (h *httpNode) appendHead(b []byte, method, path string) []byte {
	return append(append(append(append(b, method...), ' '), path...), h.fields...)
}

// appendEnd appends the end of the head of a request with a body.
func appendEnd(b []byte, kind string, size int) []byte {
	return fmt.Appendf(b, "Content-Type: %s\r\nContent-Length: %d\r\n\r\n", kind, size)
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// maxText bounds what is read of answers that are not tensors.
const maxText = 1 << 20

// get asks for a document of JSON.
func (h *httpNode) get(ctx context.Context, path string) ([]byte, error) {
	return h.document(ctx, append(h.appendHead(nil, http.MethodGet, h.at(path)), "\r\n"...))
}

// document makes a request for a document, and reads it.
func (h *httpNode) document(ctx context.Context, request []byte) ([]byte, error) {
	x, err := h.rounds.begin(ctx, net.Buffers{request})
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(x.Body, maxText+1))
	x.end(err == nil && len(text) <= maxText)
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("the answer has more than %d bytes", maxText)
	}
	if err == nil {
		err = h.statusError(x.Response, text)
	}
	return text, err
}

// statusError is the error that an answer stands for; nil: none.
func (h *httpNode) statusError(r *http.Response, text []byte) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		said.Error = string(text)
	}
	if to := r.Header.Get("Location"); to != "" {
		said.Error = "it points to " + describe(to, h.token) + ", which is not followed"
	}
	return protocol.Errorf(codeOf(r.StatusCode), "%s: %s", describe(r.Status, h.token), describe(said.Error, h.token))
}

func codeOf(status int) protocol.Code {
	switch status {
	case http.StatusNotFound:
		return protocol.NotFound
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return protocol.Unavailable
	case http.StatusNotImplemented:
		return protocol.Unsupported
	case http.StatusUnauthorized, http.StatusForbidden:
		return protocol.Unauthorized
	}
	if status/100 == 4 {
		return protocol.InvalidArgument
	}
	return protocol.Internal
}

func (h *httpNode) server(ctx context.Context) (*protocol.ServerMetadata, error) {
	text, err := h.get(ctx, "/v2")
	if err != nil {
		return nil, err
	}
	m := &protocol.ServerMetadata{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("the description of a server: %w", err)
	}
	return m, nil
}

func (h *httpNode) ready(ctx context.Context, model, version string) error {
	_, err := h.get(ctx, modelPath(model, version, "/ready"))
	if err != nil && protocol.CodeOf(err) == protocol.InvalidArgument {
		return fmt.Errorf("it is not ready: %w", err) // Triton's 400
	}
	return err
}

func (h *httpNode) model(ctx context.Context, model, version string) (*protocol.ModelMetadata, error) {
	text, err := h.get(ctx, modelPath(model, version, ""))
	if err != nil {
		return nil, err
	}
	return protocol.FromModelMetadataJSON(text)
}

func (h *httpNode) statistics(ctx context.Context, model, version string) ([]protocol.ModelStatistics, error) {
	text, err := h.get(ctx, modelPath(model, version, "/stats"))
	if err != nil {
		return nil, err
	}
	return protocol.FromStatisticsJSON(text)
}
