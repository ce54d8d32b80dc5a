package oip

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

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
