package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestADrainedServerAnswersWhatIsUnderWayAndNothingElse(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	m := &fixed{about: oip.ModelMetadata{Name: "m"}, outputs: []tensor.Tensor{tensor.Of([]int8{1}, 1)}, run: func(context.Context) { begun <- true; <-end }}
	s := run(t, server.Config{Models: []server.Model{m}, Routes: []server.Route{{Pattern: "GET /more", Handle: func(http.ResponseWriter, *http.Request) error { return nil }}}})
	kept, answers := s.line(t, "GET /v2/health/ready HTTP/1.1\r\nHost: h\r\n\r\n")
	if a, err := http.ReadResponse(answers, nil); err != nil || a.StatusCode != 200 {
		t.Fatal(a, err)
	}
	c := s.dial(t)
	request := fmt.Sprintf(nothing, "", true)
	underWay, answer := s.line(t, fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(request), request))
	<-begun
	over := make(chan error, 1)
	go func() {
		in := &oip.Receiving{Answer: true, Accept: func(*oip.Head) (oip.Place, error) { return fresh, nil }}
		over <- c.Invoke(t.Context(), oip.MethodName("ModelInfer"), &oip.Sending{Head: &oip.Head{Model: "m"}}, in)
	}()
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	for kept.Close(); ; { // until nobody is let in any more
		if _, err := http.Get("http://" + s.http + "/v2/health/live"); err != nil {
			break
		}
	}
	close(end)
	if a, err := http.ReadResponse(answer, nil); err != nil || a.StatusCode != 200 {
		t.Errorf("a request under way: %v, %v", a, err)
	}
	underWay.Close()
	if err := <-over; err != nil {
		t.Errorf("a request under way over gRPC: %v", err)
	}
	if err := <-drained; err != nil {
		t.Errorf("Drain = %v", err)
	}
}

func TestADrainedServerRefusesWhatArrivesLater(t *testing.T) {
	s := run(t, server.Config{Models: twoModels()[:1]})
	body := `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}`
	c, answers := s.line(t, fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body)))
	if a, err := http.ReadResponse(answers, nil); err != nil || a.StatusCode != http.StatusContinue {
		t.Fatal(a, err)
	}
	watch, err := healthpb.NewHealthClient(s.dial(t)).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: oip.Service})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
		t.Fatal(got, err)
	}
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	if got, err := watch.Recv(); err != nil || got.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("the health of a server that is drained is %v, %v", got, err)
	}
	_, _ = io.WriteString(c, body)
	a, err := http.ReadResponse(answers, nil)
	if err != nil || a.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("%v, %v, want status 503", a, err)
	}
	if text, _ := io.ReadAll(a.Body); !strings.Contains(string(text), "the server is being shut down") {
		t.Errorf("it says %s", text)
	}
	if got, err := watch.Recv(); grpcstatus.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "the server is being shut down") {
		t.Errorf("the watch goes on with %v, %v", got, err)
	}
	c.Close()
	if err := <-drained; err != nil {
		t.Errorf("Drain = %v: nothing was under way", err)
	}
}

func TestADrainThatTakesTooLongSaysWhyItEnded(t *testing.T) {
	late := errors.New("it takes too long")
	for _, over := range []string{"HTTP", "gRPC"} {
		t.Run(over, func(t *testing.T) {
			begun, answered := make(chan bool), make(chan bool)
			m := &fixed{about: oip.ModelMetadata{Name: "m"}, run: func(ctx context.Context) { begun <- true; <-ctx.Done() }}
			s := run(t, server.Config{Models: []server.Model{m}})
			t.Cleanup(func() { <-answered })
			go func() {
				defer close(answered)
				if over == "HTTP" {
					request := fmt.Sprintf(nothing, "", true)
					_, answer := s.line(t, fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(request), request))
					_, _ = http.ReadResponse(answer, nil)
					return
				}
				in := &oip.Receiving{Answer: true, Accept: func(*oip.Head) (oip.Place, error) { return fresh, nil }}
				_ = s.dial(t).Invoke(t.Context(), oip.MethodName("ModelInfer"), &oip.Sending{Head: &oip.Head{Model: "m"}}, in)
			}()
			<-begun
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(late)
			if err := s.Drain(ctx); !errors.Is(err, late) || err.Error() != late.Error() {
				t.Errorf("Drain = %v, want %v", err, late)
			}
		})
	}
}

