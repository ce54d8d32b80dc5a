package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// A grpcNode speaks gRPC with a server.
type grpcNode struct {
	conn   *grpc.ClientConn
	client pb.GRPCInferenceServiceClient
}

// A window of a whole tensor, and a write buffer of several frames, which the server can read while the next
// ones are written, shorten the latency.
const streamWindow, connWindow, writeBuffer, readBuffer = 16 << 20, 64 << 20, 128 << 10, 32 << 10

func newGRPC(n *node, o Options, config *tls.Config) (*grpcNode, error) {
	creds := insecure.NewCredentials()
	if n.tls {
		config = config.Clone()
		config.ServerName = n.host
		creds = credentials.NewTLS(config)
	}
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return n.dial(ctx) }
	conn, err := grpc.NewClient("passthrough:///"+n.address,
		grpc.WithTransportCredentials(creds), grpc.WithContextDialer(dial), grpc.WithUnaryInterceptor(callGRPC(o.Token)),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithNoProxy(), grpc.WithUserAgent("mlperf"), grpc.WithAuthority(n.host),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithReadBufferSize(readBuffer), grpc.WithWriteBufferSize(writeBuffer),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(math.MaxInt32), grpc.MaxCallRecvMsgSize(int(min(o.MaxAnswer, math.MaxInt32)))))
	if err != nil {
		return nil, err
	}
	return &grpcNode{conn, pb.NewGRPCInferenceServiceClient(conn)}, nil
}

// callGRPC has calls bring the token, and their errors say whether it was the server that refused them.
func callGRPC(token string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, in, out any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		}
		var trailer metadata.MD
		err := invoke(ctx, method, in, out, c, append(options, grpc.Trailer(&trailer))...)
		if err == nil {
			return nil
		}
		s := status.Convert(err)
		text := fmt.Errorf("%s: %s", s.Code(), describe(s.Message(), token))
		switch {
		case s.Code() == codes.DeadlineExceeded:
			return lost{fmt.Errorf("no answer in time: %w", text)}
		case s.Code() == codes.Unavailable && len(trailer) == 0:
			return lost{text} // a connection that broke: a server that is busy says so, with headers of its own
		}
		return &protocol.Error{Code: protocol.CodeOfGRPC(s.Code()), Err: text}
	}
}

func (g *grpcNode) close() error { return g.conn.Close() }

func (g *grpcNode) server(ctx context.Context) (*protocol.ServerMetadata, error) {
	m, err := g.client.ServerMetadata(ctx, &pb.ServerMetadataRequest{})
	if err != nil {
		return nil, err
	}
	return &protocol.ServerMetadata{Name: m.Name, Version: m.Version, Extensions: m.Extensions}, nil
}

func (g *grpcNode) ready(ctx context.Context, model, version string) error {
	m, err := g.client.ModelReady(ctx, &pb.ModelReadyRequest{Name: model, Version: version})
	if err == nil && !m.Ready {
		err = errors.New("it is not ready")
	}
	return err
}

func (g *grpcNode) model(ctx context.Context, model, version string) (*protocol.ModelMetadata, error) {
	m, err := g.client.ModelMetadata(ctx, &pb.ModelMetadataRequest{Name: model, Version: version})
	if err != nil {
		return nil, err
	}
	return protocol.FromModelMetadataMessage(m)
}

func (g *grpcNode) statistics(ctx context.Context, model, version string) (list []protocol.ModelStatistics, err error) {
	m, err := g.client.ModelStatistics(ctx, &pb.ModelStatisticsRequest{Name: model, Version: version})
	for _, s := range m.GetModelStats() {
		list = append(list, protocol.FromStatisticsMessage(s))
	}
	return list, err
}

func (g *grpcNode) infer(ctx context.Context, r *Request, id string) (*Answer, error) {
	head := r.head(id)
	head.Model, head.Version = r.Model, r.Version
	m, err := g.client.ModelInfer(ctx, protocol.RequestMessage(&head, r.Tensors))
	if err != nil {
		return nil, err
	}
	d, err := protocol.FromResponseMessage(m)
	if err != nil {
		return nil, lost{err}
	}
	place, err := r.Accept(&d.Head)
	if err != nil {
		return nil, lost{err}
	}
	outputs, err := d.Read(nil, place)
	if err != nil {
		return nil, lost{err}
	}
	return &Answer{d.Head, outputs}, nil
}
