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
	// OpenSequences opens a model of workload.Sequences for a row for each limit at a time: how many
	// tokens its next answer may have. It also returns the workload with its data.
	OpenSequences(ctx context.Context, limits []int, done harness.Answered) (*harness.Service, *workload.Workload, error)
	// OpenWorkload joins the model with its data, and returns the ports of its files, by role.
	OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error)
	// Version names the content of the model.
	Version() string
}

// Options say how a model is offered.
type Options struct {
	Name string // for clients
	Room int    // requests under way at most; 0: DefaultRoom
	Own  bool   // the model is of no benchmark, and has no task
}

// DefaultRoom is how many requests of a model may be under way.
const DefaultRoom = 256

// An Offer is a model that is offered. It must be closed.
type Offer struct {
	files   []*file
	decoder *decoderModel  // describes the only file; nil: the files of the model run by themselves
	task    *taskModel     // nil: not offered
	writer  *sequenceModel // the task of a model whose samples are sequences
	noTask  string
	closed  atomic.Bool
}

// A file of the model runs by itself.
type file struct {
	role  string
	table *table
	model *tensorsModel
}

// Open opens a model, and the task that it is for if that can be offered.
func Open(ctx context.Context, s Source, o Options) (offer *Offer, err error) {
	if o.Room < 0 {
		return nil, fmt.Errorf("room for %d requests", o.Room)
	}
	o.Room = cmp.Or(o.Room, DefaultRoom)
	files, err := s.Parts()
	if err != nil {
		return nil, err
	}
	offer = &Offer{}
	for _, f := range files {
		if err == nil {
			err = offer.openFile(ctx, s, f, o)
		}
	}
	if err == nil && !o.Own {
		err = offer.openTask(ctx, s, o)
	}
	if err != nil {
		return nil, errors.Join(err, offer.Close())
	}
	return offer, nil
}

// openFile opens a file of the model.
func (o *Offer) openFile(ctx context.Context, s Source, f workload.File, options Options) (err error) {
	t := newTable(options.Room)
	opened := &file{role: f.Role, table: t}
	o.files = append(o.files, opened) // to close it
	name := options.Name
	if f.Role != workload.Only {
		name = protocol.PartName(name, f.Role)
	}
	if t.service, err = s.OpenService(ctx, f.Path, tensorsWorkload(name, t), t.done); err != nil {
		return err
	}
	if t.store, err = workload.NewStore(options.Room, t.service.Workload().Row); err != nil {
		return err
	}
	opened.model = newTensors(t, name, s.Version(), t.service.Info().Engine, o.ready)
	return t.service.Start(t.store)
}

// openTask offers the benchmark's task, if samples can come from clients.
func (o *Offer) openTask(ctx context.Context, s Source, options Options) error {
	w, ports, err := s.OpenWorkload(ctx)
	if err != nil {
		return err
	}
	if w.Exchange != nil && w.Exchange.Sequences != nil {
		if p := ports[workload.Only]; len(o.files) == 0 {
			metadata := &protocol.ModelMetadata{Name: options.Name, Versions: []string{s.Version()}, Platform: "mlperf", Inputs: portsOf(p.Inputs),
				Outputs: portsOf(p.Outputs)}
			o.decoder = &decoderModel{described{metadata, o.ready, &counts{}}}
		}
		o.writer, err = openSequences(ctx, s, options, o.ready)
		return err
	}
	switch {
	case len(o.files) == 0:
		return fmt.Errorf("%s cannot be offered: its files run together only, and its samples cannot come from clients", options.Name)
	case w.Exchange == nil:
		o.noTask = "the answers of this benchmark need its data set, which only the client has"
		return nil
	}
	sessions := workload.Sessions{}
	for _, f := range o.files {
		if sessions[f.role], err = shareSession(f.table, f.table.service.Info(), w.OutputsOf(f.role)); err != nil {
			return err
		}
	}
	o.task, err = newTask(w, sessions, ports[workload.Only].Inputs, options.Name, s.Version(), o.ready)
	return err
}

// Models are offered to clients.
func (o *Offer) Models() (list []oipserver.Model) {
	for _, f := range o.files {
		list = append(list, f.model)
	}
	if o.decoder != nil {
		list = append(list, o.decoder)
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
func (o *Offer) NoTask() string { return o.noTask }

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
	for _, f := range o.files {
		errs = append(errs, f.table.close())
	}
	return errors.Join(errs...)
}

// described has the methods that all models share.
type described struct {
	metadata *protocol.ModelMetadata
	ready    func() bool
	count    *counts
}

// Metadata implements oipserver.Model.
func (d *described) Metadata() *protocol.ModelMetadata { return d.metadata }

// Ready implements oipserver.Model.
func (d *described) Ready() bool { return d.ready() }

// Statistics implements oipserver.Model.
func (d *described) Statistics() protocol.ModelStatistics {
	d.count.mu.Lock()
	defer d.count.mu.Unlock()
	s := d.count.total
	s.Name, s.Version = d.metadata.Name, d.metadata.Versions[0]
	return s
}

// A decoderModel describes the ports of a decoder, which only the task runs: its key/value
// cache would have to be sent for every token. Clients open their side of the task by it.
type decoderModel struct{ described }

// MaxBytes implements oipserver.Model: enough for Begin to name the task.
func (*decoderModel) MaxBytes() int64 { return 1 << 20 }

// Begin implements oipserver.Model.
func (d *decoderModel) Begin(*protocol.Head) (oipserver.Job, error) {
	name := d.metadata.Name
	return nil, protocol.Errorf(protocol.Unsupported, "%s keeps its key/value cache on the server: ask %s%s", name, name, protocol.TaskSuffix)
}
