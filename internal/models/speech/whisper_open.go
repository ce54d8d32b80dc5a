package speech

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

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
	w := &whisperWorkload{data: data}
	if w.layout, err = readWhisperLayout(s); err != nil {
		return nil, err
	}
	if w.tokenizer, err = openTokenizer(s); err != nil {
		return nil, err
	}
	if err := w.tokenizer.Fits(int(w.layout.Rows)); err != nil {
		return nil, err
	}
	if err := w.findSpecialTokens(); err != nil {
		return nil, err
	}
	return w.workload(), nil
}

func (w *whisperWorkload) workload() *workload.Workload {
	return &workload.Workload{
		Samples: len(w.data.Utterances), Row: w.row, Prepare: func(index int, row []tensor.Tensor) error { return load(w.data, index, row[0]) },
		Length: func(index int) int { return w.data.Utterances[index].Samples }, // longer recordings have more words
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newWhisperPredictor(w, sessions, maxBatch)
		},
		Outputs:        w.layout.Outputs,
		Slots:          8, // up to 8 recordings at once are hardly slower than one
		PredictorBytes: func(slots int) int64 { return w.layout.Bytes(slots, w.context()) },
		Notes: append([]string{
			w.layout.String(),
			fmt.Sprintf("features are computed while the test runs; texts begin with %v and end with %d, or after %d tokens", w.begin, w.end, whisperMaxTokens),
			fmt.Sprintf("a recording takes %.1f MiB of memory for its states and cache", float64(w.layout.Bytes(1, w.context()))/(1<<20)),
		}, leftOut(w.data)...),
		Exchange: &workload.Exchange{
			Inputs: recordingInputs(), Complete: w.complete, Check: w.check,
			Sequences: &workload.Sequences{ForRows: w.forRows, ReadFile: w.readFile, FileBytes: maxRecordingFile},
		},
	}
}

// readWhisperLayout reads the layout from the ports of the files.
func readWhisperLayout(s workload.Setup) (decode.SpeechLayout, error) {
	names, err := decode.ParseNames(s.Options[namesOption], decode.SpeechNames())
	if err != nil {
		return decode.SpeechLayout{}, userinput.Wrap(namesOption, err)
	}
	layout, err := decode.ReadSpeechLayout(s.Ports, names)
	if err != nil {
		return layout, fmt.Errorf("the model's files are not those of Whisper: %w", err)
	}
	if layout.Bands != whisperBands || layout.Frames != audio.WhisperFrames {
		return layout, fmt.Errorf("the model's encoder reads %d bands over %d frames, want %d over %d", layout.Bands, layout.Frames, whisperBands, audio.WhisperFrames)
	}
	return layout, nil
}

// findSpecialTokens finds the tokens that texts begin with, and the last.
func (w *whisperWorkload) findSpecialTokens() (err error) {
	if w.end, err = w.specialToken(whisperEnd); err != nil {
		return err
	}
	for _, name := range whisperBegin {
		id, err := w.specialToken(name)
		if err != nil {
			return err
		}
		w.begin = append(w.begin, id)
	}
	return nil
}

// openTokenizer opens the tokenizer of the option, or beside the data, or beside the model.
func openTokenizer(s workload.Setup) (*hf.Tokenizer, error) {
	const file = "tokenizer.json"
	path := s.Options[tokenizerOption]
	for _, dir := range []string{s.DatasetDir, s.ModelPath} {
		if path != "" || dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			path = filepath.Join(dir, file)
		}
	}
	if path == "" {
		return nil, userinput.Errorf(tokenizerOption, "neither %s nor %s has a %s", s.DatasetDir, s.ModelPath, file)
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
