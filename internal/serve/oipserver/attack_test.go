package oipserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// start starts a server over HTTP and returns its address.
func start(t *testing.T, model *oiptest.Doubler, l oipserver.Limits) string {
	t.Helper()
	return serveHTTP(t, oipserver.New(oipserver.Config{Name: "test", Models: []oipserver.Model{model}, Limits: l}))
}

// serveHTTP has a server listen, and returns its address.
func serveHTTP(t *testing.T, s *oipserver.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.ServeHTTP(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // net/http lets connections whose request it did not read linger for half a second
		_ = s.Drain(ctx)
	})
	return listener.Addr().String()
}

// honest sends a right request, which has to be answered.
func honest(t *testing.T, address string) {
	t.Helper()
	c, err := client.New(t.Context(), client.Options{Endpoints: []string{"http://" + address}, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := tensor.Of([]float32{1, 2, 3, 4}, 1, 4)
	a, err := c.Infer(t.Context(), &client.Request{Model: "m", Specs: []protocol.Spec{{Name: "x", Type: in.Type, Shape: in.Shape}}, Tensors: []tensor.Tensor{in},
		Accept: func(*protocol.Head) (protocol.Place, error) {
			return func(_ int, s protocol.Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }, nil
		}})
	if err != nil || tensor.Data[float32](a.Outputs[0])[3] != 8 {
		t.Errorf("an honest request: %v, %v", a, err)
	}
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// status sends bytes and returns the status of the answer; 0: the connection was closed.
func status(t *testing.T, address, request string) int {
	t.Helper()
	c := connect(t, address)
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, request)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	return r.StatusCode
}

// post is a request for an inference, of some claimed length.
func post(headers, body string, length int) string {
	return fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\n%sContent-Length: %d\r\n\r\n%s", headers, length, body)
}

func TestWhatIsWrongIsRefusedAndHonestClientsAreAnswered(t *testing.T) {
	address := start(t, &oiptest.Doubler{Name: "m", Width: 4, Room: 4}, oipserver.Limits{})
	input := `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}}]}`
	header := func(n int) string { return fmt.Sprintf("Inference-Header-Content-Length: %d\r\n", n) }
	for _, c := range []struct {
		name, request string
		want          int
	}{
		{"a right one", post(header(len(input)), input+"0123456789abcdef", len(input)+16), 200},
		{"a billion bytes", post("", "{", 1_000_000_000), 413},
		{"a billion bytes behind JSON", post(header(len(input)), input, 1_000_000_000), 413},
		{"a billion bytes of JSON", post(header(999_999_999), "{", 1_000_000_000), 413},
		{"more JSON than there is", post(header(50), "{}", 2), 400},
		{"a length that is none", post("Inference-Header-Content-Length: x\r\n", "{}", 2), 400},
		{"a compressed request", post("Content-Encoding: gzip\r\nInference-Header-Content-Length: 0\r\n", "\x1f\x8b23456789abcdef", 16), 501},
		{"a request that says that it is not compressed", post("Content-Encoding: Identity\r\nInference-Header-Content-Length: 0\r\n", "0123456789abcdef", 16), 200},
		{"no length", "POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"deep JSON", post("", strings.Repeat("[", 20000), 20000), 400},
		{"deep JSON of a length that fits", post("", strings.Repeat(`{"a":`, 10)+strings.Repeat("[", 2000), 2050), 400},
		{"another tensor", post("", `{"inputs":[{"name":"z","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}`, 74), 400},
		{"another shape", post("", `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,5],"data":[1,2,3,4,5]}]}`, 76), 400},
		{"a shape beyond all memory", post("", `{"inputs":[{"name":"x","datatype":"FP32","shape":[9999999999,4],"data":[1]}]}`, 77), 400},
		{"fewer bytes than the tensor", post(header(len(input)), input+"01234567", len(input)+8), 400},
		{"a raw request", post(header(0), "0123456789abcdef", 16), 200},
		{"a raw request of another size", post(header(0), "01234567", 8), 400},
		{"another model", strings.Replace(post("", "{}", 2), "/m/", "/n/", 1), 404},
		{"another path", "GET /v3 HTTP/1.1\r\nHost: h\r\n\r\n", 404},
		{"a wrong method", "DELETE /v2/models/m HTTP/1.1\r\nHost: h\r\n\r\n", 405},
		{"no HTTP", "hello\r\n\r\n", 400},
		{"endless headers", "GET / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 1000)+"\r\n", 40) + "\r\n", 431},
	} {
		if got := status(t, address, c.request); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
	}
	for range 6 { // more than there is room for: nothing was kept by those above
		honest(t, address)
	}
}

func TestWhoIsSlowIsCutOff(t *testing.T) {
	address := start(t, &oiptest.Doubler{Name: "m", Width: 4, Room: 1}, oipserver.Limits{Header: 100 * time.Millisecond, Body: 100 * time.Millisecond})
	header := connect(t, address)
	_, _ = io.WriteString(header, "POST /v2/models/m/infer HTTP/1.1\r\nHost:")
	_ = header.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, header); err != nil {
		t.Errorf("half a header: the connection stays open: %v", err)
	}
	input := `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}}]}`
	for range 3 { // each has the only place while it lasts
		request := post(fmt.Sprintf("Inference-Header-Content-Length: %d\r\n", len(input)), input+"0123", len(input)+16)
		if got := status(t, address, request); got != 408 {
			t.Errorf("half a body: status %d, want 408", got)
		}
	}
	honest(t, address)
}

func TestABodyThatNobodyReadsIsNotWaitedForForever(t *testing.T) {
	s := oipserver.New(oipserver.Config{Name: "test", Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4}}, Tokens: []string{"a token of a client"}, Limits: oipserver.Limits{Body: 20 * time.Millisecond}})
	address := serveHTTP(t, s)
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"a question with a body":  {"GET /v2/health/live HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n", 200},
		"a body without an end":   {"GET /v2/health/live HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", 200},
		"a request with no token": {post("", "", 1000), 401},
		"a path that is none":     {"POST /v3 HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n1", 404},
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, address)
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.WriteString(conn, c.request)
			in := bufio.NewReader(conn)
			r, err := http.ReadResponse(in, nil)
			if err != nil || r.StatusCode != c.want {
				t.Fatalf("the answer is %v, %v, want status %d", r, err, c.want)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if _, err := in.ReadByte(); err != io.EOF { // what follows would be taken for a request
				t.Errorf("the connection goes on: %v", err)
			}
		})
	}
}

