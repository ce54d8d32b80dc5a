package server_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/oip/server"
)

func TestAMessageThatDoesNotComeIsNotWaitedForForever(t *testing.T) {
	s := run(t, server.Config{Models: []server.Model{&oiptest.Doubler{Name: "m", Width: 2}}, Limits: server.Limits{Body: 20 * time.Millisecond}})
	c := s.dial(t)
	for _, method := range []string{oip.MethodName("ModelInfer"), oip.MethodName("ModelMetadata"), "/grpc.health.v1.Health/Check"} {
		stream, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, method)
		if err == nil {
			err = stream.RecvMsg(receiving()) // nothing was sent
		}
		if grpcstatus.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, text := s.send(t, "GET", "/metrics", "", ""); !strings.Contains(text, `{status="408"} 3`) || !strings.Contains(text, `{status="500"} 0`) {
		t.Errorf("the metrics do not count three that were late, and nothing else:\n%s", text)
	}
}

func TestWhatHasArrivedMayTakeItsTime(t *testing.T) {
	s := run(t, server.Config{Models: []server.Model{&oiptest.Doubler{Name: "m", Width: 2, Time: 60 * time.Millisecond}}, Limits: server.Limits{Body: 20 * time.Millisecond}})
	c := s.dial(t)
	in := &oip.Receiving{Answer: true, Accept: func(*oip.Head) (oip.Place, error) { return fresh, nil }}
	if err := c.Invoke(t.Context(), oip.MethodName("ModelInfer"), row("1", 1, 2), in); err != nil {
		t.Errorf("an inference that takes longer than its message may: %v", err)
	}
	stream, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, oip.MethodName("ModelStreamInfer"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second one is sent when the time of the first has passed
		if err := stream.SendMsg(row("1", 1, 2)); err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(receiving()); err != nil {
			t.Errorf("a stream that was silent: %v", err)
		}
	}
}
