package oip

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
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

var _ backend.Remote = (*Engine)(nil)
