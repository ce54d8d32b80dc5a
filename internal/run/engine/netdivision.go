package engine

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

// A systemUnderTest is on other machines.
type systemUnderTest interface {
	// Respond sends a sample and appends the response to dst. Tokens is the number of tokens of the response; 0: unknown.
	Respond(ctx context.Context, sample []tensor.Tensor, dst []byte) (response []byte, tokens int, err error)
	// Nodes asks every node for its name.
	Nodes(ctx context.Context) ([]string, error)
}

// overNetwork returns a model whose samples r answers, under the rules of the Network division: LoadGen and the data are here,
// and the whole system under test is on other machines. A sample is sent as it was loaded, alone, without its index; the response is
// logged as it came. This side neither pads, batches, caches nor computes. It writes the index of the sample into responses that have
// one, because the other side must not know it. The name of the system begins with "Network SUT" and has the names of all nodes.
func overNetwork(m workload.Model, r systemUnderTest) workload.Model {
	open := m.Open
	m.Open = func(s workload.Setup) (*workload.Workload, error) {
		w, err := open(s)
		if err != nil {
			return nil, err
		}
		exchange := w.Exchange
		switch {
		case exchange == nil:
			return nil, userinput.Errorf("division",
				"network: %s cannot be sent to a server: its answers need the data set, which a system under test must not have", m.Name)
		case exchange.NeedsDataset != "":
			return nil, userinput.Errorf("division", "network: the data set of %s says %s, and a system under test must not have it", m.Name,
				exchange.NeedsDataset)
		}
		remote := *w
		remote.Batch, remote.Slots, remote.PredictorBytes, remote.EndTokens = 1, 0, nil, nil
		remote.Length, remote.PaddedLength, remote.NewDecoder = nil, nil, nil
		remote.NewPredictor = func(workload.Sessions, int) (workload.Predictor, error) {
			return &networkPredictor{exchange: exchange, remote: r}, nil
		}
		remote.Notes = append(slices.Clone(w.Notes), "Network division: samples are sent as they were loaded, and responses come back")
		remote.SystemName = func(ctx context.Context) (string, error) { return systemName(ctx, m.Name, r) }
		return &remote, nil
	}
	return m
}

// systemName names a system under test by the model and all nodes.
func systemName(ctx context.Context, model string, r systemUnderTest) (string, error) {
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

// A networkPredictor sends samples to the system under test.
type networkPredictor struct {
	exchange *workload.Exchange
	remote   systemUnderTest
	store    *workload.Store
	response []byte
}

// Use implements workload.Predictor.
func (p *networkPredictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Close implements workload.Predictor.
func (*networkPredictor) Close() error { return nil }

// Predict implements workload.Predictor.
func (p *networkPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) (err error) {
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
