package text

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// sentNames are those of the tensors of a row, as the reference has them.
var sentNames = [...]string{"input_ids", "input_mask", "segment_ids"}

// check finds numbers that the model does not know. What a model does with other numbers depends on the device: some look up what lies
// beside the table of pieces.
func (w *squad) check(row []tensor.Tensor) error {
	limits, ended := [...]int64{int64(w.set.wordPiece.Vocabulary().Len()), 2, 2}, false
	for k, limit := range limits {
		for i, n := range tensor.Data[int64](row[k]) {
			if n < 0 || n >= limit {
				return fmt.Errorf("%s: place %d is %d, want 0 to %d", sentNames[k], i, n, limit-1)
			}
		}
	}
	for i, n := range tensor.Data[int64](row[maskSlot]) {
		if ended && n == 1 {
			return fmt.Errorf("%s: place %d is 1 behind one that is 0, want ones and then zeros", sentNames[maskSlot], i)
		}
		ended = n == 0
	}
	return nil
}
