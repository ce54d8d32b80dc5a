package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// listen listens on loopback, or on a socket in a folder.
func listen(t testing.TB, network string) net.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// serve starts a server and returns its endpoints by scheme.
func serve(t *testing.T, c oipserver.Config) (endpoints map[string]string, s *oipserver.Server) {
	t.Helper()
	s = oipserver.New(c)
	http, grpc, unix := listen(t, "tcp"), listen(t, "tcp"), listen(t, "unix")
	for _, serve := range []func() error{
		func() error { return s.ServeHTTP(http) }, func() error { return s.ServeHTTP(unix) }, func() error { return s.ServeGRPC(grpc) },
	} {
		go func() { _ = serve() }()
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // net/http lets connections whose request it did not read linger for half a second
		_ = s.Drain(ctx)
	})
	suffix := ""
	if c.TLS != nil {
		suffix = "s"
	}
	return map[string]string{
		"http": "http" + suffix + "://" + http.Addr().String(), "grpc": "grpc" + suffix + "://" + grpc.Addr().String(),
		"unix": "unix://" + unix.Addr().String(),
	}, s
}

func open(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// double asks for rows of numbers to be doubled.
func double(ctx context.Context, c *Client, in tensor.Tensor) ([]float32, error) {
	out := tensor.New(tensor.Float32, in.Shape...)
	_, err := c.Infer(ctx, &Request{Model: "m", Specs: []protocol.Spec{{Name: "x", Type: in.Type, Shape: in.Shape}}, Tensors: []tensor.Tensor{in},
		Wanted: []string{"y"},
		Accept: func(h *protocol.Head) (protocol.Place, error) {
			return func(_ int, s protocol.Spec) (tensor.Tensor, error) {
				if s.Name != "y" || s.Type != out.Type || s.Shape.String() != out.Shape.String() {
					return out, fmt.Errorf("is %v, want y %v", s, out)
				}
				return out, nil
			}, nil
		}})
	return tensor.Data[float32](out), err
}

func checkDouble(t *testing.T, c *Client, rows int) {
	t.Helper()
	in := tensor.New(tensor.Float32, int64(rows), 4)
	for i := range tensor.Data[float32](in) {
		tensor.Data[float32](in)[i] = float32(i) + 0.5
	}
	got, err := double(t.Context(), c, in)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != 2*float32(i)+1 {
			t.Fatalf("element %d is %v, want %v", i, v, 2*float32(i)+1)
		}
	}
}

func TestTransports(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Version: "7", Width: 4}
	endpoints, _ := serve(t, oipserver.Config{Name: "test", Version: "1", Models: []oipserver.Model{model}})
	for scheme, url := range endpoints {
		t.Run(scheme, func(t *testing.T) {
			c := open(t, Options{Endpoints: []string{url}})
			servers, err := c.Servers(t.Context())
			if err != nil || servers[0].Name != "test" {
				t.Fatalf("the server is %v, %v", servers, err)
			}
			about, err := c.Model(t.Context(), "m", "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := model.Metadata().Difference(about); diff != "" {
				t.Error(diff)
			}
			before := model.Inferred.Load()
			for rows := 1; rows <= 8; rows++ {
				checkDouble(t, c, rows)
			}
			stats, err := c.Statistics(t.Context(), "m", "")
			if err != nil || stats[0].InferenceCount != uint64(before+36) {
				t.Errorf("statistics are %+v, %v, want %d inferences", stats, err, before+36)
			}
			if traffic := c.Traffic(); traffic.Connections != 1 && scheme != "grpc" || traffic.Sent < 36*16 || traffic.Received < 36*16 {
				t.Errorf("traffic is %+v", traffic)
			}
			if _, err := c.Model(t.Context(), "other", ""); err == nil || !strings.Contains(err.Error(), `no model "other"`) {
				t.Errorf("a model that is not there: %v", err)
			}
			_, err = double(t.Context(), c, tensor.New(tensor.Float32, 9, 4))
			if err == nil || protocol.CodeOf(err) == protocol.Internal {
				t.Errorf("too many rows: %v", err)
			}
			checkDouble(t, c, 1) // which did the server no harm
			model.NotReady.Store(true)
			defer model.NotReady.Store(false)
			if _, err := c.Model(t.Context(), "m", ""); err == nil || !strings.Contains(err.Error(), "not ready") {
				t.Errorf("a model that is not ready: %v", err)
			}
		})
	}
}

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"http://h":                "tcp h:80",
		"https://h:8443/x/":       "tcp h:8443 /x tls",
		"grpc://h:1":              "tcp h:1 grpc",
		"grpcs://[::1]":           "tcp [::1]:8001 grpc tls",
		"unix:///run/s":           "unix /run/s",
		"dns:///h:9":              "tcp h:9 grpc all",
		"dns+https://h":           "tcp h:443 tls all",
		"h:8000":                  "",
		"ftp://h":                 "",
		"http://":                 "",
		"http://user:geheim@h":    "",
		"grpc://u:geheim%zz@h":    "",
		"http://h?x=geheim":       "",
		"http://h#geheim":         "",
		"grpc://h/x":              "",
		"unix://h/x":              "",
		"":                        "",
		"http://h:port":           "",
		"dns+unix:///x":           "",
		"http://h:1\r\nX-Evil: 1": "",
	} {
		e, all, err := parseEndpoint(text)
		got := strings.TrimSpace(e.network + " " + e.address)
		for _, w := range []struct {
			on   bool
			text string
		}{{e.prefix != "", " " + e.prefix}, {e.grpc, " grpc"}, {e.tls, " tls"}, {all, " all"}} {
			if w.on {
				got += w.text
			}
		}
		if want == "" && (err == nil || strings.Contains(err.Error(), "geheim")) || want != "" && (err != nil || got != want) {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestAddressesOfAName(t *testing.T) {
	resolve := func(_ context.Context, host string) ([]string, error) {
		return map[string][]string{"two": {"10.0.0.2", "10.0.0.1", "10.0.0.2"}}[host], nil
	}
	c := open(t, Options{Endpoints: []string{"dns:///two:9000"}, lookup: resolve})
	if got := fmt.Sprint(c.Endpoints()); got != "[dns:///two:9000 (10.0.0.1) dns:///two:9000 (10.0.0.2)]" {
		t.Errorf("endpoints are %s", got)
	}
	for _, urls := range [][]string{{"dns:///none:1"}, {"http://h:1", "http://h:1"}, {}} {
		if _, err := New(t.Context(), Options{Endpoints: urls, lookup: resolve}); err == nil {
			t.Errorf("%v is accepted", urls)
		}
	}
}

func TestToken(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 4}
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{model}, Tokens: []string{"other", "secret"}})
	for scheme, url := range endpoints {
		for token, want := range map[string]bool{"secret": true, "wrong": false, "": false} {
			c := open(t, Options{Endpoints: []string{url}, Token: token})
			_, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4))
			if (err == nil) != want || err != nil && protocol.CodeOf(err) != protocol.Unauthorized {
				t.Errorf("%s with token %q: %v", scheme, token, err)
			}
		}
	}
}

