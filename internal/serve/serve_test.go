package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A source is a model that doubles rows of two numbers.
type source struct {
	engine *simulated.Engine
	batch  int
	broken atomic.Pointer[error] // of every run
	roles  []string              // of its files; nil: it is one
	opened []string              // paths
	runs   atomic.Int64
	turns  chan bool // if not nil, a run sends one when it begins, and another when it ends
}

func double(in, out []tensor.Tensor) error {
	for i, v := range tensor.Data[float32](in[0]) {
		tensor.Data[float32](out[0])[i] = 2 * v
	}
	return nil
}

func newSource(t *testing.T, first int64, latency time.Duration) *source {
	t.Helper()
	s := &source{batch: 4}
	port := func(name string) []backend.Port {
		return []backend.Port{{Name: name, Type: tensor.Float32, Shape: tensor.Shape{first, 2}, Axes: []string{"N", ""}}}
	}
	engine, err := simulated.New(simulated.Config{Inputs: port("x"), Outputs: port("y"), Latency: latency,
		Answer: func(in, out []tensor.Tensor) error {
			if err := s.broken.Load(); err != nil {
				return *err
			}
			s.runs.Add(1)
			if s.turns != nil {
				s.turns <- true
				defer func() { s.turns <- true }()
			}
			return double(in, out)
		}})
	if err != nil {
		t.Fatal(err)
	}
	s.engine = engine
	return s
}

func (s *source) Parts() ([]workload.File, error) {
	if s.roles == nil {
		return []workload.File{{Role: workload.Only}}, nil
	}
	var files []workload.File
	for _, role := range s.roles {
		files = append(files, workload.File{Role: role, Path: role + ".onnx"})
	}
	return files, nil
}

func (s *source) OpenService(ctx context.Context, path string, w workload.Model, done harness.Answered) (*harness.Service, error) {
	settings := loadgen.DefaultSettings()
	settings.Scenario = loadgen.Offline
	s.opened = append(s.opened, path)
	return harness.OpenService(ctx, harness.Config{Model: w, Settings: settings, Engine: s.engine, Instances: 2, MaxBatch: s.batch, Observer: harness.Silent{}}, done)
}

func (s *source) OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	ports, err := s.ports(ctx)
	return pairs(), ports, err
}

func (s *source) ports(ctx context.Context) (map[string]workload.Ports, error) {
	return workload.PortsOf(ctx, s.engine, []workload.File{{Role: workload.Only}}, backend.Options{})
}

func (*source) OpenSequences(context.Context, []int, harness.Answered) (*harness.Service, *workload.Workload, error) {
	return nil, nil, errors.New("no sequences")
}

func (*source) Version() string { return "v1" }

// pairRow is the row of two numbers.
func pairRow(int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{2}}}
}

// pairs is a benchmark whose samples are two numbers, and whose responses are their doubles as bytes.
func pairs() *workload.Workload {
	return &workload.Workload{
		Samples: 10, Row: pairRow, Outputs: func(string) []string { return []string{"y"} },
		NewPredictor: func(s workload.Sessions, _ int) (workload.Predictor, error) {
			return &pairPredictor{session: s[workload.Only]}, nil
		},
		Exchange: &workload.Exchange{Decode: func(file []byte, row []tensor.Tensor) error {
			if len(file) != 2 {
				return fmt.Errorf("%d bytes, want 2", len(file))
			}
			for i := range file {
				tensor.Data[float32](row[0])[i] = float32(file[i])
			}
			return nil
		}},
	}
}

type pairPredictor struct {
	session backend.Session
	store   *workload.Store
}

func (p *pairPredictor) Use(s *workload.Store) error { p.store = s; return nil }
func (*pairPredictor) Close() error                  { return nil }

func (p *pairPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	in, err := p.session.Bind(p.store.Slot(0, items[0].Row, 1))
	if err != nil {
		return err
	}
	out := []backend.Value{nil}
	if err := p.session.Run(ctx, []backend.Value{in}, out); err != nil {
		return err
	}
	var response []byte
	for _, v := range tensor.Data[float32](out[0].Tensor()) {
		response = append(response, byte(v))
	}
	reply.Done(items[0].Ticket, response, 0)
	return nil
}

// start offers a model and returns its HTTP endpoint, and what ends the server.
func start(t *testing.T, s Source, room int, w Web) (endpoint string, stop func() error) {
	t.Helper()
	offer, err := Open(t.Context(), s, Options{Name: "m", Room: room})
	if err != nil {
		t.Fatal(err)
	}
	return startOffer(t, offer, w)
}

