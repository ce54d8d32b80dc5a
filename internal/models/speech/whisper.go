package speech

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/regular"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// Whisper is Whisper large-v3 on LibriSpeech (rules since v5.1), as far as scoring a log and
// preparing recordings go: it is not run here.
func Whisper() workload.Model {
	return workload.Model{
		Name:    "whisper",
		Aliases: []string{"whisper-large-v3"},
		Title:   "Whisper large-v3, LibriSpeech",
		Task:    "speech to text, LibriSpeech dev-clean and dev-other, recordings of up to 30 s",
		Dataset: "librispeech",
		Rules:   config.Model{Name: "whisper"},
		// tools/submission, constants.py: what is left of 100 % without the word error rate.
		Quality: workload.Quality{Metric: "accuracy", Reference: 100 - 2.0671, Fraction: 0.99},
		Score:   scoreWhisper,

		ScoreOptions: []workload.Option{
			{Name: dtypeOption, Aliases: []string{"output_dtype"}, Choices: []string{"int64", "int32", "int16", "int8"}, Help: "type of the numbers in the log (default: the official script's)"},
		},
		NewReader: func(workload.Values) (workload.Reader, error) {
			features, err := audio.NewWhisper(whisperBands)
			return &whisperReader{features}, err
		},
	}
}

// whisperBands is how many bands of frequency large-v3 reads.
const whisperBands = 128

// A whisperReader makes features of recordings.
type whisperReader struct{ features *audio.Whisper }

// Name says what the features are.
func (*whisperReader) Name() string { return "the log-mel features of Whisper, 128 bands over 30 s" }

// Read makes the features of a recording, WAV or FLAC.
func (r *whisperReader) Read(data []byte) (tensor.Tensor, error) {
	samples, err := audio.Decode("the recording", data)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.New(tensor.Float32, whisperBands, audio.WhisperFrames)
	return t, r.features.Features(tensor.Data[float32](t), samples)
}

// What is read of the manifest of recordings, which are LibriSpeech's, put together up to 30 s
// (speech2text, utils/repackage_librispeech.py, accuracy_eval.py).
const (
	whisperManifest = "dev-all-repack.json"
	longestManifest = 1 << 30
	longestWhisper  = 30.0 // seconds; longer recordings are left out
)

// scoreWhisper scores a log as accuracy_eval.py does.
func scoreWhisper(log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	said, err := readWhisperTexts(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	score, err := accuracy.ScoreWhisper(log, said, accuracy.SpeechOptions{DType: accuracy.DType(s.Options[dtypeOption])})
	if err != nil {
		return nil, err
	}
	return &score.Score, nil
}

// readWhisperTexts reads what is said in the recordings of a folder, which need not be there.
func readWhisperTexts(dir string) ([]string, error) {
	path := filepath.Join(dir, whisperManifest)
	data, err := regular.ReadFile(path, longestManifest)
	if err != nil {
		return nil, fmt.Errorf("opening the recordings: %w", err)
	}
	var entries []struct {
		Duration   *float64 `json:"original_duration"`
		Transcript *string  `json:"transcript"`
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("opening the recordings: %s: %w", path, err)
	}
	var said []string
	for i, e := range entries {
		if e.Duration == nil || e.Transcript == nil {
			return nil, fmt.Errorf("opening the recordings: %s: entry %d has no original_duration or no transcript", path, i)
		}
		if *e.Duration <= longestWhisper {
			said = append(said, *e.Transcript)
		}
	}
	if len(said) == 0 {
		return nil, fmt.Errorf("opening the recordings: %s has none of up to %g s", path, longestWhisper)
	}
	return said, nil
}
