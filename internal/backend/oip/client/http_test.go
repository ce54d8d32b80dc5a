package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/backend/hostmem"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// accept has each connection served by a goroutine of its own, until the listener is closed.
func accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go serve(c)
	}
}

// canned answers each request with the same bytes and closes the connection. Without bytes it
// never answers.
func canned(t *testing.T, answer string) (url string) {
	t.Helper()
	l := listen(t, "tcp")
	go accept(l, func(c net.Conn) {
		t.Cleanup(func() { c.Close() })
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err == nil && answer != "" {
			_, _ = io.WriteString(c, answer)
			c.Close()
		}
	})
	return "http://" + l.Addr().String()
}

// inferred is an answer of HTTP with JSON and what follows it; more adds to the length that is claimed.
func inferred(json, tail string, more int) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s", len(json), len(json)+len(tail)+more, json, tail)
}

func TestWrongAnswers(t *testing.T) {
	const rows = "0123456789abcdef"
	output := func(fields string) string { return `{"id":"1","model_name":"m","outputs":[{` + fields + `}]}` }
	good := `"name":"y","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}`
	for _, c := range []struct{ name, answer, want string }{
		{"a right one", inferred(output(good), rows, 0), ""},
		{"of another request", inferred(strings.Replace(output(good), `"1"`, `"2"`, 1), rows, 0), "that of request"},
		{"of another shape", inferred(output(strings.Replace(good, "[1,4]", "[4,1]", 1)), rows, 0), "want y"},
		{"of another type", inferred(output(strings.Replace(good, "FP32", "INT32", 1)), rows, 0), "want y"},
		{"of another name", inferred(output(strings.Replace(good, `"y"`, `"z"`, 1)), rows, 0), "want y"},
		{"with a name twice", inferred(`{"id":"1","outputs":[{`+good+`},{`+good+`}]}`, rows+rows, 0), "two tensors"},
		{"truncated", inferred(output(good), rows[:8], 8), "8 of 16 bytes"},
		{"without its tensors", inferred(output(good), "", 16), "0 of 16 bytes"},
		{"with more than its tensors", inferred(output(good), rows+"x", 0), "something follows"},
		{"of a huge length", "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n", "claims 1000000000000 bytes"},
		{"of a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "Content-Length"},
		{"with a huge head", "HTTP/1.1 200 OK\r\nInference-Header-Content-Length: 999999999\r\nContent-Length: 10\r\n\r\n", "Inference-Header-Content-Length"},
		{"with a huge tensor", inferred(output(`"name":"y","datatype":"FP32","shape":[1,1000000000000],"parameters":{"binary_data_size":4000000000000}`), "", 0), "claims tensors of 4000000000000 bytes"},
		{"with sizes that overflow", inferred(output(`"name":"y","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":9223372036854775807}`)+"", "", 0), "claims tensors"},
		{"that is no HTTP", "SSH-2.0-OpenSSH\r\n", "malformed HTTP"},
		{"that is no JSON", inferred("<html>", "", 0), "invalid character"},
		{"that is empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "JSON"},
		{"that is compressed", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx", "compressed"},
		{"that points elsewhere", "HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n", "not followed"},
		{"that says no", "HTTP/1.1 500 No\r\nContent-Length: 18\r\n\r\n{\"error\":\"broken\"}", "500 No: broken"},
		{"with endless headers", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 1000)+"\r\n", 100), "exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := canned(t, c.answer)
			client := open(t, Options{Endpoints: []string{url}, Timeout: 10 * time.Second})
			_, err := double(t.Context(), client, tensor.New(tensor.Float32, 1, 4))
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), url) {
				t.Errorf("got %v, want %q and %s", err, c.want, url)
			}
		})
	}
}

