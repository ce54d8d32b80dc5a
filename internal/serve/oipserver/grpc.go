package oipserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

const (
	// mostStreams is how many requests of a connection may be under way at once.
	mostStreams = 1024
	// A window takes a whole tensor; a connection has four of them.
	mostWindow            = 16 << 20
	readBuffer            = 32 << 10
	pingTime, pingTimeout = 30 * time.Second, 20 * time.Second // of silent connections
)

// newGRPC makes the gRPC server. It takes messages as large as the largest model does.
func (s *Server) newGRPC() *grpc.Server {
	most := int64(0)
	for _, m := range s.models {
		most = max(most, m.MaxBytes())
	}
	most = min(most+maxJSON, math.MaxInt32)
	window := int32(min(most, mostWindow))
	creds := insecure.NewCredentials()
	if s.config.TLS != nil {
		creds = credentials.NewTLS(s.config.TLS)
	}
	g := grpc.NewServer(grpc.Creds(creds), grpc.InTapHandle(s.authorise), grpc.UnaryInterceptor(s.callGRPC),
		grpc.MaxRecvMsgSize(int(most)), grpc.MaxSendMsgSize(math.MaxInt32), grpc.MaxHeaderListSize(maxHeader), grpc.MaxConcurrentStreams(mostStreams),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(4*window), grpc.ReadBufferSize(readBuffer),
		grpc.ConnectionTimeout(headerTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleTimeout, Time: pingTime, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))
	pb.RegisterGRPCInferenceServiceServer(g, grpcServer{server: s})
	healthpb.RegisterHealthServer(g, healthServer{server: s})
	return g
}

// authorise asks a call for a token, before anything of its message is read. The service of health needs none.
func (s *Server) authorise(ctx context.Context, call *tap.Info) (context.Context, error) {
	if len(s.config.Tokens) == 0 || strings.HasPrefix(call.FullMethodName, "/"+healthpb.Health_ServiceDesc.ServiceName+"/") ||
		slices.ContainsFunc(call.Header.Get("authorization"), s.permitted) {
		return ctx, nil
	}
	return ctx, s.statusOf(protocol.Errorf(protocol.Unauthorized, "expected one of the server's tokens (authorization: Bearer …)"))
}

// callGRPC turns errors into those of gRPC.
func (s *Server) callGRPC(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	out, err := handle(ctx, in)
	if _, is := status.FromError(err); !is {
		err = s.statusOf(err)
	}
	return out, err
}

// statusOf is an error as gRPC has it.
func (s *Server) statusOf(err error) error {
	code := protocol.CodeOf(err)
	s.requests.failed(code)
	return status.Error(code.GRPC(), err.Error())
}

// A grpcServer answers the calls of the protocol.
type grpcServer struct {
	pb.UnimplementedGRPCInferenceServiceServer
	server *Server
}

func (grpcServer) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

func (g grpcServer) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: g.server.ready()}, nil
}

func (g grpcServer) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	c := g.server.config
	return &pb.ServerMetadataResponse{Name: c.Name, Version: c.Version, Extensions: extensions}, nil
}

func (g grpcServer) ModelReady(_ context.Context, q *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	m, err := g.server.find(q.Name, q.Version)
	if err != nil {
		return nil, err
	}
	return &pb.ModelReadyResponse{Ready: m.Ready() && !g.server.draining()}, nil
}

func (g grpcServer) ModelMetadata(_ context.Context, q *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	m, err := g.server.find(q.Name, q.Version)
	if err != nil {
		return nil, err
	}
	return protocol.ModelMetadataMessage(m.Metadata()), nil
}

func (g grpcServer) ModelConfig(_ context.Context, q *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	m, err := g.server.find(q.Name, q.Version)
	if err != nil {
		return nil, err
	}
	return protocol.ModelConfigMessage(configOf(m)), nil
}

func (g grpcServer) ModelStatistics(_ context.Context, q *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	m, err := g.server.find(q.Name, q.Version)
	if err != nil {
		return nil, err
	}
	return &pb.ModelStatisticsResponse{ModelStats: []*pb.ModelStatistics{protocol.StatisticsMessage(m.Statistics())}}, nil
}

func (g grpcServer) ModelInfer(ctx context.Context, q *pb.ModelInferRequest) (out *pb.ModelInferResponse, err error) {
	s := g.server
	defer func() {
		if p := recover(); p != nil { // as package http does: one request fails, not the program
			err = protocol.Errorf(protocol.Internal, "a bug in this server: %v", p)
		}
	}()
	doc, err := protocol.FromRequestMessage(q)
	if err != nil {
		return nil, invalid(err)
	}
	job, err := s.begin(&doc.Head)
	if err != nil {
		return nil, err
	}
	defer job.End()
	if _, err := doc.Read(nil, job.Place); err != nil {
		return nil, invalid(err)
	}
	specs, outputs, err := job.Run(ctx)
	if err != nil {
		return nil, err
	}
	s.requests.answered()
	about := s.models[doc.Model].Metadata()
	return protocol.ResponseMessage(&protocol.Head{Model: about.Name, Version: version(about), ID: doc.ID, Tensors: specs}, outputs), nil
}

// mostInStream is how many requests of a stream are under way at once. The next one is read
// after one of them has been answered.
const mostInStream = 64

// ModelStreamInfer answers several requests at once, in their order, as Triton does it. Errors are answers, too.
//
// When the server is drained, and nothing of the stream is under way, it returns while a goroutine still waits for a request:
// gRPC ends that waiting when this has returned.
func (g grpcServer) ModelStreamInfer(stream grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]) (err error) {
	ctx, answers, ended := stream.Context(), make(chan chan *pb.ModelStreamInferResponse, mostInStream), make(chan error, 1)
	go func() {
		defer close(answers)
		for {
			q, err := stream.Recv()
			if err != nil {
				ended <- err
				return
			}
			answer := make(chan *pb.ModelStreamInferResponse, 1)
			select {
			case answers <- answer:
			case <-ctx.Done():
				ended <- ctx.Err()
				return
			}
			go func() {
				out, err := g.ModelInfer(ctx, q)
				a := &pb.ModelStreamInferResponse{InferResponse: out}
				if err != nil {
					g.server.requests.failed(protocol.CodeOf(err))
					a.ErrorMessage = err.Error()
				}
				answer <- a
			}()
		}
	}()
	for {
		select {
		case answer, ok := <-answers:
			if !ok {
				if err == nil {
					err = <-ended
				}
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return err
			}
			if a := <-answer; err == nil { // after a failed Send, the other answers are only awaited
				err = stream.Send(a)
			}
		case <-g.server.drained.Done():
			if len(answers) == 0 {
				return g.server.statusOf(errDraining)
			}
		}
	}
}

// A healthServer answers the standard health service. It does not support Watch: clients take that for a healthy server.
type healthServer struct {
	healthpb.UnimplementedHealthServer
	server *Server
}

func (h healthServer) Check(_ context.Context, q *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if name := pb.GRPCInferenceService_ServiceDesc.ServiceName; q.Service != "" && q.Service != name {
		return nil, status.Error(codes.NotFound, fmt.Sprintf("unknown service %q: must be %s", q.Service, name))
	}
	if h.server.draining() {
		return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}
