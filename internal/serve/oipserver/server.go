package oipserver

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Model is what a server offers under a name. Its methods may be called from several
// goroutines.
type Model interface {
	Metadata() *protocol.ModelMetadata
	Ready() bool
	Statistics() protocol.ModelStatistics
	// MaxBytes is how much the tensors of a request may take together.
	MaxBytes() int64
	// Begin looks at a request and finds room for it. It fails with protocol.Unavailable if there
	// is none, at once.
	Begin(h *protocol.Head) (Job, error)
}

// A FileModel is a Model whose only input may also be one file, BYTES[1]: then a raw request of another size than a
// sample has is a file.
type FileModel interface {
	Model
	TakesFiles() bool
}

// A BatchModel is a Model whose requests may have several samples along the first axis of each port.
type BatchModel interface {
	Model
	// MaxSamples is how many; 0: the first axis is not that of samples.
	MaxSamples() int64
}

// configOf is Triton's configuration of a model.
func configOf(m Model) *protocol.ModelConfig {
	most := int64(0)
	if b, ok := m.(BatchModel); ok {
		most = b.MaxSamples()
	}
	return protocol.ConfigOf(m.Metadata(), most)
}

// A Job is a request under way. It is used by one goroutine.
type Job interface {
	// Place gives memory to an input.
	Place(i int, s protocol.Spec) (tensor.Tensor, error)
	// Run answers. The outputs belong to the caller.
	Run(ctx context.Context) ([]protocol.Spec, []tensor.Tensor, error)
	// End gives the room back.
	End()
}

// Config says what is offered, and to whom.
type Config struct {
	Name, Version string // of the server
	Models        []Model
	TLS           *tls.Config // nil: none
	Tokens        []string    // a request has to bring one of them; nil: it need not
	Routes        []Route     // further ones over HTTP
}

// A Route is a path of another protocol. It takes requests with a token if the server has tokens, until the server is drained.
type Route struct {
	Pattern string // of package http
	Handle  func(w http.ResponseWriter, r *http.Request) error
	// Error makes the JSON document of an error, the server's own ones among them; nil: that of the Open Inference Protocol.
	Error func(error) any
}

// A Server answers requests.
type Server struct {
	config Config
	models map[string]Model
	http   *http.Server
	grpc   *grpc.Server

	drained  context.Context // ends when draining begins
	drain    func()
	requests counters
}

const (
	headerTimeout = 5 * time.Second // until the header of a request is there
	idleTimeout   = 2 * time.Minute // between requests
	maxHeader     = 16 << 10        // bytes of the header of a request
)

// extensions are those of the protocol that this server has.
var extensions = []string{"binary_tensor_data", "statistics", "model_configuration"}

// New makes a server that listens nowhere yet.
func New(c Config) *Server {
	s := &Server{config: c, models: map[string]Model{}}
	s.drained, s.drain = context.WithCancel(context.Background())
	for _, m := range c.Models {
		s.models[m.Metadata().Name] = m
	}
	only := &http.Protocols{}
	only.SetHTTP1(true)
	s.http = &http.Server{
		Handler: s.handler(), TLSConfig: c.TLS, Protocols: only,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
	}
	s.grpc = s.newGRPC()
	return s
}

// ServeHTTP answers the connections of a listener until the server is closed or drained.
func (s *Server) ServeHTTP(l net.Listener) error {
	var err error
	if s.config.TLS != nil {
		err = s.http.ServeTLS(l, "", "")
	} else {
		err = s.http.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ServeGRPC is the same over gRPC.
func (s *Server) ServeGRPC(l net.Listener) error {
	err := s.grpc.Serve(l)
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Drain ends the server: it is no longer ready, takes no new request, answers those that are under
// way, and closes its connections. When the context ends, it waits no longer, and returns why.
func (s *Server) Drain(ctx context.Context) error {
	s.drain()
	ended := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(ended)
	}()
	err := s.http.Shutdown(ctx)
	select {
	case <-ended:
	case <-ctx.Done():
		s.grpc.Stop()
		<-ended
		err = ctx.Err()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, s.http.Close())
}

// draining reports whether the server takes no new request.
func (s *Server) draining() bool { return s.drained.Err() != nil }

// ready reports whether the server and all its models take requests.
func (s *Server) ready() bool {
	if s.draining() {
		return false
	}
	for _, m := range s.models {
		if !m.Ready() {
			return false
		}
	}
	return true
}

// find returns a model. Version is empty, or one that the model has.
func (s *Server) find(name, version string) (Model, error) {
	m, ok := s.models[name]
	if !ok {
		return nil, protocol.Errorf(protocol.NotFound, "the server has no model %q; it has %s", name,
			strings.Join(slices.Sorted(maps.Keys(s.models)), ", "))
	}
	if version == "" || slices.Contains(m.Metadata().Versions, version) {
		return m, nil
	}
	return nil, protocol.Errorf(protocol.NotFound, "model %q has no version %q", name, version)
}

// begin finds the model of a request, and room for it.
func (s *Server) begin(h *protocol.Head) (Job, error) {
	if s.draining() {
		return nil, errDraining
	}
	m, err := s.find(h.Model, h.Version)
	if err != nil {
		return nil, err
	}
	return m.Begin(h)
}

// version is that of the answers of a model.
func version(m *protocol.ModelMetadata) string {
	if len(m.Versions) == 0 {
		return ""
	}
	return m.Versions[0]
}

// permitted reports whether a request brings one of the tokens.
func (s *Server) permitted(authorization string) bool {
	if len(s.config.Tokens) == 0 {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	found := 0
	for _, t := range s.config.Tokens {
		found |= subtle.ConstantTimeCompare([]byte(t), []byte(token))
	}
	return strings.EqualFold(scheme, "Bearer") && found == 1
}
