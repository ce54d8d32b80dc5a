package text

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// mostPieces is how long a sentence from elsewhere may be; those of newstest2014 have up to 200.
const mostPieces = 1024

func (*translation) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if n := sent[0][0]; n < 1 || n > mostPieces {
		return nil, fmt.Errorf("a sentence of %d pieces, want 1 to %d", n, mostPieces)
	}
	return []workload.Slot{{Type: tensor.Int64, Shape: sent[0]}}, nil
}

// forRows returns GNMT without sentences of its own. A row has room for the longest sentence; how long one
// is, the row says when it comes. Limits do not count: a translation is as long as its sentence makes it.
func (w *translation) forRows(limits []int) *workload.Workload {
	own := w.workload()
	own.Samples = len(limits)
	own.Row = func(int) []workload.Slot {
		return []workload.Slot{{Type: tensor.Int64, Shape: tensor.Shape{mostPieces}}}
	}
	own.Length = func(int) int { return mostPieces }
	return own
}

func (w *translation) check(row []tensor.Tensor) error {
	for i, p := range pieces(tensor.Data[int64](row[0])) {
		if p >= int64(w.known) {
			return fmt.Errorf("piece %d of the sentence is %d, the vocabulary has %d", i, p, w.known)
		}
	}
	return nil
}
