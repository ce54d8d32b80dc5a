package server

import (
	"context"
	"errors"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
)

const (
	// streams is how many requests of a connection may be under way.
	streams = 1024
	// A window that takes a whole tensor; a connection has four of them.
	mostWindow              = 16 << 20
	readBuffer, writeBuffer = 32 << 10, 32 << 10
)

// newGRPC makes the server of gRPC, which takes messages as large as the largest model does.
func (s *Server) newGRPC() *grpc.Server {
	most := int64(0)
	for _, m := range s.models {
		most = max(most, m.MaxBytes())
	}
	most = min(most+maxJSON, math.MaxInt32)
	s.mostMessage = most
	window := int32(min(most, mostWindow))
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(oip.Codec{}), grpc.MaxRecvMsgSize(int(most)), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(streams), grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(4 * window),
		grpc.ReadBufferSize(readBuffer), grpc.WriteBufferSize(writeBuffer), grpc.MaxHeaderListSize(16 << 10),
		grpc.ConnectionTimeout(s.config.Limits.Header), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: s.config.Limits.Idle}),
		grpc.InTapHandle(s.admit), grpc.StreamInterceptor(s.endWatch),
	}
	creds := insecure.NewCredentials()
	if s.config.TLS != nil {
		creds = credentials.NewTLS(s.config.TLS)
	}
	g := grpc.NewServer(append(options, grpc.Creds(handshake{creds}))...)
	g.RegisterService(s.service(), s)
	return g
}

// statusOf is an error as gRPC has it.
func (s *Server) statusOf(err error) error {
	code := oip.CodeOf(err)
	s.requests.failed(code)
	return status.Error(code.GRPC(), err.Error())
}

// unary makes a method of a function that answers a question.
func unary[Q any](name string, f func(s *Server, q *Q) (any, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		s, q := srv.(*Server), new(Q)
		err := dec(q)
		arrived(ctx)
		if err != nil {
			return nil, err // which the client has been told
		}
		out, err := answered(s, q, f)
		if err != nil {
			return nil, s.statusOf(err)
		}
		return out, nil
	}}
}

// answered is the answer to a question.
func answered[Q any](s *Server, q *Q, f func(s *Server, q *Q) (any, error)) (out any, err error) {
	defer shield(&err)
	return f(s, q)
}

// service describes the methods of the service.
func (s *Server) service() *grpc.ServiceDesc {
	model := func(f func(m Model) any) func(*Server, *oip.Inquiry) (any, error) {
		return func(s *Server, q *oip.Inquiry) (any, error) {
			m, err := s.find(q.Name, q.Version)
			if err != nil {
				return nil, err
			}
			return f(m), nil
		}
	}
	return &grpc.ServiceDesc{
		ServiceName: oip.Service, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			unary("ServerLive", func(*Server, *oip.Inquiry) (any, error) { return &oip.State{On: true}, nil }),
			unary("ServerReady", func(s *Server, _ *oip.Inquiry) (any, error) { return &oip.State{On: s.ready()}, nil }),
			unary("ServerMetadata", func(s *Server, _ *oip.Inquiry) (any, error) {
				return &oip.ServerMetadata{Name: s.config.Name, Version: s.config.Version, Extensions: s.extensions()}, nil
			}),
			unary("ModelReady", model(func(m Model) any { return &oip.State{On: m.Ready() && !s.draining()} })),
			unary("ModelMetadata", model(func(m Model) any { return m.Metadata() })),
			unary("ModelStatistics", model(func(m Model) any { return &oip.StatisticsList{Models: []oip.ModelStatistics{m.Statistics()}} })),
			unary("SystemSharedMemoryStatus", func(s *Server, q *oip.Inquiry) (any, error) {
				list, err := s.registered(q.Name)
				return &oip.RegionList{Regions: list}, err
			}),
			unary("SystemSharedMemoryRegister", func(s *Server, g *oip.Region) (any, error) { return &oip.State{}, s.register(g) }),
			unary("SystemSharedMemoryUnregister", func(s *Server, q *oip.Inquiry) (any, error) { return &oip.State{}, s.unregister(q.Name) }),
			{MethodName: "ModelInfer", Handler: inferUnary},
		},
		Streams: []grpc.StreamDesc{{StreamName: "ModelStreamInfer", Handler: inferStream, ServerStreams: true, ClientStreams: true}},
	}
}

// inferUnary answers ModelInfer.
func inferUnary(srv any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	s := srv.(*Server)
	q, err := s.receive(dec, func() {})
	arrived(ctx)
	if err == nil {
		defer q.end()
		var out *oip.Sending
		if out, err = q.run(ctx); err == nil {
			return out, nil
		}
	}
	var end *broken
	if errors.As(err, &end) {
		return nil, end.error
	}
	return nil, s.statusOf(err)
}

// A received is a request that has arrived.
type received struct {
	server *Server
	job    Job
	head   oip.Head
}

// receive receives a request, and says when it begins to. Whoever gets one has to end it.
func (s *Server) receive(receive func(any) error, begin func()) (q *received, err error) {
	q = &received{server: s}
	defer func() {
		if err != nil {
			q.end()
			q = nil
		}
	}()
	defer shield(&err)
	in := &oip.Receiving{KeepError: true, Load: s.load, Accept: func(h *oip.Head) (place oip.Place, err error) {
		begin()
		if q.job, err = s.begin(h); err != nil {
			return nil, err
		}
		return q.job.Place, nil
	}}
	if err := receive(in); err != nil {
		return q, &broken{err}
	}
	q.head = in.Head
	return q, in.Err
}

func (q *received) end() {
	if q.job != nil {
		q.job.End()
	}
}

// run answers the request.
func (q *received) run(ctx context.Context) (out *oip.Sending, err error) {
	defer shield(&err)
	s := q.server
	specs, outputs, err := s.run(ctx, q.job, &q.head)
	if err != nil {
		return nil, err
	}
	s.requests.answered()
	about := s.models[q.head.Model].Metadata()
	head := &oip.Head{Model: about.Name, Version: version(about), ID: q.head.ID, Tensors: specs}
	out = &oip.Sending{Head: head, Tensors: outputs, Answer: true}
	s.mustBeTaken(ctx, out)
	return out, nil
}

// shield makes an error of a panic: a mistake of ours that one request finds shall not end all others, as package http
// has it, too.
func shield(err *error) {
	if p := recover(); p != nil {
		*err = oip.Errorf(oip.Internal, "a mistake of this server: %v", p)
	}
}

// broken is an error of the connection: there is nobody to answer.
type broken struct{ error }

func (b *broken) Unwrap() error { return b.error }
