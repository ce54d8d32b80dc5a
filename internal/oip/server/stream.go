package server

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
)

// mostInStream is how many requests of a stream are under way at once; the next one is not read
// before one of them has been answered.
const mostInStream = 64

// inferStream answers ModelStreamInfer: several requests at once, with answers in the order of
// the requests, as Triton does it. Errors are answers, too.
//
// When the stream has been silent for too long, or the server is drained, it returns while a goroutine still waits for a
// request: gRPC ends that waiting when this has returned, and tells the client a code of ours only so.
func inferStream(srv any, stream grpc.ServerStream) error {
	s := srv.(*Server)
	quiet := newQuiet(s.config.Limits.Idle, oip.Errorf(oip.TimedOut, "no request came for %v", s.config.Limits.Idle))
	defer quiet.timer.Stop()
	defer context.AfterFunc(s.drained, quiet.drain)()
	ended := make(chan error, 1)
	go func() { ended <- s.inferAll(stream, quiet) }()
	select {
	case err := <-ended:
		return err
	case reason := <-quiet.over:
		return status.Error(oip.CodeOf(reason).GRPC(), reason.Error())
	}
}

// inferAll answers all requests of a stream.
func (s *Server) inferAll(stream grpc.ServerStream, quiet *quiet) error {
	answers := make(chan chan *oip.Sending, mostInStream)
	sent := make(chan error, 1)
	go func() { sent <- sendAll(stream, answers, quiet) }()
	err := s.receiveAll(stream, answers, quiet)
	close(answers)
	return errors.Join(err, <-sent)
}

// receiveAll receives requests until there are no more, and queues their answers.
func (s *Server) receiveAll(stream grpc.ServerStream, answers chan<- chan *oip.Sending, quiet *quiet) error {
	for {
		begun := false
		begin := func() {
			if !begun {
				begun = true
				quiet.begin()
			}
		}
		q, err := s.receive(stream.RecvMsg, begin)
		var end *broken
		if errors.As(err, &end) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return end.error
		}
		begin() // also of one that was refused: its answer is under way
		answer := make(chan *oip.Sending, 1)
		answers <- answer // sendAll takes it, whatever happens
		go func() {
			answer <- s.streamed(stream.Context(), q, err)
		}()
	}
}

// streamed is the answer to a request, or why there is none.
func (s *Server) streamed(ctx context.Context, q *received, err error) *oip.Sending {
	var out *oip.Sending
	if err == nil {
		defer q.end()
		out, err = q.run(ctx)
	}
	if err != nil {
		s.requests.failed(oip.CodeOf(err))
		return &oip.Sending{Failed: err.Error()}
	}
	out.Stream = true
	return out
}

// sendAll sends answers in order. After one that could not be sent it only waits for the others.
func sendAll(stream grpc.ServerStream, answers <-chan chan *oip.Sending, quiet *quiet) (err error) {
	for answer := range answers {
		if out := <-answer; err == nil {
			err = stream.SendMsg(out)
		}
		quiet.done()
	}
	return err
}
