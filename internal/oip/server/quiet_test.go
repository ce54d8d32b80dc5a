package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// inferences opens a stream of them.
func inferences(t *testing.T, c *grpc.ClientConn) grpc.ClientStream {
	t.Helper()
	stream, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, oip.MethodName("ModelStreamInfer"))
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestAStreamIsNotSilentForEver(t *testing.T) {
	const idle, takes = 30 * time.Millisecond, 100 * time.Millisecond
	s := run(t, server.Config{Models: []server.Model{&oiptest.Doubler{Name: "m", Width: 2, Time: takes}}, Limits: server.Limits{Idle: idle}})
	for name, requests := range map[string][]*oip.Sending{
		"that asks nothing at all":             nil,
		"whose request takes longer than that": {row("1", 1, 2)},
		"whose request is refused":             {row("1", 1, 2, 3)},
	} {
		stream := inferences(t, s.dial(t))
		for _, request := range requests {
			begin := time.Now()
			if err := stream.SendMsg(request); err != nil {
				t.Fatal(err)
			}
			if err := stream.RecvMsg(receiving()); err != nil {
				t.Errorf("a stream %s: after %v: %v", name, time.Since(begin), err)
			}
		}
		err := stream.RecvMsg(receiving())
		if grpcstatus.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "no request came for 30ms") {
			t.Errorf("a stream %s ends with %v", name, err)
		}
	}
}

// Half a message now and then would keep a stream open that does nothing.
func TestAMessageOfAStreamThatDoesNotEndIsSilence(t *testing.T) {
	s := run(t, server.Config{Models: twoModels(), Limits: server.Limits{Idle: 20 * time.Millisecond}})
	c := connect(t, s.grpc)
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	const headers = "\x83\x86" + // POST, http
		"\x04\x30/inference.GRPCInferenceService/ModelStreamInfer" + // as the path
		"\x0f\x10\x10application/grpc" // as the type
	frame := func(kind, flags byte, stream byte, payload string) string {
		n := len(payload)
		return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, 0, 0, 0, stream}) + payload
	}
	send := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") + frame(1, 4, 1, headers) +
		frame(0, 0, 1, "\x00\x00\x00\x00\x40half of it") // which says that it has 64 bytes
	if _, err := c.Write([]byte(send)); err != nil {
		t.Fatal(err)
	}
	var got []byte
	end := string([]byte{1, 5, 0, 0, 0, 1}) // headers that end the stream: a status
	for buffer := make([]byte, 1<<10); !strings.Contains(string(got), end); {
		n, err := c.Read(buffer)
		if got = append(got, buffer[:n]...); err != nil {
			t.Fatalf("%v after %q", err, got)
		}
	}
}

// A client that asks and does not read: its answers would be kept for ever.
func TestWhoDoesNotTakeAnswersOverGRPCIsCutOff(t *testing.T) {
	large := tensor.New(tensor.Int8, 1<<19)
	m := &fixed{about: oip.ModelMetadata{Name: "m"}, outputs: []tensor.Tensor{large}}
	s := run(t, server.Config{Models: []server.Model{m}, Limits: server.Limits{Answer: 30 * time.Millisecond}})
	for _, method := range []string{"ModelInfer", "ModelStreamInfer"} {
		t.Run(method, func(t *testing.T) {
			c := s.dial(t)
			stream, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, oip.MethodName(method))
			if err == nil {
				err = stream.SendMsg(&oip.Sending{Head: &oip.Head{Model: "m"}})
			}
			if err == nil && method == "ModelInfer" {
				err = stream.CloseSend()
			}
			if err != nil {
				t.Fatal(err)
			}
			c.WaitForStateChange(t.Context(), connectivity.Ready) // while nothing is read
			honest := inferences(t, s.dial(t))
			in := receiving()
			if err := honest.SendMsg(&oip.Sending{Head: &oip.Head{Model: "m"}}); err != nil {
				t.Fatal(err)
			}
			if err := honest.RecvMsg(in); err != nil || in.Failed != "" || in.Tensors[0].Len() != large.Len() {
				t.Errorf("an honest client is answered with %v, %s", err, in.Failed)
			}
		})
	}
}

// A model that has a mistake in it.
type mistaken struct {
	fixed
	in    string
	ended chan bool
}

func (m *mistaken) mistake(where string) {
	if m.in == where {
		panic("of ours")
	}
}

func (m *mistaken) Metadata() *oip.ModelMetadata {
	m.mistake("Metadata")
	return &m.about
}

func (m *mistaken) Begin(*oip.Head) (server.Job, error) {
	m.mistake("Begin")
	return m, nil
}

func (m *mistaken) Place(_ int, s oip.Spec) (tensor.Tensor, error) {
	m.mistake("Place")
	return tensor.New(s.Type, s.Shape...), nil
}

func (m *mistaken) Run(context.Context) ([]oip.Spec, []tensor.Tensor, error) {
	m.mistake("Run")
	return nil, nil, nil
}

func (m *mistaken) End() { m.ended <- true }

func TestAMistakeThatARequestFindsEndsThatRequestAlone(t *testing.T) {
	for _, where := range []string{"Begin", "Place", "Run", "Metadata"} {
		t.Run(where, func(t *testing.T) {
			m := &mistaken{fixed: fixed{about: oip.ModelMetadata{Name: "m"}}, ended: make(chan bool, 10)}
			s := run(t, server.Config{Models: []server.Model{m, twoModels()[1]}})
			m.in = where
			c, want := s.dial(t), "a mistake of this server: of ours"
			out := &oip.Receiving{Answer: true, Accept: func(*oip.Head) (oip.Place, error) { return fresh, nil }}
			err := c.Invoke(t.Context(), oip.MethodName("ModelInfer"), row("1", 1, 2), out)
			if grpcstatus.Code(err) != codes.Internal || !strings.Contains(err.Error(), want) {
				t.Errorf("a request is answered with %v", err)
			}
			stream, in := inferences(t, c), receiving()
			if err := stream.SendMsg(row("1", 1, 2)); err != nil {
				t.Fatal(err)
			}
			if err := stream.RecvMsg(in); err != nil || in.Failed != want {
				t.Errorf("a request of a stream is answered with %q, %v", in.Failed, err)
			}
			if where == "Metadata" {
				err := c.Invoke(t.Context(), oip.MethodName("ModelMetadata"), &oip.Inquiry{Name: "m"}, &oip.ModelMetadata{})
				if grpcstatus.Code(err) != codes.Internal || !strings.Contains(err.Error(), want) {
					t.Errorf("a question is answered with %v", err)
				}
			}
			if where != "Begin" { // which gave no room
				<-m.ended
				<-m.ended
			}
			if err := c.Invoke(t.Context(), oip.MethodName("ServerReady"), &oip.Inquiry{}, &oip.State{}); err != nil {
				t.Errorf("and then: %v", err)
			}
		})
	}
}