// A client that is connected and asks nothing must not make a rolling update wait.
func TestStreamsInWhichNothingIsUnderWayEndWhenTheServerIsDrained(t *testing.T) {
	s := run(t, server.Config{Models: []server.Model{&oiptest.Doubler{Name: "m", Width: 2}}})
	infer := func(in *oip.Sending) grpc.ClientStream {
		stream, err := s.dial(t).NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, oip.MethodName("ModelStreamInfer"))
		if err == nil {
			err = stream.SendMsg(in)
		}
		if err == nil {
			err = stream.RecvMsg(receiving())
		}
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	used, refused := infer(row("1", 1, 2)), infer(row("1", 1, 2, 3))
	var watches []healthpb.Health_WatchClient
	for _, service := range []string{"", oip.Service, "another"} {
		watch, err := healthpb.NewHealthClient(s.dial(t)).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err == nil {
			_, err = watch.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, watch)
	}
	if err := s.Drain(t.Context()); err != nil {
		t.Errorf("Drain = %v", err)
	}
	for _, stream := range []grpc.ClientStream{used, refused} {
		if err := stream.RecvMsg(receiving()); grpcstatus.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "the server is being shut down") {
			t.Errorf("a stream ends with %v", err)
		}
	}
	for _, watch := range watches {
		if got, err := watch.Recv(); err != nil || got.Status != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("a watch is told %v, %v", got, err)
		}
		if _, err := watch.Recv(); grpcstatus.Code(err) != codes.Unavailable {
			t.Errorf("a watch ends with %v", err)
		}
	}
}

func TestRequestsOfAStreamThatAreUnderWayAreAnsweredWhenTheServerIsDrained(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	m := &fixed{about: oip.ModelMetadata{Name: "m"}, outputs: []tensor.Tensor{tensor.Of([]int8{7}, 1)}, run: func(context.Context) { begun <- true; <-end }}
	s := run(t, server.Config{Models: []server.Model{m}})
	watch, err := healthpb.NewHealthClient(s.dial(t)).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.dial(t).NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, oip.MethodName("ModelStreamInfer"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := stream.SendMsg(&oip.Sending{Head: &oip.Head{Model: "m"}}); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	for err == nil { // until the watch was ended
		_, err = watch.Recv()
	}
	close(end)
	for i := range 3 {
		in := receiving()
		if err := stream.RecvMsg(in); err != nil || in.Failed != "" {
			t.Fatalf("request %d of a server that is drained: %v, %q", i, err, in.Failed)
		}
	}
	if err := stream.RecvMsg(receiving()); grpcstatus.Code(err) != codes.Unavailable {
		t.Errorf("the stream ends with %v", err)
	}
	if err := <-drained; err != nil {
		t.Errorf("Drain = %v", err)
	}
}

// Who watches and goes is no trouble to anybody, before and while the server is drained.
func TestAWatchOfAClientThatHasGoneEndsQuietly(t *testing.T) {
	s := run(t, server.Config{Models: twoModels()[:1]})
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		watch, err := healthpb.NewHealthClient(s.dial(t)).Watch(ctx, &healthpb.HealthCheckRequest{Service: oip.Service})
		if err == nil {
			_, err = watch.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if got, err := watch.Recv(); grpcstatus.Code(err) != codes.Canceled {
			t.Errorf("a watch that was cancelled: %v, %v", got, err)
		}
	}
	if got, err := healthpb.NewHealthClient(s.dial(t)).Check(t.Context(), &healthpb.HealthCheckRequest{Service: oip.Service}); err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("and then: %v, %v", got, err)
	}
	if err := s.Drain(t.Context()); err != nil {
		t.Errorf("Drain = %v", err)
	}
}
