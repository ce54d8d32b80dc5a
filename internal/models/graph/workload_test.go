package graph

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// ports are those of the network for the golden data.
func ports(t testing.TB) workload.Ports {
	t.Helper()
	a := arch.RGATOf(arch.GATSize{Features: 16, Hidden: 32, Heads: 4, Classes: 23})
	point := func(list []onnx.Value) (pointers []*onnx.Value) {
		for i := range list {
			pointers = append(pointers, &list[i])
		}
		return pointers
	}
	return workload.Ports{Inputs: backend.PortsOf(point(a.Inputs)), Outputs: backend.PortsOf(point(a.Outputs))}
}

func setup(t testing.TB) workload.Setup {
	return workload.Setup{DatasetDir: golden + "/igbh", Ports: map[string]workload.Ports{workload.Only: ports(t)}}
}

// told is a session that gives the same scores for each sample.
type told struct {
	backend.Session
	scores tensor.Tensor // empty: score k of sample k is the highest
	inputs map[string]tensor.Tensor
	names  []string
}

func (s *told) Bind(t tensor.Tensor) (backend.Value, error) { return backend.NewView(t) }

func (s *told) Run(_ context.Context, inputs, outputs []backend.Value) (err error) {
	s.inputs = map[string]tensor.Tensor{}
	samples := int64(0)
	for i, v := range inputs {
		s.inputs[s.names[i]] = v.Tensor()
	}
	samples = s.inputs["neighbors_2_cites"].Shape[0] - 1
	scores := s.scores
	if scores.Type == tensor.Invalid {
		scores = tensor.New(tensor.Float32, samples, 400)
		for k := range samples {
			tensor.Data[float32](scores)[k*400+k+300] = 1
		}
	}
	outputs[0], err = backend.NewView(scores)
	return err
}

// predict asks for some samples.
func predict(t testing.TB, w *workload.Workload, s *told, samples ...int) (answers map[int]uint64, err error) {
	t.Helper()
	for _, p := range ports(t).Inputs {
		s.names = append(s.names, p.Name)
	}
	store, err := workload.NewStore(len(samples), w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p, err := w.NewPredictor(workload.Sessions{workload.Only: s}, len(samples))
	if err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, p.Use(store))
	var items []workload.Item
	for row, index := range samples {
		testenv.Must(t, w.Prepare(index, store.Row(row)))
		items = append(items, workload.Item{Row: row, Index: index, Ticket: row})
	}
	got := classes{}
	err = p.Predict(t.Context(), items, got)
	return got, errors.Join(err, p.Close())
}

type classes map[int]uint64

func (classes) FirstToken(int, []byte) {}
func (c classes) Done(ticket int, response []byte, _ int) {
	if len(response) == 8 {
		c[ticket] = binary.LittleEndian.Uint64(response)
	}
}