func startOffer(t *testing.T, offer *Offer, w Web) (endpoint string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	addresses, ended := make(chan net.Addr, 1), make(chan error, 1)
	w.Listen, w.Name = "127.0.0.1:0", "mlperf"
	go func() { ended <- w.Run(ctx, offer.Models(), func(http, _ net.Addr) { addresses <- http }) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, offer.Close())
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-addresses:
		return "http://" + a.String(), stop
	case err := <-ended:
		ended <- err
		t.Fatal(err)
		return "", nil
	}
}

func dial(t *testing.T, endpoint string) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), client.Options{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask sends one tensor to a model.
func ask(c *client.Client, model, input string, in tensor.Tensor) (tensor.Tensor, error) {
	a, err := c.Infer(context.Background(), &client.Request{Model: model, Specs: []protocol.Spec{{Name: input, Type: in.Type, Shape: in.Shape}}, Tensors: []tensor.Tensor{in},
		Accept: func(*protocol.Head) (protocol.Place, error) {
			return func(_ int, s protocol.Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }, nil
		}})
	if err != nil {
		return tensor.Tensor{}, err
	}
	return a.Outputs[0], nil
}

func row(n int) tensor.Tensor {
	t := tensor.New(tensor.Float32, int64(n), 2)
	for i := range tensor.Data[float32](t) {
		tensor.Data[float32](t)[i] = float32(10*n + i)
	}
	return t
}

func TestRequestsGetTheirOwnAnswers(t *testing.T) {
	for _, first := range []int64{-1, 1} {
		s := newSource(t, first, 200*time.Microsecond)
		if first == 1 {
			s.batch = 1
		}
		endpoint, _ := start(t, s, 64, Web{})
		c := dial(t, endpoint)
		var all sync.WaitGroup
		for k := range 40 {
			n := 1
			if first < 0 {
				n += k % 3
			}
			all.Go(func() {
				in := tensor.New(tensor.Float32, int64(n), 2)
				for i := range tensor.Data[float32](in) {
					tensor.Data[float32](in)[i] = float32(100*k + i)
				}
				out, err := ask(c, "m", "x", in)
				if err != nil {
					t.Error(err)
					return
				}
				for i, v := range tensor.Data[float32](out) {
					if v != float32(200*k+2*i) {
						t.Errorf("request %d of %d rows got %v", k, n, tensor.Data[float32](out))
						return
					}
				}
			})
		}
		all.Wait()
		stats, err := c.Statistics(t.Context(), "m", "")
		want := uint64(40)
		if first < 0 {
			want = 14*1 + 13*2 + 13*3
		}
		if err != nil || stats[0].InferenceCount != want || stats[0].ExecutionCount > 40 || stats[0].InferenceStats.ComputeInfer.NS == 0 {
			t.Errorf("statistics are %+v, %v, want %d inferences", stats, err, want)
		}
	}
}

func TestWaitingSamplesAreBatched(t *testing.T) {
	s := newSource(t, -1, 20*time.Millisecond)
	endpoint, _ := start(t, s, 64, Web{})
	c := dial(t, endpoint)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if _, err := ask(c, "m", "x", row(1)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if stats, err := c.Statistics(t.Context(), "m", ""); err != nil || stats[0].ExecutionCount >= 32 || stats[0].InferenceCount != 32 {
		t.Errorf("32 samples took %d runs (%v), want fewer", stats[0].ExecutionCount, err)
	}
}

func TestTaskAnswersTheLoggedResponse(t *testing.T) {
	endpoint, _ := start(t, newSource(t, -1, 0), 8, Web{})
	c := dial(t, endpoint)
	about, err := c.Model(t.Context(), "m-task", "v1")
	if err != nil || fmt.Sprint(about.Inputs) != "[{x FP32 [1 2]}]" || about.Outputs[0].Name != protocol.TaskResponse {
		t.Fatalf("the task is %+v, %v", about, err)
	}
	for name, in := range map[string]tensor.Tensor{"tensors": tensor.Of([]float32{3, 4}, 1, 2), "a file": tensor.OfStrings([]string{"\x03\x04"}, 1)} {
		out, err := ask(c, "m-task", "x", in)
		if err != nil || !slices.Equal(out.Bytes(), []byte{6, 8}) {
			t.Errorf("%s: the response is %v, %v, want [6 8]", name, out.Bytes(), err)
		}
	}
	for name, in := range map[string]tensor.Tensor{"two samples": row(2), "another type": tensor.New(tensor.Int32, 1, 2), "a damaged file": tensor.OfStrings([]string{"\x03"}, 1)} {
		if _, err := ask(c, "m-task", "x", in); protocol.CodeOf(err) != protocol.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// runs is a benchmark whose samples are runs of numbers of different lengths, with a label that stays
// at home; the response is their doubles.
func runs() *workload.Workload {
	w := pairs()
	row := func(n int64) []workload.Slot {
		return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{n, 2}}, {Type: tensor.Float32, Shape: tensor.Shape{n}}}
	}
	w.Row = func(int) []workload.Slot { return row(1) }
	w.NewPredictor = func(s workload.Sessions, _ int) (workload.Predictor, error) {
		return &runsPredictor{session: s[workload.Only]}, nil
	}
	w.Exchange = &workload.Exchange{
		Inputs: []workload.Input{{Name: "numbers", Slot: workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1, 2}}}},
		Complete: func(sent []tensor.Shape) ([]workload.Slot, error) {
			if n := sent[0][0]; n < 1 || n > 5 {
				return nil, fmt.Errorf("%d numbers, want 1 to 5", n)
			}
			return row(sent[0][0]), nil
		},
	}
	return w
}