// A proxy stands between a client and a server, until something is done to it.
type proxy struct {
	address string
	target  string
	upLimit int64 // bytes that are passed to the server, then none; 0: all

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, target string, upLimit int64) *proxy {
	t.Helper()
	l := listen(t, "tcp")
	p := &proxy{address: l.Addr().String(), target: target, upLimit: upLimit}
	t.Cleanup(func() { p.cut(false) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.pass(c)
		}
	}()
	return p
}

func (p *proxy) pass(c net.Conn) {
	s, err := net.Dial("tcp", p.target)
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, c, s)
	p.mu.Unlock()
	go func() { _, _ = io.Copy(c, s); c.Close() }()
	if p.upLimit > 0 {
		_, _ = io.CopyN(s, c, p.upLimit)
		return // and nothing is read from now on
	}
	_, _ = io.Copy(s, c)
	s.Close()
}

// cut ends all connections, with a reset if that is asked for.
func (p *proxy) cut(reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		c.Close()
	}
	p.conns = nil
}

// behind is an endpoint behind a proxy.
func behind(t *testing.T, endpoint string, upLimit int64) (*proxy, string) {
	t.Helper()
	scheme, address, _ := strings.Cut(endpoint, "://")
	p := newProxy(t, address, upLimit)
	return p, scheme + "://" + p.address
}

func TestServerDiesInARequest(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 4, Time: time.Minute}
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{model}})
	for _, scheme := range []string{"http", "grpc"} {
		for _, reset := range []bool{false, true} {
			p, url := behind(t, endpoints[scheme], 0)
			c := open(t, Options{Endpoints: []string{url}})
			failed := make(chan error, 1)
			go func() {
				_, err := double(context.Background(), c, tensor.New(tensor.Float32, 1, 4))
				failed <- err
			}()
			for model.Busy() == 0 {
				time.Sleep(time.Millisecond)
			}
			p.cut(reset)
			select {
			case err := <-failed:
				if err == nil || !strings.Contains(err.Error(), url) || len(c.Down()) != 1 {
					t.Errorf("%s, reset %v: %v, down %q", scheme, reset, err, c.Down())
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s, reset %v: the request hangs", scheme, reset)
			}
			for model.Busy() != 0 { // the server has noticed, too
				time.Sleep(time.Millisecond)
			}
		}
	}
}

func TestSilentServer(t *testing.T) {
	silent := listen(t, "tcp") // the system accepts, nobody reads
	for _, scheme := range []string{"http", "grpc", "https", "grpcs"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			c := open(t, Options{Endpoints: []string{scheme + "://" + silent.Addr().String()}, Timeout: 150 * time.Millisecond})
			begin := time.Now()
			_, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4))
			if err == nil || !strings.Contains(err.Error(), "no answer within 150ms") || time.Since(begin) > 10*time.Second {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
		})
	}
}

func TestCallerGivesUp(t *testing.T) {
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4, Time: time.Minute}}})
	for _, scheme := range []string{"http", "grpc"} {
		c := open(t, Options{Endpoints: []string{endpoints[scheme]}})
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("the test is over")
		time.AfterFunc(50*time.Millisecond, func() { cancel(over) })
		if _, err := double(ctx, c, tensor.New(tensor.Float32, 1, 4)); !errors.Is(err, over) || len(c.Down()) != 0 {
			t.Errorf("%s: %v, down %q", scheme, err, c.Down())
		}
	}
}

