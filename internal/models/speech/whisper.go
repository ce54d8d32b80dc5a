package speech

import (
	"context"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// whisper is Whisper large-v3 on LibriSpeech (rules since v5.1).
func whisper() workload.Model {
	return workload.Model{
		Name:    "whisper",
		Aliases: []string{"whisper-large-v3"},
		Title:   "Whisper large-v3, LibriSpeech",
		Task:    "speech to text, LibriSpeech dev-clean and dev-other, recordings of up to 30 s",
		Dataset: "librispeech-whisper",
		BuiltIn: workload.Recipe{
			Parts: []workload.Part{
				{Role: decode.EncoderRole, Architecture: "whisper-small-encoder", Full: "whisper-large-v3-encoder"},
				{Role: decode.FirstRole, Architecture: "whisper-small-decoder", Full: "whisper-large-v3-decoder"},
				{Role: decode.NextRole, Architecture: "whisper-small-decoder_with_past", Full: "whisper-large-v3-decoder_with_past"},
			},
			Samples: 24,
		},
		Source: "https://huggingface.co/openai/whisper-large-v3 (an export of Optimum)",

		Rules: config.Model{
			Name:    "whisper",
			Aliases: []string{"whisper-large-v3"},
		},
		PerformanceSampleCount: 1633,
		Quality:                workload.Quality{Metric: "accuracy", Fraction: 0.99},
		Roles:                  whisperRoles(),
		Files:                  whisperFiles,
		Open:                   openWhisper,
		Score:                  scoreWhisper,

		Options: []workload.Option{
			{Name: tokenizerOption, Kind: workload.Path, Help: "the model's tokenizer.json (default: the one beside the data, or else the model)"},
			{Name: namesOption, Help: "names of Whisper's ports that are not the usual ones, as usual=own, separated by commas: " +
				"logits=scores,present.%d.decoder.key=new.%d.k (default: those of Optimum's exports)"},
		},
		ScoreOptions: []workload.Option{
			{Name: dtypeOption, Aliases: []string{"output_dtype"}, Choices: []string{"int64", "int32", "int16", "int8"}, Help: "type of the numbers in the log (default: the official script's)"},
		},
		NewReader: newWhisperReader,
	}
}

const (
	tokenizerOption = "tokenizer"
	namesOption     = "whisper-ports"
)

// whisperBands is the number of mel bands that large-v3 reads.
const whisperBands = 128

// newWhisperReader makes features of recordings, WAV or FLAC.
func newWhisperReader(workload.Values) (*workload.Reader, error) {
	features := audio.NewWhisper(whisperBands)
	return &workload.Reader{Name: "the log-mel features of Whisper, 128 bands over 30 s", Read: func(data []byte) (tensor.Tensor, error) {
		samples, err := audio.Decode("the recording", data)
		if err != nil {
			return tensor.Tensor{}, err
		}
		t := tensor.New(tensor.Float32, whisperBands, audio.WhisperFrames)
		return t, features.Features(tensor.Data[float32](t), samples)
	}}, nil
}

// scoreWhisper scores a log as accuracy_eval.py does.
func scoreWhisper(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	transcripts, err := dataset.ReadTranscripts(dataset.JoinedSpeech(), s.DatasetDir)
	if err != nil {
		return nil, err
	}
	return accuracy.ScoreWhisper(log, transcripts, accuracy.DType(strings.ToLower(s.Options[dtypeOption])))
}
