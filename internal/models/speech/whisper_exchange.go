package speech

import (
	"fmt"
	"sort"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// maxRecordingFile bounds the file of a recording, in bytes: 30 s of WAV are less than a quarter of it.
const maxRecordingFile = 4 << 20

// recordingIn is the part of a row before the first NaN: the recording.
func recordingIn(row []float32) []float32 {
	return row[:sort.Search(len(row), func(i int) bool { return row[i] != row[i] })]
}

func (*whisperWorkload) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if n := sent[0][0]; n < 1 || n > audio.WhisperSamples {
		return nil, fmt.Errorf("the recording has %d samples, want 1 to %d (30 s)", n, audio.WhisperSamples)
	}
	return []workload.Slot{{Type: tensor.Float32, Shape: sent[0]}}, nil
}

// readFile reads WAV or FLAC.
func (*whisperWorkload) readFile(file []byte) (tensor.Tensor, error) {
	samples, err := audio.DecodeUpTo("the recording", file, audio.WhisperSamples)
	return tensor.Of(samples, int64(len(samples))), err
}

// forRows returns Whisper for rows that are sent. A row has room for the longest recording and is filled up with NaN. Limits
// are not used: the recording decides how long its text is.
func (w *whisperWorkload) forRows(limits []int) *workload.Workload {
	own := w.workload()
	own.Samples = len(limits)
	own.Row = func(int) []workload.Slot {
		return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{audio.WhisperSamples}}}
	}
	own.Length = func(int) int { return audio.WhisperSamples }
	return own
}

func (*whisperWorkload) check(row []tensor.Tensor) error {
	for i, v := range tensor.Data[float32](row[0]) {
		if v-v != 0 {
			return fmt.Errorf("sample %d of the recording is %v", i, v)
		}
	}
	return nil
}
