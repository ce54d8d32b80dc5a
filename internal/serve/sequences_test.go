package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

const soundRoom = 6

// transcriber writes a letter for each number of a sound, and says that each took three tokens. Its files
// are the numbers, a byte each.
func transcriber() *workload.Workload {
	w := &workload.Workload{
		Samples: 1, Row: func(int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{soundRoom}}}
		},
		NewPredictor: func(workload.Sessions, int) (workload.Predictor, error) { return &transcribing{}, nil },
	}
	w.Exchange = &workload.Exchange{
		Inputs: []workload.Input{{Name: "sound", Slot: workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1}}}},
		Complete: func(sent []tensor.Shape) ([]workload.Slot, error) {
			if n := sent[0][0]; n < 1 || n > soundRoom {
				return nil, fmt.Errorf("%d numbers, want 1 to %d", n, soundRoom)
			}
			return w.Row(0), nil
		},
		Check: func(row []tensor.Tensor) error {
			for i, v := range tensor.Data[float32](row[0]) {
				if v != v {
					return fmt.Errorf("number %d is none", i)
				}
			}
			return nil
		},
		Sequences: &workload.Sequences{
			ForRows: func(limits []int) *workload.Workload {
				own := *w
				own.Samples = len(limits)
				return &own
			},
			FileBytes: 64,
			ReadFile: func(file []byte) (tensor.Tensor, error) {
				if len(file) < 1 || len(file) > soundRoom {
					return tensor.Tensor{}, errors.New("that is no sound")
				}
				var list []float32
				for _, b := range file {
					list = append(list, float32(b))
				}
				return tensor.Of(list, int64(len(list))), nil
			},
		},
	}
	return w
}

type transcribing struct{ store *workload.Store }

func (p *transcribing) Use(s *workload.Store) error { p.store = s; return nil }
func (*transcribing) Close() error                  { return nil }
func (p *transcribing) Predict(_ context.Context, items []workload.Item, reply workload.Reply) error {
	for _, item := range items {
		var heard []byte
		for _, v := range tensor.Data[float32](p.store.Slot(0, item.Row, 1)) {
			if v == v {
				heard = append(heard, 'a'+byte(v))
			}
		}
		reply.Done(item.Ticket, heard, 3*len(heard))
	}
	return nil
}

// A transcriberSource is that model. Its only file can be run by itself, too.
type transcriberSource struct{ *source }

func (s transcriberSource) OpenWorkload(context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	return transcriber(), nil, nil
}

func (s transcriberSource) OpenSequences(ctx context.Context, limits []int, done harness.Answered) (*harness.Service, *workload.Workload, error) {
	engine, err := simulated.New(simulated.Config{})
	if err != nil {
		return nil, nil, err
	}
	return openSequencesOf(ctx, transcriber(), engine, limits, done)
}

// openSequencesOf opens a service of a workload.
func openSequencesOf(ctx context.Context, w *workload.Workload, engine backend.Engine, limits []int, done harness.Answered) (*harness.Service, *workload.Workload, error) {
	settings := loadgen.DefaultSettings()
	settings.Scenario = loadgen.Offline
	m := workload.Model{Name: "m", Open: func(workload.Setup) (*workload.Workload, error) { return w.Exchange.Sequences.ForRows(limits), nil }}
	service, err := harness.OpenService(ctx, harness.Config{Model: m, Settings: settings, Engine: engine, Instances: 1, MaxBatch: 4, Observer: harness.Silent{}}, done)
	return service, w, err
}

// transcribe asks a task for the text of a sound and its number of tokens.
func transcribe(c *client.Client, in tensor.Tensor, wanted ...string) (text string, tokens int32, err error) {
	a, err := c.Infer(context.Background(), &client.Request{Model: "m-task", Specs: []protocol.Spec{{Name: "sound", Type: in.Type, Shape: in.Shape}}, Tensors: []tensor.Tensor{in}, Wanted: wanted,
		Accept: func(*protocol.Head) (protocol.Place, error) {
			return func(_ int, s protocol.Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }, nil
		}})
	if err != nil {
		return "", 0, err
	}
	for i, s := range a.Head.Tensors {
		if s.Name == protocol.TaskTokens {
			tokens = tensor.Data[int32](a.Outputs[i])[0]
		} else {
			text = string(a.Outputs[i].Bytes())
		}
	}
	return text, tokens, nil
}

