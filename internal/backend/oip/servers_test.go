package oip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

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

func TestServersAreNamedAsFarAsThereIsRoom(t *testing.T) {
	_, urls := several(t, 5)
	for n, want := range map[int]string{1: urls[0], 3: strings.Join(urls[:3], ", "), 4: strings.Join(urls[:3], ", ") + ", 1 more", 5: strings.Join(urls[:3], ", ") + ", 2 more"} {
		e, s := open(t, urls[:n]...)
		if got := s.Info().Engine; got != "oip (test 1) at "+want {
			t.Errorf("of %d servers the engine is %q, want %q", n, got, want)
		}
		nodes, err := e.Nodes(t.Context())
		if err != nil || len(nodes) != n || nodes[n-1] != "test at "+urls[n-1] || !slices.Equal(e.Local(), urls[:n]) {
			t.Errorf("the nodes are %q, %v, and local %q", nodes, err, e.Local())
		}
	}
}

func TestWhatIsNeededToAskAgainIsAFact(t *testing.T) {
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

func TestWhatSeveralServersCountIsAddedUp(t *testing.T) {
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

func TestARunEndsWithItsContextAndHarmsNoOther(t *testing.T) {
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

func TestManyRunAtOnceAndEachGetsItsOwnAnswer(t *testing.T) {
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

func TestOutputsAreAskedForByTheirNames(t *testing.T) {
	const y, z = `{"name":"y","datatype":"FP32","shape":[1,2],"data":[1,2]}`, `{"name":"z","datatype":"BYTES","shape":[1],"data":["ab"]}`
	for _, c := range []struct {
		wanted []string
		answer string
		want   string
	}{{[]string{"z"}, z, "z"}, {[]string{"z", "y"}, y + "," + z, "z y"}, {nil, y + "," + z, "y z"}} {
		l := honest()
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
