package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// steady runs any model as if all that it made were the same few numbers, and counts its runs.
type steady struct {
	backend.Engine
	mu   sync.Mutex
	runs int
}

func newSteady(t *testing.T) *steady {
	t.Helper()
	s := &steady{}
	engine, err := simulated.New(simulated.Config{Answer: s.answer})
	if err != nil {
		t.Fatal(err)
	}
	s.Engine = engine
	return s
}

func (s *steady) answer(_, outputs []tensor.Tensor) error {
	s.mu.Lock()
	s.runs++
	s.mu.Unlock()
	for _, o := range outputs {
		if o.Type != tensor.Float32 {
			continue
		}
		data := tensor.Data[float32](o)
		for i := range data {
			data[i] = float32(i%7) - 3
		}
	}
	return nil
}

// A listener keeps what an observer is told.
type listener struct {
	silent
	said   []string
	loaded []string
}

func (l *listener) Phase(name string)    { l.said = append(l.said, name) }
func (l *listener) Note(text string)     { l.said = append(l.said, text) }
func (l *listener) Items(done, of int)   { l.Loading(done, of) }
func (l *listener) Loading(done, of int) { l.loaded = append(l.loaded, fmt.Sprintf("%d/%d", done, of)) }

var _ interface{ Traffic(loadgen.Progress) } = (*listener)(nil)

func integersOf(m *onnx.Model) (weights []string) {
	for _, w := range m.Graph.Initializers {
		if w.Type == onnx.Int8 && len(w.Dims) == 2 {
			weights = append(weights, w.Name)
		}
	}
	return weights
}

func TestIntegersAreCalibratedWithTheSamplesAskedFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []int
		want    string
	}{
		{"all there are, since there are fewer than 64", nil, "1/6 2/6 3/6 4/6 5/6 6/6"},
		{"two of them", []int{5, 2}, "1/2 2/2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			engine, heard := newSteady(t), &listener{}
			converter := tiny(t)
			converter.Engine, converter.Observer = engine, heard
			m, d, err := converter.Make(t.Context(), Request{Precision: INT8, Samples: c.samples})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(heard.loaded, " "); got != c.want {
				t.Errorf("prepared %s, want %s", got, c.want)
			}
			if !slices.Equal(heard.said, []string{"quantising to 8-bit integers"}) {
				t.Errorf("said %q", heard.said)
			}
			if weights := integersOf(m); len(weights) != 1 {
				t.Errorf("weights of integers are %q, want those of the last layer", weights)
			}
			var notes strings.Builder
			if err := d.WriteMarkdown(&notes); err != nil || !strings.Contains(notes.String(), "scores") {
				t.Errorf("the description names no layer: %v\n%s", err, notes.String())
			}
			if engine.runs == 0 {
				t.Error("the model was never run")
			}
		})
	}
}

func TestALayerThatIsNotToBeQuantisedIsNot(t *testing.T) {
	c := tiny(t)
	c.Engine = newSteady(t)
	r := Request{Precision: INT8, Options: quantize.Options{Exclude: []string{"scores"}}}
	if m, _, err := c.Make(t.Context(), r); err == nil || !strings.Contains(err.Error(), "quantising "+c.Source) {
		t.Errorf("the only layer with weights is left out: %v, %v", integersOf(m), err)
	}
	r.Options.Exclude = []string{"nobody"}
	if _, _, err := c.Make(t.Context(), r); err == nil || !strings.Contains(err.Error(), `no layer "nobody" to exclude`) {
		t.Errorf("error %v", err)
	}
}

func TestATargetIsAPartOfTheScoreOfTheModelItself(t *testing.T) {
	c, heard := tiny(t), &listener{}
	c.Engine, c.Observer, c.Program = newSteady(t), heard, "test"
	m, _, err := c.Make(t.Context(), Request{Precision: INT8, Target: 0.5, ScoreCount: 3, RankByNoise: true})
	if err != nil || len(integersOf(m)) != 1 {
		t.Fatalf("%v, %v", integersOf(m), err)
	}
	// The engine says the same whatever the model, so both score the same.
	said := strings.Join(heard.said, "; ")
	var reference, target, candidate float64
	if n, err := fmt.Sscanf(said, "quantising to 8-bit integers; the FP32 model scores %g, the target is %g; a candidate scores %g", &reference, &target, &candidate); n != 3 || err != nil {
		t.Fatalf("said %q, %v", said, err)
	}
	if target != reference/2 || candidate != reference {
		t.Errorf("said %q", said)
	}
}

func TestATargetNeedsAScore(t *testing.T) {
	c := tiny(t)
	broken := errors.New("no such device")
	c.Engine, c.Program = mute{newSteady(t), broken}, "test"
	if _, _, err := c.Make(t.Context(), Request{Precision: INT8, Target: 0.5}); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "scoring the FP32 model: ") {
		t.Errorf("error %v", err)
	}
}

// mute is an engine that opens nothing.
type mute struct {
	*steady
	err error
}

func (m mute) Open(context.Context, backend.Options) (backend.Session, error) { return nil, m.err }

func TestSensitivityListsTheLayersWithWeights(t *testing.T) {
	c, heard := tiny(t), &listener{}
	c.Engine, c.Observer = newSteady(t), heard
	scores, err := c.Sensitivity(t.Context(), Request{Precision: INT8, Samples: []int{0, 1}})
	if err != nil || len(scores) != 1 || scores[0].Layer != "scores" || scores[0].Op != "Gemm" {
		t.Errorf("%+v, %v, want the layer scores", scores, err)
	}
	if got := strings.Join(heard.said, "; "); got != "calibrating, and quantising one layer at a time" {
		t.Errorf("said %q", got)
	}
	if got := strings.Join(heard.loaded, " "); got != "1/2 2/2 1/1" {
		t.Errorf("told of %q, want two samples and one layer", got)
	}
	for _, test := range []struct {
		name, source string
		samples      []int
		want         string
	}{
		{"no model", "nowhere.onnx", nil, "nowhere.onnx"},
		{"no such sample", c.Source, []int{6}, "there is no sample 6"},
	} {
		c.Source = test.source
		if _, err := c.Sensitivity(t.Context(), Request{Samples: test.samples}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestAStopEndsTheCalibration(t *testing.T) {
	c := tiny(t)
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	c.Engine, c.Observer = newSteady(t), stopper{stop: func() { stop(enough) }}
	if _, _, err := c.Make(ctx, Request{Precision: INT8}); !errors.Is(err, enough) {
		t.Errorf("error %v, want %v", err, enough)
	}
}

// stopper stops when the first sample is there.
type stopper struct {
	silent
	stop func()
}

func (s stopper) Loading(int, int) { s.stop() }