// openEar offers a model that listens to eight at once.
func openTranscriber(t *testing.T) (offer *Offer, c *client.Client, stop func() error) {
	t.Helper()
	offer, err := Open(t.Context(), transcriberSource{newSource(t, -1, 0)}, Options{Name: "m", Room: 8})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, stop := startOffer(t, offer, Web{})
	return offer, dial(t, endpoint), stop
}

func TestSequenceTask(t *testing.T) {
	_, c, _ := openTranscriber(t)
	about, err := c.Model(t.Context(), "m-task", "")
	if err != nil || fmt.Sprint(about.Inputs, about.Outputs) != "[{sound FP32 [1 -1]}] [{response UINT8 [1 -1]} {tokens INT32 [1]}]" {
		t.Fatalf("the task is %+v, %v", about, err)
	}
	for name, in := range map[string]tensor.Tensor{"numbers": tensor.Of([]float32{2, 0, 1}, 1, 3), "a file": tensor.OfStrings([]string{"\x02\x00\x01"}, 1)} {
		if text, tokens, err := transcribe(c, in); text != "cab" || tokens != 9 || err != nil {
			t.Errorf("%s: %q of %d tokens, %v, want cab of 9", name, text, tokens, err)
		}
	}
	if text, tokens, err := transcribe(c, tensor.Of([]float32{2}, 1, 1), protocol.TaskResponse); text != "c" || tokens != 0 || err != nil {
		t.Errorf("only the response: %q, %d tokens, %v", text, tokens, err)
	}
}

