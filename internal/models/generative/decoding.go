package generative

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// decoding is the predictor of a decoder.
type decoding struct {
	decoder *decode.Decoder
	server  interface {
		Serve(ctx context.Context, source workload.Source) error
	}
	store *workload.Store
}

// prompt finds the tokens of a sample.
func (p *decoding) prompt(item workload.Item) []int32 {
	if p.store == nil {
		return nil
	}
	return whole(tensor.Data[int32](p.store.Slot(0, item.Row, 1)))
}

// Use implements workload.Predictor.
func (p *decoding) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *decoding) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return p.Serve(ctx, workload.BatchSource(items, reply))
}

// Serve implements workload.Decoder.
func (p *decoding) Serve(ctx context.Context, source workload.Source) error {
	return p.server.Serve(ctx, source)
}

// Close implements workload.Predictor.
func (p *decoding) Close() error { return p.decoder.Close() }
