package oipserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func fresh(_ int, s protocol.Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }

// twoModels are one with a version, that is ready, and one that is not.
func twoModels() []oipserver.Model {
	m, busy := &oiptest.Doubler{Name: "m", Version: "3", Width: 4}, &oiptest.Doubler{Name: "busy", Width: 1}
	busy.NotReady.Store(true)
	return []oipserver.Model{m, busy}
}

func TestHTTPMetadata(t *testing.T) {
	s := run(t, oipserver.Config{Name: "test", Version: "7", Models: twoModels()})
	about, err := json.Marshal(twoModels()[0].Metadata())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		path string
		want int
		text string
	}{
		{"/v2", 200, `{"name":"test","version":"7","extensions":["binary_tensor_data","statistics","model_configuration"]}`},
		{"/v2/", 200, `{"name":"test","version":"7","extensions":["binary_tensor_data","statistics","model_configuration"]}`},
		{"/v2/models/m", 200, string(about)},
		{"/v2/models/m/versions/3", 200, string(about)},
		{"/v2/models/m/versions/4", 404, `{"error":"model \"m\" has no version \"4\""}`},
		{"/v2/models/n", 404, `{"error":"the server has no model \"n\"; it has busy, m"}`},
		{"/v2/models/n/stats", 404, `{"error":"the server has no model \"n\"; it has busy, m"}`},
		{"/v2/models/m/config", 200, `{"name":"m","platform":"test","max_batch_size":0,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[-1,4]}],` +
			`"output":[{"name":"y","data_type":"TYPE_FP32","dims":[-1,4]}]}`},
		{"/v2/models/n/config", 404, `{"error":"the server has no model \"n\"; it has busy, m"}`},
		{"/v2/repository/index", 404, `{"error":"this server has no GET /v2/repository/index"}`}, // clients of Triton read errors as JSON
		{"/health", 503, ""},
		{"/v2/health/live", 200, ""},
		{"/v2/health/ready", 400, ""},
		{"/v2/models/m/ready", 200, ""},
		{"/v2/models/m/versions/3/ready", 200, ""},
		{"/v2/models/busy/ready", 400, ""},
		{"/v2/models/n/ready", 404, `{"error":"the server has no model \"n\"; it has busy, m"}`},
	} {
		if a, text := s.send(t, http.MethodGet, q.path, "", ""); a.StatusCode != q.want || strings.TrimSpace(text) != q.text {
			t.Errorf("%s: %d %s, want %d %s", q.path, a.StatusCode, text, q.want, q.text)
		}
	}
	a, text := s.send(t, http.MethodGet, "/v2/models/m/stats", "", "")
	if list, err := protocol.FromStatisticsJSON([]byte(text)); err != nil || a.StatusCode != 200 || len(list) != 1 || list[0].Name != "m" {
		t.Errorf("statistics are %d %s, %v", a.StatusCode, text, err)
	}
}

const nothing = `{"inputs":[],"outputs":[%s],"parameters":{"binary_data_output":%v}}`

func TestOutputForms(t *testing.T) {
	outputs := []tensor.Tensor{tensor.Of([]float32{1, 2}, 1, 2), tensor.OfStrings([]string{"é", ""}, 2), tensor.Of([]int64{-1}, 1),
		tensor.Of([]uint8{}, 0), tensor.Of([]int8{5}, 1)}
	s := run(t, oipserver.Config{Models: []oipserver.Model{&fixed{about: protocol.ModelMetadata{Name: "m", Versions: []string{"2", "1"}}, outputs: outputs}}})
	for _, binary := range []bool{true, false} {
		a, text := s.send(t, http.MethodPost, "/v2/models/m/infer", "", `{"id":"17",`+fmt.Sprintf(nothing, "", binary)[1:])
		if a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, text)
		}
		kind, head, rest := "application/json", text, ""
		if binary {
			n, err := strconv.Atoi(a.Header.Get(protocol.HeaderLength))
			if err != nil {
				t.Fatal(err)
			}
			kind, head, rest = "application/octet-stream", text[:n], text[n:]
		}
		d, err := protocol.FromResponseJSON([]byte(head))
		if err != nil || d.BinarySize() != int64(len(rest)) || d.Model != "m" || d.Version != "2" || d.ID != "17" {
			t.Fatalf("binary %v: %+v, %v, %d bytes follow", binary, d, err, len(rest))
		}
		got, err := d.Read(strings.NewReader(rest), fresh)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range outputs {
			if got[i].String() != want.String() || string(got[i].Bytes()) != string(want.Bytes()) || !slices.Equal(got[i].Strings(), want.Strings()) {
				t.Errorf("binary %v: output %d is %v, want %v", binary, i, got[i], want)
			}
		}
		if a.Header.Get("Content-Type") != kind || a.ContentLength != int64(len(text)) {
			t.Errorf("binary %v: the head is %v for %d bytes", binary, a.Header, len(text))
		}
	}
}

