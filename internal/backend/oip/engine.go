package oip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// Config says which model to ask for, and where.
type Config struct {
	Client         client.Options
	Model, Version string // at the servers; an empty version is theirs to choose
	// Task is the model whose answers are the bytes that LoadGen logs, for Respond; then it is the one that the servers
	// count. Empty: none.
	Task string
}

// An Engine asks servers. It may be used from several goroutines at once.
type Engine struct {
	config  Config
	client  *client.Client
	servers []protocol.ServerMetadata
	task    *task // nil: none

	mu     sync.Mutex
	models []*remoteModel // that were asked for, in this order

	answered  atomic.Uint64
	roundTrip atomic.Int64 // ns, of all answered requests together
}

// A remoteModel is a model of the servers.
type remoteModel struct {
	name     string
	metadata atomic.Pointer[protocol.ModelMetadata] // of the first description
	version  atomic.Pointer[string]                 // of the answers; nil: there was none yet
}

// New connects to the servers, and asks each for its name.
func New(ctx context.Context, c Config) (*Engine, error) {
	if c.Model == "" {
		return nil, errors.New("the model has no name")
	}
	cl, err := client.New(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, client: cl}
	if e.servers, err = cl.Servers(ctx); err == nil && c.Task != "" {
		e.task, err = e.openTask(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, cl.Close())
	}
	return e, nil
}

// Name implements backend.Engine.
func (*Engine) Name() string { return "oip" }

// Close implements backend.Engine.
func (e *Engine) Close() error { return e.client.Close() }

// known are the models that were asked for.
func (e *Engine) known() []*remoteModel {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.models)
}

// describe asks the servers for a model, by its name or the configuration's, and compares it with its first description.
func (e *Engine) describe(ctx context.Context, name string) (*remoteModel, *protocol.ModelMetadata, error) {
	name = cmp.Or(name, e.config.Model)
	e.mu.Lock()
	i := slices.IndexFunc(e.models, func(m *remoteModel) bool { return m.name == name })
	if i < 0 {
		i, e.models = len(e.models), append(e.models, &remoteModel{name: name})
	}
	model := e.models[i]
	e.mu.Unlock()
	now, err := e.client.Model(ctx, name, e.config.Version)
	if err != nil {
		return nil, nil, err
	}
	if !model.metadata.CompareAndSwap(nil, now) {
		if diff := model.metadata.Load().Difference(now); diff != "" {
			return nil, nil, fmt.Errorf("the servers have another model %s than before: %s", name, diff)
		}
	}
	return model, now, nil
}

// Ports implements backend.Engine: they are those that the servers describe.
func (e *Engine) Ports(ctx context.Context, o backend.Options) (inputs, outputs []backend.Port, err error) {
	_, inputs, outputs, err = e.ports(ctx, o)
	return inputs, outputs, err
}

func (e *Engine) ports(ctx context.Context, o backend.Options) (model *remoteModel, inputs, outputs []backend.Port, err error) {
	if o.Device != "" && o.Device != "cpu" {
		return nil, nil, nil, fmt.Errorf("device %s: the server chooses the device of its model", o.Device)
	}
	model, metadata, err := e.describe(ctx, o.ModelPath)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, side := range []struct {
		from []protocol.Port
		to   *[]backend.Port
	}{{metadata.Inputs, &inputs}, {metadata.Outputs, &outputs}} {
		for _, p := range side.from {
			d, err := protocol.ParseDatatype(p.Datatype)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("model %s: port %s: %w", metadata.Name, p.Name, err)
			}
			*side.to = append(*side.to, backend.Port{Name: p.Name, Type: d, Shape: p.Shape})
		}
	}
	return model, inputs, outputs, nil
}

