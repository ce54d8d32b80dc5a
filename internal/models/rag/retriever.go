package rag

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/models/rag/retrieval"
)

// A Retriever finds passages. Several goroutines call it at once.
type Retriever interface {
	// Lookup returns the passages that fit a query best, at most k, the best first.
	Lookup(ctx context.Context, query string, k int) ([]retrieval.Passage, error)
	// Rerank returns passages in another order, the best first. Those that are equally good keep their order.
	Rerank(ctx context.Context, query string, passages []retrieval.Passage) ([]retrieval.Passage, error)
}