func TestWrongSequencesFreeTheirRows(t *testing.T) {
	offer, c, stop := openTranscriber(t)
	nan := float32(math.NaN())
	for want, in := range map[string]tensor.Tensor{
		"want 1 to 6": tensor.New(tensor.Float32, 1, 7), "0 numbers": tensor.New(tensor.Float32, 1, 0), "expected one input, sound FP32[1 ?]": tensor.New(tensor.Float32, 2, 3),
		"expected one input": tensor.New(tensor.Int32, 1, 3), "number 0 is none": tensor.Of([]float32{nan, 1}, 1, 2), "number 1 is none": tensor.Of([]float32{1, nan}, 1, 2),
		"the file of the sample: that is no sound": tensor.OfStrings([]string{strings.Repeat("x", 7)}, 1), "expected one input, sound": tensor.OfStrings([]string{"a", "b"}, 2),
	} {
		if _, _, err := transcribe(c, in); protocol.CodeOf(err) != protocol.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", in, err, want)
		}
	}
	job, err := offer.writer.Begin(&protocol.Head{Tensors: []protocol.Spec{{Name: "sound", Type: tensor.String, Shape: tensor.Shape{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	place, err := job.Place(0, protocol.Spec{Type: tensor.String, Shape: tensor.Shape{1}}) // as other protocols let it through
	if err != nil {
		t.Fatal(err)
	}
	place.Strings()[0] = strings.Repeat("x", 65)
	if _, _, err := job.Run(t.Context()); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("a file that is too large: %v", err)
	}
	job.End()
	if _, _, err := transcribe(c, tensor.Of([]float32{2}, 1, 1), "words"); protocol.CodeOf(err) != protocol.InvalidArgument {
		t.Errorf("an output that there is not: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := len(offer.writer.free.room); got != 8 {
		t.Errorf("%d of 8 rows are free when all is over", got)
	}
}

func TestRowsAreReused(t *testing.T) {
	endpoint, _ := start(t, transcriberSource{newSource(t, -1, 0)}, 64, Web{})
	c := dial(t, endpoint)
	var all sync.WaitGroup
	for k := range 50 {
		all.Go(func() {
			in := tensor.New(tensor.Float32, 1, int64(k%soundRoom+1)) // rows are used again, for shorter ones, too
			want := strings.Repeat(string(rune('a'+k%20)), k%soundRoom+1)
			for i := range tensor.Data[float32](in) {
				tensor.Data[float32](in)[i] = float32(k % 20)
			}
			if text, _, err := transcribe(c, in); text != want || err != nil {
				t.Errorf("%q, %v, want %q", text, err, want)
			}
		})
	}
	all.Wait()
}

// A task of many runs ends with its request, and one that a worker has begun gives its row back afterwards.
func TestVanishedClientsFreeTheirPlaces(t *testing.T) {
	s := newSource(t, -1, 5*time.Millisecond)
	long, err := Open(t.Context(), longSource{s}, Options{Name: "m", Room: 4})
	if err != nil {
		t.Fatal(err)
	}
	heard, err := Open(t.Context(), transcriberSource{newSource(t, -1, 0)}, Options{Name: "m", Room: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		offer *Offer
		input string
		in    tensor.Tensor
		busy  func() bool
	}{
		{long, "x", row(1), func() bool { return long.task.busy.Load() > 0 }},
		{heard, "sound", tensor.Of([]float32{1}, 1, 1), func() bool { return len(heard.writer.free.room) == 0 }},
	} {
		endpoint, _ := startOffer(t, c.offer, Web{})
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			q := &client.Request{Model: "m-task", Specs: []protocol.Spec{{Name: c.input, Type: c.in.Type, Shape: c.in.Shape}}, Tensors: []tensor.Tensor{c.in}, Accept: func(*protocol.Head) (protocol.Place, error) { return nil, errors.New("the client has gone") }}
			if _, err := dial(t, endpoint).Infer(ctx, q); err == nil {
				t.Error("a client that has gone has an answer")
			}
			cancel()
		}
		for end := time.Now().Add(10 * time.Second); c.busy(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the place of a client that has gone is taken", c.input)
			}
		}
	}
	const ofTenRuns = 50 * time.Millisecond
	end := time.Now().Add(10 * time.Second)
	for before := int64(-1); before != s.runs.Load(); time.Sleep(ofTenRuns) {
		if before = s.runs.Load(); time.Now().After(end) {
			t.Fatal("the model runs for clients that have gone")
		}
	}
}

// endless is a benchmark that runs its model until the context ends.
func endless() *workload.Workload {
	w := pairs()
	w.NewPredictor = func(s workload.Sessions, _ int) (workload.Predictor, error) {
		return &endlessPredictor{pairPredictor{session: s[workload.Only]}}, nil
	}
	return w
}

type endlessPredictor struct{ pairPredictor }

func (p *endlessPredictor) Predict(ctx context.Context, _ []workload.Item, _ workload.Reply) error {
	for {
		in, err := p.session.Bind(p.store.Slot(0, 0, 1))
		if err != nil {
			return err
		}
		if err := p.session.Run(ctx, []backend.Value{in}, []backend.Value{nil}); err != nil {
			return err
		}
	}
}

type longSource struct{ *source }

func (s longSource) OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	ports, err := s.ports(ctx)
	return endless(), ports, err
}

// A raw request of another size than a sample has is its file, where samples may be files.
func TestFilesOfSamples(t *testing.T) {
	tasks, _ := start(t, newSource(t, -1, 0), 8, Web{})
	sounds, _ := start(t, transcriberSource{newSource(t, -1, 0)}, 8, Web{})
	parts, _ := start(t, runsSource{newSource(t, -1, 0)}, 8, Web{})
	for _, c := range []struct {
		name, endpoint, body string
		status               int
		want                 string
	}{
		{"the file of a sample", tasks, "\x03\x04", http.StatusOK, `"data":[6,8]`},
		{"the numbers of a sample", tasks, "\x00\x00\x40\x40\x00\x00\x80\x40", http.StatusOK, `"data":[6,8]`},
		{"no file", tasks, "\x03", http.StatusBadRequest, "the file of the sample: 1 bytes, want 2"},
		{"the file of a sound", sounds, "\x02\x00\x01", http.StatusOK, `"data":[99,97,98]`},
		{"no sound", sounds, strings.Repeat("x", 60), http.StatusBadRequest, "that is no sound"},
		{"a file that is too large", sounds, strings.Repeat("x", 65), http.StatusRequestEntityTooLarge, "at most 64"},
		{"samples that are no files", parts, "\x03", http.StatusBadRequest, "the request has 1 bytes"},
	} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.endpoint+"/v2/models/m-task/infer", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set(protocol.HeaderLength, "0")
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: status %d, %s, %v, want %d and %q", c.name, r.StatusCode, text, err, c.status, c.want)
		}
	}
}

