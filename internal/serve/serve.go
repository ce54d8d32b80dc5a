// Package serve offers a model of the catalogue as a server of the Open Inference Protocol, with the
// engine, the queue, the batches and the workers of a test.
//
//	s, err := serve.Open(ctx, prepared, serve.Options{Name: "resnet50", Room: 256})
//	web := oipserver.New(oipserver.Config{Models: s.Models()})
//
// A model is there twice. NAME takes and gives the tensors of the model file: requests of one
// sample wait in the queue and run in batches with others, requests of several run as they are.
// NAME-task takes what a sample of the benchmark consists of, or the file of an image or a recording, and
// answers with the bytes that LoadGen would log; it runs the benchmark's own predictor, whose
// runs of the model go through the same queue.
//
// Of a model of several files each is there, as NAME-role. A decoder of texts is described only, as NAME:
// its memory of all tokens stays where it is, and NAME-task runs it.
//
// Models that write texts also speak OpenAI's protocol (OpenAI).
//
// The room for samples and bytes is bounded; a request beyond it is refused at once. Nothing of a request or an
// answer is kept.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
)

// A Source has a model and its data, ready to be opened.
type Source interface {
	// Parts are the files of the model that can be run by themselves; none: only the benchmark's own
	// predictors can run them.
	Parts() ([]workload.File, error)
	// OpenService opens a file of the model as another workload.
	OpenService(ctx context.Context, path string, w workload.Model, done harness.Answered) (*harness.Service, error)
	// OpenSequences opens a model that is a workload.Writer for so many rows at a time.
	OpenSequences(ctx context.Context, rows int, done harness.Answered) (*harness.Service, workload.Writer, error)
	// OpenWorkload joins the model with its data, and says what its files take and give, by role.
	OpenWorkload(ctx context.Context) (workload.Workload, map[string]workload.Ports, error)
	// Version names the content of the model.
	Version() string
}

// Options say how a model is offered.
type Options struct {
	Name string // as clients call it
	Room int    // requests under way at most; 0: 256
}

// defaultRoom is how many requests may be under way.
const defaultRoom = 256

// An Offer is a model that is offered. It must be closed.
type Offer struct {
	parts  []*part
	whole  *described // nil: the files of the model run by themselves
	task   *taskModel
	writer *sequences // the task of a model whose samples are rows of tokens
	why    string     // the task is not offered
	closed atomic.Bool
}

// A part is a file of the model, which runs by itself.
type part struct {
	role  string
	table *table
	raw   *tensorsModel
}

// Open opens a model, and the task that it is for if that can be offered.
func Open(ctx context.Context, s Source, o Options) (offer *Offer, err error) {
	if o.Room < 0 {
		return nil, fmt.Errorf("room for %d requests", o.Room)
	}
	o.Room = cmp.Or(o.Room, defaultRoom)
	files, err := s.Parts()
	if err != nil {
		return nil, err
	}
	offer = &Offer{}
	for _, f := range files {
		if err == nil {
			err = offer.openPart(ctx, s, f, o)
		}
	}
	if err == nil {
		err = offer.openTask(ctx, s, o)
	}
	if err != nil {
		return nil, errors.Join(err, offer.Close())
	}
	return offer, nil
}

// openPart opens a file of the model.
func (o *Offer) openPart(ctx context.Context, s Source, f workload.File, options Options) (err error) {
	t := newTable(options.Room)
	o.parts = append(o.parts, &part{role: f.Role, table: t})
	name := options.Name
	if f.Role != workload.Only {
		name = protocol.PartName(name, f.Role)
	}
	if t.service, err = s.OpenService(ctx, f.Path, rawModel(name, t), t.done); err != nil {
		return err
	}
	if t.store, err = workload.NewStore(options.Room, t.service.Workload().Row); err != nil {
		return err
	}
	o.parts[len(o.parts)-1].raw = newTensors(t, name, s.Version(), t.service.Info().Engine, o.ready)
	return t.service.Start(t.store)
}

// openTask finds out how samples are answered.
func (o *Offer) openTask(ctx context.Context, s Source, options Options) error {
	w, ports, err := s.OpenWorkload(ctx)
	if err != nil {
		return err
	}
	if _, ok := w.(workload.Writer); ok {
		if len(o.parts) == 0 {
			o.whole = describe(options.Name, s.Version(), ports[workload.Only], o.ready)
		}
		o.writer, err = openSequences(ctx, s, options, o.ready)
		return err
	}
	portable, ok := w.(workload.Portable)
	switch {
	case len(o.parts) == 0:
		return fmt.Errorf("%s is not offered: its files run together only, and its samples cannot come from elsewhere", options.Name)
	case !ok:
		o.why = "the answers of this benchmark need its data set, which only the client has"
		return nil
	}
	sessions, err := o.sessions(w)
	if err != nil {
		return err
	}
	o.task, err = newTask(w, portable, sessions, names(ports[workload.Only], w.Row(0)), options.Name+protocol.TaskSuffix, s.Version(), o.ready)
	return err
}

// sessions run a sample of the workload on the files of the model, by role.
func (o *Offer) sessions(w workload.Workload) (sessions workload.Sessions, err error) {
	sessions = workload.Sessions{}
	for _, p := range o.parts {
		if sessions[p.role], err = newShared(p.table, p.table.service.Info(), w.Outputs(p.role)); err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

// Models are what clients may ask for.
func (o *Offer) Models() (list []oipserver.Model) {
	for _, p := range o.parts {
		list = append(list, p.raw)
	}
	if o.whole != nil {
		list = append(list, o.whole)
	}
	if o.task != nil {
		list = append(list, o.task)
	}
	if o.writer != nil {
		list = append(list, o.writer)
	}
	return list
}

func (o *Offer) ready() bool { return !o.closed.Load() }

// NoTask says why the task is not offered; empty: it is.
func (o *Offer) NoTask() string { return o.why }

// Close frees the model. No request may be under way.
func (o *Offer) Close() error {
	o.closed.Store(true)
	var errs []error
	if o.writer != nil {
		errs = append(errs, o.writer.close())
	}
	if o.task != nil {
		errs = append(errs, o.task.close())
	}
	for _, p := range o.parts {
		errs = append(errs, p.table.close())
	}
	return errors.Join(errs...)
}

// close ends the workers and frees the rows, unless a worker may still use them.
func (t *table) close() error {
	if t.service != nil {
		if err := t.service.Close(); err != nil {
			return err
		}
	}
	if t.store == nil {
		return nil
	}
	return t.store.Close()
}