// Memory that a request reads from is given back to the system as soon as the request has
// failed: whoever still read it would end the program.
func TestFailedRequestIsReadNoMore(t *testing.T) {
	const width = 4 << 20 // floats: more than all buffers of the system
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: width}}})
	for _, scheme := range []string{"http", "grpc"} {
		_, url := behind(t, endpoints[scheme], 1<<20)
		c := open(t, Options{Endpoints: []string{url}, Timeout: 100 * time.Millisecond})
		in, free, err := hostmem.New(tensor.Float32, 1, width)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = double(t.Context(), c, in)
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("%s: the request took %v, want little more than its timeout", scheme, took)
		}
		if err := free(); err != nil {
			t.Fatal(err)
		}
		if err == nil || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("%s: %v", scheme, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusals(t *testing.T) {
	url := canned(t, "HTTP/1.1 503 Full\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	c := open(t, Options{Endpoints: []string{url}, Retry: 3})
	for range 20 {
		if _, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4)); protocol.CodeOf(err) != protocol.Unavailable {
			t.Fatal(err)
		}
	}
	if len(c.Down()) != 0 || c.Traffic().Retried != 60 {
		t.Errorf("down %q, %d retries, want none and 60", c.Down(), c.Traffic().Retried)
	}
}

func TestServerOfJSONOnly(t *testing.T) {
	t.Run("that refuses", func(t *testing.T) { checkServerOfJSON(t, http.StatusUnprocessableEntity) })
	t.Run("that fails, as MLServer", func(t *testing.T) { checkServerOfJSON(t, http.StatusInternalServerError) })
}

