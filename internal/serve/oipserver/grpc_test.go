package oipserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// row is a request of a row of numbers.
func row(id string, numbers ...float32) *pb.ModelInferRequest {
	in := tensor.Of(numbers, 1, int64(len(numbers)))
	return protocol.RequestMessage(&protocol.Head{Model: "m", ID: id, Tensors: []protocol.Spec{{Name: "x", Type: in.Type, Shape: in.Shape}}}, []tensor.Tensor{in})
}

// inferences opens a stream of them.
func inferences(t *testing.T, ctx context.Context, c pb.GRPCInferenceServiceClient) pb.GRPCInferenceService_ModelStreamInferClient {
	t.Helper()
	stream, err := c.ModelStreamInfer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestGRPCMetadata(t *testing.T) {
	s := run(t, oipserver.Config{Name: "test", Version: "7", Models: twoModels()})
	c := s.dial(t)
	live, err := c.ServerLive(t.Context(), &pb.ServerLiveRequest{})
	if err != nil || !live.Live {
		t.Errorf("live: %v, %v", live, err)
	}
	if ready, err := c.ServerReady(t.Context(), &pb.ServerReadyRequest{}); err != nil || ready.Ready {
		t.Errorf("ready: %v, %v, want no: one of the models is not", ready, err)
	}
	for model, want := range map[string]bool{"m": true, "busy": false} {
		if ready, err := c.ModelReady(t.Context(), &pb.ModelReadyRequest{Name: model}); err != nil || ready.Ready != want {
			t.Errorf("model %s is ready: %v, %v, want %v", model, ready, err, want)
		}
	}
	if about, err := c.ServerMetadata(t.Context(), &pb.ServerMetadataRequest{}); err != nil || about.Name != "test" || about.Version != "7" {
		t.Errorf("the server is %v, %v", about, err)
	}
	if about, err := c.ModelMetadata(t.Context(), &pb.ModelMetadataRequest{Name: "m", Version: "3"}); err != nil || about.Inputs[0].Name != "x" {
		t.Errorf("the model is %v, %v", about, err)
	}
	if _, err := c.ModelMetadata(t.Context(), &pb.ModelMetadataRequest{Name: "m", Version: "4"}); grpcstatus.Code(err) != codes.NotFound || grpcstatus.Convert(err).Message() != `model "m" has no version "4"` {
		t.Errorf("another version: %v", err)
	}
	config, err := c.ModelConfig(t.Context(), &pb.ModelConfigRequest{Name: "m"}) // perf_analyzer asks for it
	if in := config.GetConfig().GetInput(); err != nil || len(in) != 1 || in[0].Name != "x" || in[0].DataType != pb.DataType_TYPE_FP32 || !slices.Equal(in[0].Dims, []int64{-1, 4}) {
		t.Errorf("the configuration is %v, %v, want the input x FP32[-1 4]", config, err)
	}
	if stats, err := c.ModelStatistics(t.Context(), &pb.ModelStatisticsRequest{Name: "m"}); err != nil || stats.ModelStats[0].Name != "m" {
		t.Errorf("statistics are %v, %v", stats, err)
	}
}

func TestStreamAnswersInOrder(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2, Time: 50 * time.Millisecond}
	s := inferences(t, t.Context(), run(t, oipserver.Config{Models: []oipserver.Model{model}}).dial(t))
	const requests = 40
	for i := range requests {
		in := row(fmt.Sprint(i), float32(i), 1)
		if i == 5 {
			in = row("5", 1, 2, 3) // of another shape
		}
		if err := s.Send(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for i := range requests {
		a, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if i == 5 {
			if !strings.Contains(a.ErrorMessage, "expected FP32[? 2]") {
				t.Errorf("a request of another shape is answered with %v", a)
			}
			continue
		}
		d, err := protocol.FromResponseMessage(a.InferResponse)
		if err != nil {
			t.Fatal(a, err)
		}
		if out, err := d.Read(nil, fresh); err != nil || d.ID != fmt.Sprint(i) || tensor.Data[float32](out[0])[0] != float32(2*i) {
			t.Fatalf("answer %d is that of request %q: %v, %v", i, d.ID, out, err)
		}
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last answer: %v", err)
	}
	if model.Most.Load() < 4 {
		t.Errorf("%d requests were under way at once", model.Most.Load())
	}
}

func TestRefusedRequestsOverGRPCKeepNoRoom(t *testing.T) {
	c := run(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 2, Room: 1}}}).dial(t)
	for range 3 { // each has the only place while its tensors are looked at
		if _, err := c.ModelInfer(t.Context(), row("1", 1, 2, 3)); grpcstatus.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "expected FP32[? 2]") {
			t.Errorf("another shape: %v", err)
		}
		if _, err := c.ModelInfer(t.Context(), row("2", 1, 2)); err != nil {
			t.Errorf("a right one: %v", err)
		}
	}
	if _, err := c.ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: "n"}); grpcstatus.Code(err) != codes.NotFound {
		t.Errorf("another model: %v", err)
	}
	if _, err := c.ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: "m", RawInputContents: [][]byte{make([]byte, 1<<20)}}); grpcstatus.Code(err) != codes.ResourceExhausted {
		t.Errorf("more than the model takes: %v", err)
	}
}