// Open implements backend.Engine.
func (e *Engine) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	begin := clock.Now()
	model, inputs, outputs, err := e.ports(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(o.Outputs) > 0 {
		all := outputs
		outputs = nil
		for _, name := range o.Outputs {
			i := slices.IndexFunc(all, func(p backend.Port) bool { return p.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("the model has no output %q", name)
			}
			outputs = append(outputs, all[i])
		}
	}
	s := &session{engine: e, model: model}
	for _, p := range outputs {
		s.wanted = append(s.wanted, p.Name)
	}
	s.info = backend.Info{Inputs: inputs, Outputs: outputs, Engine: e.title(),
		Devices: []backend.DeviceUse{{Device: "remote", Nodes: -1}}, Facts: e.facts(), LoadTime: clock.Since(begin)}
	return s, nil
}

// title is how results call the engine: the first server, and where three of them are.
func (e *Engine) title() string {
	const named = 3
	s, list := e.servers[0], e.client.Endpoints()
	if len(list) > named {
		list = append(list[:named:named], fmt.Sprintf("%d more", len(list)-named))
	}
	return fmt.Sprintf("oip (%s) at %s", strings.TrimSpace(s.Name+" "+s.Version), strings.Join(list, ", "))
}

// facts are what it takes to ask the same servers again.
func (e *Engine) facts() map[string]string {
	c := e.config.Client
	var names []string
	for _, m := range e.known() {
		names = append(names, m.name)
	}
	facts := map[string]string{"endpoints": strings.Join(e.client.Endpoints(), " "), "remote model": strings.Join(names, " ")}
	for _, f := range []struct {
		name  string
		given bool
		value any
	}{
		{"remote version", e.config.Version != "", e.config.Version}, {"concurrency", c.Concurrency > 0, c.Concurrency},
		{"retry", c.Retry > 0, c.Retry}, {"request timeout", c.Timeout > 0, c.Timeout},
	} {
		if f.given {
			facts[f.name] = fmt.Sprint(f.value)
		}
	}
	for i, s := range e.servers {
		facts[fmt.Sprintf("server %d", i+1)] = strings.TrimSpace(s.Name + " " + s.Version)
	}
	return facts
}

var _ backend.Remote = (*Engine)(nil)

// Check implements backend.Remote.
func (e *Engine) Check(ctx context.Context) error {
	if len(e.client.Down()) > 0 {
		return nil // the account names those servers
	}
	for _, m := range e.known() {
		if _, _, err := e.describe(ctx, m.name); err != nil {
			return err
		}
	}
	return nil
}

// Account implements backend.Remote.
func (e *Engine) Account(ctx context.Context) (backend.Account, error) {
	t := e.client.Traffic()
	a := backend.Account{
		Endpoints: e.client.Endpoints(), Requests: t.Requests, Down: e.client.Down(), Retried: t.Retried,
		Connections: t.Connections, Sent: t.Sent, Received: t.Received,
		RoundTrip: backend.Sum{Count: e.answered.Load(), Time: time.Duration(e.roundTrip.Load())},
	}
	counted := e.known()
	switch {
	case e.task != nil:
		counted = []*remoteModel{&e.task.remoteModel}
	case len(counted) == 0:
		counted = []*remoteModel{{name: e.config.Model}}
	}
	var sum protocol.ModelStatistics
	for _, m := range counted {
		list, err := e.client.Statistics(ctx, m.name, e.config.Version)
		if err != nil {
			return a, err
		}
		for _, s := range list {
			sum.Add(s)
		}
	}
	total := func(s protocol.Sum) backend.Sum {
		return backend.Sum{Count: s.Count, Time: time.Duration(min(s.NS, math.MaxInt64))}
	}
	a.Server = &backend.ServerCount{Inferences: sum.InferenceCount, Executions: sum.ExecutionCount, CacheHits: sum.InferenceStats.CacheHit.Count,
		Queue: total(sum.InferenceStats.Queue), Compute: total(sum.InferenceStats.ComputeInfer)}
	return a, nil
}

// infer sends a request, and counts its answer.
func (e *Engine) infer(ctx context.Context, r *client.Request) error {
	begin := clock.Now()
	if _, err := e.client.Infer(ctx, r); err != nil {
		return err
	}
	e.roundTrip.Add(int64(clock.Since(begin)))
	e.answered.Add(1)
	return nil
}

// Local names the servers that are certainly on this machine.
func (e *Engine) Local(ctx context.Context) []string { return e.client.Local(ctx) }

// Nodes asks every server for its name, and adds its endpoint.
func (e *Engine) Nodes(ctx context.Context) ([]string, error) {
	servers, err := e.client.Servers(ctx)
	if err != nil {
		return nil, err
	}
	var list []string
	for i, name := range e.client.Endpoints() {
		if servers[i].Name == "" {
			return nil, errors.New("server " + name + " has no name")
		}
		list = append(list, servers[i].Name+" at "+name)
	}
	return list, nil
}