// checkServerOfJSON asks a server that answers binary tensors with a status, and others rightly.
func checkServerOfJSON(t *testing.T, status int) {
	l := listen(t, "tcp")
	binary := 0
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2" {
			fmt.Fprint(w, `{"name":"mlserver","version":"1.7.1","extensions":[]}`)
			return
		}
		text, _ := io.ReadAll(r.Body)
		if r.Header.Get(protocol.HeaderLength) != "" {
			binary++
			http.Error(w, `{"detail":"no JSON"}`, status)
			return
		}
		d, err := protocol.FromRequestJSON(text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"id":%q,"model_name":"m","outputs":[{"name":"y","datatype":"FP32","shape":[1,4],"data":[1,3,5,7]}]}`, d.ID)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	c := open(t, Options{Endpoints: []string{"http://" + l.Addr().String()}})
	if _, err := c.Servers(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		checkDouble(t, c, 1)
	}
	if binary != 1 {
		t.Errorf("%d requests were binary, want only the first", binary)
	}
}

// earlyServer reads the head of a request only, answers, and leaves the connection open.
func earlyServer(t *testing.T, config *tls.Config, answer string) (url string) {
	t.Helper()
	l, scheme := listen(t, "tcp"), "http"
	if config != nil {
		l, scheme = tls.NewListener(l, config), "https"
	}
	go accept(l, func(c net.Conn) {
		t.Cleanup(func() { c.Close() })
		if _, err := http.ReadRequest(bufio.NewReaderSize(c, 16)); err == nil {
			_, _ = io.WriteString(c, answer)
		}
	})
	return scheme + "://" + l.Addr().String()
}

func TestAnswerBeforeTheWholeRequest(t *testing.T) {
	const width = 8 << 20 // floats: more than all buffers of the system
	ca := newAuthority(t)
	config, err := ca.issue(t, time.Hour).Client()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer, want string
		config       *tls.Config
	}{
		"a refusal":              {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\n\r\nnot me", "not me", nil},
		"a refusal over TLS":     {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\n\r\nnot me", "not me", config},
		"what should be tensors": {inferred(`{"outputs":[{"name":"y","datatype":"FP32","shape":[1,8388608],"parameters":{"binary_data_size":33554432}}]}`, strings.Repeat("x", 4*width), 0), "before it had the whole request", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Endpoints: []string{earlyServer(t, c.config, c.answer)}, Timeout: time.Minute, TLS: credentials.TLS{CA: ca.file}}
			begin := time.Now()
			_, err := double(t.Context(), open(t, o), tensor.New(tensor.Float32, 1, width))
			if err == nil || !strings.Contains(err.Error(), c.want) || time.Since(begin) > 30*time.Second {
				t.Errorf("%v after %v, want %q", err, time.Since(begin), c.want)
			}
		})
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4}}})
	for _, scheme := range []string{"http", "unix"} {
		c := open(t, Options{Endpoints: []string{endpoints[scheme]}})
		for range 5 {
			checkDouble(t, c, 1)
			if _, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 3)); protocol.CodeOf(err) != protocol.InvalidArgument {
				t.Fatal(err)
			}
		}
		if n := c.Traffic().Connections; n > 2 { // a server may close one whose request it refused
			t.Errorf("%s: %d connections for requests one after the other", scheme, n)
		}
	}
}

func TestErrorsDoNotShowTheToken(t *testing.T) {
	const token = "geheim-0123456789/+="
	reply := func(status, headers, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
	}
	for name, answer := range map[string]string{
		"JSON":                reply("401 Unauthorized", "", `{"error":"incorrect key `+token+`"}`),
		"text":                reply("401 Unauthorized", "", "who is "+token+"?"),
		"text that is cut":    reply("401 Unauthorized", "", strings.Repeat("x", 190)+token),
		"the status":          reply("401 "+token, "", ""),
		"an address":          reply("302 Found", "Location: https://example.org/?key=geheim-0123456789%2F%2B%3D\r\n", ""),
		"a header":            reply("200 OK", "Content-Encoding: "+token+"\r\n", "x"),
		"a length":            reply("200 OK", "Inference-Header-Content-Length: "+token+"\r\n", "x"),
		"not HTTP":            token + "\r\n\r\n",
		"a tensor":            inferred(`{"outputs":[{"name":"`+token+`","datatype":"FP8"}]}`, "", 0),
		"the id of a request": inferred(`{"id":"`+token+`","outputs":[]}`, "", 0),
	} {
		c := open(t, Options{Endpoints: []string{canned(t, answer)}, Token: token})
		_, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4))
		_, asked := c.Model(t.Context(), "m", "")
		if text := fmt.Sprintf("%v %+v %v %q", err, err, asked, c.Down()); err == nil || strings.Contains(text, "geheim") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A tensor of 600 kB is copied on neither side.
func TestRequestAllocatesLittle(t *testing.T) {
	web, _ := serveSink(t, tensorBytes)
	c := open(t, Options{Endpoints: []string{"http://" + web}})
	in, out := tensor.New(tensor.Uint8, 1, tensorBytes), tensor.New(tensor.Uint8, 1, answerBytes)
	r := &Request{Model: "m", Specs: []protocol.Spec{{Name: "x", Type: in.Type, Shape: in.Shape}}, Tensors: []tensor.Tensor{in},
		Accept: func(*protocol.Head) (protocol.Place, error) {
			return func(int, protocol.Spec) (tensor.Tensor, error) { return out, nil }, nil
		}}
	const calls = 200
	var before, after runtime.MemStats
	for i := range 2 * calls {
		if i == calls {
			runtime.ReadMemStats(&before)
		}
		if _, err := c.Infer(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / calls; n > 40_000 { // net/http's own buffer for copies has 32 kB
		t.Errorf("a request of %d bytes allocates %d at both sides, want at most 40000", tensorBytes, n)
	}
}

func TestClosedBodyIsNotRead(t *testing.T) {
	b := &body{pieces: net.Buffers{[]byte("first"), []byte("second")}}
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		_, err := b.WriteTo(w)
		written <- err
	}()
	if _, err := io.ReadFull(r, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case <-closed:
		t.Error("a body is closed while it is written")
	case <-time.After(20 * time.Millisecond):
	}
	r.CloseWithError(io.ErrClosedPipe) // the connection has ended
	if err := <-written; err == nil {
		t.Error("half a body is written")
	}
	<-closed
	if n, err := b.Read(make([]byte, 9)); n != 0 || err == nil {
		t.Errorf("%d bytes of a closed body are read, %v", n, err)
	}
	if n, err := b.WriteTo(io.Discard); n != 0 || err == nil {
		t.Errorf("%d bytes of a closed body are written, %v", n, err)
	}
}
