package harness

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// warmLengths has every worker answer samples of every length that samples are filled up to, in
// batches of each size, where a device may compile the model for each of them. What it compiles then is
// not compiled in the test.
func (r *run) warmLengths(ctx context.Context) error {
	if r.workload.PaddedLength == nil || !r.compiles() {
		return nil
	}
	for _, index := range oneOfEachLength(r.workload) {
		items, err := r.rowsOf(ctx, []int{index}, r.model.shape.batch)
		if err != nil {
			return err
		}
		for _, p := range r.model.predictors {
			for _, n := range r.warmSizes() {
				if err := tryOut(ctx, p, items[:n]); err != nil {
					return err
				}
			}
		}
	}
	_, err := r.sampleRows(ctx, r.model.shape.batch)
	return err
}

// oneOfEachLength returns the first sample of each length that samples are filled up to.
func oneOfEachLength(w *workload.Workload) []int {
	var chosen []int
	seen := map[int]bool{}
	for i := range w.Samples {
		if n := w.PaddedLength(i); !seen[n] {
			seen[n] = true
			chosen = append(chosen, i)
		}
	}
	return chosen
}
