package server

import (
	"context"
	"sync/atomic"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mlperf-go/mlperf/internal/oip"
)

// An arrival is the context of a request over gRPC, which ends when its message is not there in time: gRPC has no bound of
// its own, and a client that sends a byte now and then would be waited for for ever.
type arrival struct {
	context.Context
	timer *time.Timer
	slow  atomic.Bool // the message was not there in time
}

// Err implements context.Context. Clients are told it.
func (a *arrival) Err() error {
	if a.slow.Load() {
		return context.DeadlineExceeded
	}
	return a.Context.Err()
}

// arrivalKey is that of the arrival in the contexts that come of it.
type arrivalKey struct{}

// Value implements context.Context.
func (a *arrival) Value(key any) any {
	if key == (arrivalKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// expectMessage bounds how long the message of a request may take. How long it is nobody knows before. Streams
// have bounds of their own, or none.
func (s *Server) expectMessage(ctx context.Context, method string) context.Context {
	limit := s.config.Limits.Body
	switch method {
	case oip.MethodName("ModelStreamInfer"), healthpb.Health_Watch_FullMethodName:
		return ctx
	case oip.MethodName("ModelInfer"):
		limit += time.Duration(s.mostMessage>>20) * perMiB
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &arrival{Context: ctx}
	a.timer = time.AfterFunc(limit, func() {
		a.slow.Store(true)
		s.requests.failed(oip.TimedOut)
		cancel()
	})
	return a
}

// arrived says that the message of a request is there: the rest may take longer.
func arrived(ctx context.Context) {
	if a, ok := ctx.Value(arrivalKey{}).(*arrival); ok {
		a.timer.Stop()
	}
}
