package text

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// mostPieces is how long a sentence from elsewhere may be; those of newstest2014 have up to 200.
const mostPieces = 1024

// Decode implements workload.Portable.
func (*translation) Decode([]byte, []tensor.Tensor) error { return workload.ErrNoFile }

// Stamp implements workload.Portable: texts have no index.
func (*translation) Stamp([]byte, int, []tensor.Tensor) {}

// Sent implements workload.Varied.
func (*translation) Sent() []workload.Sent {
	return []workload.Sent{{Name: "pieces", Slot: workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{-1}}}}
}

// Complete implements workload.Varied.
func (*translation) Complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if n := sent[0][0]; n < 1 || n > mostPieces {
		return nil, fmt.Errorf("a sentence of %d pieces, want 1 to %d", n, mostPieces)
	}
	return []workload.Slot{{Type: tensor.Int64, Shape: sent[0]}}, nil
}

// Elsewhere implements workload.Writer.
func (w *translation) Elsewhere(rows int) workload.Prompted { return &elsewhere{*w, rows} }

// elsewhere is GNMT without sentences of its own.
type elsewhere struct {
	translation
	rows int
}

// Len implements workload.Workload.
func (e *elsewhere) Len() int { return e.rows }

// Row implements workload.Workload: room for the longest sentence.
func (*elsewhere) Row(int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Int64, Shape: tensor.Shape{mostPieces}}}
}

// Length implements workload.Long: how long a sentence is, its row says when it comes.
func (*elsewhere) Length(int) int { return mostPieces }

// Limit implements workload.Prompted: a translation is as long as its sentence makes it.
func (*elsewhere) Limit(int, int) {}

// Check implements workload.Prompted.
func (e *elsewhere) Check(row []tensor.Tensor) error {
	for i, p := range pieces(tensor.Data[int64](row[0])) {
		if p >= int64(e.known) {
			return fmt.Errorf("piece %d of the sentence is %d, the vocabulary has %d", i, p, e.known)
		}
	}
	return nil
}
