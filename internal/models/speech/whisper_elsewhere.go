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

// Decode implements workload.Portable: as rows are of different lengths, files are read by ReadFile.
func (*talk) Decode([]byte, []tensor.Tensor) error { return workload.ErrNoFile }

// Stamp implements workload.Portable: texts have no index.
func (*talk) Stamp([]byte, int, []tensor.Tensor) {}

// Sent implements workload.Varied: the samples of a recording, as they are read.
func (*talk) Sent() []workload.Sent {
	return []workload.Sent{{Name: "samples", Slot: workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1}}}}
}

// Complete implements workload.Varied.
func (*talk) Complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if n := sent[0][0]; n < 1 || n > audio.WhisperSamples {
		return nil, fmt.Errorf("a recording of %d samples, want 1 to %d, which are 30 s", n, audio.WhisperSamples)
	}
	return []workload.Slot{{Type: tensor.Float32, Shape: sent[0]}}, nil
}

// FileBytes implements workload.Filed.
func (*talk) FileBytes() int64 { return mostRecordingFile }

// ReadFile implements workload.Filed: WAV or FLAC.
func (*talk) ReadFile(file []byte) (tensor.Tensor, error) {
	samples, err := audio.DecodeUpTo("the recording", file, audio.WhisperSamples)
	return tensor.Of(samples, int64(len(samples))), err
}

// Elsewhere implements workload.Writer.
func (w *talk) Elsewhere(rows int) workload.Prompted { return &dictation{*w, rows} }

// A dictation is Whisper without recordings of its own.
type dictation struct {
	talk
	rows int
}

// Len implements workload.Workload.
func (d *dictation) Len() int { return d.rows }

// Row implements workload.Workload: room for the longest recording.
func (*dictation) Row(int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{audio.WhisperSamples}}}
}

// Length implements workload.Long: how long a recording is, its row says when it comes.
func (*dictation) Length(int) int { return audio.WhisperSamples }

// Limit implements workload.Prompted: a text is as long as what is said.
func (*dictation) Limit(int, int) {}

// Check implements workload.Checking.
func (*dictation) Check(row []tensor.Tensor) error {
	for i, v := range tensor.Data[float32](row[0]) {
		if v-v != 0 {
			return fmt.Errorf("sample %d of the recording is %v", i, v)
		}
	}
	return nil
}
