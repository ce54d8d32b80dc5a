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

// What the reference has Whisper do (speech2text, QSL.py and reference_SUT.py): the tokens that it begins
// with, and how many it may write.
var (
	whisperBegin = []string{"<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"}
	whisperEnd   = "<|endoftext|>"
)

const whisperMost = 200

// openWhisper joins recordings with the files of a model.
func openWhisper(s workload.Setup) (*workload.Workload, error) {
	data, err := dataset.OpenSpeech(dataset.JoinedSpeech(), s.DatasetDir, s.Count)
	if err != nil {
		return nil, err
	}
	w := &talk{data: data}
	if w.layout, err = readWhisperLayout(s); err != nil {
		return nil, err
	}
	if w.words, err = openWords(s); err != nil {
		return nil, err
	}
	if err := w.words.Fits(int(w.layout.Rows)); err != nil {
		return nil, err
	}
	if err := w.findMarks(); err != nil {
		return nil, err
	}
	return w.workload(), nil
}

func (w *talk) workload() *workload.Workload {
	return &workload.Workload{
		Samples: len(w.data.Utterances), Row: w.row, Prepare: func(index int, row []tensor.Tensor) error { return load(w.data, index, row[0]) },
		Length: func(index int) int { return w.data.Utterances[index].Samples }, // longer recordings have more words
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newListening(w, sessions, maxBatch)
		},
		Outputs:        w.layout.Outputs,
		Slots:          8, // more recordings at once are hardly slower, up to this many
		PredictorBytes: func(slots int) int64 { return w.layout.Bytes(slots, w.context()) },
		Notes: append([]string{
			w.layout.String(),
			fmt.Sprintf("features are made while the test runs; texts begin with %v and end with %d, or after %d tokens", w.begin, w.end, whisperMost),
			fmt.Sprintf("a recording takes %.1f MiB of memory for what is heard and written", float64(w.layout.Bytes(1, w.context()))/(1<<20)),
		}, leftOut(w.data)...),
		Exchange: &workload.Exchange{
			Inputs: recordingInputs(), Complete: w.complete, Check: w.check,
			Sequences: &workload.Sequences{ForRows: w.forRows, ReadFile: w.readFile, FileBytes: mostRecordingFile},
		},
	}
}

// readWhisperLayout finds out how the files of a model go together.
func readWhisperLayout(s workload.Setup) (decode.ListenLayout, error) {
	names, err := decode.ParseNames(s.Options[namesOption], decode.ListenNames())
	if err != nil {
		return decode.ListenLayout{}, userinput.Wrap(namesOption, err)
	}
	layout, err := decode.ReadListenLayout(s.Ports, names)
	if err != nil {
		return layout, fmt.Errorf("the model is no Whisper that is known: %w", err)
	}
	if layout.Bands != whisperBands || layout.Frames != audio.WhisperFrames {
		return layout, fmt.Errorf("the model's encoder reads %d bands over %d frames, want %d over %d", layout.Bands, layout.Frames, whisperBands, audio.WhisperFrames)
	}
	return layout, nil
}

// findMarks finds the tokens that texts begin with, and the one that ends them.
func (w *talk) findMarks() (err error) {
	if w.end, err = w.mark(whisperEnd); err != nil {
		return err
	}
	for _, name := range whisperBegin {
		id, err := w.mark(name)
		if err != nil {
			return err
		}
		w.begin = append(w.begin, id)
	}
	return nil
}

// openWords opens the tokenizer: that of the option, or the one beside the data, or beside the model.
func openWords(s workload.Setup) (*hf.Tokenizer, error) {
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

// talk is Whisper joined with its recordings.
type talk struct {
	data   *dataset.Speech
	layout decode.ListenLayout
	words  *hf.Tokenizer
	begin  []int32
	end    int32
}

// mark returns the number of a special token.
func (w *talk) mark(name string) (int32, error) {
	id, ok := w.words.ID(name)
	if !ok {
		return 0, fmt.Errorf("the tokenizer has no token %s: it is not one of Whisper", name)
	}
	return id, nil
}

// row has the samples of a recording. Features are made in the timed region.
func (w *talk) row(index int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{int64(w.data.Utterances[index].Samples)}}}
}

// context is how many tokens are read and written of a recording.
func (w *talk) context() int { return len(w.begin) + whisperMost }