func TestStreamTakesNoMoreThanItsRoom(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2, Time: 20 * time.Millisecond}
	s := inferences(t, t.Context(), run(t, oipserver.Config{Models: []oipserver.Model{model}}).dial(t))
	ended := make(chan error, 1)
	go func() { // and reads nothing meanwhile
		for range 500 {
			if err := s.Send(row("", 1, 2)); err != nil {
				ended <- err
				return
			}
		}
		ended <- s.CloseSend()
	}()
	for range 500 {
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if most := model.Most.Load(); most > 70 {
		t.Errorf("%d requests were under way at once", most)
	}
}

func TestVanishedStreamLeavesNothing(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2, Time: time.Minute}
	ctx, vanish := context.WithCancel(t.Context())
	s := inferences(t, ctx, run(t, oipserver.Config{Models: []oipserver.Model{model}}).dial(t))
	for range 10 {
		if err := s.Send(row("", 1, 2)); err != nil {
			t.Fatal(err)
		}
	}
	for model.Busy() < 10 {
		time.Sleep(time.Millisecond)
	}
	vanish()
	for end := time.Now().Add(10 * time.Second); model.Busy() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d requests of a client that has gone are under way", model.Busy())
		}
	}
}

// A client that is connected and asks nothing must not make a rolling update wait.
func TestDrainEndsIdleStreams(t *testing.T) {
	s := run(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 2}}})
	var streams []pb.GRPCInferenceService_ModelStreamInferClient
	for _, in := range []*pb.ModelInferRequest{row("1", 1, 2), row("1", 1, 2, 3)} {
		stream := inferences(t, t.Context(), s.dial(t))
		if err := stream.Send(in); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		streams = append(streams, stream)
	}
	if err := s.Drain(t.Context()); err != nil {
		t.Errorf("Drain = %v", err)
	}
	for _, stream := range streams {
		if _, err := stream.Recv(); grpcstatus.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "the server is being shut down") {
			t.Errorf("a stream ends with %v", err)
		}
	}
}

