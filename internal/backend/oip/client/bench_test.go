package client

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// make bench-network runs these: what a transport costs beside the physical limit of loopback. The servers are a process of their own, as they are elsewhere.

const (
	tensorBytes = 602_112 // an image of ResNet-50, float32
	answerBytes = 4004
)

// A sink takes tensors and answers at once.
type sink struct {
	rows  chan *tensor.Tensor // to use again
	bytes int64
	about *protocol.ModelMetadata
}

func newSink(bytes int64) *sink {
	return &sink{rows: make(chan *tensor.Tensor, 64), bytes: bytes,
		about: &protocol.ModelMetadata{Name: "m", Inputs: []protocol.Port{{Name: "x", Datatype: "UINT8", Shape: []int64{1, bytes}}}, Outputs: []protocol.Port{{Name: "y", Datatype: "UINT8", Shape: []int64{1, answerBytes}}}}}
}

func (s *sink) Metadata() *protocol.ModelMetadata           { return s.about }
func (*sink) Ready() bool                                   { return true }
func (*sink) Statistics() protocol.ModelStatistics          { return protocol.ModelStatistics{Name: "m"} }
func (*sink) MaxBytes() int64                               { return 1 << 20 }
func (s *sink) Begin(*protocol.Head) (oipserver.Job, error) { return &sinkJob{sink: s}, nil }

func (j *sinkJob) End() {
	select {
	case j.sink.rows <- j.row:
	default:
	}
}

type sinkJob struct {
	sink *sink
	row  *tensor.Tensor
}

func (j *sinkJob) Place(int, protocol.Spec) (tensor.Tensor, error) {
	select {
	case j.row = <-j.sink.rows:
	default:
		row := tensor.New(tensor.Uint8, 1, j.sink.bytes)
		j.row = &row
	}
	return *j.row, nil
}

func (j *sinkJob) Run(context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	return sinkSpecs[:], sinkAnswers[:], nil
}

// What a sink answers, which costs a transport nothing.
var (
	sinkSpecs   = [1]protocol.Spec{{Name: "y", Type: tensor.Uint8, Shape: tensor.Shape{1, answerBytes}}}
	sinkAnswers = [1]tensor.Tensor{tensor.New(tensor.Uint8, 1, answerBytes)}
)

// A call makes one request.
type call func() error

// ours is a call through the client of this package.
func ours(b *testing.B, url string, bytes int64) func() call {
	c, err := New(context.Background(), Options{Endpoints: []string{url}, Concurrency: 64})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return func() call {
		in, out := tensor.New(tensor.Uint8, 1, bytes), tensor.New(tensor.Uint8, 1, answerBytes)
		r := &Request{Model: "m", Specs: []protocol.Spec{{Name: "x", Type: in.Type, Shape: in.Shape}}, Tensors: []tensor.Tensor{in},
			Accept: func(*protocol.Head) (protocol.Place, error) {
				return func(int, protocol.Spec) (tensor.Tensor, error) { return out, nil }, nil
			}}
		return func() error { _, err := c.Infer(context.Background(), r); return err }
	}
}

// framed is the limit: a length, the bytes, and an answer, over TCP.
func framed(b *testing.B, address string, bytes int64) func() call {
	return func() call {
		c, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close() })
		in, answer, length := make([]byte, bytes), make([]byte, answerBytes), binary.LittleEndian.AppendUint32(nil, uint32(bytes))
		return func() error {
			v := net.Buffers{length, in}
			if _, err := v.WriteTo(c); err != nil {
				return err
			}
			_, err := io.ReadFull(c, answer)
			return err
		}
	}
}

func serveFramed(l net.Listener) {
	accept(l, func(c net.Conn) {
		defer c.Close()
		row, answer, length := make([]byte, 1<<20), make([]byte, answerBytes), [4]byte{}
		for r := bufio.NewReader(c); ; {
			if _, err := io.ReadFull(r, length[:]); err != nil {
				return
			}
			if _, err := io.ReadFull(r, row[:binary.LittleEndian.Uint32(length[:])]); err != nil {
				return
			}
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	})
}

// servedBytes asks the program of these tests for the servers of BenchmarkTransport, with tensors of so many bytes.
const servedBytes = "MLPERF_TEST_SERVED_BYTES"

// TestMain serves a benchmark in another process, until its standard input ends, instead of running tests.
func TestMain(m *testing.M) {
	text, asked := os.LookupEnv(servedBytes)
	if !asked {
		os.Exit(m.Run())
	}
	bytes, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	s := oipserver.New(oipserver.Config{Models: []oipserver.Model{newSink(bytes)}})
	for _, serve := range []func(net.Listener){serveFramed, func(l net.Listener) { _ = s.ServeHTTP(l) }, func(l net.Listener) { _ = s.ServeGRPC(l) }} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(l.Addr())
		go serve(l)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// servers starts the process of the servers and returns their addresses.
func servers(b *testing.B, bytes int64) (framed, web, rpc string) {
	b.Helper()
	self := exec.Command(os.Args[0])
	self.Env = append(os.Environ(), fmt.Sprintf("%s=%d", servedBytes, bytes))
	self.Stderr = os.Stderr
	in, err := self.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := self.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := self.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = self.Wait() })
	if _, err := fmt.Fscan(out, &framed, &web, &rpc); err != nil {
		b.Fatal(err)
	}
	return framed, web, rpc
}

// BenchmarkTransport measures requests of one size, so many under way at once.
func BenchmarkTransport(b *testing.B) {
	for _, size := range []int64{tensorBytes, tensorBytes / 4, 1024} {
		limit, web, rpc := servers(b, size)
		for _, transport := range []struct {
			name string
			make func() call
		}{
			{"framed-TCP", framed(b, limit, size)}, {"HTTP", ours(b, "http://"+web, size)},
			{"gRPC", ours(b, "grpc://"+rpc, size)},
		} {
			for _, flight := range []int{1, 16} {
				b.Run(fmt.Sprintf("%s/bytes=%d/flight=%d", transport.name, size, flight), func(b *testing.B) { measure(b, transport.make, flight) })
			}
		}
	}
}

// serveSink starts a server of a sink and returns its addresses.
func serveSink(t testing.TB, bytes int64) (web, rpc string) {
	t.Helper()
	s := oipserver.New(oipserver.Config{Models: []oipserver.Model{newSink(bytes)}})
	h, g := listen(t, "tcp"), listen(t, "tcp")
	go func() { _ = s.ServeHTTP(h) }()
	go func() { _ = s.ServeGRPC(g) }()
	return h.Addr().String(), g.Addr().String()
}

func measure(b *testing.B, fresh func() call, flight int) {
	calls := make([]call, flight)
	for i := range calls {
		calls[i] = fresh()
		if err := calls[i](); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	took := make([][]time.Duration, flight)
	var next atomic.Int64
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() {
			for next.Add(1) <= int64(b.N) {
				begin := time.Now()
				if err := c(); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(begin))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	each := slices.Concat(took...)
	slices.Sort(each)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	b.ReportMetric(float64(each[len(each)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(each[len(each)*99/100])/1e3, "p99-µs")
}
