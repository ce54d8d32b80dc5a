package convert

import (
	"context"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
)

// The precisions that a model can have.
const (
	FP32 = "fp32"
	FP16 = "fp16"
	INT8 = "int8"
)

// Precisions lists them.
func Precisions() []string { return []string{FP32, FP16, INT8} }

// A Converter makes models of lower precision from the FP32 model of a benchmark.
type Converter struct {
	Model      workload.Model
	Source     string // ONNX file of the FP32 model
	DatasetDir string
	Data       string          // fingerprint of the data set, for the names of kept models; empty: it is known by its folder
	Options    workload.Values // how the model file and the data are fed and read

	Engine   backend.Engine
	Threads  int    // of the engine; 0: it decides
	CacheDir string // for pre-processed samples; empty: they are not kept
	Program  string // name and version, for the records of accuracy runs
	Observer harness.Observer
}

// A Request says what to make. Fields beyond Samples are for INT8.
type Request struct {
	Precision string
	// Samples to calibrate with, as indices of the data set; nil: the first 64. MLPerf's
	// rules want those of its calibration lists.
	Samples []int

	Method  quantize.Method // empty: min-max
	Options quantize.Options
	// Target is the part of the FP32 score to reach by leaving layers in FP32; 0: none are.
	// ScoreCount samples are scored; 0: all.
	// Which layers cost most is found by the score too, one run for each layer, or quickly by
	// RankByNoise: signal to noise at the last layers, which misjudges detectors.
	Target      float64
	ScoreCount  int
	RankByNoise bool
}

// A Description says how a model was made, for people and for programs.
type Description interface {
	WriteMarkdown(w io.Writer) error
}

// Make makes a model. If a target was given and cannot be reached, it returns the best
// model there is with an error that is quantize.ErrTargetMissed.
func (c Converter) Make(ctx context.Context, r Request) (*onnx.Model, Description, error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	m, err := onnx.ReadWhole(c.Source)
	if err != nil {
		return nil, nil, err
	}
	if r.Precision == FP16 {
		c.Observer.Phase("converting to float16")
		return half(m, c.Source)
	}
	c.Observer.Phase("quantising to 8-bit integers")
	return c.integers(ctx, m, r)
}

// check refuses what nothing is converted to.
func (r Request) check() error {
	if r.Precision != FP16 && r.Precision != INT8 {
		return fmt.Errorf("models cannot be converted to %q, only to %s or %s", r.Precision, FP16, INT8)
	}
	return nil
}

func half(m *onnx.Model, path string) (*onnx.Model, Description, error) {
	h, report, err := quantize.ToFloat16(m)
	if err != nil {
		return nil, nil, fmt.Errorf("converting %s: %w", path, err)
	}
	return h, report, nil
}

func (c Converter) integers(ctx context.Context, m *onnx.Model, r Request) (*onnx.Model, Description, error) {
	store, err := c.prepare(ctx, r.Samples)
	if err != nil {
		return nil, nil, err
	}
	defer store.Close()
	recipe := quantize.Recipe{Method: r.Method, Options: r.Options}
	if r.Target > 0 {
		if recipe.Search, err = c.search(ctx, r); err != nil {
			return nil, nil, err
		}
	}
	q, report, err := recipe.Make(ctx, m, quantize.Calibration{
		Engine: c.Engine, Backend: backend.Options{IntraThreads: c.Threads}, Samples: batches(ctx, store),
	})
	if q == nil {
		return nil, nil, fmt.Errorf("quantising %s: %w", c.Source, err)
	}
	return q, report, err
}

// search scores models by accuracy runs, against the score of the FP32 model.
func (c Converter) search(ctx context.Context, r Request) (*quantize.Search, error) {
	reference, err := c.score(ctx, c.Source, r.ScoreCount)
	if err != nil {
		return nil, fmt.Errorf("scoring the FP32 model: %w", err)
	}
	c.Observer.Note(fmt.Sprintf("the FP32 model scores %.5g, the target is %.5g", reference, r.Target*reference))
	score := func(ctx context.Context, m *onnx.Model) (float64, error) {
		return c.scoreModel(ctx, m, r.ScoreCount)
	}
	s := &quantize.Search{
		Target:   r.Target * reference,
		Score:    score,
		Rank:     score,
		Progress: c.Observer.Items,
	}
	if r.RankByNoise {
		s.Rank = nil
	}
	return s, nil
}

// Sensitivity returns what each layer costs if it is the only one that is quantised: signal
// to noise at the model's last weighted layers in dB, the worst first.
func (c Converter) Sensitivity(ctx context.Context, r Request) ([]quantize.LayerScore, error) {
	m, err := onnx.ReadWhole(c.Source)
	if err != nil {
		return nil, err
	}
	store, err := c.prepare(ctx, r.Samples)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	c.Observer.Phase("calibrating, and quantising one layer at a time")
	return quantize.Recipe{Method: r.Method, Options: r.Options}.Sensitivity(ctx, m, quantize.Calibration{
		Engine: c.Engine, Backend: backend.Options{IntraThreads: c.Threads}, Samples: batches(ctx, store),
	}, c.Observer.Items)
}
