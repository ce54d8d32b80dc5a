package text

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer"
)

// The settings of the reference (standard_hparams/wmt16_gnmt_4_layer.json).
const (
	beamWidth     = 10
	lengthPenalty = 1
	stepsPerPiece = 2 // maximum of steps, for each piece of the sentence
)

// A translator runs GNMT. The encoder runs once for the sentences that begin together, the decoder once for each piece, for
// all beams of all active sentences. A sentence begins when a slot is free, and leaves when its own beams have ended.
type translator struct {
	w                *translation
	encoder, decoder backend.Session
	candidates       int // of a beam

	store  *workload.Store
	memory *beamMemory
	live   []*beamedSentence // in the order of their rows
	spare  []*beamedSentence
	items  []workload.Item
	pace   pace
	pieces []int32
	words  []string
}

// A beamedSentence is an active sentence.
type beamedSentence struct {
	item   workload.Item
	slot   int // in memory
	pieces []int64
	search *decode.BeamSearch
	steps  int // made so far
}

func newTranslator(w *translation, sessions workload.Sessions, maxBatch int) *translator {
	o := decode.BeamOptions{Width: beamWidth, End: endPiece, LengthPenalty: lengthPenalty}
	t := &translator{w: w, encoder: sessions[encoderRole], decoder: sessions[decoderRole], candidates: o.Candidates()}
	t.memory = newBeamMemory(w.sizes, maxBatch, t.candidates, t.decoder)
	for slot := range maxBatch {
		t.spare = append(t.spare, &beamedSentence{slot: slot, search: decode.NewBeamSearch(o)})
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
		source.Worked()
		if err := t.step(ctx, source); err != nil {
			return err
		}
	}
}

// pieces is the part of a row before the first negative number: the pieces.
func pieces(row []int64) []int64 {
	if n := slices.IndexFunc(row, func(p int64) bool { return p < 0 }); n >= 0 {
		return row[:n]
	}
	return row
}

// encode runs the encoder for sentences that begin.
func (t *translator) encode(ctx context.Context, fresh []*beamedSentence) error {
	if err := t.memory.fit(t.live); err != nil {
		return err
	}
	if err := t.memory.encode(ctx, t.encoder, fresh); err != nil {
		return fmt.Errorf("%d sentences, the first of sample %d: %w", len(fresh), fresh[0].item.Index, err)
	}
	return nil
}

// step runs the decoder once. Before the first step the beams of a sentence are alike: one beam suffices if this holds for
// all sentences.
func (t *translator) step(ctx context.Context, reply workload.Reply) error {
	beams := 1
	if t.live[0].steps > 0 {
		beams = beamWidth
	}
	m := t.memory
	for a, s := range t.live {
		m.active[a] = int64(s.slot)
		if s.steps == 0 {
			m.begin(a*beams, beams, s.slot)
		}
	}
	values, err := m.step(len(t.live), beams)
	if err != nil {
		return err
	}
	began := clock.Now()
	if err := t.decoder.Run(ctx, values.inputs, values.outputs); err != nil {
		return err
	}
	if beams > 1 {
		t.pace.add(len(t.live), clock.Since(began))
	}
	m.current = 1 - m.current
	return t.advance(beams, reply)
}

// advance chooses the beams that go on, and answers the sentences that are finished.
func (t *translator) advance(beams int, reply workload.Reply) error {
	m, kept := t.memory, 0
	for a, s := range t.live {
		first := a * beams
		sums := m.sums[first:][:beams]
		if slices.ContainsFunc(sums, func(sum float32) bool { return sum-sum != 0 }) {
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

// text is the best translation. An incomplete word at the end is dropped.
func (t *translator) text(search *decode.BeamSearch) (string, error) {
	t.pieces, t.words = search.Best(t.pieces[:0]), t.words[:0]
	for _, id := range t.pieces {
		if id < 0 || int(id) >= t.w.target.Len() {
			return "", fmt.Errorf("the model's output is piece %d, the vocabulary has %d: a vocabulary of another model", id, t.w.target.Len())
		}
		t.words = append(t.words, t.w.target.Piece(id))
	}
	return tokenizer.JoinBPE(t.words), nil
}

// Close implements workload.Predictor.
func (t *translator) Close() error { return t.memory.close() }

// admit begins sentences if slots are free: beside active ones only if a quarter of the slots is, since others wait for the
// encoder, which takes hardly longer for two sentences than for one.
func (t *translator) admit(ctx context.Context, source workload.Source) (open bool, err error) {
	before, quarter := len(t.live), (len(t.live)+len(t.spare)+3)/4
	for open = true; open; {
		room := t.room()
		if room == 0 || before > 0 && len(t.live) == before && room < quarter {
			break
		}
		t.items, open = source.Admit(t.items[:0], min(room, quarter), len(t.live) == 0)
		if len(t.items) == 0 {
			break
		}
		if t.store == nil {
			return open, errors.New("no samples are loaded")
		}
		for _, item := range t.items {
			sentence := pieces(tensor.Data[int64](t.store.Slot(0, item.Row, 1)))
			if len(sentence) == 0 {
				source.Done(item.Ticket, []byte{}, 0) // as the reference, whose maximum is twice no steps
				continue
			}
			s := t.spare[len(t.spare)-1]
			t.spare = t.spare[:len(t.spare)-1]
			s.item, s.steps, s.pieces = item, 0, sentence
			s.search.Start(stepsPerPiece * len(sentence))
			t.live = append(t.live, s)
		}
	}
	if len(t.live) == before {
		return open, nil
	}
	return open, t.encode(ctx, t.live[before:])
}

// room is the number of sentences that may begin: free slots, without making an active sentence late, by the measured pace of
// steps.
func (t *translator) room() int {
	room := len(t.spare)
	for _, s := range t.live {
		if s.item.Due.IsZero() {
			continue
		}
		left, steps := time.Until(s.item.Due), t.pace.left(s.steps, len(s.pieces))
		keeps := func(live int) bool {
			return time.Duration(interrupted*float64(t.pace.takes(steps, live))) <= left
		}
		for room > 0 && !keeps(len(t.live)+room) && keeps(len(t.live)) {
			room--
		}
	}
	return room
}

// interrupted is the factor by which the encoder's runs between steps make them longer.
const interrupted = 1.15
