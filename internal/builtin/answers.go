package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models"
)

// answers has the built-in model answer all samples of a data set one by one, in FP32 on
// the CPU. It returns the responses, sample by sample.
func (m Maker) answers(ctx context.Context, model models.Model, dir string) ([][]byte, error) {
	path, err := m.Model(ctx, model)
	if err != nil {
		return nil, err
	}
	inputs, outputs, err := m.Engine.Ports(ctx, backend.Options{ModelPath: path})
	if err != nil {
		return nil, err
	}
	workload, err := model.Open(models.Setup{DatasetDir: dir, Inputs: inputs, Outputs: outputs})
	if err != nil {
		return nil, err
	}
	session, err := m.Engine.Open(ctx, backend.Options{ModelPath: path, Outputs: workload.Outputs(), IntraThreads: 1})
	if err != nil {
		return nil, err
	}
	m.Observer.Phase("running the built-in model " + model.Name + " to mark its data set")
	responses, err := m.answerAll(ctx, workload, session)
	return responses, errors.Join(err, session.Close())
}

// answerAll shares the samples among as many workers as there are processors.
func (m Maker) answerAll(ctx context.Context, workload models.Workload, session backend.Session) ([][]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	responses := make([][]byte, workload.Len())
	done := m.counter(len(responses))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(responses)) {
		wg.Go(func() {
			a := answerer{workload: workload}
			err := a.open(session)
			for err == nil && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(responses) {
					break
				}
				if responses[i], err = a.answer(ctx, i); err == nil {
					done(1)
				}
			}
			if err = errors.Join(err, a.close()); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	return responses, context.Cause(ctx)
}

// An answerer has a predictor answer single samples.
type answerer struct {
	workload  models.Workload
	predictor models.Predictor
	store     *models.Store
	response  []byte
}

func (a *answerer) open(session backend.Session) (err error) {
	if a.store, err = models.NewStore(a.workload.Row(), 1); err != nil {
		return err
	}
	if a.predictor, err = a.workload.NewPredictor(session, 1); err != nil {
		return err
	}
	return a.predictor.Use(a.store)
}

func (a *answerer) answer(ctx context.Context, i int) ([]byte, error) {
	if err := a.workload.Prepare(i, a.store.Row(0)); err != nil {
		return nil, err
	}
	a.response = nil
	err := a.predictor.Predict(ctx, []models.Item{{Row: 0, Index: i}}, a)
	if err == nil && a.response == nil {
		err = fmt.Errorf("sample %d: the model gave no answer", i)
	}
	return a.response, err
}

// FirstToken implements models.Reply.
func (a *answerer) FirstToken(int, []byte) {}

// Done implements models.Reply.
func (a *answerer) Done(_ int, response []byte, _ int) {
	a.response = slices.Clone(response)
	if a.response == nil {
		a.response = []byte{}
	}
}

func (a *answerer) close() error {
	var errs []error
	if a.predictor != nil {
		errs = append(errs, a.predictor.Close())
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	return errors.Join(errs...)
}

// scores scores responses, and returns what the Manifest keeps of that: the score by the
// name of the model's file.
func (m Maker) scores(ctx context.Context, model models.Model, dir string, responses [][]byte) (map[string]float64, error) {
	path, err := m.Model(ctx, model)
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	for i, response := range responses {
		separator := ",\n"
		if i == 0 {
			separator = "[\n"
		}
		fmt.Fprintf(&log, `%s{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%X" }`, separator, i, i, response)
	}
	log.WriteString("\n]\n")
	score, err := model.Score(accuracy.Named("responses", &log), models.Scoring{DatasetDir: dir})
	if err != nil {
		return nil, err
	}
	value, ok := score.Lookup(model.Quality.Metric)
	if !ok {
		return nil, fmt.Errorf("the score of %s has no value %q", model.Name, model.Quality.Metric)
	}
	return map[string]float64{strings.TrimSuffix(filepath.Base(path), ".onnx"): value.Value}, nil
}
