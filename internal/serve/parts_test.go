package serve

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// relay is a benchmark whose sample goes through both files of a model, one after the other.
type relay struct{ pair }

func (relay) Outputs(string) []string { return nil }

func (relay) NewPredictor(s workload.Sessions, _ int) (workload.Predictor, error) {
	return &relayPredictor{sessions: s}, nil
}

type relayPredictor struct {
	sessions workload.Sessions
	store    *workload.Store
}

func (p *relayPredictor) Use(s *workload.Store) error { p.store = s; return nil }
func (*relayPredictor) Close() error                  { return nil }

func (p *relayPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	value := p.store.Slot(0, items[0].Row, 1)
	for _, role := range []string{"first", "second"} {
		in, err := p.sessions[role].Bind(value)
		if err != nil {
			return err
		}
		out := []backend.Value{nil}
		if err := p.sessions[role].Run(ctx, []backend.Value{in}, out); err != nil {
			return err
		}
		value = out[0].Tensor()
	}
	var response []byte
	for _, v := range tensor.Data[float32](value) {
		response = append(response, byte(v))
	}
	reply.Done(items[0].Ticket, response, 0)
	return nil
}

type relaySource struct{ *source }

func (s relaySource) OpenWorkload(ctx context.Context) (workload.Workload, map[string]workload.Ports, error) {
	return relay{}, nil, nil
}

func TestTheFilesOfAModelAreThereOneByOneAndItsTaskUsesAll(t *testing.T) {
	s := newSource(t, -1, 0)
	s.roles = []string{"first", "second"}
	endpoint, _ := start(t, relaySource{s}, 8, Web{})
	c := dial(t, endpoint)
	if want := []string{"first.onnx", "second.onnx"}; !slices.Equal(s.opened, want) {
		t.Errorf("opened are %v, want %v", s.opened, want)
	}
	for _, name := range []string{"m-first", "m-second"} {
		if out, err := ask(c, name, "x", tensor.Of([]float32{3, 4}, 1, 2)); err != nil || !slices.Equal(tensor.Data[float32](out), []float32{6, 8}) {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
	if _, err := c.Model(t.Context(), "m", ""); oip.CodeOf(err) != oip.NotFound {
		t.Errorf("a file without a role: %v", err)
	}
	var all sync.WaitGroup
	for k := range byte(20) {
		all.Go(func() {
			out, err := ask(c, "m-task", "sample_0", tensor.Of([]float32{float32(k), 1}, 1, 2))
			if err != nil || !slices.Equal(out.Bytes(), []byte{4 * k, 4}) {
				t.Errorf("sample %d: %v, %v, want both files to double it", k, out, err)
			}
		})
	}
	all.Wait()
}

// sealed is a benchmark of a model that runs as a whole, whose samples cannot come from elsewhere.
type sealed struct{ echoSource }

func (s sealed) OpenWorkload(ctx context.Context) (workload.Workload, map[string]workload.Ports, error) {
	_, ports, err := s.echoSource.OpenWorkload(ctx)
	return pair{}, ports, err
}

func TestADecoderIsDescribedAndItsTaskRunsIt(t *testing.T) {
	c := dial(t, startTalk(t, nil, 4))
	about, err := c.Model(t.Context(), "m", "")
	if err != nil || len(about.Inputs) != 1 || about.Inputs[0].Name != "past" {
		t.Errorf("the decoder is %+v, %v", about, err)
	}
	if _, err := ask(c, "m", "past", tensor.New(tensor.Float32, 1, 8)); err == nil || !strings.Contains(err.Error(), "m-task") {
		t.Errorf("its file is run: %v", err)
	}
	if out, err := ask(c, "m-task", "ids", tensor.Of([]int32{7, 8}, 1, 2)); err != nil || !slices.Equal(out.Bytes(), []byte{7, 8, 0}) {
		t.Errorf("its task: %v, %v", out, err)
	}
}

func TestAModelOfWhichNothingCanBeOfferedIsRefused(t *testing.T) {
	engine, err := simulated.New(simulated.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), sealed{echoSource{&source{engine: engine}, nil, nil}}, Options{Name: "m"}); err == nil || !strings.Contains(err.Error(), "run together only") {
		t.Errorf("got %v", err)
	}
}