func TestResponsesAreClassesOfEightBytes(t *testing.T) {
	w, err := open(setup(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &told{}
	got, err := predict(t, w, s, 5, 0, 47)
	if err != nil || !maps.Equal(got, classes{0: 300, 1: 301, 2: 302}) {
		t.Fatalf("answers %v, %v", got, err)
	}
	if w.Samples != 48 || w.ScoreOptions[dtypeOption] != string(accuracy.Int64) {
		t.Errorf("%d samples, options %v", w.Samples, w.ScoreOptions)
	}
	// Row 0 is no node, the samples come next, in their order.
	features, first := tensor.Data[float32](s.inputs["features_paper"]), make([]float32, 16)
	d, _ := goldenGraph(t)
	r, err := d.Reader()
	testenv.Must(t, err)
	defer r.Close()
	if slices.ContainsFunc(features[:16], func(v float32) bool { return v != 0 }) {
		t.Errorf("row 0 is %v", features[:16])
	}
	for row, sample := range []int{5, 0, 47} {
		testenv.Must(t, r.Read(5, []uint32{uint32(d.Papers[sample])}, first))
		if !slices.Equal(features[16*(row+1):][:16], first) {
			t.Errorf("row %d is not paper %d", row+1, d.Papers[sample])
		}
	}
}

func TestBadScoresAreErrors(t *testing.T) {
	w, err := open(setup(t))
	if err != nil {
		t.Fatal(err)
	}
	zero := float32(0)
	for want, scores := range map[string]tensor.Tensor{
		"sample 7: the model's score of class 1 is not a number": tensor.Of([]float32{1, zero / zero, 2}, 1, 3),
		"is float32[2 3]: must be float32[1 classes]":            tensor.New(tensor.Float32, 2, 3),
		"is float32[1 0]: must be float32[1 classes]":            tensor.New(tensor.Float32, 1, 0),
		"is float16[1 3]: must be float32[1 classes]":            tensor.New(tensor.Float16, 1, 3),
	} {
		if got, err := predict(t, w, &told{scores: scores}, 7); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("answers %v, %v, want %q", got, err, want)
		}
	}
}

func TestModelsThatDoNotFitAreRefused(t *testing.T) {
	port := func(name string, shape ...int64) backend.Port {
		return backend.Port{Name: name, Type: tensor.Float32, Shape: shape}
	}
	for _, c := range []struct {
		name, want string
		change     func(*workload.Setup, *workload.Ports)
	}{
		{"an unknown input", "input x of the model is unknown: must be features_paper", func(_ *workload.Setup, p *workload.Ports) { p.Inputs = append(p.Inputs, port("x", 1)) }},
		{"a fourth layer", "input neighbors_3_cites of the model is unknown", func(_ *workload.Setup, p *workload.Ports) {
			p.Inputs = append(p.Inputs, port("neighbors_3_cites", -1, -1))
		}},
		{"features of another width", "features_author of the model is float32[? 1024]: must be float32[? 16]", func(_ *workload.Setup, p *workload.Ports) { p.Inputs[0].Shape[1] = 1024 }},
		{"tables of floats", "sources_1_cites of the model is float32[?]: must be int64[?]", func(_ *workload.Setup, p *workload.Ports) {
			p.Inputs = append(p.Inputs, port("sources_1_cites", -1))
		}},
		{"no papers", "no input features_paper", func(_ *workload.Setup, p *workload.Ports) {
			p.Inputs = slices.DeleteFunc(p.Inputs, func(p backend.Port) bool { return p.Name == "features_paper" })
		}},
		{"no scores", "no output with scores of the classes", func(_ *workload.Setup, p *workload.Ports) { p.Outputs[0].Shape = p.Outputs[0].Shape[:1] }},
		{"too many samples", "expected 49 samples", func(s *workload.Setup, _ *workload.Ports) { s.Count = 49 }},
		{"a size that is not there", "no folder large/processed/paper", func(s *workload.Setup, _ *workload.Ports) { s.Options = workload.Values{sizeOption: "large"} }},
		{"a seed that is no number", `neighbor-seed: "x" is not a whole number`, func(s *workload.Setup, _ *workload.Ports) { s.Options = workload.Values{seedOption: "x"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := setup(t)
			p := s.Ports[workload.Only]
			c.change(&s, &p)
			s.Ports[workload.Only] = p
			if _, err := open(s); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestRequestsOfOtherPapersAreChecked(t *testing.T) {
	w, err := open(setup(t))
	if err != nil {
		t.Fatal(err)
	}
	for paper, good := range map[int64]bool{0: true, 239: true, 240: false, -1: false} {
		if err := w.Exchange.Check([]tensor.Tensor{tensor.Of([]int64{paper}, 1)}); (err == nil) != good {
			t.Errorf("paper %d: %v", paper, err)
		}
	}
}

func TestScoreIsThatOfTheScript(t *testing.T) {
	for _, c := range []struct {
		log, want string
		options   workload.Values
	}{
		{"log_int64.json", "accuracy=81.250%, good=39, total=48", workload.Values{dtypeOption: "int64", sizeOption: "tiny", memmapOption: "true"}},
		{"log_uint8.json", "accuracy=70.833%, good=34, total=48", nil},
	} {
		log := accuracy.Named(c.log, strings.NewReader(string(testenv.Read(t, golden+"/"+c.log))))
		s, err := score(t.Context(), log, workload.Scoring{DatasetDir: golden + "/igbh", Options: c.options})
		if err != nil || !slices.Equal(s.Lines, []string{c.want}) {
			t.Errorf("%s: %+v, %v, want %s", c.log, s, err, c.want)
		}
	}
	if _, err := score(t.Context(), accuracy.Named("log", strings.NewReader("[]")), workload.Scoring{DatasetDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "opening IGBH") {
		t.Errorf("a folder without the data: %v", err)
	}
}
