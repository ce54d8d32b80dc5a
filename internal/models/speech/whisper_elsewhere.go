package speech

import (
	"fmt"
	"sort"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// mostRecordingFile is how long the file of a recording may be: 30 s of WAV are less than a quarter of it.
const mostRecordingFile = 4 << 20

// sound is the part of a row in which there is a recording. What is behind it is no number.
func sound(row []float32) []float32 {
	return row[:sort.Search(len(row), func(i int) bool { return row[i] != row[i] })]
}

func (*talk) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if n := sent[0][0]; n < 1 || n > audio.WhisperSamples {
		return nil, fmt.Errorf("a recording of %d samples, want 1 to %d, which are 30 s", n, audio.WhisperSamples)
	}
	return []workload.Slot{{Type: tensor.Float32, Shape: sent[0]}}, nil
}

// readFile reads WAV or FLAC.
func (*talk) readFile(file []byte) (tensor.Tensor, error) {
	samples, err := audio.DecodeUpTo("the recording", file, audio.WhisperSamples)
	return tensor.Of(samples, int64(len(samples))), err
}

// forRows returns Whisper without recordings of its own. A row has room for the longest recording; how long one
// is, the row says when it comes. Limits do not count: a text is as long as what is said.
func (w *talk) forRows(limits []int) *workload.Workload {
	own := w.workload()
	own.Samples = len(limits)
	own.Row = func(int) []workload.Slot {
		return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{audio.WhisperSamples}}}
	}
	own.Length = func(int) int { return audio.WhisperSamples }
	return own
}

func (*talk) check(row []tensor.Tensor) error {
	for i, v := range tensor.Data[float32](row[0]) {
		if v-v != 0 {
			return fmt.Errorf("sample %d of the recording is %v", i, v)
		}
	}
	return nil
}
