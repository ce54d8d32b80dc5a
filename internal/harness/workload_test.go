package harness

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	testenv.Must(t, os.WriteFile(path, []byte(content), 0o644))
}

func settings(s loadgen.Scenario) loadgen.TestSettings {
	t := loadgen.DefaultSettings()
	t.Scenario = s
	t.MinDuration = 2 * time.Second
	t.ServerTargetQPS, t.OfflineExpectedQPS = 200, 200
	t.SingleStreamExpectedLatencyNS = 1e7
	return t
}

var inFakeTime = loadgen.Options{NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} }}

// A numbers is a benchmark without files: sample i is the number i, and the right label is
// i as well, for all but the last wrong samples.
type numbers struct {
	samples, wrong int
	batch          int // that the model takes; 0: any
	key            string
	prepareTime    time.Duration
	tokens         int // of every answer; the first comes 20 ms before the last; 0: no tokens

	// prepare and predict, if not nil, may make a sample or the n-th prediction fail.
	prepare func(index int) error
	predict func(n int64) error

	prepared    atomic.Int64
	predictions atomic.Int64
	closed      atomic.Int64 // predictors
	tornDown    atomic.Int64 // predictions under which the model or the samples were freed
}

func newNumbers(samples int) *numbers { return &numbers{samples: samples, key: "numbers"} }

func (n *numbers) model() workload.Model {
	return workload.Model{
		Name: "numbers", Dataset: "integers", PerformanceSampleCount: 40,
		Quality: workload.Quality{Metric: "accuracy", Reference: 90, Fraction: 0.99},
		Open: func(s workload.Setup) (*workload.Workload, error) {
			if s.DatasetDir == "missing" {
				return nil, errors.New("there are no numbers")
			}
			return n.workload(), nil
		},
		Score: n.score,
	}
}

func (n *numbers) score(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	var truth []accuracy.LabeledImage
	for i := range n.samples {
		if i >= n.samples-n.wrong {
			i = -1
		}
		truth = append(truth, accuracy.LabeledImage{Label: int64(i)})
	}
	return accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{DType: accuracy.DType(s.Options["dtype"])})
}

func (n *numbers) workload() *workload.Workload {
	return &workload.Workload{
		Samples: n.samples, Prepare: n.prepareRow, CacheKey: func() string { return n.key },
		Row: func(int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{1}}}
		},
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			if n.batch > 0 && maxBatch > n.batch {
				return nil, fmt.Errorf("the model takes batches of %d", n.batch)
			}
			return &numberPredictor{numbers: n, session: sessions[workload.Only]}, nil
		},
		Outputs: func(string) []string { return []string{"class"} }, Batch: n.batch, Notes: []string{"numbers go in as they are"},
	}
}

func (n *numbers) prepareRow(index int, row []tensor.Tensor) error {
	n.prepared.Add(1)
	time.Sleep(n.prepareTime)
	tensor.Data[float32](row[0])[0] = float32(index)
	if n.prepare != nil {
		return n.prepare(index)
	}
	return nil
}

// A numberPredictor asks a session for the numbers of a batch.
type numberPredictor struct {
	numbers *numbers
	session backend.Session
	store   *workload.Store
}