func TestABodyThatEndsEarlyIsRefused(t *testing.T) {
	address := start(t, &oiptest.Doubler{Name: "m", Width: 4}, oipserver.Limits{})
	c := connect(t, address)
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, post("", `{"inputs":[]`, 100))
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || r.StatusCode != 400 {
		t.Fatalf("%v, %v, want status 400", r, err)
	}
	if text, _ := io.ReadAll(r.Body); !strings.Contains(string(text), "unexpected EOF") {
		t.Errorf("it says %s", text)
	}
}

func TestClientsThatVanishTakeNothingAlong(t *testing.T) {
	address := start(t, &oiptest.Doubler{Name: "m", Width: 4, Room: 2, Time: 20 * time.Millisecond}, oipserver.Limits{})
	input := `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}}]}`
	request := post(fmt.Sprintf("Inference-Header-Content-Length: %d\r\n", len(input)), input+"0123456789abcdef", len(input)+16)
	for i := range 20 {
		c := connect(t, address)
		_, _ = io.WriteString(c, request[:len(request)-8*(i%2)])
		c.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for status(t, address, request) != 200 {
		if time.Now().After(deadline) {
			t.Fatal("there is no room for honest clients")
		}
	}
}

func TestThousandsOfIdleConnectionsAreBounded(t *testing.T) {
	idle, most := 600, 100
	if testenv.Long() {
		idle, most = 10_000, 1000
	}
	address := start(t, &oiptest.Doubler{Name: "m", Width: 4}, oipserver.Limits{Connections: most})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	conns := make([]net.Conn, 0, idle)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for len(conns) < idle {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Skipf("this machine allows %d connections: %v", len(conns), err)
		}
		conns = append(conns, c)
		if len(conns)%most == 0 {
			honest(t, address)
		}
	}
	honest(t, address)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc+after.StackInuse) - int64(before.HeapAlloc+before.StackInuse); grown > 64<<20 {
		t.Errorf("%d idle connections take %d MiB", idle, grown>>20)
	}
}

func TestMetricsCountWhatHappened(t *testing.T) {
	address := start(t, &oiptest.Doubler{Name: "m", Width: 4}, oipserver.Limits{})
	honest(t, address)
	status(t, address, post("", "{", 1_000_000_000))
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`mlperf_serve_requests_total{status="200"} 1`, `mlperf_serve_requests_total{status="413"} 1`, `mlperf_serve_inferences_total{model="m"} 1`, "mlperf_serve_ready 1"} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
}

func TestTheDeadlineOfAnAnswerEndsWithIt(t *testing.T) {
	address := start(t, &oiptest.Doubler{Name: "m", Width: 4}, oipserver.Limits{Answer: 50 * time.Millisecond})
	c := connect(t, address)
	r := bufio.NewReader(c)
	for _, request := range []string{post("Inference-Header-Content-Length: 0\r\n", "0123456789abcdef", 16), "GET /v2/health/ready HTTP/1.1\r\nHost: h\r\n\r\n"} {
		_, _ = io.WriteString(c, request)
		answer, err := http.ReadResponse(r, nil)
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("%.20s: %v, %v", request, answer, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		time.Sleep(100 * time.Millisecond) // the deadline passes
	}
}
