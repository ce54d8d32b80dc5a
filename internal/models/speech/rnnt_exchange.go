package speech

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// recordingInputs are the tensors that are sent of a sample: the samples of a recording.
func recordingInputs() []workload.Input {
	return []workload.Input{{Name: "samples", Slot: workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1}}}}
}

func (w *rnntWorkload) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	most := int64(w.data.Longest * audio.Rate)
	if n := sent[0][0]; n < audio.MinSamples || n > most {
		return nil, fmt.Errorf("the recording has %d samples, want %d to %d", n, audio.MinSamples, most)
	}
	return []workload.Slot{{Type: tensor.Float32, Shape: sent[0]}}, nil
}

func (*rnntWorkload) check(row []tensor.Tensor) error {
	for i, v := range tensor.Data[float32](row[0]) {
		if v-v != 0 {
			return fmt.Errorf("sample %d of the recording is %v", i, v)
		}
	}
	return nil
}
