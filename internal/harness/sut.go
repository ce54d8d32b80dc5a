package harness

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A sut is the system under test, the only one of this program: a queue, and workers that
// take batches from it and have their predictors answer them.
type sut struct {
	name   string
	queue  *queue
	rows   *rows              // of the loaded samples
	ctx    context.Context    // of predictions
	cancel context.CancelFunc // ends predictions
	// failed receives the errors of predictions. Every failed sample is also
	// answered, with the error, so that nothing waits for it.
	failed func(error)
	to     receiver // of the answers
	// naming asks for the name of a system on other machines; nil: it is name.
	naming func() (string, error)

	workers []*worker
	running sync.WaitGroup
	how     answerer
	tokens  bool         // first tokens are measured
	worked  atomic.Int64 // how often there was work on answers that were still to come
}

// An answerer has the predictors answer what waits in the queue: threads of their own, the thread that issues, or a dispatcher.
type answerer interface {
	start()
	// issued is called when samples were added to the queue.
	issued(samples int)
}

// A receiver takes the answers of samples.
type receiver interface {
	// done has the response, which is valid during the call.
	done(t task, response []loadgen.QuerySampleResponse)
	fail(t task, err error)
	// token has each token of an answer as soon as it exists.
	token(t task, token []byte)
}

// toLoadGen is the receiver of a test. Samples whose predictions the end of the test ended stay without an answer.
type toLoadGen struct{ over context.Context }

func (toLoadGen) done(t task, response []loadgen.QuerySampleResponse) { t.query.Complete(response) }
func (l toLoadGen) fail(t task, err error) {
	if l.over.Err() == nil {
		t.query.Fail(t.sample.ID, err)
	}
}
func (toLoadGen) token(task, []byte) {}

// newSUT makes a worker for each predictor. They begin with start and end with stop. With oneAtATime the
// next query is issued when the one before was answered.
func newSUT(name string, predictors []predictor, rows *rows, b batchOptions, oneAtATime bool, failed func(error)) *sut {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sut{name: name, queue: newQueue(b), rows: rows, ctx: ctx, cancel: cancel, failed: failed, to: toLoadGen{ctx}}
	for _, p := range predictors {
		w := &worker{
			sut:       s,
			predictor: p,
			batch:     make([]task, 0, b.maxBatch),
			items:     make([]workload.Item, 0, b.maxBatch),
			answered:  make([]bool, b.maxBatch),
			sizes:     make([]atomic.Int64, min(b.maxBatch, mostSizes)+1),
		}
		s.workers = append(s.workers, w)
	}
	switch many := predictors[0].prompts; {
	case many != nil && len(predictors) == 1:
		many.Reset()
		s.how = &dispatcher{sut: s, predictor: many, limit: int64(many.Limit()), handover: backend.NewTimes()}
	case oneAtATime && len(predictors) == 1:
		s.how = inline{s.workers[0]}
	default:
		s.how = threads{s}
	}
	return s
}

// start makes ready for samples.
func (s *sut) start() { s.how.start() }

// threads are workers that wait for samples, on a thread each.
type threads struct{ *sut }

func (t threads) start() {
	for _, w := range t.workers {
		t.running.Go(func() {
			if err := w.run(t.ctx); err != nil {
				t.sut.fail(err) // which ends the test
			}
		})
	}
}

func (threads) issued(int) {}

// inline is the only worker of a test in which one query is under way at a time. It
// answers on the thread that issues: a thread that is woken for each query is sometimes
// woken on a core that is busy, which costs MobileNet 40 % in one query of ten.
type inline struct{ *worker }

func (inline) start() {}

// issued answers what waits on the calling thread, and stays on it: after a run of the
// model that takes more than 10 ms Go's scheduler would move the goroutine to another thread,
// which the system wakes on the core of an engine's thread as often as not.
func (w inline) issued(int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for w.sut.queue.waiting() {
		w.batch = w.sut.queue.take(w.batch)
		w.work(w.sut.ctx)
	}
}

// fail reports an error of a prediction, unless the test is over: then the end of the test caused it.
func (s *sut) fail(err error) {
	if s.ctx.Err() == nil {
		s.failed(err)
	}
}

// Name implements loadgen.SUT.
func (s *sut) Name() string {
	if s.naming == nil {
		return s.name
	}
	name, err := s.naming()
	if err != nil {
		s.fail(err) // which ends the test
		return s.name
	}
	return name
}

// IssueQuery implements loadgen.SUT.
func (s *sut) IssueQuery(q loadgen.Query) {
	s.queue.add(q)
	s.how.issued(len(q.Samples))
}

// FlushQueries implements loadgen.SUT.
func (s *sut) FlushQueries() { s.queue.flush() }

// graceAtClose is how long the end of a test waits for predictions under way.
const graceAtClose = 400 * time.Millisecond

// idle waits until no prediction is under way, and returns false if one does not end.
func (s *sut) idle() bool {
	for begin := clock.Now(); !s.queue.idle(); time.Sleep(time.Millisecond) {
		if clock.Since(begin) > graceAtClose {
			return false
		}
	}
	return true
}

var errStillRunning = errors.New("a prediction is still under way; its memory is not freed")

// stop ends the workers. A prediction that cannot be interrupted may go on for a while;
// then an error says so and it is left alone.
func (s *sut) stop() error {
	s.cancel()
	s.queue.close()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	if _, on := s.how.(inline); on && !s.idle() { // on a thread of LoadGen
		return errStillRunning
	}
	select {
	case <-ended:
		return nil
	case <-time.After(graceAtClose):
		return errStillRunning
	}
}

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
	busy    atomic.Int64 // ns inside Predict, or with samples of a decoder
	since   atomic.Int64 // when the worker began its batch, in Unix ns; 0: it has none
	slots   slots        // of a decoder
	tokens  atomic.Int64 // of a decoder
}

// run answers samples until the queue is closed. A panic, of LoadGen's code for instance, is an error.
func (w *worker) run(ctx context.Context) (err error) {
	defer recovered(&err)
	if w.predictor.decoder != nil {
		w.serve(ctx, w.predictor.decoder)
		return nil
	}
	for {
		w.batch = w.sut.queue.take(w.batch)
		if len(w.batch) == 0 {
			return nil
		}
		w.work(ctx)
	}
}

// work answers the batch that was taken.
func (w *worker) work(ctx context.Context) {
	begin := clock.Now()
	w.since.Store(begin.UnixNano())
	w.answer(ctx)
	w.since.Store(0)
	w.busy.Add(int64(clock.Since(begin)))
	w.took(len(w.batch))
	w.samples.Add(int64(len(w.batch)))
	w.sut.queue.done()
}

// answer has the predictor answer the batch. Samples without an answer get an error.
func (w *worker) answer(ctx context.Context) {
	err := w.findRows()
	if err == nil {
		err = predict(ctx, w.predictor, w.items, w)
	}
	if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Cause(ctx))) { // predictions are still wanted
		w.sut.fail(err)
	}
	for i := range w.batch {
		if w.answered[i] {
			continue
		}
		if err == nil {
			err = workload.ErrNoAnswer
			w.sut.fail(err)
		}
		w.answered[i] = true
		w.sut.to.fail(w.batch[i], err)
	}
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
	r.ID = t.sample.ID
	w.response[0] = r
	w.sut.to.done(t, w.response[:])
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
