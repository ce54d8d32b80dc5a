package serve

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// A Source has a model and its data, ready to be opened.
type Source interface {
	// OpenService opens the model file as another workload.
	OpenService(ctx context.Context, w workload.Model, done func(row int, response []byte, err error)) (*bench.Service, error)
	// Sequences reports whether only the benchmark's own predictors can run the model.
	Sequences() bool
	// OpenSequences opens such a model for so many rows at a time.
	OpenSequences(ctx context.Context, rows int, done func(row int, response []byte, err error)) (*bench.Service, workload.Writer, error)
	// OpenWorkload joins the model with its data.
	OpenWorkload(ctx context.Context) (workload.Workload, error)
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
	table *table
	raw   *tensorsModel
	task  *taskModel
	// sequences is all there is of a model that only the benchmark's own predictors can run.
	sequences *sequences
	why       string // there is no task
	closed    atomic.Bool
}

// Open opens a model, and the task that it is for if that can be offered.
func Open(ctx context.Context, s Source, o Options) (offer *Offer, err error) {
	if o.Room < 0 {
		return nil, fmt.Errorf("room for %d requests", o.Room)
	}
	if o.Room == 0 {
		o.Room = defaultRoom
	}
	if s.Sequences() {
		offer = &Offer{}
		offer.sequences, err = openSequences(ctx, s, o, offer.ready)
		return offer, err
	}
	t := newTable(o.Room)
	if t.service, err = s.OpenService(ctx, rawModel(o.Name, t), t.done); err != nil {
		return nil, err
	}
	offer = &Offer{table: t}
	if t.store, err = workload.NewStore(o.Room, t.service.Workload().Row); err == nil {
		err = t.service.Start(t.store)
	}
	if err == nil {
		err = offer.models(ctx, s, o.Name)
	}
	if err != nil {
		return nil, errors.Join(err, offer.Close())
	}
	return offer, nil
}

// models makes the models that clients see.
func (o *Offer) models(ctx context.Context, s Source, name string) error {
	info := o.table.service.Info()
	o.raw = newTensors(o.table, name, s.Version(), info.Engine, o.ready)
	w, err := s.OpenWorkload(ctx)
	if err != nil {
		return err
	}
	portable, ok := w.(workload.Portable)
	if !ok {
		o.why = "the answers of this benchmark need its data set, which only the client has"
		return nil
	}
	session, err := newShared(o.table, info, w.Outputs(workload.Only))
	if err != nil {
		return err
	}
	sessions := workload.Sessions{workload.Only: session}
	o.task = newTask(w, portable, sessions, names(o.table.ports, w.Row(0)), name+oip.TaskSuffix, s.Version(), o.ready)
	return nil
}

// Models are what clients may ask for.
func (o *Offer) Models() []server.Model {
	if o.sequences != nil {
		return []server.Model{o.sequences}
	}
	list := []server.Model{o.raw}
	if o.task != nil {
		list = append(list, o.task)
	}
	return list
}

func (o *Offer) ready() bool { return !o.closed.Load() }

// NoTask says why the task is not offered; empty: it is.
func (o *Offer) NoTask() string { return o.why }

// Close frees the model. No request may be under way.
func (o *Offer) Close() error {
	o.closed.Store(true)
	if o.sequences != nil {
		return o.sequences.close()
	}
	var errs []error
	if o.task != nil {
		errs = append(errs, o.task.close())
	}
	if o.table.service != nil {
		if err := o.table.service.Close(); err != nil {
			return errors.Join(append(errs, err)...) // a worker may use the rows
		}
	}
	if o.table.store != nil {
		errs = append(errs, o.table.store.Close())
	}
	return errors.Join(errs...)
}
