package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mlperf-go/mlperf/internal/oip"
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
	ctx, cancel := context.WithCancelCause(t.Context())
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(ctx) }()
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
	late := errors.New("it takes too long") // the watch does
	cancel(late)
	if err := <-drained; !errors.Is(err, late) {
		t.Errorf("Drain = %v, want why it did not wait", err)
	}
}
