package workload

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A Concurrent is a predictor that answers each sample on its own and elsewhere, any number at
// once: there are no batches, and one that fails leaves the others alone.
type Concurrent interface {
	Predictor
	// Answer answers an item, and returns when that is done; many goroutines call it at once. An
	// error says why the sample has no answer.
	Answer(ctx context.Context, item Item, reply Reply) error
	// Limit is how many may be under way at once; 0: any number.
	Limit() int
	// Reset forgets what was measured.
	Reset()
	// Measured is what was measured since Reset.
	Measured() backend.Generated
}
