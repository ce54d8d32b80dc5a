package text

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// The files of GNMT, by role.
const (
	encoderRole = "encoder"
	decoderRole = "decoder"
)

// gnmt is GNMT on newstest2014, English to German (rules v0.5).
func gnmt() workload.Model {
	const rows = 4000
	return workload.Model{
		Name:    "gnmt",
		Title:   "GNMT, 4 layers, WMT16 English to German",
		Task:    "translation, newstest2014, English to German, beams of 10",
		Dataset: "wmt16",
		BuiltIn: workload.Recipe{
			Parts: []workload.Part{
				{Role: encoderRole, Network: arch.GNMTEncoder(), Rows: rows},
				{Role: decoderRole, Network: arch.GNMTDecoder(), Rows: rows},
			},
			Samples: 200,
		},
		Source: "https://zenodo.org/record/2530924/files/gnmt_model.zip",
		Papers: []string{"Wu et al., Google's Neural Machine Translation System, 2016, arXiv:1609.08144"},

		Rules: config.Model{
			Name: "gnmt",
		},
		PerformanceSampleCount: 3003,
		// v0.5/tools/submission: BLEU 23.9 × 0.99.
		Quality: workload.Quality{Metric: "BLEU", Fraction: 0.99},
		Roles:   []string{encoderRole, decoderRole},
		Open:    openTranslation,
		Score:   scoreTranslation,

		ScoreOptions: translationScoreOptions(),
	}
}

// The special pieces of GNMT's vocabularies.
const (
	unknownPiece = iota
	startPiece
	endPiece
)

// openTranslation opens the sentences and the vocabularies and checks the ports of the files.
func openTranslation(s workload.Setup) (*workload.Workload, error) {
	data, err := dataset.OpenTranslation(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if s.Count > len(data.Sentences) {
		return nil, fmt.Errorf("opening the sentences: expected %d, %s has %d", s.Count, s.DatasetDir, len(data.Sentences))
	}
	if s.Count > 0 {
		data.Sentences = data.Sentences[:s.Count]
	}
	from, to := dataset.TranslationVocabularies(s.DatasetDir)
	source, err := readPieces(from)
	if err != nil {
		return nil, fmt.Errorf("opening the vocabulary: %w", err)
	}
	w := &translation{known: source.Len()}
	if w.target, err = readPieces(to); err != nil {
		return nil, fmt.Errorf("opening the vocabulary: %w", err)
	}
	for _, sentence := range data.Sentences {
		ids := numberPieces(source, sentence)
		w.sentences = append(w.sentences, ids)
		w.longest = max(w.longest, len(ids))
	}
	for role, names := range translationPorts {
		if err := names.In(role, s.Ports[role]); err != nil {
			return nil, err
		}
	}
	if w.sizes, err = sizesOf(s.Ports[encoderRole].Outputs); err != nil {
		return nil, err
	}
	return w.workload(), nil
}

func (w *translation) workload() *workload.Workload {
	length := func(index int) int { return len(w.sentences[index]) }
	return &workload.Workload{
		Samples: len(w.sentences), Row: w.row, Prepare: w.prepare,
		// Sentences of about the same length need about as many steps, and less padding.
		Length: length, PaddedLength: func(index int) int { return padded(max(1, length(index))) },
		NewDecoder: func(sessions workload.Sessions, maxBatch int) (workload.Decoder, error) {
			return newTranslator(w, sessions, maxBatch), nil
		},
		Outputs:        func(role string) []string { return translationPorts[role].Outputs },
		Slots:          8, // eight sentences at once take less than half of the time of one after the other; more gain little
		PredictorBytes: func(slots int) int64 { return w.sizes.bytes(slots, padded(w.longest)) },
		Notes: []string{
			fmt.Sprintf("sentences have up to %d pieces", w.longest),
			fmt.Sprintf("beam search with %d beams, until all have ended or have twice as many pieces as the sentence", beamWidth),
		},
		Exchange: &workload.Exchange{
			Inputs:   []workload.Input{{Name: "pieces", Slot: workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{-1}}}},
			Complete: w.complete, Check: w.check, Sequences: &workload.Sequences{ForRows: w.forRows},
		},
	}
}

// readPieces reads a vocabulary of GNMT, which begins with the three special pieces.
func readPieces(path string) (*tokenizer.Vocabulary, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := tokenizer.ReadVocabulary(f, path)
	if err != nil {
		return nil, err
	}
	for i, want := range []string{"<unk>", "<s>", "</s>"} {
		if id, ok := v.ID(want); !ok || int(id) != i {
			return nil, fmt.Errorf("%s: line %d is not %s: not a vocabulary of GNMT", path, i+1, want)
		}
	}
	return v, nil
}

