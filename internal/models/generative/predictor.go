package generative

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A predictor runs a decoder.
type predictor struct {
	decoder *decode.Decoder
	server  interface {
		Serve(ctx context.Context, source workload.Source) error
	}
	store *workload.Store
}

// prompt returns the tokens of a sample.
func (p *predictor) prompt(item workload.Item) []int32 {
	if p.store == nil {
		return nil
	}
	return tokensIn(tensor.Data[int32](p.store.Slot(0, item.Row, 1)))
}

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return p.Serve(ctx, workload.BatchSource(items, reply))
}

// Serve implements workload.Decoder.
func (p *predictor) Serve(ctx context.Context, source workload.Source) error {
	return p.server.Serve(ctx, source)
}

// Close implements workload.Predictor.
func (p *predictor) Close() error { return p.decoder.Close() }
