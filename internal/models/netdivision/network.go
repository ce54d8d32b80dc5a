package netdivision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Remote is the system under test, on other machines.
type Remote interface {
	// Respond sends a sample and appends the response to dst. Tokens are those that were written for it, 0 where
	// nobody counts them.
	Respond(ctx context.Context, sample []tensor.Tensor, dst []byte) (response []byte, tokens int, err error)
	// Nodes asks every node for its name.
	Nodes(ctx context.Context) ([]string, error)
}

// Wrap returns a model whose predictors are elsewhere.
func Wrap(m workload.Model, r Remote) workload.Model {
	open := m.Open
	m.Open = func(s workload.Setup) (workload.Workload, error) {
		w, err := open(s)
		if err != nil {
			return nil, err
		}
		p, ok := w.(workload.Portable)
		if !ok {
			return nil, userinput.Errorf("division", "network: no server answers samples of %s: they cannot come from elsewhere, or their answers need the data set, which a system under test must not have", m.Name)
		}
		if t, ok := w.(workload.Tied); ok && t.Tied() != "" {
			return nil, userinput.Errorf("division", "network: the data set of %s says %s, and a system under test must not have it", m.Name, t.Tied())
		}
		d := &distant{Workload: w, portable: p, remote: r, model: m.Name}
		if c, ok := w.(workload.Constant); ok {
			d.constants = c.Constants()
		}
		return d, nil
	}
	return m
}

// distant is a workload whose system under test is elsewhere.
type distant struct {
	workload.Workload
	portable workload.Portable
	remote   Remote
	model    string

	constants []tensor.Tensor // that go with every sample
}

// Batch implements workload.Workload: samples go one by one.
func (*distant) Batch() int { return 1 }

// Notes implements workload.Workload.
func (d *distant) Notes() []string {
	return append(d.Workload.Notes(), "Network division: samples are sent as they were loaded, and responses come back")
}

// ScoreOptions implements workload.Scored.
func (d *distant) ScoreOptions() workload.Values {
	if s, ok := d.Workload.(workload.Scored); ok {
		return s.ScoreOptions()
	}
	return nil
}

// SystemName implements workload.Distant.
func (d *distant) SystemName(ctx context.Context) (string, error) {
	nodes, err := d.remote.Nodes(ctx)
	if err != nil {
		return "", fmt.Errorf("asking the nodes for their names: %w", err)
	}
	seen := map[string]bool{}
	for _, n := range nodes {
		if seen[n] {
			return "", fmt.Errorf("two nodes have the name %q", n)
		}
		seen[n] = true
	}
	return fmt.Sprintf("Network SUT: %s on %s", d.model, strings.Join(nodes, ", ")), nil
}

// sample are the tensors that are sent: those of a row, or the first of them, and what all samples have.
func (d *distant) sample(row []tensor.Tensor) []tensor.Tensor {
	if v, ok := d.portable.(workload.Varied); ok {
		row = row[:min(len(row), len(v.Sent())-len(d.constants))] // what is behind stays here
	}
	return slices.Concat(row, d.constants)
}

// tokens counts those of a response that consists of tokens. Of others it is what the system under test says.
func (d *distant) tokens(response []byte, told int) int {
	if t, ok := d.portable.(workload.TextWriter); ok {
		return len(t.Tokens(nil, response))
	}
	return told
}

// NewPredictor implements workload.Workload.
func (d *distant) NewPredictor(workload.Sessions, int) (workload.Predictor, error) {
	return &predictor{distant: d}, nil
}

// A predictor has samples answered elsewhere.
type predictor struct {
	distant  *distant
	store    *workload.Store
	response []byte
}

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Close implements workload.Predictor.
func (*predictor) Close() error { return nil }

// Predict implements workload.Predictor.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) (err error) {
	if p.store == nil && len(items) > 0 {
		return errors.New("no samples are loaded")
	}
	for _, item := range items {
		row := p.store.Batch(item.Row, 1)
		var tokens int
		p.response, tokens, err = p.distant.remote.Respond(ctx, p.distant.sample(row), p.response[:0])
		if err != nil {
			return fmt.Errorf("a sample sent to the system under test: %w", err)
		}
		p.distant.portable.Stamp(p.response, item.Index, row)
		reply.Done(item.Ticket, p.response, p.distant.tokens(p.response, tokens))
	}
	return nil
}