func TestMetricsCountHowRequestsEnd(t *testing.T) {
	m := &fixed{about: protocol.ModelMetadata{Name: `m"\`}, outputs: []tensor.Tensor{tensor.Of([]float32{float32(math.NaN())}, 1)}}
	s := run(t, oipserver.Config{Models: []oipserver.Model{m}})
	const path = `/v2/models/m%22%5C/infer`
	for _, c := range []struct {
		binary bool
		err    error
		status int
		want   string
	}{
		{true, nil, 200, ""},
		{false, nil, 501, "unsupported value: NaN: send binary data"},
		{true, protocol.Errorf(protocol.Unavailable, "no room"), 503, "no room"},
		{true, errors.New("broken"), 500, "broken"},
	} {
		m.err = c.err
		a, text := s.send(t, http.MethodPost, path, "", fmt.Sprintf(nothing, "", c.binary))
		if a.StatusCode != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %d %s", c, a.StatusCode, text)
		}
	}
	_, text := s.send(t, http.MethodGet, "/metrics", "", "")
	for status, want := range map[int]int{200: 1, 501: 1, 503: 1, 500: 1, 400: 0, 401: 0, 404: 0, 408: 0, 413: 0} {
		if line := fmt.Sprintf("mlperf_serve_requests_total{status=\"%d\"} %d\n", status, want); strings.Count(text, line) != 1 {
			t.Errorf("the metrics lack %s:\n%s", line, text)
		}
	}
	for name, want := range map[string]string{"inferences": "3", "executions": "2", "queue_seconds": "0.5", "compute_seconds": "0.25"} {
		if line := "mlperf_serve_" + name + `_total{model="m\"\\"} ` + want + "\n"; !strings.Contains(text, line) {
			t.Errorf("the metrics lack %s:\n%s", line, text)
		}
	}
	c := s.dial(t)
	m.err = protocol.Errorf(protocol.TooLarge, "too much")
	if _, err := c.ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: m.about.Name}); grpcstatus.Convert(err).Message() != "too much" {
		t.Errorf("over gRPC: %v", err)
	}
	if _, text = s.send(t, http.MethodGet, "/metrics", "", ""); !strings.Contains(text, "status=\"413\"} 1\n") {
		t.Errorf("a request over gRPC is not counted:\n%s", text)
	}
}

func TestRoutes(t *testing.T) {
	refuse := func(http.ResponseWriter, *http.Request) error { return protocol.Errorf(protocol.TooLarge, "tea") }
	s := run(t, oipserver.Config{Routes: []oipserver.Route{{Pattern: "GET /teapot", Handle: refuse}}})
	if a, text := s.send(t, http.MethodGet, "/teapot", "", ""); a.StatusCode != 413 || text != `{"error":"tea"}`+"\n" || !a.Close {
		t.Errorf("%d %q", a.StatusCode, text)
	}
}

func TestRawRequests(t *testing.T) {
	port := func(datatype string, shape ...int64) []protocol.Port {
		return []protocol.Port{{Name: "x", Datatype: datatype, Shape: shape}}
	}
	for _, c := range []struct {
		name  string
		ports []protocol.Port
		files bool
		body  string
		want  string // the input, or what is wrong
	}{
		{"a row", port("INT16", -1, 2), false, "abcd", "x INT16[1 2]"},
		{"half a row", port("INT16", -1, 2), false, "ab", "the request has 2 bytes, one sample of INT16[1 2] has 4"},
		{"half a row, or a file", port("INT16", -1, 2), true, "ab", "x BYTES[1]"},
		{"a row, where files are taken", port("INT16", -1, 2), true, "abcd", "x INT16[1 2]"},
		{"a text", port("BYTES", -1), false, "hello", "x BYTES[1]"},
		{"a text of several axes", port("BYTES", -1, 7), false, "hello", "x BYTES[1 1]"},
		{"nothing for a text", port("BYTES", 1), false, "", "x BYTES[1]"},
		{"a free extent", port("INT8", -1, -1), false, "a", "one sample of INT8[1 ?] has 0"},
		{"a free extent, or a file", port("INT8", -1, -1), true, "a", "x BYTES[1]"},
		{"a scalar", port("INT8"), false, "a", "x INT8[]"},
		{"two inputs", append(port("INT8", 1), port("INT8", 1)...), true, "a", "the model has 2 inputs, a raw request is for models of one"},
		{"a type that is none", port("FP8", 1), false, "a", `unknown datatype`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &fixed{about: protocol.ModelMetadata{Name: "m", Inputs: c.ports}, files: c.files, asked: make(chan *protocol.Head, 1), outputs: []tensor.Tensor{tensor.Of([]int8{1}, 1)}}
			a, text := run(t, oipserver.Config{Models: []oipserver.Model{m}}).send(t, http.MethodPost, "/v2/models/m/infer", protocol.HeaderLength+": 0", c.body)
			if a.StatusCode != 200 {
				if !strings.Contains(text, c.want) || a.StatusCode != 400 && c.ports[0].Datatype != "FP8" {
					t.Errorf("%d %s, want %s", a.StatusCode, text, c.want)
				}
				return
			}
			if got := (<-m.asked).Tensors[0].String(); got != c.want || string(m.got[0].Bytes())+strings.Join(m.got[0].Strings(), "") != c.body {
				t.Errorf("the input is %s %v, want %s with %q", got, m.got, c.want, c.body)
			}
			if !strings.HasPrefix(text, "{") {
				t.Errorf("the answer is no JSON: %q", text)
			}
		})
	}
}

// honest sends a right request, which has to be answered.
func (s running) honest(t *testing.T) {
	t.Helper()
	c, err := client.New(t.Context(), client.Options{Endpoints: []string{"http://" + s.http}, Timeout: 10 * time.Second})
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

// status sends bytes and returns the status of the answer; 0: the connection was closed.
func (s running) status(t *testing.T, request string) int {
	t.Helper()
	_, answer := s.line(t, request)
	r, err := http.ReadResponse(answer, nil)
	if err != nil {
		return 0
	}
	return r.StatusCode
}

// post is a request for an inference, of some claimed length.
func post(headers, body string, length int) string {
	return fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\n%sContent-Length: %d\r\n\r\n%s", headers, length, body)
}

func TestWrongRequestsAreRefused(t *testing.T) {
	s := run(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4, Room: 4}}})
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
		if got := s.status(t, c.request); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
	}
	for range 6 { // more than there is room for: nothing was kept by those above
		s.honest(t)
	}
}

func TestTruncatedBody(t *testing.T) {
	c, answer := run(t, oipserver.Config{Models: twoModels()}).line(t, post("", `{"inputs":[]`, 100))
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(answer, nil)
	if err != nil || r.StatusCode != 400 {
		t.Fatalf("%v, %v, want status 400", r, err)
	}
	if text, _ := io.ReadAll(r.Body); !strings.Contains(string(text), "unexpected EOF") {
		t.Errorf("it says %s", text)
	}
}

func TestVanishedClientsKeepNoRoom(t *testing.T) {
	s := run(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4, Room: 2, Time: 20 * time.Millisecond}}})
	input := `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}}]}`
	request := post(fmt.Sprintf("Inference-Header-Content-Length: %d\r\n", len(input)), input+"0123456789abcdef", len(input)+16)
	for i := range 20 {
		c, _ := s.line(t, request[:len(request)-8*(i%2)])
		c.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for s.status(t, request) != 200 {
		if time.Now().After(deadline) {
			t.Fatal("no room for honest clients")
		}
	}
}

func TestDrainAnswersRequestsUnderWay(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	m := &fixed{about: protocol.ModelMetadata{Name: "m"}, outputs: []tensor.Tensor{tensor.Of([]int8{1}, 1)}, run: func(context.Context) { begun <- true; <-end }}
	s := run(t, oipserver.Config{Models: []oipserver.Model{m}, Routes: []oipserver.Route{{Pattern: "GET /more", Handle: func(http.ResponseWriter, *http.Request) error { return nil }}}})
	kept, answers := s.line(t, "GET /v2/health/ready HTTP/1.1\r\nHost: h\r\n\r\n")
	if a, err := http.ReadResponse(answers, nil); err != nil || a.StatusCode != 200 {
		t.Fatal(a, err)
	}
	c := s.dial(t)
	request := fmt.Sprintf(nothing, "", true)
	underWay, answer := s.line(t, fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(request), request))
	<-begun
	over := make(chan error, 1)
	go func() {
		_, err := c.ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: "m"})
		over <- err
	}()
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	kept.Close()
	s.untilClosed()
	close(end)
	if a, err := http.ReadResponse(answer, nil); err != nil || a.StatusCode != 200 {
		t.Errorf("a request under way: %v, %v", a, err)
	}
	underWay.Close()
	if err := <-over; err != nil {
		t.Errorf("a request under way over gRPC: %v", err)
	}
	if err := <-drained; err != nil {
		t.Errorf("Drain = %v", err)
	}
}

func TestDrainRefusesLateRequests(t *testing.T) {
	s := run(t, oipserver.Config{Models: twoModels()[:1]})
	body := `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}`
	c, answers := s.line(t, fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body)))
	if a, err := http.ReadResponse(answers, nil); err != nil || a.StatusCode != http.StatusContinue {
		t.Fatal(a, err)
	}
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	s.untilClosed()
	_, _ = io.WriteString(c, body)
	a, err := http.ReadResponse(answers, nil)
	if err != nil || a.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("%v, %v, want status 503", a, err)
	}
	if text, _ := io.ReadAll(a.Body); !strings.Contains(string(text), "the server is being shut down") {
		t.Errorf("it says %s", text)
	}
	c.Close()
	if err := <-drained; err != nil {
		t.Errorf("Drain = %v: nothing was under way", err)
	}
}

func TestDrainEndsWithItsContext(t *testing.T) {
	late := errors.New("it takes too long")
	for _, over := range []string{"HTTP", "gRPC"} {
		t.Run(over, func(t *testing.T) {
			begun, answered := make(chan bool), make(chan bool)
			m := &fixed{about: protocol.ModelMetadata{Name: "m"}, run: func(ctx context.Context) { begun <- true; <-ctx.Done() }}
			s := run(t, oipserver.Config{Models: []oipserver.Model{m}})
			t.Cleanup(func() { <-answered })
			go func() {
				defer close(answered)
				if over == "HTTP" {
					request := fmt.Sprintf(nothing, "", true)
					_, answer := s.line(t, fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(request), request))
					_, _ = http.ReadResponse(answer, nil)
					return
				}
				_, _ = s.dial(t).ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: "m"})
			}()
			<-begun
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(late)
			if err := s.Drain(ctx); !errors.Is(err, late) || err.Error() != late.Error() {
				t.Errorf("Drain = %v, want %v", err, late)
			}
		})
	}
}