func TestDrainFinishesStreams(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	m := &fixed{about: protocol.ModelMetadata{Name: "m"}, outputs: []tensor.Tensor{tensor.Of([]int8{7}, 1)}, run: func(context.Context) { begun <- true; <-end }}
	s := run(t, oipserver.Config{Models: []oipserver.Model{m}})
	c := s.dial(t)
	stream := inferences(t, t.Context(), c)
	for range 3 {
		if err := stream.Send(&pb.ModelInferRequest{ModelName: "m"}); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	s.untilClosed()
	close(end)
	for i := range 3 {
		if a, err := stream.Recv(); err != nil || a.ErrorMessage != "" {
			t.Fatalf("request %d of a server that is drained: %v, %v", i, a, err)
		}
	}
	if _, err := stream.Recv(); grpcstatus.Code(err) != codes.Unavailable {
		t.Errorf("the stream ends with %v", err)
	}
	if err := <-drained; err != nil {
		t.Errorf("Drain = %v", err)
	}
}

// A mistaken model panics.
type mistaken struct {
	fixed
	ended chan bool
}

func (m *mistaken) Begin(*protocol.Head) (oipserver.Job, error)                   { return m, nil }
func (m *mistaken) Run(context.Context) ([]protocol.Spec, []tensor.Tensor, error) { panic("of ours") }
func (m *mistaken) Place(_ int, s protocol.Spec) (tensor.Tensor, error)           { return fresh(0, s) }
func (m *mistaken) End()                                                          { m.ended <- true }

func TestPanicEndsItsRequestAlone(t *testing.T) {
	m := &mistaken{fixed: fixed{about: protocol.ModelMetadata{Name: "m"}}, ended: make(chan bool, 2)}
	c := run(t, oipserver.Config{Models: []oipserver.Model{m}}).dial(t)
	const want = "a bug in this server: of ours"
	if _, err := c.ModelInfer(t.Context(), row("1", 1, 2)); grpcstatus.Code(err) != codes.Internal || grpcstatus.Convert(err).Message() != want {
		t.Errorf("a request is answered with %v", err)
	}
	stream := inferences(t, t.Context(), c)
	if err := stream.Send(row("1", 1, 2)); err != nil {
		t.Fatal(err)
	}
	if a, err := stream.Recv(); err != nil || a.ErrorMessage != want {
		t.Errorf("a request of a stream is answered with %v, %v", a, err)
	}
	<-m.ended
	<-m.ended
}

func TestTokens(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2}
	s := run(t, oipserver.Config{Models: []oipserver.Model{model}, Tokens: []string{"first-0123456789", "second-012345678"},
		Routes: []oipserver.Route{{Pattern: "GET /more", Handle: func(http.ResponseWriter, *http.Request) error { return nil }}}})
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := pb.NewGRPCInferenceServiceClient(conn)
	const want = "expected one of the server's tokens"
	for _, q := range []struct {
		name, authorization string
		in                  bool
	}{
		{"nothing", "", false},
		{"the first", "Bearer first-0123456789", true},
		{"the second", "Bearer second-012345678", true},
		{"in small letters", "bearer second-012345678", true},
		{"another one", "Bearer third-0123456789", false},
		{"the beginning of one", "Bearer first-012345678", false},
		{"both", "Bearer first-0123456789 second-012345678", false},
		{"without a scheme", "first-0123456789", false},
		{"another scheme", "Basic first-0123456789", false},
	} {
		t.Run(q.name, func(t *testing.T) {
			headers, ctx := "", t.Context()
			if q.authorization != "" {
				headers, ctx = "Authorization: "+q.authorization, metadata.AppendToOutgoingContext(ctx, "authorization", q.authorization)
			}
			for _, request := range []string{"GET /v2", "GET /v2/models/m", "GET /v2/models/m/stats", "GET /metrics", "GET /more", "POST /v2/models/m/infer"} {
				method, path, _ := strings.Cut(request, " ")
				a, text := s.send(t, method, path, headers, "")
				if refused := a.StatusCode == http.StatusUnauthorized; refused == q.in || refused && (!strings.Contains(text, want) || a.Header.Get("WWW-Authenticate") != "Bearer") {
					t.Errorf("%s: %d %v %s", request, a.StatusCode, a.Header, text)
				}
			}
			_, infer := c.ModelInfer(ctx, row("1", 1, 2))
			stream := inferences(t, ctx, c)
			_ = stream.Send(row("1", 1, 2)) // what is wrong is said by the answer
			_, streamed := stream.Recv()
			for method, err := range map[string]error{"ModelInfer": infer, "ModelStreamInfer": streamed} {
				if q.in && err != nil || !q.in && (grpcstatus.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: %v", method, err)
				}
			}
			a, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "inference.GRPCInferenceService"})
			if err != nil || a.Status != healthpb.HealthCheckResponse_SERVING {
				t.Errorf("health, which needs no token: %v, %v", a, err)
			}
		})
	}
}
