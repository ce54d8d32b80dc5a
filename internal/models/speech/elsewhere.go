package speech

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Decode implements workload.Portable: recordings differ in length, and a file does not say it before
// it is decoded.
func (*speech) Decode([]byte, []tensor.Tensor) error { return workload.ErrNoFile }

// Stamp implements workload.Portable: texts have no index.
func (*speech) Stamp([]byte, int, []tensor.Tensor) {}

// Sent implements workload.Varied: the samples of a recording, as they are read.
func (*speech) Sent() []workload.Sent {
	return []workload.Sent{{Name: "samples", Slot: workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1}}}}
}

// Complete implements workload.Varied.
func (w *speech) Complete(sent []tensor.Shape) ([]workload.Slot, error) {
	most := int64(w.data.Longest * audio.Rate)
	if n := sent[0][0]; n < audio.MinSamples || n > most {
		return nil, fmt.Errorf("a recording of %d samples, want %d to %d", n, audio.MinSamples, most)
	}
	return []workload.Slot{{Type: tensor.Float32, Shape: sent[0]}}, nil
}

// Check implements workload.Checking.
func (*speech) Check(row []tensor.Tensor) error {
	for i, v := range tensor.Data[float32](row[0]) {
		if v-v != 0 {
			return fmt.Errorf("samples: the one of place %d is %v", i, v)
		}
	}
	return nil
}
