package builtin

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A pretence is an engine whose sessions take as long as the real ones did on a core with ONNX Runtime
// 1.24 (cost), and answer something as long as it should be (fill). Of a model of several files the path
// of each is its role.
type pretence struct {
	ports map[string]workload.Ports
	cost  func(role string, inputs []tensor.Tensor) time.Duration
	fill  func(role string, inputs, outputs []tensor.Tensor)
}

type pretended struct {
	*pretence
	role string
}

type pretendedValue struct{ t tensor.Tensor }

func (v pretendedValue) Tensor() tensor.Tensor { return v.t }
func (v pretendedValue) Close() error          { return nil }

func (*pretence) Name() string { return "pretence" }
func (*pretence) Close() error { return nil }

func (e *pretence) Ports(_ context.Context, o backend.Options) (inputs, outputs []backend.Port, err error) {
	p := e.ports[o.ModelPath]
	return p.Inputs, p.Outputs, nil
}

func (e *pretence) Open(_ context.Context, o backend.Options) (backend.Session, error) {
	return pretended{e, o.ModelPath}, nil
}

func (s pretended) Info() backend.Info {
	return backend.Info{Inputs: s.ports[s.role].Inputs, Outputs: s.ports[s.role].Outputs, Engine: "pretence"}
}

func (s pretended) Bind(t tensor.Tensor) (backend.Value, error) { return pretendedValue{t}, nil }

func (s pretended) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	in, out := tensorsOf(inputs), tensorsOf(outputs)
	select {
	case <-time.After(s.cost(s.role, in)):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.fill != nil {
		s.fill(s.role, in, out)
	}
	return nil
}

func (s pretended) Close() error { return nil }

func tensorsOf(values []backend.Value) []tensor.Tensor {
	var list []tensor.Tensor
	for _, v := range values {
		list = append(list, v.Tensor())
	}
	return list
}

// portsOf are those of the built-in network of a part.
func portsOf(a arch.Architecture) workload.Ports {
	types := map[onnx.ElemType]tensor.DType{onnx.Float32: tensor.Float32, onnx.Int64: tensor.Int64, onnx.Int32: tensor.Int32}
	list := func(values []onnx.Value) []backend.Port {
		var ports []backend.Port
		for _, v := range values {
			p := backend.Port{Name: v.Name, Type: types[v.Type.Elem]}
			for _, d := range v.Type.Shape {
				n := int64(-1)
				if d.Known() {
					n = d.Size
				}
				p.Shape = append(p.Shape, n)
			}
			ports = append(ports, p)
		}
		return ports
	}
	return workload.Ports{Inputs: list(a.Inputs), Outputs: list(a.Outputs)}
}

