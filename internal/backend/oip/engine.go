package oip

import (
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
	protocol "github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/client"
)

// Config says which model to ask for, and where.
type Config struct {
	Client         client.Options
	Model, Version string // at the servers, of what has no name of its own; an empty version: theirs
	// Task is the model that answers what LoadGen logs, for Respond: then that is what servers
	// count. Empty: there is none.
	Task string
}

// An Engine asks servers. It may be used from several goroutines at once.
type Engine struct {
	config  Config
	client  *client.Client
	servers []protocol.ServerMetadata
	task    *remote  // nil: there is none
	inputs  []string // of the task
	told    int      // outputs of the task

	mu     sync.Mutex
	models []*remote // that were asked for, in this order

	answered atomic.Uint64
	took     atomic.Int64 // ns, all answered requests together
}

// A remote is a model of the servers.
type remote struct {
	name    string
	opened  atomic.Pointer[protocol.ModelMetadata]
	version atomic.Pointer[string] // of the answers; nil: there was none yet
}

// remote finds the model that the servers call by a name; empty: that of the configuration.
func (e *Engine) remote(name string) *remote {
	if name == "" {
		name = e.config.Model
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.models {
		if m.name == name {
			return m
		}
	}
	m := &remote{name: name}
	e.models = append(e.models, m)
	return m
}

// known are the models that were asked for.
func (e *Engine) known() []*remote {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.models)
}

// counted are the models of which the servers count inferences.
func (e *Engine) counted() []*remote {
	if e.task != nil {
		return []*remote{e.task}
	}
	if list := e.known(); len(list) > 0 {
		return list
	}
	return []*remote{{name: e.config.Model}}
}

// Name is that of the engine.
const Name = "oip"

// New connects to the servers, and asks each who it is.
func New(ctx context.Context, c Config) (*Engine, error) {
	if c.Model == "" {
		return nil, errors.New("the model has no name")
	}
	asked, err := client.New(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, client: asked}
	if e.servers, err = asked.Servers(ctx); err == nil {
		err = e.findTask(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, asked.Close())
	}
	return e, nil
}

// Name implements backend.Engine.
func (*Engine) Name() string { return Name }

// Close implements backend.Engine.
func (e *Engine) Close() error { return e.client.Close() }