type runsPredictor struct {
	session backend.Session
	store   *workload.Store
}

func (p *runsPredictor) Use(s *workload.Store) error { p.store = s; return nil }
func (*runsPredictor) Close() error                  { return nil }

func (p *runsPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	all := p.store.Slot(0, items[0].Row, 1)
	if labels := p.store.Slot(1, items[0].Row, 1); labels.Shape[1] != all.Shape[1] {
		return fmt.Errorf("room for %v labels of %v", labels.Shape, all.Shape)
	}
	in, err := p.session.Bind(all.Reshape(all.Shape[1:]...))
	if err != nil {
		return err
	}
	out := []backend.Value{nil}
	if err := p.session.Run(ctx, []backend.Value{in}, out); err != nil {
		return err
	}
	reply.Done(items[0].Ticket, out[0].Tensor().Bytes(), 0)
	return nil
}

// A runsSource is the model with that benchmark.
type runsSource struct{ *source }

func (s runsSource) OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	ports, err := s.ports(ctx)
	return runs(), ports, err
}

func TestSamplesOfDifferentShapes(t *testing.T) {
	endpoint, _ := start(t, runsSource{newSource(t, -1, time.Millisecond)}, 8, Web{})
	c := dial(t, endpoint)
	about, err := c.Model(t.Context(), "m-task", "")
	if err != nil || fmt.Sprint(about.Inputs) != "[{numbers FP32 [1 -1 2]}]" {
		t.Fatalf("the task is %+v, %v, want no label in it", about, err)
	}
	var all sync.WaitGroup
	for k := range 20 {
		all.Go(func() {
			n := k%5 + 1
			in := tensor.New(tensor.Float32, 1, int64(n), 2)
			for i := range tensor.Data[float32](in) {
				tensor.Data[float32](in)[i] = float32(10*k + i)
			}
			got, err := ask(c, "m-task", "numbers", in)
			if err != nil {
				t.Error(err)
				return
			}
			want := []byte{}
			for i := range 2 * n {
				want = binary.NativeEndian.AppendUint32(want, math.Float32bits(float32(20*k+2*i)))
			}
			if !slices.Equal(got.Bytes(), want) {
				t.Errorf("sample %d of %d numbers: the response is %v, want %v", k, n, got.Bytes(), want)
			}
		})
	}
	all.Wait()
	for name, in := range map[string]tensor.Tensor{"too long": tensor.New(tensor.Float32, 1, 6, 2), "empty": tensor.New(tensor.Float32, 1, 0, 2),
		"another shape": tensor.New(tensor.Float32, 1, 2, 3), "a file": tensor.OfStrings([]string{"x"}, 1)} {
		if _, err := ask(c, "m-task", "numbers", in); protocol.CodeOf(err) != protocol.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	checkTask := func(m *taskModel) {
		if m.busy.Load() != 0 || m.used.Load() != 0 {
			t.Errorf("%d samples and %d bytes are under way when all is over", m.busy.Load(), m.used.Load())
		}
	}
	offer, err := Open(t.Context(), runsSource{newSource(t, -1, 0)}, Options{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer offer.Close()
	head := &protocol.Head{Tensors: []protocol.Spec{{Name: "numbers", Type: tensor.Float32, Shape: tensor.Shape{1, 3, 2}}}}
	job, err := offer.task.Begin(head)
	if err != nil {
		t.Fatal(err)
	}
	offer.task.used.Add(maxVaried)
	if _, err := offer.task.Begin(head); protocol.CodeOf(err) != protocol.Unavailable {
		t.Errorf("beyond all memory: %v", err)
	}
	offer.task.used.Add(-maxVaried)
	job.End()
	checkTask(offer.task)
}

func TestFullQueueRefuses(t *testing.T) {
	s := newSource(t, -1, 100*time.Millisecond)
	endpoint, _ := start(t, s, 2, Web{})
	c := dial(t, endpoint)
	var mu sync.Mutex
	var ok, full int
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			_, err := ask(c, "m", "x", row(1))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				ok++
			case protocol.CodeOf(err) == protocol.Unavailable:
				full++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ok < 2 || full == 0 || ok+full != 12 {
		t.Errorf("%d were answered and %d refused", ok, full)
	}
	if _, err := ask(c, "m", "x", row(1)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestFailedRunFailsItsRequest(t *testing.T) {
	s := newSource(t, -1, 0)
	endpoint, _ := start(t, s, 8, Web{})
	c := dial(t, endpoint)
	broken := errors.New("out of order")
	s.broken.Store(&broken)
	for _, n := range []int{1, 2} {
		if _, err := ask(c, "m", "x", row(n)); err == nil || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("%d rows: %v", n, err)
		}
	}
	s.broken.Store(nil)
	if _, err := ask(c, "m", "x", row(1)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestDrainAnswersRequests(t *testing.T) {
	s := newSource(t, -1, 0)
	s.turns = make(chan bool)
	endpoint, stop := start(t, s, 8, Web{})
	c := dial(t, endpoint)
	answered := make(chan error, 1)
	go func() {
		_, err := ask(c, "m", "x", row(1))
		answered <- err
	}()
	<-s.turns // the model runs
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for listens := true; listens; { // a server that drains takes no more
		connection, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
		if listens = err == nil; listens {
			connection.Close()
		}
	}
	<-s.turns
	if err := <-stopped; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if _, err := ask(c, "m", "x", row(1)); err == nil {
		t.Error("a server that has ended answers")
	}
}

// A model whose batch is fixed takes requests of that batch, and none of them with others, however large batches may be.
func TestFixedBatchRunsAlone(t *testing.T) {
	for _, batch := range []int{1, 2, 4} {
		endpoint, _ := start(t, newSource(t, int64(batch), 2*time.Millisecond), 64, Web{})
		c := dial(t, endpoint)
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				in := tensor.New(tensor.Float32, int64(batch), 2)
				for k := range tensor.Data[float32](in) {
					tensor.Data[float32](in)[k] = float32(100*i + k)
				}
				out, err := ask(c, "m", "x", in)
				if err != nil || out.Shape[0] != int64(batch) {
					t.Errorf("batches of %d: request %d is %v, %v", batch, i, out, err)
					return
				}
				for k, got := range tensor.Data[float32](out) {
					if got != float32(2*(100*i+k)) {
						t.Errorf("batches of %d: request %d is %v", batch, i, tensor.Data[float32](out))
					}
				}
			})
		}
		all.Wait()
		for _, rows := range []int{batch - 1, batch + 1} {
			if _, err := ask(c, "m", "x", row(rows)); err == nil || !strings.Contains(err.Error(), "input x FP32") && !strings.Contains(err.Error(), "the model takes at most") {
				t.Errorf("%d rows for batches of %d: %v", rows, batch, err)
			}
		}
		stats, err := c.Statistics(t.Context(), "m", "")
		if err != nil || stats[0].InferenceCount != uint64(12*batch) || stats[0].ExecutionCount != 12 {
			t.Errorf("batches of %d: the server counts %+v, %v", batch, stats, err)
		}
	}
}

// relay is a benchmark whose sample goes through both files of a model, one after the other.
func relay() *workload.Workload {
	w := pairs()
	w.Outputs = nil
	w.NewPredictor = func(s workload.Sessions, _ int) (workload.Predictor, error) {
		return &relayPredictor{sessions: s}, nil
	}
	return w
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

func (s relaySource) OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	return relay(), nil, nil
}

func TestModelOfSeveralFiles(t *testing.T) {
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
	if _, err := c.Model(t.Context(), "m", ""); protocol.CodeOf(err) != protocol.NotFound {
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

func (s sealed) OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	_, ports, err := s.echoSource.OpenWorkload(ctx)
	return pairs(), ports, err
}

func TestDecoderIsDescribed(t *testing.T) {
	c := dial(t, startTexts(t, nil, 4))
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

func TestModelThatCannotBeOffered(t *testing.T) {
	engine, err := simulated.New(simulated.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), sealed{echoSource{&source{engine: engine}, nil}}, Options{Name: "m"}); err == nil || !strings.Contains(err.Error(), "run together only") {
		t.Errorf("got %v", err)
	}
}
