package harness

import (
	"context"
	"errors"
	"runtime"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A Service is the system under test without a test: its queue, its batches and its workers answer
// the caller's requests. A sample is a row of the service's store; its content is up to the caller.
type Service struct {
	run     *run
	rows    rows
	samples []loadgen.QuerySample // one of each row
	answers
}

// answers are the functions that receive the answers of a service.
type answers struct {
	answered Answered
	tokens   func(row int, token []byte) // nil: none
}

func (a answers) done(t task, r []loadgen.QuerySampleResponse) {
	a.answered(int(t.sample.ID), r[0].Data, int(r[0].NTokens), nil)
}

func (a answers) fail(t task, err error) { a.answered(int(t.sample.ID), nil, 0, err) }

func (a answers) token(t task, token []byte) {
	if a.tokens != nil {
		a.tokens(int(t.sample.ID), token)
	}
}

// Answered receives the response to the sample of a row and the number of its tokens, where they are counted, or the
// error. The response is valid during the call.
type Answered func(row int, response []byte, tokens int, err error)

// OpenService opens the model of a configuration for as many samples at once as there are rows.
// The workers call done with each answer; it should return soon. The workload of the model must have as many samples as
// there are rows: they are the rows.
func OpenService(ctx context.Context, cfg Config, done Answered) (s *Service, err error) {
	r := newRun(cfg)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err := r.openWorkload(ctx); err != nil {
		return nil, err
	}
	in := r.shapeInput(runtime.GOMAXPROCS(0))
	in.service = true
	shape := in.shape()
	if err := r.checkShape(shape); err != nil {
		return nil, err
	}
	if err := r.loadModel(ctx, shape); err != nil {
		return nil, err
	}
	s = &Service{run: r, answers: answers{answered: done}}
	n := r.workload.Samples
	order := make([]loadgen.QuerySampleIndex, n)
	for i := range n {
		order[i] = loadgen.QuerySampleIndex(i)
		s.samples = append(s.samples, loadgen.QuerySample{ID: loadgen.ResponseID(i), Index: order[i]})
	}
	s.rows.reset(order, n)
	return s, nil
}

// Tokens sets the function that receives each token of an answer as soon as it exists. Call it before Start.
func (s *Service) Tokens(token func(row int, token []byte)) { s.tokens = token }

// Start has the workers answer samples with the rows of a store, which must stay open until
// Close has returned.
func (s *Service) Start(store *workload.Store) error {
	if err := s.run.use(store); err != nil {
		return err
	}
	r := s.run
	r.sut = newSUT(r.sutName(), r.model.predictors, &s.rows, r.batchOptions(), false, func(error) {})
	r.sut.to = s.answers
	r.sut.start()
	return nil
}

// Submit puts a row into the queue. It has to be answered before it is submitted again.
func (s *Service) Submit(row int) {
	s.run.sut.IssueQuery(loadgen.Query{Samples: s.samples[row : row+1 : row+1]})
}

// Info describes the model as the engine sees it.
func (s *Service) Info() backend.Info { return s.run.model.info() }

// Workload is the opened workload.
func (s *Service) Workload() *workload.Workload { return s.run.workload }

// Close ends the workers, which should have nothing to do, and frees the model. If one is still
// busy its memory is not freed, and the error says so.
func (s *Service) Close() error {
	if s.run.sut != nil {
		if err := s.run.sut.stop(); err != nil {
			return err
		}
	}
	return s.run.close()
}
