package speech

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
)

// A whisperPredictor encodes the recordings of a batch one by one, and decodes them together, a token of each at a time.
type whisperPredictor struct {
	w           *whisperWorkload
	decoder     *decode.SpeechDecoder
	features    *audio.Whisper
	melFeatures []float32 // features of a recording
	store       *workload.Store

	active   []textInProgress
	response []byte
}

// A textInProgress has the tokens so far of a recording.
type textInProgress struct {
	item   workload.Item
	tokens []int32
}

func newWhisperPredictor(w *whisperWorkload, sessions workload.Sessions, slots int) (*whisperPredictor, error) {
	features := audio.NewWhisper(whisperBands)
	d, err := decode.NewSpeechDecoder(sessions, w.layout, slots, w.context())
	if err != nil {
		return nil, err
	}
	p := &whisperPredictor{w: w, decoder: d, features: features, melFeatures: make([]float32, features.Len()), active: make([]textInProgress, slots)}
	for i := range p.active {
		p.active[i].tokens = make([]int32, 0, whisperMaxTokens)
	}
	return p, nil
}

// Use implements workload.Predictor.
func (p *whisperPredictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Close implements workload.Predictor.
func (p *whisperPredictor) Close() error { return p.decoder.Close() }

// Predict implements workload.Predictor.
func (p *whisperPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) == 0 {
		return nil
	}
	if p.store == nil {
		return errors.New("no samples are loaded")
	}
	p.active = p.active[:len(items)]
	for row, item := range items {
		p.active[row].item, p.active[row].tokens = item, p.active[row].tokens[:0]
		if err := p.encode(ctx, row, item); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
	}
	err := p.decoder.Begin(ctx, len(items), p.w.begin)
	for err == nil {
		if err = p.next(reply); err != nil || len(p.active) == 0 {
			return err
		}
		if err = context.Cause(ctx); err == nil {
			err = p.decoder.Step(ctx)
		}
	}
	return fmt.Errorf("%d recordings, the first of sample %d: %w", len(p.active), p.active[0].item.Index, err)
}

// encode makes the features of a recording and runs the encoder.
func (p *whisperPredictor) encode(ctx context.Context, row int, item workload.Item) error {
	if err := p.features.Features(p.melFeatures, recordingIn(tensor.Data[float32](p.store.Slot(0, item.Row, 1)))); err != nil {
		return err
	}
	return p.decoder.Encode(ctx, row, p.melFeatures)
}

// next takes the next token of each text, and answers those that end.
func (p *whisperPredictor) next(reply workload.Reply) error {
	for row := len(p.active) - 1; row >= 0; row-- {
		s := &p.active[row]
		s.tokens = append(s.tokens, int32(p.decoder.Next(row)))
		if len(s.tokens) == 1 {
			reply.FirstToken(s.item.Ticket, binary.LittleEndian.AppendUint64(p.response[:0], uint64(s.tokens[0])))
		}
		if len(s.tokens) < whisperMaxTokens && s.tokens[len(s.tokens)-1] != p.w.end {
			continue
		}
		if err := p.respond(s, reply); err != nil {
			return err
		}
		p.decoder.Drop(row)
		last := len(p.active) - 1
		p.active[row], p.active[last] = p.active[last], p.active[row]
		p.active = p.active[:last]
	}
	return nil
}

// whisperLabels are the characters of responses, by their numbers (reference_SUT.py).
const whisperLabels = " abcdefghijklmnopqrstuvwxyz'0123456789$%+-"

// respond answers with the text in lower case, as int64 numbers of its characters; it leaves out characters without a
// number. All tokens count, the last included.
func (p *whisperPredictor) respond(s *textInProgress, reply workload.Reply) error {
	text, err := p.w.tokenizer.Decode(s.tokens, hf.SkipSpecial)
	if err != nil {
		return fmt.Errorf("sample %d: %w", s.item.Index, err)
	}
	p.response = p.response[:0]
	for _, c := range strings.TrimSpace(strings.ToLower(text)) {
		if label := strings.IndexRune(whisperLabels, c); label >= 0 {
			p.response = binary.LittleEndian.AppendUint64(p.response, uint64(label))
		}
	}
	reply.Done(s.item.Ticket, p.response, len(s.tokens))
	return nil
}
