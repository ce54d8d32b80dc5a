package client

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// mostAllocated is what a request may allocate on either side, whatever its tensors take.
const mostAllocated = 4000

// allocated is how many bytes a call allocates, in the mean of many.
func allocated(t *testing.T, call func() error) uint64 {
	t.Helper()
	const calls = 400
	var before, after runtime.MemStats
	for i := range 2 * calls {
		if i == calls {
			runtime.ReadMemStats(&before)
		}
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / calls
}

func TestARequestAllocatesLittle(t *testing.T) {
	testenv.SkipLong(t, "the race detector allocates, too")
	l := listen(t, "tcp")
	const json = `{"model_name":"m","outputs":[{"name":"y","datatype":"UINT8","shape":[1,4004],"parameters":{"binary_data_size":4004}}]}`
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s",
		len(json), len(json)+answerBytes, json, make([]byte, answerBytes))
	go oiptest.Frugal(l, answer, http.NotFoundHandler())
	c := open(t, Options{Endpoints: []string{"http://" + l.Addr().String()}})
	for _, size := range []int64{1024, tensorBytes} {
		in, out := tensor.New(tensor.Uint8, 1, size), tensor.New(tensor.Uint8, 1, answerBytes)
		r := &Request{Model: "m", Specs: []protocol.Spec{{Name: "x", Type: in.Type, Shape: in.Shape}}, Tensors: []tensor.Tensor{in},
			Accept: func(*protocol.Head) (protocol.Place, error) {
				return func(int, protocol.Spec) (tensor.Tensor, error) { return out, nil }, nil
			}}
		got := allocated(t, func() error { _, err := c.Infer(t.Context(), r); return err })
		t.Logf("%d bytes: the client allocates %d", size, got)
		if got > mostAllocated {
			t.Errorf("a request of %d bytes allocates %d at the client, want at most %d", size, got, mostAllocated)
		}
	}
}

func TestAnAnswerAllocatesLittle(t *testing.T) {
	testenv.SkipLong(t, "the race detector allocates, too")
	for _, size := range []int64{1024, tensorBytes} {
		url, _ := serveSink(t, size)
		c, err := net.Dial("tcp", url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		json := fmt.Sprintf(`{"id":"1","inputs":[{"name":"x","datatype":"UINT8","shape":[1,%d],"parameters":{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, size, size)
		request := fmt.Appendf(nil, "POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s",
			len(json), int64(len(json))+size, json, make([]byte, size))
		answer := make([]byte, 64<<10)
		first := 0 // bytes of an answer: all are alike
		got := allocated(t, func() error {
			if _, err := c.Write(request); err != nil {
				return err
			}
			n, err := io.ReadAtLeast(c, answer, max(first, answerBytes+100))
			if first == 0 {
				first = n
			}
			return err
		})
		t.Logf("%d bytes: the server allocates %d", size, got)
		if got > mostAllocated {
			t.Errorf("a request of %d bytes allocates %d at the server, want at most %d", size, got, mostAllocated)
		}
	}
}
