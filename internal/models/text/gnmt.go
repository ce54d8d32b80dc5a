package text

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
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
				{Role: encoderRole, Architecture: "gnmt-encoder", Rows: rows},
				{Role: decoderRole, Architecture: "gnmt-decoder", Rows: rows},
			},
			Samples: 200,
		},
		Source: "https://zenodo.org/record/2530924/files/gnmt_model.zip",

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

// openTranslation joins the sentences with encoder and decoder.
func openTranslation(s workload.Setup) (*workload.Workload, error) {
	data, err := dataset.OpenTranslation(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if s.Count > len(data.Sentences) {
		return nil, fmt.Errorf("opening the sentences: %d are wanted, %s has %d", s.Count, s.DatasetDir, len(data.Sentences))
	}
	if s.Count > 0 {
		data.Sentences = data.Sentences[:s.Count]
	}
	w := &translation{}
	if err := w.number(data.Sentences, s.DatasetDir); err != nil {
		return nil, fmt.Errorf("opening the vocabulary: %w", err)
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
		Slots:          8, // eight sentences at once take less than half of the time that they take one after the other, more gain little
		PredictorBytes: func(slots int) int64 { return w.sizes.bytes(slots, padded(w.longest)) },
		Notes: []string{
			fmt.Sprintf("sentences have up to %d pieces, none is cut", w.longest),
			fmt.Sprintf("%d beams of each sentence are followed until all have ended, or have twice as many pieces as the sentence", beamWidth),
		},
		Exchange: &workload.Exchange{
			Inputs:   []workload.Input{{Name: "pieces", Slot: workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{-1}}}},
			Complete: w.complete, Check: w.check, Sequences: &workload.Sequences{ForRows: w.forRows},
		},
	}
}

// number opens the vocabularies and numbers the pieces of all sentences.
func (w *translation) number(sentences []string, dir string) error {
	from, to := dataset.TranslationVocabularies(dir)
	source, err := readPieces(from)
	if err != nil {
		return err
	}
	if w.target, err = readPieces(to); err != nil {
		return err
	}
	w.known = source.Len()
	for _, sentence := range sentences {
		ids := numberPieces(source, sentence)
		w.sentences = append(w.sentences, ids)
		w.longest = max(w.longest, len(ids))
	}
	return nil
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
			return nil, fmt.Errorf("%s: line %d is not %s: this is no vocabulary of GNMT", path, i+1, want)
		}
	}
	return v, nil
}

// numberPieces numbers the pieces of a line, which white space separates. What the vocabulary does
// not have is unknown. Sentences are never cut.
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

// translation is GNMT joined with its sentences.
type translation struct {
	sentences [][]int32
	longest   int // in pieces
	known     int // pieces of the language that is translated
	target    *tokenizer.Vocabulary
	sizes     translationSizes
}

// noPiece is in rows where there is none.
const noPiece = -1

// row has the pieces of a sentence. One without any has a row all the same.
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
