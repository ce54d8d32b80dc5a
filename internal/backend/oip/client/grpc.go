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

// A grpcTransport speaks gRPC with a server.
type grpcTransport struct {
	conn   *grpc.ClientConn
	client pb.GRPCInferenceServiceClient
}

// A window of a whole tensor, and a write buffer of several frames, which the server can read while the next
// ones are written, shorten the latency.
const streamWindow, connWindow, writeBuffer, readBuffer = 16 << 20, 64 << 20, 128 << 10, 32 << 10

func newGRPC(s *server, o Options, config *tls.Config) (*grpcTransport, error) {
	creds := insecure.NewCredentials()
	if s.tls {
		config = config.Clone()
		config.ServerName = s.host
		creds = credentials.NewTLS(config)
	}
	// Calls bring the token, and their errors say whether the server refused them or was lost.
	call := func(ctx context.Context, method string, in, out any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if o.Token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+o.Token)
		}
		var trailer metadata.MD
		err := invoke(ctx, method, in, out, c, append(options, grpc.Trailer(&trailer))...)
		if err == nil {
			return nil
		}
		failed := status.Convert(err)
		text := fmt.Errorf("%s: %s", failed.Code(), quote(failed.Message(), o.Token))
		switch {
		case failed.Code() == codes.DeadlineExceeded:
			return lostError{fmt.Errorf("no answer in time: %w", text)}
		case failed.Code() == codes.Unavailable && len(trailer) == 0:
			return lostError{text} // a connection that broke: a busy server answers, with headers of its own
		}
		return &protocol.Error{Code: protocol.CodeOfGRPC(failed.Code()), Err: text}
	}
	conn, err := grpc.NewClient("passthrough:///"+s.address,
		grpc.WithTransportCredentials(creds), grpc.WithUnaryInterceptor(call),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.dial(ctx, "", "") }),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithNoProxy(), grpc.WithUserAgent("mlperf"), grpc.WithAuthority(s.host),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithReadBufferSize(readBuffer), grpc.WithWriteBufferSize(writeBuffer),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(math.MaxInt32), grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, err
	}
	return &grpcTransport{conn, pb.NewGRPCInferenceServiceClient(conn)}, nil
}

func (g *grpcTransport) close() error { return g.conn.Close() }

func (g *grpcTransport) metadata(ctx context.Context) (*protocol.ServerMetadata, error) {
	m, err := g.client.ServerMetadata(ctx, &pb.ServerMetadataRequest{})
	if err != nil {
		return nil, err
	}
	return &protocol.ServerMetadata{Name: m.Name, Version: m.Version, Extensions: m.Extensions}, nil
}

func (g *grpcTransport) ready(ctx context.Context, model, version string) error {
	m, err := g.client.ModelReady(ctx, &pb.ModelReadyRequest{Name: model, Version: version})
	if err == nil && !m.Ready {
		err = errors.New("it is not ready")
	}
	return err
}

func (g *grpcTransport) model(ctx context.Context, model, version string) (*protocol.ModelMetadata, error) {
	m, err := g.client.ModelMetadata(ctx, &pb.ModelMetadataRequest{Name: model, Version: version})
	if err != nil {
		return nil, err
	}
	return protocol.FromModelMetadataMessage(m)
}

func (g *grpcTransport) statistics(ctx context.Context, model, version string) (list []protocol.ModelStatistics, err error) {
	m, err := g.client.ModelStatistics(ctx, &pb.ModelStatisticsRequest{Name: model, Version: version})
	for _, s := range m.GetModelStats() {
		list = append(list, protocol.FromStatisticsMessage(s))
	}
	return list, err
}

func (g *grpcTransport) infer(ctx context.Context, r *Request, id string) (*Answer, error) {
	head := protocol.Head{Model: r.Model, Version: r.Version, ID: id, Tensors: r.Specs, Wanted: r.Wanted}
	m, err := g.client.ModelInfer(ctx, protocol.RequestMessage(&head, r.Tensors))
	if err != nil {
		return nil, err
	}
	d, err := protocol.FromResponseMessage(m)
	if err != nil {
		return nil, lostError{err}
	}
	place, err := r.Accept(&d.Head)
	if err != nil {
		return nil, lostError{err}
	}
	outputs, err := d.Read(nil, place)
	if err != nil {
		return nil, lostError{err}
	}
	return &Answer{d.Head, outputs}, nil
}