// Ports implements backend.Engine: they are what the servers say.
func (e *Engine) Ports(ctx context.Context, o backend.Options) (inputs, outputs []backend.Port, err error) {
	m, err := e.describe(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if inputs, err = portsOf(m.Inputs); err == nil {
		outputs, err = portsOf(m.Outputs)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	return inputs, outputs, nil
}

// describe asks the servers for the model, and compares it with the one of before.
func (e *Engine) describe(ctx context.Context, o backend.Options) (*protocol.ModelMetadata, error) {
	if o.Device != "" && o.Device != "cpu" {
		return nil, fmt.Errorf("device %s: which device a model runs on is up to its server", o.Device)
	}
	of := e.remote(o.ModelPath)
	m, err := e.client.Model(ctx, of.name, e.config.Version)
	if err != nil {
		return nil, err
	}
	if !of.opened.CompareAndSwap(nil, m) {
		if diff := of.opened.Load().Difference(m); diff != "" {
			return nil, fmt.Errorf("the servers have another model %s than before: %s", of.name, diff)
		}
	}
	return m, nil
}

// Check implements backend.Remote.
func (e *Engine) Check(ctx context.Context) error {
	if len(e.client.Down()) > 0 {
		return nil // those servers are named elsewhere
	}
	for _, m := range e.known() {
		if _, err := e.describe(ctx, backend.Options{ModelPath: m.name}); err != nil {
			return err
		}
	}
	return nil
}

// portsOf are ports as this program has them.
func portsOf(list []protocol.Port) ([]backend.Port, error) {
	var ports []backend.Port
	for _, p := range list {
		d, err := protocol.ParseDatatype(p.Datatype)
		if err != nil {
			return nil, fmt.Errorf("port %s: %w", p.Name, err)
		}
		ports = append(ports, backend.Port{Name: p.Name, Type: d, Shape: p.Shape})
	}
	return ports, nil
}

// Open implements backend.Engine.
func (e *Engine) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	begin := time.Now()
	inputs, outputs, err := e.Ports(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &session{engine: e, model: e.remote(o.ModelPath)}
	s.info = backend.Info{Inputs: inputs, Outputs: outputs, Engine: e.title(),
		Devices: []backend.DeviceUse{{Device: "remote", Nodes: -1}}, Facts: e.facts(), LoadTime: time.Since(begin)}
	if len(o.Outputs) > 0 {
		if s.info.Outputs, err = chosen(outputs, o.Outputs); err != nil {
			return nil, err
		}
	}
	for _, p := range s.info.Outputs {
		s.wanted = append(s.wanted, p.Name)
	}
	return s, nil
}

func chosen(outputs []backend.Port, names []string) (list []backend.Port, err error) {
	for _, name := range names {
		found := false
		for _, p := range outputs {
			if p.Name == name {
				list, found = append(list, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("the model has no output %q", name)
		}
	}
	return list, nil
}

// named is how many servers a title names.
const named = 3

// title is how results call the engine: who answers, and where.
func (e *Engine) title() string {
	s := e.servers[0]
	who := strings.TrimSpace(s.Name + " " + s.Version)
	list := e.client.Endpoints()
	if len(list) > named {
		list = append(list[:named:named], fmt.Sprintf("%d more", len(list)-named))
	}
	return fmt.Sprintf("oip (%s) at %s", who, strings.Join(list, ", "))
}

// facts are what somebody needs to ask the same servers again.
func (e *Engine) facts() map[string]string {
	c := e.config.Client
	facts := map[string]string{"endpoints": strings.Join(e.client.Endpoints(), " "), "remote model": e.config.Model}
	var names []string
	for _, m := range e.known() {
		names = append(names, m.name)
	}
	if len(names) > 0 {
		facts["remote model"] = strings.Join(names, " ")
	}
	for name, value := range map[string]string{"remote version": e.config.Version, "concurrency": positive(c.Concurrency), "retry": positive(c.Retry), "request timeout": positive(c.Timeout)} {
		if value != "" {
			facts[name] = value
		}
	}
	if c.SharedMemory {
		facts["shared memory"] = "on"
	}
	for i, s := range e.servers {
		facts[fmt.Sprintf("server %d", i+1)] = strings.TrimSpace(s.Name + " " + s.Version)
	}
	return facts
}

// positive is a number as a text; empty: it is not set.
func positive[N int | time.Duration](n N) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// Account implements backend.Remote.
func (e *Engine) Account(ctx context.Context) (backend.Account, error) {
	t := e.client.Traffic()
	a := backend.Account{
		Endpoints: e.client.Endpoints(), Local: e.client.Local(), Requests: t.ByServer, Down: e.client.Down(), Retried: e.client.Retried(),
		Connections: t.Connections, Sent: t.Sent, Received: t.Received,
		RoundTrip: backend.Sum{Count: e.answered.Load(), Time: time.Duration(e.took.Load())},
	}
	var sum protocol.ModelStatistics
	for _, m := range e.counted() {
		list, err := e.client.Statistics(ctx, m.name, e.config.Version)
		if err != nil {
			return a, err
		}
		for _, s := range list {
			sum.Add(s)
		}
	}
	of := func(s protocol.Sum) backend.Sum {
		return backend.Sum{Count: s.Count, Time: time.Duration(min(s.NS, math.MaxInt64))}
	}
	a.Server = &backend.ServerCount{Inferences: sum.InferenceCount, Executions: sum.ExecutionCount, CacheHits: sum.InferenceStats.CacheHit.Count,
		Queue: of(sum.InferenceStats.Queue), Compute: of(sum.InferenceStats.ComputeInfer)}
	return a, nil
}

var _ backend.Remote = (*Engine)(nil)
