package oipserver_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A fixed model gives the same answer to all requests.
type fixed struct {
	about   protocol.ModelMetadata
	files   bool
	outputs []tensor.Tensor // by the names a, b, …
	err     error
	asked   chan *protocol.Head // of every request, if the test reads them
	got     []tensor.Tensor     // the inputs of the last one
	run     func(ctx context.Context)
}

func (f *fixed) Metadata() *protocol.ModelMetadata { return &f.about }
func (f *fixed) Ready() bool                       { return true }
func (f *fixed) MaxBytes() int64                   { return 1 << 10 }
func (f *fixed) TakesFiles() bool                  { return f.files }
func (f *fixed) Statistics() protocol.ModelStatistics {
	return protocol.ModelStatistics{Name: f.about.Name, InferenceCount: 3, ExecutionCount: 2, InferenceStats: protocol.InferenceSum{Queue: protocol.Sum{NS: 5e8}, ComputeInfer: protocol.Sum{NS: 25e7}}}
}

func (f *fixed) Begin(h *protocol.Head) (oipserver.Job, error) {
	f.got = nil
	select {
	case f.asked <- h:
	default:
	}
	return &fixedJob{f}, nil
}

type fixedJob struct{ *fixed }

func (j *fixedJob) Place(_ int, s protocol.Spec) (tensor.Tensor, error) {
	t := tensor.New(s.Type, s.Shape...)
	j.got = append(j.got, t)
	return t, nil
}

func (j *fixedJob) Run(ctx context.Context) (specs []protocol.Spec, outputs []tensor.Tensor, err error) {
	if j.fixed.run != nil {
		j.fixed.run(ctx)
	}
	for i, t := range j.outputs {
		specs = append(specs, protocol.Spec{Name: string(rune('a' + i)), Type: t.Type, Shape: t.Shape})
	}
	return specs, j.outputs, j.err
}

func (*fixedJob) End() {}

// A running server and where it is.
type running struct {
	*oipserver.Server
	http, grpc string // addresses
}

// run starts a server over HTTP and gRPC, until the test has ended.
func run(t *testing.T, c oipserver.Config) running {
	t.Helper()
	s := running{Server: oipserver.New(c)}
	for _, of := range []struct {
		address *string
		serve   func(net.Listener) error
	}{{&s.http, s.ServeHTTP}, {&s.grpc, s.ServeGRPC}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		*of.address = l.Addr().String()
		ended := make(chan error, 1)
		go func() { ended <- of.serve(l) }()
		t.Cleanup(func() {
			if err := <-ended; err != nil {
				t.Errorf("a server that was drained ends with %v", err)
			}
		})
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // net/http lets connections whose request it did not read linger for half a second
		_ = s.Drain(ctx)
	})
	return s
}

// send makes a request over HTTP, with headers one a line, and returns the answer and its body.
func (s running) send(t *testing.T, method, path, headers, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(headers) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		r.Header.Set(key, value)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(text)
}

// dial connects to the server over gRPC.
func (s running) dial(t *testing.T) pb.GRPCInferenceServiceClient {
	t.Helper()
	c, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return pb.NewGRPCInferenceServiceClient(c)
}

// line sends bytes over a new connection, and returns it with a reader of the answers.
func (s running) line(t *testing.T, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", s.http)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, request)
	return c, bufio.NewReader(c)
}

// untilClosed waits until the server takes no connections.
func (s running) untilClosed() {
	for {
		if _, err := http.Get("http://" + s.http + "/v2/health/live"); err != nil {
			return
		}
	}
}
