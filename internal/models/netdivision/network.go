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

// A Remote is a system under test on other machines.
type Remote interface {
	// Respond sends a sample and appends the response to dst. Tokens is the number of tokens of the response; 0: unknown.
	Respond(ctx context.Context, sample []tensor.Tensor, dst []byte) (response []byte, tokens int, err error)
	// Nodes asks every node for its name.
	Nodes(ctx context.Context) ([]string, error)
}

// Wrap returns a model whose samples r answers.
func Wrap(m workload.Model, r Remote) workload.Model {
	open := m.Open
	m.Open = func(s workload.Setup) (*workload.Workload, error) {
		w, err := open(s)
		if err != nil {
			return nil, err
		}
		exchange := w.Exchange
		switch {
		case exchange == nil:
			return nil, userinput.Errorf("division", "network: %s cannot be sent to a server: its answers need the data set, which a system under test must not have", m.Name)
		case exchange.NeedsDataset != "":
			return nil, userinput.Errorf("division", "network: the data set of %s says %s, and a system under test must not have it", m.Name, exchange.NeedsDataset)
		}
		remote := *w
		remote.Batch, remote.Slots, remote.PredictorBytes, remote.EndTokens = 1, 0, nil, nil
		remote.Length, remote.PaddedLength, remote.NewDecoder = nil, nil, nil
		remote.NewPredictor = func(workload.Sessions, int) (workload.Predictor, error) {
			return &predictor{exchange: exchange, remote: r}, nil
		}
		remote.Notes = append(slices.Clone(w.Notes), "Network division: samples are sent as they were loaded, and responses come back")
		remote.SystemName = func(ctx context.Context) (string, error) { return systemName(ctx, m.Name, r) }
		return &remote, nil
	}
	return m
}

// systemName names a system under test by the model and all nodes.
func systemName(ctx context.Context, model string, r Remote) (string, error) {
	nodes, err := r.Nodes(ctx)
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
	return fmt.Sprintf("Network SUT: %s on %s", model, strings.Join(nodes, ", ")), nil
}

// A predictor sends samples to the system under test.
type predictor struct {
	exchange *workload.Exchange
	remote   Remote
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
		sent := row
		if inputs := p.exchange.Inputs; inputs != nil {
			sent = row[:min(len(row), len(inputs)-len(p.exchange.Constants))] // the other tensors stay here
		}
		var tokens int
		p.response, tokens, err = p.remote.Respond(ctx, slices.Concat(sent, p.exchange.Constants), p.response[:0])
		if err != nil {
			return fmt.Errorf("a sample sent to the system under test: %w", err)
		}
		if p.exchange.Stamp != nil {
			p.exchange.Stamp(p.response, item.Index, row)
		}
		if s := p.exchange.Sequences; s != nil && s.Text != nil {
			tokens = len(s.Text.Tokens(nil, p.response)) // of other responses, the system returns the number
		}
		reply.Done(item.Ticket, p.response, tokens)
	}
	return nil
}
