package harness

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A worker answers batches with a predictor of its own.
type worker struct {
	sut       *sut
	predictor predictor

	batch    []task
	items    []workload.Item
	answered []bool
	response [1]loadgen.QuerySampleResponse

	batches atomic.Int64
	sizes   []atomic.Int64 // batches by their samples
	samples atomic.Int64
	busy    atomic.Int64 // ns inside Predict
	since   atomic.Int64 // when the batch was begun that is being answered, in Unix ns; 0: there is none
}

// guarded makes an error of a panic anywhere in run, of LoadGen's code for instance.
func (w *worker) guarded(ctx context.Context) (err error) {
	defer recovered(&err)
	w.run(ctx)
	return nil
}

func (w *worker) run(ctx context.Context) {
	if w.predictor.decoder != nil {
		w.serve(ctx, w.predictor.decoder)
		return
	}
	for {
		w.batch = w.sut.queue.take(w.batch)
		if len(w.batch) == 0 {
			return
		}
		w.work(ctx)
	}
}

// work answers the batch that was taken.
func (w *worker) work(ctx context.Context) {
	begin := time.Now()
	w.since.Store(begin.UnixNano())
	w.answer(ctx)
	w.since.Store(0)
	w.busy.Add(int64(time.Since(begin)))
	w.took(len(w.batch))
	w.samples.Add(int64(len(w.batch)))
	w.sut.queue.done()
}

// answer has the predictor answer the batch, and answers with an error what it did not.
func (w *worker) answer(ctx context.Context) {
	err := w.findRows()
	if err == nil {
		err = predict(ctx, w.predictor, w.items, w)
	}
	if err != nil && !ended(ctx, err) {
		w.sut.fail(err)
	}
	for i := range w.batch {
		if w.answered[i] {
			continue
		}
		if err == nil {
			err = errors.New("the model gave no answer")
			w.sut.fail(err)
		}
		w.answered[i] = true
		w.sut.refuse(w.batch[i], err)
	}
}

// ended reports whether a prediction failed because predictions are no longer wanted.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
}

func (w *worker) findRows() error {
	w.items = w.items[:0]
	clear(w.answered)
	prev := -1
	for _, t := range w.batch {
		row, err := w.sut.rows.after(prev, t.sample.Index)
		if err != nil {
			return err
		}
		w.items = append(w.items, workload.Item{Row: row, Index: int(t.sample.Index), Ticket: len(w.items)})
		prev = row
	}
	return nil
}

// predict has a predictor answer items. A panic of a model's code on the way to the
// engine is an error.
func predict(ctx context.Context, p workload.Predictor, items []workload.Item, reply workload.Reply) (err error) {
	defer recovered(&err)
	return p.Predict(ctx, items, reply)
}

// Done implements workload.Reply.
func (w *worker) Done(item int, response []byte, tokens int) {
	w.answered[item] = true
	w.reply(w.batch[item], loadgen.QuerySampleResponse{Data: response, NTokens: int32(tokens)})
}

func (w *worker) reply(t task, r loadgen.QuerySampleResponse) {
	if w.sut.answered != nil {
		w.sut.answered(t, r, nil)
		return
	}
	r.ID = t.sample.ID
	w.response[0] = r
	t.query.Complete(w.response[:])
	w.response[0] = loadgen.QuerySampleResponse{}
}

// FirstToken implements workload.Reply.
func (w *worker) FirstToken(item int, token []byte) {
	w.firstToken(w.batch[item], token)
}

// firstToken passes a first token on, where tokens have bounds. Elsewhere LoadGen takes it for
// an error of the SUT.
func (w *worker) firstToken(t task, token []byte) {
	if !w.sut.tokens {
		return
	}
	w.response[0] = loadgen.QuerySampleResponse{ID: t.sample.ID, Data: token}
	t.query.FirstToken(w.response[:])
}
