package oipserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func fresh(_ int, s protocol.Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }

// twoModels are one with a version, that is ready, and one that is not.
func twoModels() []oipserver.Model {
	m, busy := &oiptest.Doubler{Name: "m", Version: "3", Width: 4}, &oiptest.Doubler{Name: "busy", Width: 1}
	busy.NotReady.Store(true)
	return []oipserver.Model{m, busy}
}

func TestQuestionsOverHTTP(t *testing.T) {
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
		{"/v2", 200, `{"name":"test","version":"7","extensions":["binary_tensor_data","statistics"]}`},
		{"/v2/", 200, `{"name":"test","version":"7","extensions":["binary_tensor_data","statistics"]}`},
		{"/v2/models/m", 200, string(about)},
		{"/v2/models/m/versions/3", 200, string(about)},
		{"/v2/models/m/versions/4", 404, `{"error":"model \"m\" has no version \"4\""}`},
		{"/v2/models/n", 404, `{"error":"there is no model \"n\""}`},
		{"/v2/models/n/stats", 404, `{"error":"there is no model \"n\""}`},
		{"/v2/systemsharedmemory/region/r/status", 501, `{"error":"shared memory is not supported"}`},
		{"/v2/health/live", 200, ""},
		{"/v2/health/ready", 400, ""},
		{"/v2/models/m/ready", 200, ""},
		{"/v2/models/m/versions/3/ready", 200, ""},
		{"/v2/models/busy/ready", 400, ""},
		{"/v2/models/n/ready", 404, `{"error":"there is no model \"n\""}`},
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

func TestOutputsAreWrittenInBothForms(t *testing.T) {
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

// A request has one end, and is counted once.
func TestARequestIsCountedAsItEnded(t *testing.T) {
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
		{false, nil, 501, "unsupported value: NaN: want binary data"},
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

func TestFurtherMetricsAndRoutesAreAdded(t *testing.T) {
	refuse := func(http.ResponseWriter, *http.Request) error { return protocol.Errorf(protocol.TooLarge, "tea") }
	s := run(t, oipserver.Config{Metrics: func(b []byte) []byte { return append(b, "more 1\n"...) }, Routes: []oipserver.Route{{Pattern: "GET /teapot", Handle: refuse}}})
	a, text := s.send(t, http.MethodGet, "/metrics", "", "")
	if !strings.HasSuffix(text, "\nmore 1\n") || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain; version=0.0.4") || !strings.Contains(text, "mlperf_serve_connections 1\n") {
		t.Errorf("%v %s", a.Header, text)
	}
	if a, text = s.send(t, http.MethodGet, "/teapot", "", ""); a.StatusCode != 413 || text != `{"error":"tea"}`+"\n" || !a.Close {
		t.Errorf("%d %q", a.StatusCode, text)
	}
}

func TestARawRequestIsTheInputOfOneSample(t *testing.T) {
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
