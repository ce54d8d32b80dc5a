package speech

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Models returns the benchmarks of the family, in the order in which they are shown. To
// add one, add a file and a row.
func Models() []workload.Model { return []workload.Model{rnnt(), whisper()} }

// The files of RNN-T, by role.
const (
	encoderRole    = "encoder"
	predictionRole = "prediction"
	jointRole      = "joint"
)

// rnnt is RNN-T on LibriSpeech dev-clean (rules v0.7 to v4.0).
func rnnt() workload.Model {
	return workload.Model{
		Name:    "rnnt",
		Title:   "RNN-T, LibriSpeech",
		Task:    "speech to text, LibriSpeech dev-clean, recordings of up to 15 s",
		Dataset: "librispeech",
		BuiltIn: workload.Recipe{
			Parts: []workload.Part{
				{Role: encoderRole, Network: arch.RNNTEncoder()}, {Role: predictionRole, Network: arch.RNNTPrediction()}, {Role: jointRole, Network: arch.RNNTJoint()},
			},
			Samples: 100,
		},
		Source: "https://zenodo.org/record/3662521",
		Papers: []string{
			"Graves, Sequence Transduction with Recurrent Neural Networks, 2012, arXiv:1211.3711",
			"He et al., Streaming End-to-end Speech Recognition For Mobile Devices, ICASSP 2019, arXiv:1811.06621",
		},

		Rules: config.Model{
			Name:    "rnnt",
			Aliases: []string{"rnn-t"},
			Sample:  &config.SampleSize{InBytes: 15 * 16000 * 16 / 8}, // 15 s of 16-bit audio at 16 kHz
		},
		PerformanceSampleCount: 2513,
		// tools/submission, submission_checker.py: 100 % minus the word error rate of 7.452 %, × 0.99. (The reference measured 7.452253714852645 %.)
		Quality: workload.Quality{Metric: "accuracy", Fraction: 0.99},
		Roles:   []string{encoderRole, predictionRole, jointRole},
		Open:    openRNNT,
		Score:   scoreRNNT,

		ScoreOptions: []workload.Option{
			{Name: dtypeOption, Aliases: []string{"output_dtype"}, Choices: []string{"int64", "int32", "int16", "int8"}, Help: "type of the numbers in the log (default: the official script's)"},
		},
	}
}

const dtypeOption = "dtype"

// rnntPorts are the inputs and outputs of the files, in the order in which they are bound.
var rnntPorts = map[string]workload.Names{
	encoderRole:    {Inputs: []string{"features", "lengths"}, Outputs: []string{"encoded"}},
	predictionRole: {Inputs: []string{"labels", "state"}, Outputs: []string{"predicted", "next_state"}},
	jointRole:      {Inputs: []string{"encoded", "predicted"}, Outputs: []string{"logits"}},
}

