package speech

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// whisper is Whisper large-v3 on LibriSpeech (rules since v5.1).
func whisper() workload.Model {
	small, full := arch.SmallWhisper(), arch.Whisper()
	return workload.Model{
		Name:    "whisper",
		Aliases: []string{"whisper-large-v3"},
		Title:   "Whisper large-v3, LibriSpeech",
		Task:    "speech to text, LibriSpeech dev-clean and dev-other, recordings of up to 30 s",
		Dataset: "librispeech-whisper",
		BuiltIn: workload.Recipe{
			Parts: []workload.Part{
				{Role: decode.EncoderRole, Network: small.Encoder, Full: full.Encoder},
				{Role: decode.FirstRole, Network: small.First, Full: full.First},
				{Role: decode.NextRole, Network: small.Next, Full: full.Next},
			},
			Samples: 24,
		},
		Source: "https://huggingface.co/openai/whisper-large-v3 (an export of Optimum)",
		Papers: []string{"Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, ICML 2023, arXiv:2212.04356"},

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
			workload.ChooseTokenizer(),
			{Name: namesOption, Help: "names of Whisper's ports that are not the usual ones, as usual=own, separated by commas: " +
				"logits=scores,present.%d.decoder.key=new.%d.k (default: those of Optimum's exports)"},
		},
		ScoreOptions: []workload.Option{
			{Name: dtypeOption, Aliases: []string{"output_dtype"}, Choices: []string{"int64", "int32", "int16", "int8"}, Help: "type of the numbers in the log (default: the official script's)"},
		},
		NewReader: newWhisperReader,
	}
}

const namesOption = "whisper-ports"

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

func whisperRoles() []string {
	return []string{decode.EncoderRole, decode.FirstRole, decode.NextRole}
}

// whisperFiles finds the files of Whisper in a folder, by our names or those of Optimum's exports.
func whisperFiles(folder string) ([]workload.File, error) {
	var exported []workload.File
	for _, role := range []struct{ of, file string }{
		{decode.EncoderRole, "encoder_model.onnx"}, {decode.FirstRole, "decoder_model.onnx"}, {decode.NextRole, "decoder_with_past_model.onnx"},
	} {
		path := filepath.Join(folder, role.file)
		if _, err := os.Stat(path); err != nil {
			return workload.Roles(whisperRoles()...)(folder)
		}
		exported = append(exported, workload.File{Role: role.of, Path: path})
	}
	return exported, nil
}

// The settings of the reference (speech2text, QSL.py and reference_SUT.py): the first tokens, the last, and the maximum.
var (
	whisperBegin = []string{"<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"}
	whisperEnd   = "<|endoftext|>"
)

const whisperMaxTokens = 200

// openWhisper opens the data set and the tokenizer and checks the ports of the files.
func openWhisper(s workload.Setup) (*workload.Workload, error) {
	data, err := dataset.OpenSpeech(dataset.JoinedSpeech(), s.DatasetDir, s.Count)
	if err != nil {
		return nil, err
	}
	names, err := decode.ParseNames(s.Options[namesOption], decode.SpeechNames())
	if err != nil {
		return nil, userinput.Wrap(namesOption, err)
	}
	w := &whisperWorkload{data: data}
	if w.layout, err = decode.ReadSpeechLayout(s.Ports, names); err != nil {
		return nil, fmt.Errorf("the model's files are not those of Whisper: %w", err)
	}
	if w.layout.Bands != whisperBands || w.layout.Frames != audio.WhisperFrames {
		return nil, fmt.Errorf("the model's encoder reads %d bands over %d frames, expected %d over %d", w.layout.Bands, w.layout.Frames,
			whisperBands, audio.WhisperFrames)
	}
	if w.tokenizer, err = openTokenizer(s); err != nil {
		return nil, err
	}
	if err := w.tokenizer.Fits(int(w.layout.Rows)); err != nil {
		return nil, err
	}
	if w.end, err = w.specialToken(whisperEnd); err != nil {
		return nil, err
	}
	for _, name := range whisperBegin {
		id, err := w.specialToken(name)
		if err != nil {
			return nil, err
		}
		w.begin = append(w.begin, id)
	}
	return w.workload(), nil
}

func (w *whisperWorkload) workload() *workload.Workload {
	return &workload.Workload{
		Samples: len(w.data.Utterances), Row: w.row, Raw: raw(w.data),
		Prepare: func(index int, row []tensor.Tensor) error { return load(w.data, index, row[0]) },
		Length:  func(index int) int { return w.data.Utterances[index].Samples }, // longer recordings have more words
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newWhisperPredictor(w, sessions, maxBatch)
		},
		Outputs:        w.layout.Outputs,
		Slots:          8, // up to 8 recordings at once are hardly slower than one
		PredictorBytes: func(slots int) int64 { return w.layout.Bytes(slots, w.context()) },
		Notes: append([]string{
			w.layout.String(),
			fmt.Sprintf("features are computed while the test runs; texts begin with %v and end with %d, or after %d tokens", w.begin, w.end,
				whisperMaxTokens),
			fmt.Sprintf("a recording takes %.1f MiB of memory for its states and cache", float64(w.layout.Bytes(1, w.context()))/(1<<20)),
		}, leftOut(w.data)...),
		Exchange: &workload.Exchange{
			Inputs: recordingInputs(), Complete: w.complete, Check: w.check,
			Sequences: &workload.Sequences{ForRows: w.forRows, ReadFile: w.readFile, FileBytes: maxRecordingFile},
		},
	}
}

// openTokenizer opens the tokenizer of the option, or beside the data, or beside the model.
func openTokenizer(s workload.Setup) (*hf.Tokenizer, error) {
	const file = "tokenizer.json"
	path := s.Options[workload.TokenizerOption]
	for _, dir := range []string{s.DatasetDir, s.ModelPath} {
		if path != "" || dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			path = filepath.Join(dir, file)
		}
	}
	if path == "" {
		return nil, userinput.Errorf(workload.TokenizerOption, "neither %s nor %s has a %s", s.DatasetDir, s.ModelPath, file)
	}
	t, err := hf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the tokenizer: %w", err)
	}
	return t, nil
}

// A whisperWorkload is Whisper with its data set.
type whisperWorkload struct {
	data      *dataset.Speech
	layout    decode.SpeechLayout
	tokenizer *hf.Tokenizer
	begin     []int32
	end       int32
}

// specialToken returns the id of a special token.
func (w *whisperWorkload) specialToken(name string) (int32, error) {
	id, ok := w.tokenizer.ID(name)
	if !ok {
		return 0, fmt.Errorf("the tokenizer has no token %s: not a tokenizer of Whisper", name)
	}
	return id, nil
}

// row has the samples of a recording. Features are made in the timed region.
func (w *whisperWorkload) row(index int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{int64(w.data.Utterances[index].Samples)}}}
}

// context is the maximum of tokens of a recording, with those that it begins with.
func (w *whisperWorkload) context() int { return len(w.begin) + whisperMaxTokens }

// maxRecordingFile bounds the file of a recording, in bytes: 30 s of WAV are less than a quarter of it.
const maxRecordingFile = 4 << 20

// recordingIn is the part of a row before the first NaN: the recording.
func recordingIn(row []float32) []float32 {
	return row[:sort.Search(len(row), func(i int) bool { return row[i] != row[i] })]
}

func (*whisperWorkload) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if n := sent[0][0]; n < 1 || n > audio.WhisperSamples {
		return nil, fmt.Errorf("the recording has %d samples, expected 1 to %d (30 s)", n, audio.WhisperSamples)
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