// cast is a benchmark whose samples are two numbers and two more that come from its data set, all of one shape;
// no number may be negative, and its predictors take memory.
func cast(heavy int64) *workload.Workload {
	w, slot := pairs(), pairRow(0)[0]
	w.PredictorBytes = func(samples int) int64 { return heavy * int64(samples) }
	w.NewPredictor = func(s workload.Sessions, _ int) (workload.Predictor, error) {
		return &castPredictor{pairPredictor{session: s[workload.Only]}}, nil
	}
	w.Exchange = &workload.Exchange{
		Inputs:   []workload.Input{{Name: "own", Slot: slot}, {Name: "common", Slot: slot}},
		Complete: func([]tensor.Shape) ([]workload.Slot, error) { return []workload.Slot{slot, slot}, nil },
		Check: func(row []tensor.Tensor) error {
			if slices.ContainsFunc(tensor.Data[float32](row[0]), func(v float32) bool { return v < 0 }) {
				return errors.New("a number is negative")
			}
			return nil
		},
	}
	return w
}

// A castPredictor adds what is common.
type castPredictor struct{ pairPredictor }

func (p *castPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	own, common := tensor.Data[float32](p.store.Slot(0, items[0].Row, 1)), tensor.Data[float32](p.store.Slot(1, items[0].Row, 1))
	reply.Done(items[0].Ticket, []byte{byte(own[0] + common[0]), byte(own[1] + common[1])}, 0)
	return nil
}

type castSource struct {
	*source
	heavy int64
}

func (s castSource) OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	ports, err := s.ports(ctx)
	return cast(s.heavy), ports, err
}

// castHead is that of a sample.
func castHead(t tensor.DType, names ...string) *protocol.Head {
	h := &protocol.Head{}
	for _, name := range names {
		h.Tensors = append(h.Tensors, protocol.Spec{Name: name, Type: t, Shape: tensor.Shape{1, 2}})
	}
	return h
}

func TestSamplesBringConstants(t *testing.T) {
	offer, err := Open(t.Context(), castSource{newSource(t, -1, 0), maxKept / 2}, Options{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer offer.Close()
	m := offer.task
	if n := m.MaxBytes(); n != 16 || m.TakesFiles() {
		t.Errorf("a request may have %d bytes, want those of two pairs", n)
	}
	answer := func(own ...float32) ([]byte, error) {
		job, err := m.Begin(castHead(tensor.Float32, "common", "own"))
		if err != nil {
			return nil, err
		}
		defer job.End()
		for i, values := range [][]float32{{10, 20}, own} {
			place, err := job.Place(i, castHead(tensor.Float32, "common", "own").Tensors[i])
			if err != nil {
				return nil, err
			}
			copy(tensor.Data[float32](place), values)
		}
		_, outputs, err := job.Run(t.Context())
		if err != nil {
			return nil, err
		}
		return outputs[0].Bytes(), nil
	}
	if got, err := answer(1, 2); !bytes.Equal(got, []byte{11, 22}) || err != nil {
		t.Errorf("the response is %v, %v, want [11 22]", got, err)
	}
	if _, err := answer(1, -2); protocol.CodeOf(err) != protocol.InvalidArgument || !strings.Contains(err.Error(), "a number is negative") {
		t.Errorf("a negative number: %v", err)
	}
	for want, h := range map[string]*protocol.Head{
		"1 inputs, a sample has 2": castHead(tensor.Float32, "own"), "no input \"other\"": castHead(tensor.Float32, "own", "other"), "a sample has FP32[1 2]": castHead(tensor.Int32, "own", "common"),
	} {
		if _, err := m.Begin(h); protocol.CodeOf(err) != protocol.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// As many samples are under way as the memory of their predictors allows, and one in any case.
func TestHeavyPredictorsAreFew(t *testing.T) {
	for heavy, want := range map[int64]int{0: maxTasks, 1: maxTasks, maxKept / 3: 3, 10 * maxKept: 1} {
		offer, err := Open(t.Context(), castSource{newSource(t, -1, 0), heavy}, Options{Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		var jobs []oipserver.Job
		for {
			job, err := offer.task.Begin(castHead(tensor.Float32, "own", "common"))
			if err != nil {
				if protocol.CodeOf(err) != protocol.Unavailable {
					t.Error(err)
				}
				break
			}
			jobs = append(jobs, job)
		}
		if len(jobs) != want {
			t.Errorf("with predictors of %d bytes %d samples are under way, want %d", heavy, len(jobs), want)
		}
		for _, job := range jobs {
			job.End()
		}
		if err := offer.Close(); err != nil {
			t.Error(err)
		}
	}
}