// sequences are the workloads whose samples differ in length.
var sequences = []struct {
	model   string
	options workload.Values
	cost    func(role string, inputs []tensor.Tensor) time.Duration
	fill    func(role string, inputs, outputs []tensor.Tensor)
	bound   time.Duration // about ten times what a sample takes
	rate    float64       // queries/s at which one worker is about as busy as it can be
}{
	{"bert", workload.Values{"pad": "longest"}, bertCost, nil, time.Second, 8},
	{"gnmt", nil, gnmtCost, fillGNMT, 8 * time.Second, 2},
	{"rnnt", nil, rnntCost, fillRNNT, 2 * time.Second, 8},
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// bertCost is that of 3 layers: 231 ms for a window of 384 pieces.
func bertCost(_ string, inputs []tensor.Tensor) time.Duration {
	n, pieces := float64(inputs[0].Shape[0]), float64(inputs[0].Shape[1])
	return milliseconds(3 + n*(0.53*pieces+0.00017*pieces*pieces))
}

// gnmtCost: the encoder takes 61 ms for a sentence of 30 pieces and 189 ms for 8, a step of the decoder 24.4 ms
// for 10 beams and 94.8 ms for 80.
func gnmtCost(role string, inputs []tensor.Tensor) time.Duration {
	if role == "encoder" {
		return milliseconds((43 + 18.3*float64(inputs[0].Shape[0])) * float64(inputs[0].Shape[1]) / 30)
	}
	return milliseconds(14.3 + 1.006*float64(inputs[4].Shape[0]))
}

// rnntCost: the encoder takes 583 ms for a recording of 15 s and 2201 ms for 8.
func rnntCost(role string, inputs []tensor.Tensor) time.Duration {
	switch role {
	case "encoder":
		return milliseconds((352 + 231*float64(inputs[0].Shape[0])) * float64(inputs[0].Shape[1]) / 500)
	case "prediction":
		return milliseconds(0.09 + 0.017*float64(inputs[0].Shape[0]))
	}
	return milliseconds(0.0025 + 0.0002*float64(inputs[0].Shape[0]))
}

// fillGNMT has translations as long as their sentences: the first number of a state is how much is left.
func fillGNMT(role string, in, out []tensor.Tensor) {
	if role == "encoder" {
		state, width := tensor.Data[float32](out[2]), int(out[2].Shape[1])
		for i, n := range tensor.Data[int32](in[1]) {
			state[i*width] = float32(n)
		}
		return
	}
	before, after, width := tensor.Data[float32](in[6]), tensor.Data[float32](out[3]), int(out[3].Shape[1])
	logits, found, n := tensor.Data[float32](out[0]), tensor.Data[int64](out[1]), int(out[0].Shape[1])
	for row, parent := range tensor.Data[int64](in[4]) {
		left := before[int(parent)*width] - 1
		after[row*width] = left
		for k := range n {
			logits[row*n+k], found[row*n+k] = float32(-k), int64(3+k)
		}
		if left < 0 {
			logits[row*n], found[row*n] = 50, 2 // the end
		}
	}
}

// fillRNNT writes nothing: the last label is the blank.
func fillRNNT(role string, _, out []tensor.Tensor) {
	if role == "joint" {
		logits, n := tensor.Data[float32](out[0]), int(out[0].Shape[1])
		for i := n - 1; i < len(logits); i += n {
			logits[i] = 1
		}
	}
}

// A gathering is a way to make batches of samples that wait.
type gathering int

const (
	grouped gathering = iota // as it is done here
	naively                  // as many as wait, up to eight, in the order in which they come
	oneByOne
)

// naive makes a workload whose samples are taken in the order in which they come, in batches that are
// answered as a whole.
func naive(open func(workload.Setup) (*workload.Workload, error)) func(workload.Setup) (*workload.Workload, error) {
	return func(s workload.Setup) (*workload.Workload, error) {
		w, err := open(s)
		if err != nil {
			return nil, err
		}
		own := *w
		own.NewPredictor, own.NewDecoder, own.Length, own.PaddedLength, own.Slots, own.PredictorBytes = w.OpenPredictor, nil, nil, nil, 0, nil
		return &own, nil
	}
}

// modelOnPretence is a model of the catalogue and an engine that pretends to have its files.
func modelOnPretence(t testing.TB, name string, cost func(string, []tensor.Tensor) time.Duration, fill func(role string, in, out []tensor.Tensor)) (workload.Model, *pretence) {
	t.Helper()
	model, err := models.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	engine := &pretence{map[string]workload.Ports{}, cost, fill}
	for _, p := range model.BuiltIn.(workload.Recipe).Parts {
		engine.ports[p.Role] = portsOf(p.Network)
	}
	if model.Several() {
		model.Files = func(string) ([]workload.File, error) {
			var files []workload.File
			for role := range engine.ports {
				files = append(files, workload.File{Role: role, Path: role})
			}
			return files, nil
		}
	}
	return model, engine
}

// sequenceServer is a Server run of a workload in fake time: one worker that takes up to eight samples.
func sequenceServer(t testing.TB, which int, dir string, how gathering, rate float64, queries uint64) harness.Config {
	t.Helper()
	of := sequences[which]
	model, engine := modelOnPretence(t, of.model, of.cost, of.fill)
	batch := 8
	if how != grouped {
		model.Open = naive(model.Open)
	}
	if how == oneByOne {
		batch = 1
	}
	s := loadgen.DefaultSettings()
	s.Scenario, s.Mode = loadgen.Server, loadgen.PerformanceOnly
	s.ServerTargetQPS, s.ServerTargetLatency, s.MinQueryCount, s.MinDuration = rate, of.bound, queries, time.Second
	return harness.Config{
		Program: "test", Model: model, Rules: "v6.1", Settings: s, Engine: engine, Options: of.options,
		Backend:    backend.Options{ModelPath: workload.Only, IntraThreads: 1},
		DatasetDir: dir, Instances: 1, MaxBatch: batch, Anyway: true, OutputDir: t.TempDir(), Observer: &observer{t: t},
		NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
	}
}

// late is the part of the answers of a run that were later than the bound.
func late(t testing.TB, cfg harness.Config) float64 {
	t.Helper()
	r, err := results(harness.Run(t.Context(), cfg))
	if err != nil {
		t.Fatal(err)
	}
	return float64(r.Performance.Overlatency) / float64(r.Performance.Samples)
}

// sequenceData makes data of a workload whose lengths are spread as those of the official sets are: windows of
// SQuAD, sentences of newstest2014, recordings of dev-clean.
func sequenceData(t testing.TB, which int) string {
	t.Helper()
	model, err := models.Lookup(sequences[which].model)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := Maker{Dir: t.TempDir(), count: 60, Observer: &observer{t: t}}.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const samples = 300
	switch sequences[which].model {
	case "gnmt":
		var text strings.Builder
		for range samples {
			text.WriteString(strings.Repeat("a ", lengthLike(r, 27, 0.5, 110)) + "\n")
		}
		replaceFile(t, filepath.Join(dir, "newstest2014.tok.bpe.32000.en"), text.String())
	case "bert":
		var texts []string
		for i := range samples {
			texts = append(texts, fmt.Sprintf(`{"context":%q,"qas":[{"id":"%d","question":"what","answers":[{"text":"a","answer_start":0}]}]}`,
				strings.Repeat("a ", lengthLike(r, 150, 0.4, 370)), i))
		}
		replaceFile(t, filepath.Join(dir, "dev-v1.1.json"), `{"version":"1.1","data":[{"title":"","paragraphs":[`+strings.Join(texts, ",")+`]}]}`)
	}
	return dir
}

// lengthLike draws a length whose logarithm is spread about that of the middle.
func lengthLike(r *rand.Rand, middle, spread, most float64) int {
	return int(min(most, max(2, middle*math.Exp(spread*r.NormFloat64()))))
}

func replaceFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// At a rate at which batches as they come are late, samples that go together with others of their length are not,
// nor sentences that begin when others end.
func TestSequencesKeepABoundThatNaiveBatchesMiss(t *testing.T) {
	for i, w := range sequences {
		t.Run(w.model, func(t *testing.T) {
			if w.model == "rnnt" && !testenv.Long() {
				t.Skip("its features take a while")
			}
			dir := sequenceData(t, i)
			var part [2]float64
			for _, how := range []gathering{grouped, naively} {
				synctest.Test(t, func(t *testing.T) { part[how] = late(t, sequenceServer(t, i, dir, how, w.rate, 200)) })
			}
			t.Logf("%.1f %% are late, of naive batches %.1f %%", 100*part[grouped], 100*part[naively])
			if part[grouped] > part[naively]/2 || part[naively] == 0 {
				t.Errorf("%.1f %% are late, of naive batches %.1f %%", 100*part[grouped], 100*part[naively])
			}
		})
	}
}
