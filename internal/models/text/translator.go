package text

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/generate"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// What the reference sets (standard_hparams/wmt16_gnmt_4_layer.json).
const (
	beamWidth     = 10
	lengthPenalty = 1
	stepsPerPiece = 2 // at most, of the sentence
)

// masked is the score of places behind a sentence's end.
const masked = -3.4e38

// A translator has GNMT translate sentences, all of a batch at once. The encoder runs once,
// the decoder once for each piece, for all beams of all sentences that are not finished. The
// state of the beams goes from one of two buffers to the other: the decoder itself picks
// the rows that go on, and nothing is copied here.
type translator struct {
	w                *translation
	encoder, decoder backend.Session
	searches         []*generate.BeamSearch
	candidates       int // of a beam

	store  *workload.Store
	batch  *translationBatch
	pieces []int32
	words  []string
}

func newTranslator(w *translation, sessions workload.Sessions, maxBatch int) *translator {
	o := generate.BeamOptions{Width: beamWidth, End: endPiece, LengthPenalty: lengthPenalty}
	t := &translator{w: w, encoder: sessions[encoderRole], decoder: sessions[decoderRole], candidates: o.Candidates()}
	for range maxBatch {
		t.searches = append(t.searches, generate.NewBeamSearch(o))
	}
	return t
}

// Use implements workload.Predictor.
func (t *translator) Use(store *workload.Store) error {
	t.store = store
	return nil
}

// Predict implements workload.Predictor.
func (t *translator) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if t.store == nil && len(items) > 0 {
		return errors.New("no samples are loaded")
	}
	var open []int // items with a sentence
	longest := 0
	for k, item := range items {
		if n := len(t.sentence(item)); n > 0 {
			open, longest = append(open, k), max(longest, n)
			continue
		}
		reply.Done(k, []byte{}, 0) // as the reference, which takes twice no steps
	}
	if len(open) == 0 {
		return nil
	}
	b, err := t.batchOf(len(open), longest)
	if err != nil {
		return err
	}
	t.fill(b, items, open)
	if err := t.encoder.Run(ctx, b.encoderIn, b.encoderOut); err != nil {
		return err
	}
	for s, k := range open {
		t.searches[s].Start(stepsPerPiece * len(t.sentence(items[k])))
	}
	return t.decode(ctx, b, items, open, reply)
}

// sentence has the pieces of a sample.
func (t *translator) sentence(item workload.Item) []int64 {
	row := tensor.Data[int64](t.store.Slot(0, item.Row, 1))
	if row[0] == noPiece {
		return nil
	}
	return row
}

// fill writes what the encoder reads.
func (t *translator) fill(b *translationBatch, items []workload.Item, open []int) {
	for s, k := range open {
		sentence := t.sentence(items[k])
		n := len(sentence)
		row := b.pieces[s*b.longest:][:b.longest]
		mask := b.mask[s*b.longest:][:b.longest]
		copy(row, sentence)
		for i := range row {
			mask[i] = 0
			if i >= n {
				row[i], mask[i] = endPiece, masked
			}
		}
		b.lengths[s] = int32(n)
	}
}

// decode runs the decoder until all sentences are finished. Sentence s of the batch is item
// open[s]; active are the sentences that are not finished.
func (t *translator) decode(ctx context.Context, b *translationBatch, items []workload.Item, open []int, reply workload.Reply) error {
	b.begin(len(open))
	for beams := 1; len(b.active) > 0; beams = beamWidth {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		step, err := b.step(t.decoder, beams)
		if err != nil {
			return err
		}
		if err := t.decoder.Run(ctx, step.inputs, step.outputs); err != nil {
			return err
		}
		if err := t.advance(b, beams, items, open, reply); err != nil {
			return err
		}
	}
	return nil
}

// advance chooses the beams that go on, and answers the sentences that are finished.
func (t *translator) advance(b *translationBatch, beams int, items []workload.Item, open []int, reply workload.Reply) error {
	row, kept := 0, 0
	for a, s := range b.active {
		first := a * beams
		sums := b.sums[first:][:beams]
		for _, sum := range sums {
			if sum != sum {
				return fmt.Errorf("sample %d: the model's scores are not numbers", items[open[s]].Index)
			}
		}
		search := t.searches[s]
		search.Advance(b.found[first*t.candidates:][:beams*t.candidates], b.logits[first*t.candidates:][:beams*t.candidates], sums)
		if search.Done() {
			text, err := t.text(search)
			if err != nil {
				return fmt.Errorf("sample %d: %w", items[open[s]].Index, err)
			}
			reply.Done(open[s], []byte(text), 0)
			continue
		}
		parents := search.Parents()
		for k, token := range search.Tokens() {
			b.tokens[row], b.parents[row] = int64(token), int64(first)+int64(parents[k])
			row++
		}
		b.active[kept] = s
		kept++
	}
	b.next(kept, len(b.active)*beams)
	return nil
}

// text is the best translation. A dangling part of a word is dropped.
func (t *translator) text(search *generate.BeamSearch) (string, error) {
	t.pieces, t.words = search.Best(t.pieces[:0]), t.words[:0]
	for _, id := range t.pieces {
		if id < 0 || int(id) >= t.w.target.Len() {
			return "", fmt.Errorf("the model says piece %d, the vocabulary has %d: is it the model's?", id, t.w.target.Len())
		}
		t.words = append(t.words, t.w.target.Piece(id))
	}
	return tokenizer.JoinBPE(t.words), nil
}

// Close implements workload.Predictor.
func (t *translator) Close() error { return t.batch.close() }
