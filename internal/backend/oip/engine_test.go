package oip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// serve starts a server of a model and returns its endpoint.
func serve(t *testing.T, models ...oipserver.Model) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := oipserver.New(oipserver.Config{Name: "test", Version: "1", Models: models})
	go func() { _ = s.ServeHTTP(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Drain(ctx)
	})
	return "http://" + l.Addr().String()
}

func open(t *testing.T, urls ...string) (*Engine, backend.Session) {
	t.Helper()
	e, err := New(t.Context(), Config{Client: client.Options{Endpoints: urls}, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, s
}

func bind(t *testing.T, s backend.Session, of tensor.Tensor) backend.Value {
	t.Helper()
	v, err := s.Bind(of)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRun(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Version: "3", Width: 2}
	url := serve(t, model)
	e, s := open(t, url)
	if info := s.Info(); info.Engine != "oip (test 1) at "+url || info.Inputs[0].Shape.String() != "[? 2]" || info.Facts["endpoints"] != url {
		t.Errorf("the session is %+v", info)
	}
	in, out := tensor.Of([]float32{1, 2, 3, 4}, 2, 2), tensor.New(tensor.Float32, 2, 2)
	if err := s.Run(t.Context(), []backend.Value{bind(t, s, in)}, []backend.Value{bind(t, s, out)}); err != nil {
		t.Fatal(err)
	}
	fresh := []backend.Value{nil}
	if err := s.Run(t.Context(), []backend.Value{bind(t, s, in)}, fresh); err != nil {
		t.Fatal(err)
	}
	for _, got := range []tensor.Tensor{out, fresh[0].Tensor()} {
		if want := []float32{2, 4, 6, 8}; !slices.Equal(tensor.Data[float32](got), want) {
			t.Errorf("the answer is %v, want %v", tensor.Data[float32](got), want)
		}
	}
	a, err := e.Account(t.Context())
	if err != nil || a.Server.Inferences != 4 || a.Requests[0] != 2 || a.RoundTrip.Count != 2 || a.RoundTrip.Mean() <= 0 {
		t.Errorf("the account is %+v, %v", a, err)
	}
}

func TestWrongTensorsAreNotSent(t *testing.T) {
	_, s := open(t, serve(t, &oiptest.Doubler{Name: "m", Width: 2}))
	out := bind(t, s, tensor.New(tensor.Float32, 1, 2))
	for name, in := range map[string]tensor.Tensor{"another type": tensor.New(tensor.Int32, 1, 2), "another shape": tensor.New(tensor.Float32, 1, 3)} {
		if err := s.Run(t.Context(), []backend.Value{bind(t, s, in)}, []backend.Value{out}); err == nil || !strings.Contains(err.Error(), "the model has float32[? 2]") {
			t.Errorf("%s: %v", name, err)
		}
	}
	in := bind(t, s, tensor.New(tensor.Float32, 2, 2))
	if err := s.Run(t.Context(), []backend.Value{in}, []backend.Value{out}); err == nil || !strings.Contains(err.Error(), "shape") {
		t.Errorf("an output of fewer rows: %v", err)
	}
}

func TestRestartedServerIsNoticed(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Version: "3", Width: 2}
	e, s := open(t, serve(t, model))
	run := func() error {
		return s.Run(t.Context(), []backend.Value{bind(t, s, tensor.New(tensor.Float32, 1, 2))}, []backend.Value{bind(t, s, tensor.New(tensor.Float32, 1, 2))})
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if err := e.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	model.Replace("4")
	if err := e.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "versions [3] and [4]") {
		t.Errorf("the description: %v", err)
	}
	if err := run(); err == nil || !strings.Contains(err.Error(), `version "4" of the model, those before of "3"`) {
		t.Errorf("an answer: %v", err)
	}
}

func TestOpenFails(t *testing.T) {
	url := serve(t, &oiptest.Doubler{Name: "m", Width: 2})
	for name, c := range map[string]struct {
		config  Config
		options backend.Options
		want    string
	}{
		"another model":  {Config{Model: "n"}, backend.Options{}, `no model "n"`},
		"no version":     {Config{Model: "m", Version: "9"}, backend.Options{}, `no version "9"`},
		"no output":      {Config{Model: "m"}, backend.Options{Outputs: []string{"z"}}, `no output "z"`},
		"another device": {Config{Model: "m"}, backend.Options{Device: "cuda"}, "the server chooses the device"},
	} {
		c.config.Client.Endpoints = []string{url}
		e, err := New(t.Context(), c.config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Open(t.Context(), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := New(t.Context(), Config{Model: "m", Client: client.Options{Endpoints: []string{"http://127.0.0.1:1"}}}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestModelOfSeveralFiles(t *testing.T) {
	first, second := &oiptest.Doubler{Name: "m-first", Version: "1", Width: 2}, &oiptest.Doubler{Name: "m-second", Version: "2", Width: 3}
	e, err := New(t.Context(), Config{Client: client.Options{Endpoints: []string{serve(t, first, second)}}, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, width := range map[string]int64{"m-first": 2, "m-second": 3} {
		s, err := e.Open(t.Context(), backend.Options{ModelPath: name})
		if err != nil {
			t.Fatal(err)
		}
		out := bind(t, s, tensor.New(tensor.Float32, 1, width))
		for range 2 { // each has a version of its own
			if err := s.Run(t.Context(), []backend.Value{bind(t, s, tensor.New(tensor.Float32, 1, width))}, []backend.Value{out}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a, err := e.Account(t.Context()); err != nil || a.Server.Inferences != 4 {
		t.Errorf("the servers counted %+v, %v, want those of both models", a.Server, err)
	}
	second.Replace("3")
	if err := e.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "m-second") {
		t.Errorf("another second model: %v", err)
	}
	if _, _, err := e.Ports(t.Context(), backend.Options{ModelPath: "m-third"}); err == nil || !strings.Contains(err.Error(), "m-third") {
		t.Errorf("a file that the server does not have: %v", err)
	}
}

func TestMisuse(t *testing.T) {
	url := serve(t, &oiptest.Doubler{Name: "m", Width: 2})
	_, s := open(t, url)
	if err := s.Run(t.Context(), nil, nil); !testenv.Names(err, "0 inputs … 0 outputs … 1 … 1") {
		t.Errorf("a run of nothing: %v", err)
	}
	in := bind(t, s, tensor.New(tensor.Float32, 1, 2))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), []backend.Value{in}, []backend.Value{nil}); err == nil || !strings.Contains(err.Error(), "the session is closed") {
		t.Errorf("a run after Close: %v", err)
	}
}

// several starts so many servers of a model of two numbers.
func several(t *testing.T, n int) (models []*oiptest.Doubler, urls []string) {
	t.Helper()
	for range n {
		m := &oiptest.Doubler{Name: "m", Version: "3", Width: 2}
		models, urls = append(models, m), append(urls, serve(t, m))
	}
	return models, urls
}

// rows runs so many rows, and returns what became of the first number.
func rows(t *testing.T, s backend.Session, ctx context.Context, n int64) (float32, error) {
	t.Helper()
	in, out := tensor.New(tensor.Float32, n, 2), tensor.New(tensor.Float32, n, 2)
	tensor.Data[float32](in)[0] = float32(n)
	err := s.Run(ctx, []backend.Value{bind(t, s, in)}, []backend.Value{bind(t, s, out)})
	return tensor.Data[float32](out)[0], err
}

func TestServersAreNamed(t *testing.T) {
	_, urls := several(t, 5)
	for n, want := range map[int]string{1: urls[0], 3: strings.Join(urls[:3], ", "), 4: strings.Join(urls[:3], ", ") + ", 1 more", 5: strings.Join(urls[:3], ", ") + ", 2 more"} {
		e, s := open(t, urls[:n]...)
		if got := s.Info().Engine; got != "oip (test 1) at "+want {
			t.Errorf("of %d servers the engine is %q, want %q", n, got, want)
		}
		nodes, err := e.Nodes(t.Context())
		if err != nil || len(nodes) != n || nodes[n-1] != "test at "+urls[n-1] || !slices.Equal(e.Local(t.Context()), urls[:n]) {
			t.Errorf("the nodes are %q, %v, and local %q", nodes, err, e.Local(t.Context()))
		}
	}
}

// What a server says of itself is one printable line in what the engine says.
func TestServerNamesForgeNoLines(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := oipserver.New(oipserver.Config{Name: "x\nmobilenet Server: VALID\x1b[2J", Version: "\r1\u202e"})
	go func() { _ = server.ServeHTTP(l) }()
	defer func() { _ = server.Drain(t.Context()) }()
	e, err := New(t.Context(), Config{Client: client.Options{Endpoints: []string{"http://" + l.Addr().String()}}, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	nodes, err := e.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{e.title(), e.facts()["server 1"], nodes[0]} {
		if strings.ContainsAny(text, "\n\r\x1b\u202e") || !strings.Contains(text, `x\x0amobilenet Server: VALID\x1b[2J`) {
			t.Errorf("%q is not a printable line of the name", text)
		}
	}
}

func TestFacts(t *testing.T) {
	_, urls := several(t, 2)
	e, err := New(t.Context(), Config{Model: "m", Version: "3", Client: client.Options{Endpoints: urls, Concurrency: 7, Retry: 2, Timeout: 3 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.Open(t.Context(), backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"endpoints": urls[0] + " " + urls[1], "remote model": "m", "remote version": "3", "concurrency": "7", "retry": "2", "request timeout": "3s", "server 1": "test 1", "server 2": "test 1"}
	if got := s.Info().Facts; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the facts are %v, want %v", got, want)
	}
	if d := s.Info().Devices; len(d) != 1 || d[0] != (backend.DeviceUse{Device: "remote", Nodes: -1}) || s.Info().LoadTime <= 0 {
		t.Errorf("the devices are %v, loading took %v", d, s.Info().LoadTime)
	}
	if e.Name() != "oip" {
		t.Errorf("the engine is called %q", e.Name())
	}
}

func TestAccountOfSeveralServers(t *testing.T) {
	models, urls := several(t, 3)
	models[1].CacheHits.Store(5)
	e, s := open(t, urls...)
	before, err := e.Account(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const runs = 30
	for range runs {
		if _, err := rows(t, s, t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
	after, err := e.Account(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	added, restarted := after.Since(before)
	if restarted || added.Server.Inferences != 2*runs || added.RoundTrip.Count != runs || added.Server.CacheHits != 0 || after.Server.CacheHits != 5 || added.Sent < runs*16 || added.Received < runs*16 {
		t.Errorf("added were %+v of the servers %+v, started anew: %v", added, *added.Server, restarted)
	}
	sum := int64(0)
	for _, n := range added.Requests {
		if sum += n; n == 0 {
			t.Errorf("a server had nothing to do: %v", added.Requests)
		}
	}
	if sum != runs || len(added.Down) != 0 || added.Retried != 0 {
		t.Errorf("%v requests of %d, down are %q, %d retried", added.Requests, runs, added.Down, added.Retried)
	}
	models[0].Inferred.Store(0) // it was started anew
	again, err := e.Account(t.Context())
	if _, restarted = again.Since(after); err != nil || !restarted {
		t.Errorf("a server that counts less was not started anew: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2, Time: time.Minute}
	e, s := open(t, serve(t, model))
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := rows(t, s, ctx, 1)
		failed <- err
	}()
	for model.Busy() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel(enough)
	if err := <-failed; !errors.Is(err, enough) || err.Error() != "running the model: enough" {
		t.Errorf("%v, want %v", err, enough)
	}
	for model.Busy() != 0 { // the server has noticed
		time.Sleep(time.Millisecond)
	}
	if a, _ := e.Account(t.Context()); len(a.Down) != 0 || a.RoundTrip.Count != 0 {
		t.Errorf("the server is to blame: %+v", a)
	}
}

func TestRunsAtOnce(t *testing.T) {
	_, urls := several(t, 2)
	e, s := open(t, urls...)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 10 {
				n := int64(i%7 + 1)
				if got, err := rows(t, s, t.Context(), n); err != nil || got != 2*float32(n) {
					t.Errorf("the double of %d is %v, %v", n, got, err)
				}
			}
		})
	}
	all.Wait()
	if a, err := e.Account(t.Context()); err != nil || a.RoundTrip.Count != 80 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestOutputsByName(t *testing.T) {
	const y, z = `{"name":"y","datatype":"FP32","shape":[1,2],"data":[1,2]}`, `{"name":"z","datatype":"BYTES","shape":[1],"data":["ab"]}`
	for _, c := range []struct {
		wanted []string
		answer string
		want   string
	}{{[]string{"z"}, z, "z"}, {[]string{"z", "y"}, y + "," + z, "z y"}, {nil, y + "," + z, "y z"}} {
		l := goodServer()
		l.answer = `{"outputs":[` + c.answer + `]}`
		e, _ := open(t, l.serve(t))
		s, err := e.Open(t.Context(), backend.Options{Outputs: c.wanted})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range s.Info().Outputs {
			names = append(names, p.Name)
		}
		outputs := make([]backend.Value, len(names))
		in := bind(t, s, tensor.Of([]float32{1, 2}, 1, 2))
		if err := s.Run(t.Context(), []backend.Value{in}, outputs); err != nil || strings.Join(names, " ") != c.want {
			t.Errorf("%q: %v, of the outputs %q", c.wanted, err, names)
			continue
		}
		if i := slices.Index(names, "z"); outputs[i].Tensor().Strings()[0] != "ab" {
			t.Errorf("%q: z is %v", c.wanted, outputs[i].Tensor())
		}
	}
}
