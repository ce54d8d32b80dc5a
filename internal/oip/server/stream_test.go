package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// stream opens a stream of inferences to a server of a model.
func stream(t *testing.T, model *oiptest.Doubler) grpc.ClientStream {
	t.Helper()
	s := server.New(server.Config{Models: []server.Model{model}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.ServeGRPC(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Drain(ctx)
	})
	c, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	out, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, oip.MethodName("ModelStreamInfer"), grpc.ForceCodecV2(oip.Codec{}))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// row is a request of a row of numbers.
func row(id string, numbers ...float32) *oip.Sending {
	in := tensor.Of(numbers, 1, int64(len(numbers)))
	return &oip.Sending{Head: &oip.Head{Model: "m", ID: id, Tensors: []oip.Spec{{Name: "x", Type: in.Type, Shape: in.Shape}}}, Tensors: []tensor.Tensor{in}}
}

// receiving takes an answer of a stream.
func receiving() *oip.Receiving {
	return &oip.Receiving{Answer: true, Stream: true, Accept: func(*oip.Head) (oip.Place, error) {
		return func(_ int, s oip.Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }, nil
	}}
}

func TestRequestsOfAStreamRunAtOnceAndAreAnsweredInOrder(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2, Time: 50 * time.Millisecond}
	s := stream(t, model)
	const requests = 40
	begin := time.Now()
	for i := range requests {
		in := row(fmt.Sprint(i), float32(i), 1)
		if i == 5 {
			in = row("5", 1, 2, 3) // of another shape
		}
		if err := s.SendMsg(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for i := range requests {
		in := receiving()
		if err := s.RecvMsg(in); err != nil {
			t.Fatal(err)
		}
		if i == 5 {
			if in.Failed == "" {
				t.Error("a request of another shape is answered")
			}
			continue
		}
		if in.Head.ID != fmt.Sprint(i) || tensor.Data[float32](in.Tensors[0])[0] != float32(2*i) {
			t.Fatalf("answer %d is that of request %q: %v, %s", i, in.Head.ID, in.Tensors, in.Failed)
		}
	}
	if err := s.RecvMsg(receiving()); !errors.Is(err, io.EOF) {
		t.Errorf("after the last answer: %v", err)
	}
	if took := time.Since(begin); model.Most.Load() < 4 || took > 30*50*time.Millisecond {
		t.Errorf("%d requests were under way at once, all took %v", model.Most.Load(), took)
	}
}

func TestWhatIsRefusedOverGRPCKeepsNoRoom(t *testing.T) {
	c := run(t, server.Config{Models: []server.Model{&oiptest.Doubler{Name: "m", Width: 2, Room: 1}}}).dial(t)
	infer := func(in *oip.Sending) error {
		out := &oip.Receiving{Answer: true, Accept: func(*oip.Head) (oip.Place, error) { return fresh, nil }}
		return c.Invoke(t.Context(), oip.MethodName("ModelInfer"), in, out)
	}
	for range 3 { // each has the only place while its tensors are looked at
		if err := infer(row("1", 1, 2, 3)); grpcstatus.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "want FP32[? 2]") {
			t.Errorf("another shape: %v", err)
		}
		if err := infer(row("2", 1, 2)); err != nil {
			t.Errorf("a right one: %v", err)
		}
	}
	err := infer(&oip.Sending{Head: &oip.Head{Model: "n"}})
	if grpcstatus.Code(err) != codes.NotFound {
		t.Errorf("another model: %v", err)
	}
	if err := c.Invoke(t.Context(), oip.MethodName("ModelReady"), &oip.Inquiry{Name: "\xff"}, &oip.State{}); err == nil || !strings.Contains(err.Error(), "is not UTF-8") {
		t.Errorf("a name that is no text: %v", err)
	}
}

func TestAStreamTakesNoMoreThanItsRoom(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2, Time: 20 * time.Millisecond}
	s := stream(t, model)
	ended := make(chan error, 1)
	go func() { // and reads nothing meanwhile
		for range 500 {
			if err := s.SendMsg(row("", 1, 2)); err != nil {
				ended <- err
				return
			}
		}
		ended <- s.CloseSend()
	}()
	for range 500 {
		if err := s.RecvMsg(receiving()); err != nil {
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

func TestAStreamThatVanishesTakesNothingAlong(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2, Time: time.Minute}
	t.Run("client", func(t *testing.T) { // whose connection ends with the test
		s := stream(t, model)
		for range 10 {
			if err := s.SendMsg(row("", 1, 2)); err != nil {
				t.Fatal(err)
			}
		}
		for model.Busy() < 10 {
			time.Sleep(time.Millisecond)
		}
	})
	for end := time.Now().Add(10 * time.Second); model.Busy() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d requests of nobody are under way", model.Busy())
		}
	}
}
