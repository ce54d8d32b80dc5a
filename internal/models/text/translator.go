package text

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// What the reference sets (standard_hparams/wmt16_gnmt_4_layer.json).
const (
	beamWidth     = 10
	lengthPenalty = 1
	stepsPerPiece = 2 // at most, of the sentence
)

// A translator has GNMT translate sentences. The encoder runs once for those that begin
// together, the decoder once for each piece, for all beams of all sentences that are under way.
// A sentence begins whenever there is room, and leaves when its own beams have ended.
type translator struct {
	w                *translation
	encoder, decoder backend.Session
	candidates       int // of a beam

	store  *workload.Store
	memory *beamMemory
	live   []*underWay // in the order of their rows
	spare  []*underWay
	items  []workload.Item
	pace   pace
	pieces []int32
	words  []string
}

// underWay is a sentence that is translated.
type underWay struct {
	item   workload.Item
	slot   int // in memory
	pieces []int64
	search *decode.BeamSearch
	steps  int // that it has made
}

// fresh reports whether it has made no step.
func (s *underWay) fresh() bool { return s.steps == 0 }

func newTranslator(w *translation, sessions workload.Sessions, maxBatch int) *translator {
	o := decode.BeamOptions{Width: beamWidth, End: endPiece, LengthPenalty: lengthPenalty}
	t := &translator{w: w, encoder: sessions[encoderRole], decoder: sessions[decoderRole], candidates: o.Candidates()}
	t.memory = newBeamMemory(w.sizes, maxBatch, t.candidates, t.decoder)
	for slot := range maxBatch {
		t.spare = append(t.spare, &underWay{slot: slot, search: decode.NewBeamSearch(o)})
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
	return t.Serve(ctx, workload.BatchSource(items, reply))
}

// Serve implements workload.Decoder.
func (t *translator) Serve(ctx context.Context, source workload.Source) error {
	t.spare, t.live = append(t.spare, t.live...), t.live[:0] // of a call that failed
	for {
		open, err := t.admit(ctx, source)
		if err != nil {
			return err
		}
		if len(t.live) == 0 {
			if !open {
				return nil
			}
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := t.step(ctx, source); err != nil {
			return err
		}
	}
}

// sentence has the pieces of a sample.
func (t *translator) sentence(item workload.Item) []int64 {
	return pieces(tensor.Data[int64](t.store.Slot(0, item.Row, 1)))
}

// pieces is the part of a row that has pieces: what is behind them is negative.
func pieces(row []int64) []int64 {
	if n := slices.IndexFunc(row, func(p int64) bool { return p < 0 }); n >= 0 {
		return row[:n]
	}
	return row
}

// encode runs the encoder for sentences that begin.
func (t *translator) encode(ctx context.Context, fresh []*underWay) error {
	if err := t.memory.fit(t.live); err != nil {
		return err
	}
	if err := t.memory.encode(ctx, t.encoder, fresh); err != nil {
		return fmt.Errorf("%d sentences, the first of sample %d: %w", len(fresh), fresh[0].item.Index, err)
	}
	return nil
}

// step runs the decoder once. Until a sentence has made a step its beams are alike: one will do
// if that holds for all.
func (t *translator) step(ctx context.Context, reply workload.Reply) error {
	beams := 1
	if !t.live[0].fresh() {
		beams = beamWidth
	}
	m := t.memory
	for a, s := range t.live {
		m.active[a] = int64(s.slot)
		if s.fresh() {
			m.begin(a*beams, beams, s.slot)
		}
	}
	values, err := m.step(len(t.live), beams)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := t.decoder.Run(ctx, values.inputs, values.outputs); err != nil {
		return err
	}
	if beams > 1 {
		t.pace.add(len(t.live), time.Since(began))
	}
	m.turn()
	return t.advance(beams, reply)
}

// advance chooses the beams that go on, and answers the sentences that are finished.
func (t *translator) advance(beams int, reply workload.Reply) error {
	m, kept := t.memory, 0
	for a, s := range t.live {
		first := a * beams
		sums := m.sums[first:][:beams]
		if slices.ContainsFunc(sums, isNoNumber) {
			return fmt.Errorf("sample %d: the model's scores are not numbers", s.item.Index)
		}
		from, n := first*t.candidates, beams*t.candidates
		s.search.Advance(m.found[from:][:n], m.logits[from:][:n], sums)
		s.steps++
		if !s.search.Done() {
			m.goOn(kept*beamWidth, first, s.search)
			t.live[kept] = s
			kept++
			continue
		}
		text, err := t.text(s.search)
		if err != nil {
			return fmt.Errorf("sample %d: %w", s.item.Index, err)
		}
		reply.Done(s.item.Ticket, []byte(text), 0)
		t.pace.ended(s.steps, len(s.pieces))
		t.spare = append(t.spare, s)
	}
	t.live = t.live[:kept]
	return nil
}

// isNoNumber reports whether the sum of all that could be said is none, or infinite: then no score is one.
func isNoNumber(sum float32) bool { return sum-sum != 0 }

// text is the best translation. A dangling part of a word is dropped.
func (t *translator) text(search *decode.BeamSearch) (string, error) {
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
func (t *translator) Close() error { return t.memory.close() }