// openRNNT opens the data set and checks the ports of the files.
func openRNNT(s workload.Setup) (*workload.Workload, error) {
	data, err := dataset.OpenSpeech(dataset.ShortSpeech(), s.DatasetDir, s.Count)
	if err != nil {
		return nil, err
	}
	for i, u := range data.Utterances {
		if u.Samples < audio.MinSamples {
			return nil, fmt.Errorf("opening the recordings: utterance %d, %s, has %d samples, expected at least %d", i, u.Path, u.Samples, audio.MinSamples)
		}
	}
	var errs []error
	for _, role := range []string{encoderRole, predictionRole, jointRole} {
		errs = append(errs, rnntPorts[role].In(role, s.Ports[role]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	w := &rnntWorkload{data: data}
	if w.sizes, err = sizesOf(s.Ports); err != nil {
		return nil, err
	}
	return &workload.Workload{
		Samples: len(data.Utterances), Row: w.row, Prepare: w.prepare, Raw: raw(data),
		Length: w.length, PaddedLength: func(index int) int { return paddedRows(audio.Rows(w.length(index))) },
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newRNNTPredictor(w, sessions, maxBatch)
		},
		Outputs: func(role string) []string { return rnntPorts[role].Outputs },
		Notes: append([]string{fmt.Sprintf("features are computed while the test runs; at most %d characters in a step", maxPerStep)},
			leftOut(data)...),
		Exchange: &workload.Exchange{Inputs: recordingInputs(), Complete: w.complete, Check: w.check},
	}, nil
}

// sizes are those of RNN-T's tensors.
type sizes struct{ features, joint, state, labels int }

// sizesOf reads the sizes from the ports of the files.
func sizesOf(ports map[string]workload.Ports) (sizes, error) {
	var s sizes
	for _, want := range []struct {
		role, name string
		ports      []backend.Port
		axes       int
		size       *int
	}{
		{encoderRole, "features", ports[encoderRole].Inputs, 3, &s.features}, {encoderRole, "encoded", ports[encoderRole].Outputs, 3, &s.joint},
		{predictionRole, "state", ports[predictionRole].Inputs, 2, &s.state}, {jointRole, "logits", ports[jointRole].Outputs, 2, &s.labels},
	} {
		port, _ := workload.PortNamed(want.ports, want.name)
		if len(port.Shape) != want.axes || port.Shape[want.axes-1] < 1 {
			return s, fmt.Errorf("the model's %s has %v, expected %d axes, the last of a known size", want.role, port, want.axes)
		}
		*want.size = int(port.Shape[want.axes-1])
	}
	if s.features != audio.Features {
		return s, fmt.Errorf("the model's %s reads rows of %d features, expected %d", encoderRole, s.features, audio.Features)
	}
	return s, nil
}

// An rnntWorkload is RNN-T with its data set.
type rnntWorkload struct {
	data  *dataset.Speech
	sizes sizes
}

// row has the samples of a recording. Features are made in the timed region.
func (w *rnntWorkload) row(index int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{int64(w.data.Utterances[index].Samples)}}}
}

func (w *rnntWorkload) length(index int) int { return w.data.Utterances[index].Samples }

// paddedRows is the number of rows to which features are filled up, about a second apart: the encoder's
// recurrent layers, which take nearly all of the time, leave out what is behind the longest recording.
func paddedRows(rows int) int {
	const bucket = 32
	return (rows + bucket - 1) / bucket * bucket
}

func (w *rnntWorkload) prepare(index int, row []tensor.Tensor) error {
	return load(w.data, index, row[0])
}

// load decodes a recording.
func load(data *dataset.Speech, index int, to tensor.Tensor) error {
	file, err := data.Read(index)
	if err != nil {
		return err
	}
	return decodeFile(file, data, index, to)
}

// raw makes samples of the files of recordings.
func raw(data *dataset.Speech) *workload.Raw {
	return &workload.Raw{What: "decoding of recordings", Read: data.Read, Make: func(file []byte, index int, row []tensor.Tensor) error {
		return decodeFile(file, data, index, row[0])
	}}
}

func decodeFile(file []byte, data *dataset.Speech, index int, to tensor.Tensor) error {
	u := data.Utterances[index]
	samples, err := audio.Decode(u.Path, file)
	if err != nil {
		return err
	}
	if len(samples) != u.Samples {
		return fmt.Errorf("%s: the recording has %d samples, its manifest says %d", u.Path, len(samples), u.Samples)
	}
	copy(tensor.Data[float32](to), samples)
	return nil
}

// leftOut reports how many recordings are too long.
func leftOut(data *dataset.Speech) []string {
	if data.LeftOut == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d recordings of more than %g s are left out, as in the reference", data.LeftOut, data.Longest)}
}

// scoreRNNT scores a log of characters as accuracy_eval.py does.
func scoreRNNT(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	transcripts, err := dataset.ReadTranscripts(dataset.ShortSpeech(), s.DatasetDir)
	if err != nil {
		return nil, err
	}
	return accuracy.ScoreSpeech(log, transcripts, accuracy.DType(strings.ToLower(s.Options[dtypeOption])))
}

// recordingInputs are the tensors that are sent of a sample: the samples of a recording.
func recordingInputs() []workload.Input {
	return []workload.Input{{Name: "samples", Slot: workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1}}}}
}

func (w *rnntWorkload) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	most := int64(w.data.Longest * audio.Rate)
	if n := sent[0][0]; n < audio.MinSamples || n > most {
		return nil, fmt.Errorf("the recording has %d samples, expected %d to %d", n, audio.MinSamples, most)
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
