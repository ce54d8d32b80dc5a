package oipserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestADrainedServerAnswersWhatIsUnderWayAndNothingElse(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	m := &fixed{about: protocol.ModelMetadata{Name: "m"}, outputs: []tensor.Tensor{tensor.Of([]int8{1}, 1)}, run: func(context.Context) { begun <- true; <-end }}
	s := run(t, oipserver.Config{Models: []oipserver.Model{m}, Routes: []oipserver.Route{{Pattern: "GET /more", Handle: func(http.ResponseWriter, *http.Request) error { return nil }}}})
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
		_, err := c.ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: "m"})
		over <- err
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
	s := run(t, oipserver.Config{Models: twoModels()[:1]})
	body := `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}`
	c, answers := s.line(t, fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body)))
	if a, err := http.ReadResponse(answers, nil); err != nil || a.StatusCode != http.StatusContinue {
		t.Fatal(a, err)
	}
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	for { // until nobody is let in any more
		if _, err := http.Get("http://" + s.http + "/v2/health/live"); err != nil {
			break
		}
	}
	_, _ = io.WriteString(c, body)
	a, err := http.ReadResponse(answers, nil)
	if err != nil || a.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("%v, %v, want status 503", a, err)
	}
	if text, _ := io.ReadAll(a.Body); !strings.Contains(string(text), "the server is being shut down") {
		t.Errorf("it says %s", text)
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
			m := &fixed{about: protocol.ModelMetadata{Name: "m"}, run: func(ctx context.Context) { begun <- true; <-ctx.Done() }}
			s := run(t, oipserver.Config{Models: []oipserver.Model{m}})
			t.Cleanup(func() { <-answered })
			go func() {
				defer close(answered)
				if over == "HTTP" {
					request := fmt.Sprintf(nothing, "", true)
					_, answer := s.line(t, fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(request), request))
					_, _ = http.ReadResponse(answer, nil)
					return
				}
				_, _ = s.dial(t).ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: "m"})
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