// numberPieces returns the ids of the pieces of a line, which white space separates. Sentences are never cut off.
func numberPieces(v *tokenizer.Vocabulary, line string) []int32 {
	var ids []int32
	for _, piece := range pytext.Fields(line) {
		id, ok := v.ID(piece)
		if !ok {
			id = unknownPiece
		}
		ids = append(ids, id)
	}
	return ids
}

// translationPorts are the inputs and outputs of the files.
var translationPorts = map[string]workload.Names{
	encoderRole: {Inputs: []string{"pieces", "lengths"}, Outputs: []string{"memory", "keys", "state"}},
	decoderRole: {
		Inputs:  []string{"memory", "keys", "mask", "active", "parents", "pieces", "state"},
		Outputs: []string{"logits", "candidates", "log_sum", "next_state"},
	},
}

// translation is GNMT with its data set.
type translation struct {
	sentences [][]int32
	longest   int // in pieces
	known     int // pieces of the source vocabulary
	target    *tokenizer.Vocabulary
	sizes     translationSizes
}

// noPiece fills up a row without pieces.
const noPiece = -1

// row has the pieces of a sentence, at least one slot.
func (w *translation) row(index int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Int64, Shape: tensor.Shape{int64(max(1, len(w.sentences[index])))}}}
}

func (w *translation) prepare(index int, row []tensor.Tensor) error {
	to := tensor.Data[int64](row[0])
	to[0] = noPiece
	for i, id := range w.sentences[index] {
		to[i] = int64(id)
	}
	return nil
}

// scoreTranslation scores a log of sentences as process_accuracy.py does.
func scoreTranslation(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	sacre, err := parseTranslationScoring(s.Options)
	if err != nil {
		return nil, err
	}
	references, err := dataset.ReadTranslationReferences(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	return accuracy.ScoreTranslations(log, references, sacre)
}

// maxPieces bounds the pieces of a sentence that is sent; those of newstest2014 have up to 200.
const maxPieces = 1024

func (*translation) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if n := sent[0][0]; n < 1 || n > maxPieces {
		return nil, fmt.Errorf("the sentence has %d pieces, expected 1 to %d", n, maxPieces)
	}
	return []workload.Slot{{Type: tensor.Int64, Shape: sent[0]}}, nil
}

// forRows returns GNMT for rows that are sent. A row has room for the longest sentence. Limits are not used: the sentence
// decides how long its translation is.
func (w *translation) forRows(limits []int) *workload.Workload {
	own := w.workload()
	own.Samples = len(limits)
	own.Row = func(int) []workload.Slot {
		return []workload.Slot{{Type: tensor.Int64, Shape: tensor.Shape{maxPieces}}}
	}
	own.Length = func(int) int { return maxPieces }
	return own
}

func (w *translation) check(row []tensor.Tensor) error {
	for i, p := range pieces(tensor.Data[int64](row[0])) {
		if p >= int64(w.known) {
			return fmt.Errorf("piece %d of the sentence is %d, the vocabulary has %d", i, p, w.known)
		}
	}
	return nil
}

// translationSizes are sizes of GNMT's tensors: of the memory of a piece, and of the state of a beam.
type translationSizes struct{ hidden, state int }

// sizesOf reads the sizes from the outputs of the encoder.
func sizesOf(outputs []backend.Port) (translationSizes, error) {
	last := func(name string, axes int) int {
		port, _ := workload.PortNamed(outputs, name)
		if len(port.Shape) != axes {
			return 0
		}
		return int(port.Shape[axes-1])
	}
	s := translationSizes{hidden: last("memory", 3), state: last("state", 2)}
	if s.hidden < 1 || s.state < 1 {
		return s, fmt.Errorf("the encoder's outputs are %s: must be memory [N T H] and state [N S] of known H and S", workload.DescribePorts(outputs))
	}
	return s, nil
}

// bytes is the memory of slots sentences of pieces pieces, with the temporaries of the decoder in a step.
func (s translationSizes) bytes(slots, pieces int) int64 {
	const memories, temporaries = 4, 2 // memory and keys, here and of the encoder; sum and tanh of the attention
	of := int64(slots) * int64(pieces) * int64(s.hidden) * (memories + temporaries*beamWidth)
	return 4 * (of + 2*int64(slots)*(beamWidth+1)*int64(s.state))
}
