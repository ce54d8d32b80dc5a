package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
)

// A grpcNode speaks gRPC with a server.
type grpcNode struct {
	conns []*grpcConn
	next  atomic.Uint64
	token string
}

// A grpcConn makes a connection when there is none.
type grpcConn struct {
	*grpc.ClientConn
	now atomic.Pointer[conn] // the last one
}

// cut ends the connection that there is. Requests after that make another one.
func (c *grpcConn) cut() {
	now := c.now.Load()
	if now == nil {
		return
	}
	now.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c.WaitForStateChange(ctx, connectivity.Ready) // until then the next request would be sent on this one
}

const (
	// perConnection is how many requests share a connection before another one is made, and
	// mostConnections how many there are.
	perConnection, mostConnections = 16, 8
	// A window of a whole tensor, and a write buffer of several frames, which the server can read while the next
	// ones are written, halve the latency.
	streamWindow, connWindow, writeBuffer, readBuffer = 16 << 20, 64 << 20, 128 << 10, 32 << 10
)

func newGRPC(n *node, o Options, config *tls.Config) (*grpcNode, error) {
	g := &grpcNode{token: o.Token}
	creds := insecure.NewCredentials()
	if n.tls {
		config = config.Clone()
		config.ServerName = n.host
		creds = credentials.NewTLS(config)
	}
	connections := min(mostConnections, (o.Concurrency+perConnection-1)/perConnection)
	for range connections {
		c := &grpcConn{}
		dial := func(ctx context.Context, _ string) (net.Conn, error) {
			made, err := n.dial(ctx)
			if err != nil {
				return nil, err
			}
			c.now.Store(made)
			return made, nil
		}
		var err error
		c.ClientConn, err = grpc.NewClient("passthrough:///"+n.address,
			grpc.WithTransportCredentials(creds), grpc.WithContextDialer(dial),
			grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithNoProxy(), grpc.WithUserAgent("mlperf"), grpc.WithAuthority(n.host),
			grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connWindow),
			grpc.WithReadBufferSize(readBuffer), grpc.WithWriteBufferSize(writeBuffer),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(oip.Codec{}), grpc.MaxCallSendMsgSize(math.MaxInt32),
				grpc.MaxCallRecvMsgSize(int(min(o.MaxAnswer, math.MaxInt32)))))
		if err != nil {
			return g, errors.Join(err, g.close())
		}
		g.conns = append(g.conns, c)
	}
	return g, nil
}

func (g *grpcNode) close() error {
	var errs []error
	for _, c := range g.conns {
		if err := c.Close(); status.Code(err) != codes.Canceled { // closed already
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// The methods of the service.
var (
	methodServerMetadata               = oip.MethodName("ServerMetadata")
	methodModelReady                   = oip.MethodName("ModelReady")
	methodModelMetadata                = oip.MethodName("ModelMetadata")
	methodModelStatistics              = oip.MethodName("ModelStatistics")
	methodModelInfer                   = oip.MethodName("ModelInfer")
	methodSystemSharedMemoryRegister   = oip.MethodName("SystemSharedMemoryRegister")
	methodSystemSharedMemoryUnregister = oip.MethodName("SystemSharedMemoryUnregister")
)

// ask asks something, whose answer is short.
func (g *grpcNode) ask(ctx context.Context, method string, in, out any) error {
	return g.call(ctx, g.conns[0], method, in, out, grpc.MaxCallRecvMsgSize(maxText))
}

// call makes a call, and says whether it was the server that refused it.
func (g *grpcNode) call(ctx context.Context, c *grpcConn, method string, in, out any, options ...grpc.CallOption) error {
	if g.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+g.token)
	}
	var trailer metadata.MD
	err := c.Invoke(ctx, method, in, out, append(options, grpc.Trailer(&trailer))...)
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return lost{err}
	}
	text := fmt.Errorf("%s: %s", s.Code(), describe(s.Message(), g.token))
	switch {
	case s.Code() == codes.DeadlineExceeded:
		return lost{fmt.Errorf("no answer in time: %w", text)}
	case s.Code() == codes.Unavailable && len(trailer) == 0:
		return lost{text} // a connection that broke: a server that is busy says so, with headers of its own
	}
	return &oip.Error{Code: codeFor(s.Code()), Err: text}
}

// codeFor is the code that one of gRPC stands for.
func codeFor(c codes.Code) oip.Code {
	for code := oip.Internal; code <= oip.TimedOut; code++ {
		if code.GRPC() == c {
			return code
		}
	}
	return oip.Internal
}

func (g *grpcNode) server(ctx context.Context) (*oip.ServerMetadata, error) {
	m := &oip.ServerMetadata{}
	return m, g.ask(ctx, methodServerMetadata, &oip.Inquiry{}, m)
}

func (g *grpcNode) ready(ctx context.Context, model, version string) error {
	var s oip.State
	err := g.ask(ctx, methodModelReady, &oip.Inquiry{Name: model, Version: version}, &s)
	if err == nil && !s.On {
		err = errors.New("it is not ready")
	}
	return err
}

func (g *grpcNode) model(ctx context.Context, model, version string) (*oip.ModelMetadata, error) {
	m := &oip.ModelMetadata{}
	return m, g.ask(ctx, methodModelMetadata, &oip.Inquiry{Name: model, Version: version}, m)
}

func (g *grpcNode) statistics(ctx context.Context, model, version string) ([]oip.ModelStatistics, error) {
	var list oip.StatisticsList
	err := g.ask(ctx, methodModelStatistics, &oip.Inquiry{Name: model, Version: version}, &list)
	return list.Models, err
}

func (g *grpcNode) register(ctx context.Context, r *oip.Region) error {
	return g.ask(ctx, methodSystemSharedMemoryRegister, r, &oip.State{})
}

func (g *grpcNode) unregister(ctx context.Context, region string) error {
	return g.ask(ctx, methodSystemSharedMemoryUnregister, &oip.Inquiry{Name: region}, &oip.State{})
}

func (g *grpcNode) infer(ctx context.Context, r *Request, id string) (*Answer, error) {
	c := g.conns[g.next.Add(1)%uint64(len(g.conns))]
	head := r.head(id)
	head.Model, head.Version = r.Model, r.Version
	out := &oip.Sending{Head: &head, Tensors: r.Tensors}
	release := newRelease()
	out.Buffer = release.buffer
	in := &oip.Receiving{Answer: true, Accept: r.Accept, Load: r.load}
	err := g.call(ctx, c, methodModelInfer, out, in)
	if err == nil {
		return &Answer{in.Head, in.Tensors}, nil
	}
	if !release.within(patience) {
		// The connection does not take the request, and would go on reading its memory. Subtle: what
		// is left of the request when its connection is closed is dropped, not freed, so that
		// there is no sign that the writer has ended, which takes well below a millisecond. To close all of
		// it would wait seconds for a farewell to be sent, and whoever asks next would have none.
		c.cut()
		release.within(patience)
	}
	return nil, err
}