func (p *numberPredictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

func (p *numberPredictor) Close() error {
	p.numbers.closed.Add(1)
	return nil
}

func (p *numberPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	classes, err := p.run(ctx, items)
	if err != nil {
		return err
	}
	n := p.numbers.predictions.Add(1)
	if p.numbers.predict != nil {
		if err := p.numbers.predict(n); errors.Is(err, errSilent) {
			return nil
		} else if err != nil {
			return err
		}
	}
	for k, item := range items {
		// Freed samples would end the program here, or have another number.
		if row := tensor.Data[float32](p.store.Row(item.Row)[0]); row[0] != float32(item.Index) {
			p.numbers.tornDown.Add(1)
		}
		if math.IsNaN(float64(classes[k])) {
			return fmt.Errorf("sample %d: the class is not a number", item.Index)
		}
		response := binary.LittleEndian.AppendUint32(nil, math.Float32bits(classes[k]))
		if p.numbers.tokens > 0 {
			reply.FirstToken(k, response[:1])
			time.Sleep(20 * time.Millisecond)
		}
		reply.Done(k, response, p.numbers.tokens)
	}
	return nil
}

// errSilent makes a prediction end without an answer and without an error.
var errSilent = errors.New("silence")

// run has the session compute the class of each item. A session that is closed meanwhile
// counts as torn down.
func (p *numberPredictor) run(ctx context.Context, items []workload.Item) ([]float32, error) {
	in, out := tensor.New(tensor.Float32, int64(len(items)), 1), tensor.New(tensor.Float32, int64(len(items)))
	for k, item := range items {
		copy(in.Rows(k, 1).Bytes(), p.store.Row(item.Row)[0].Bytes())
	}
	var values [2]backend.Value
	for i, t := range []tensor.Tensor{in, out} {
		v, err := p.session.Bind(t)
		if err != nil {
			return nil, err
		}
		defer v.Close()
		values[i] = v
	}
	err := p.session.Run(ctx, values[:1], values[1:])
	if again, err := p.session.Bind(in); err != nil {
		p.numbers.tornDown.Add(1)
	} else {
		again.Close()
	}
	return tensor.Data[float32](out), err
}

// numberPorts are those of the simulated model.
var (
	numberInputs  = []backend.Port{{Name: "number", Type: tensor.Float32, Shape: tensor.Shape{-1, 1}}}
	numberOutputs = []backend.Port{{Name: "class", Type: tensor.Float32, Shape: tensor.Shape{-1}}}
)

// engine simulates a model for numbers.
func engine(t testing.TB, c simulated.Config) *simulated.Engine {
	t.Helper()
	c.Inputs, c.Outputs = numberInputs, numberOutputs
	e, err := simulated.New(c)
	testenv.Must(t, err)
	return e
}

// bare is an engine that reads the ports of its models.
func bare(t testing.TB) *simulated.Engine {
	t.Helper()
	e, err := simulated.New(simulated.Config{})
	testenv.Must(t, err)
	return e
}

// config is a run of a workload on a model that takes 5 ms for a sample, and 1 ms for each
// further one of a batch. In fake time it is VALID.
func configOf(t testing.TB, n *numbers, s loadgen.Scenario, m loadgen.Mode) Config {
	t.Helper()
	set := settings(s)
	set.Mode = m
	set.MinDuration = 4 * time.Second
	set.OfflineExpectedQPS = 1100 // two workers do 1000
	if s == loadgen.MultiStream {
		set.MinQueryCount = 662 // what early stopping asks for
	}
	return Config{
		Program: "mlperf test", Model: n.model(), Rules: "v6.1", Settings: set,
		Engine:    engine(t, simulated.Config{Latency: 5 * time.Millisecond, PerSample: time.Millisecond}),
		Instances: 2,
		OutputDir: t.TempDir(),
		Observer:  &observer{t: t},
		NewPacer:  inFakeTime.NewPacer,
	}
}

// An observer keeps what it gets, and notices calls at the same time.
type observer struct {
	t    testing.TB
	busy atomic.Bool

	phases  []string
	notes   []string
	loading int // calls
	traffic int // calls

	// on, if not nil, is called with what happens: a phase by its name, "loading" or
	// "traffic".
	on func(what string)
}

func (o *observer) tell(what string, note func()) {
	if !o.busy.CompareAndSwap(false, true) {
		o.t.Error("the observer is called twice at the same time")
	}
	defer o.busy.Store(false)
	note()
	if o.on != nil {
		o.on(what)
	}
}

func (o *observer) Phase(name string) {
	o.tell(name, func() { o.phases = append(o.phases, name) })
}

func (o *observer) Loading(done, of int) {
	o.tell("loading", func() {
		o.loading++
		if done < 1 || done > of {
			o.t.Errorf("%d of %d samples are loaded", done, of)
		}
	})
}

func (o *observer) Items(done, of int) { o.tell("items", func() {}) }

func (o *observer) Traffic(loadgen.Progress) { o.tell("traffic", func() { o.traffic++ }) }

func (o *observer) Note(text string) {
	o.tell("note", func() { o.notes = append(o.notes, text) })
}

// noted says whether a note has all the texts.
func (o *observer) noted(texts ...string) bool {
	for _, note := range o.notes {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(note, text)
		}
		if all {
			return true
		}
	}
	return false
}
