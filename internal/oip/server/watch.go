package server

import (
	"context"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// endWatch ends the streams of who watches the health of the server when it is drained, and tells them so: they end by
// themselves only when the client goes, which would be waited for.
func (s *Server) endWatch(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod != healthpb.Health_Watch_FullMethodName {
		return handle(srv, stream)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.drained, cancel)()
	w := &watch{ServerStream: stream, ctx: ctx}
	err := handle(srv, w)
	if s.drained.Err() == nil || stream.Context().Err() != nil {
		return err
	}
	if w.said != healthpb.HealthCheckResponse_NOT_SERVING {
		if err := stream.SendMsg(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}); err != nil {
			return err
		}
	}
	return status.Error(errDraining.Code.GRPC(), errDraining.Error())
}

// A watch is a stream of states of health. It ends before the client goes.
type watch struct {
	grpc.ServerStream
	ctx  context.Context
	said healthpb.HealthCheckResponse_ServingStatus
}

// Context implements grpc.ServerStream.
func (w *watch) Context() context.Context { return w.ctx }

// SendMsg implements grpc.ServerStream.
func (w *watch) SendMsg(m any) error {
	if state, ok := m.(*healthpb.HealthCheckResponse); ok {
		w.said = state.Status
	}
	return w.ServerStream.SendMsg(m)
}