func TestFullServer(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 4, Room: 1, Time: 50 * time.Millisecond}
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{model}})
	for _, scheme := range []string{"http", "grpc"} {
		c := open(t, Options{Endpoints: []string{endpoints[scheme]}})
		first := make(chan error, 1)
		go func() {
			_, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4))
			first <- err
		}()
		for model.Statistics().InferenceCount == 0 {
			if _, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4)); err != nil {
				if protocol.CodeOf(err) != protocol.Unavailable {
					t.Fatalf("%s: %v", scheme, err)
				}
				break
			}
		}
		if err := <-first; err != nil && protocol.CodeOf(err) != protocol.Unavailable {
			t.Fatal(err)
		}
		checkDouble(t, c, 1)
	}
}

func TestDifferentModels(t *testing.T) {
	a, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4}}})
	b, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 5}}})
	c := open(t, Options{Endpoints: []string{a["http"], b["grpc"]}})
	if _, err := c.Model(t.Context(), "m", ""); err == nil || !strings.Contains(err.Error(), "different models") {
		t.Errorf("got %v", err)
	}
}

func TestDeadServerIsLeftOut(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 4}
	good, _ := serve(t, oipserver.Config{Models: []oipserver.Model{model}})
	gone := listen(t, "tcp")
	gone.Close()
	for _, scheme := range []string{"http", "grpc"} {
		dead := scheme + "://" + gone.Addr().String()
		c := open(t, Options{Endpoints: []string{good[scheme], dead}})
		failed := 0
		for range 20 {
			if _, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4)); err != nil {
				var s *serverError
				if !errors.As(err, &s) || s.Endpoint != dead {
					t.Errorf("%v does not name %s", err, dead)
				}
				failed++
			}
		}
		if failed != 1 || len(c.Down()) != 1 || !strings.Contains(c.Down()[0], "1 of its 1 requests") {
			t.Errorf("%s: %d requests failed, down is %q", scheme, failed, c.Down())
		}
		retrying := open(t, Options{Endpoints: []string{good[scheme], dead}, Retry: 1})
		for range 20 {
			checkDouble(t, retrying, 1)
		}
		if retrying.Traffic().Retried != 1 {
			t.Errorf("%s: %d requests were sent again, want 1", scheme, retrying.Traffic().Retried)
		}
		alone := open(t, Options{Endpoints: []string{dead}})
		for range 2 {
			if _, err := double(t.Context(), alone, tensor.New(tensor.Float32, 1, 4)); err == nil {
				t.Error("nobody answered, and that is no error")
			}
		}
	}
}
