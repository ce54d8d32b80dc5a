package oip

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
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

func TestARunIsARequest(t *testing.T) {
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
	if err != nil || a.Server.Inferences != 4 || a.Requests[0] != 2 || a.RoundTrip.Count != 2 || a.RoundTrip.Mean() <= 0 || len(a.Local) != 1 {
		t.Errorf("the account is %+v, %v", a, err)
	}
}

func TestWhatDoesNotFitIsRefusedBeforeItIsSent(t *testing.T) {
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

func TestAnotherModelAtTheServerIsNoticed(t *testing.T) {
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

func TestWhatCannotBeOpenedSaysWhy(t *testing.T) {
	url := serve(t, &oiptest.Doubler{Name: "m", Width: 2})
	for name, c := range map[string]struct {
		config  Config
		options backend.Options
		want    string
	}{
		"another model":  {Config{Model: "n"}, backend.Options{}, `no model "n"`},
		"no version":     {Config{Model: "m", Version: "9"}, backend.Options{}, `no version "9"`},
		"no output":      {Config{Model: "m"}, backend.Options{Outputs: []string{"z"}}, `no output "z"`},
		"another device": {Config{Model: "m"}, backend.Options{Device: "cuda"}, "up to its server"},
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

func TestFilesOfAModelAreModelsOfTheServer(t *testing.T) {
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
