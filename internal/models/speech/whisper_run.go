package speech

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A listening is Whisper's predictor. The recordings of a batch are heard one by one, and written down at
// once, a token of each at a time.
type listening struct {
	of       *talk
	listener *decode.Listener
	features *audio.Whisper
	heard    []float32 // features of a recording
	store    *workload.Store

	live     []writing
	response []byte
}

// A writing is what is written of a recording.
type writing struct {
	item   workload.Item
	tokens []int32
}

func newListening(w *talk, sessions workload.Sessions, slots int) (*listening, error) {
	features := audio.NewWhisper(whisperBands)
	d, err := decode.NewListener(sessions, w.layout, slots, w.context())
	if err != nil {
		return nil, err
	}
	l := &listening{of: w, listener: d, features: features, heard: make([]float32, features.Len()), live: make([]writing, slots)}
	for i := range l.live {
		l.live[i].tokens = make([]int32, 0, whisperMost)
	}
	return l, nil
}

// Use implements workload.Predictor.
func (l *listening) Use(store *workload.Store) error {
	l.store = store
	return nil
}

// Close implements workload.Predictor.
func (l *listening) Close() error { return l.listener.Close() }

// Predict implements workload.Predictor.
func (l *listening) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) == 0 {
		return nil
	}
	if l.store == nil {
		return errors.New("no samples are loaded")
	}
	l.live = l.live[:len(items)]
	for row, item := range items {
		l.live[row].item, l.live[row].tokens = item, l.live[row].tokens[:0]
		if err := l.listen(ctx, row, item); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
	}
	err := l.listener.Begin(ctx, len(items), l.of.begin)
	for err == nil {
		if err = l.write(reply); err != nil || len(l.live) == 0 {
			return err
		}
		if err = context.Cause(ctx); err == nil {
			err = l.listener.Step(ctx)
		}
	}
	return fmt.Errorf("%d recordings, the first of sample %d: %w", len(l.live), l.live[0].item.Index, err)
}

// listen makes the features of a recording, and has the encoder hear them.
func (l *listening) listen(ctx context.Context, row int, item workload.Item) error {
	if err := l.features.Features(l.heard, sound(tensor.Data[float32](l.store.Slot(0, item.Row, 1)))); err != nil {
		return err
	}
	return l.listener.Listen(ctx, row, l.heard)
}

// write takes the next token of each text, and answers those that end.
func (l *listening) write(reply workload.Reply) error {
	for row := len(l.live) - 1; row >= 0; row-- {
		s := &l.live[row]
		s.tokens = append(s.tokens, int32(l.listener.Next(row)))
		if len(s.tokens) == 1 {
			reply.FirstToken(s.item.Ticket, binary.LittleEndian.AppendUint64(l.response[:0], uint64(s.tokens[0])))
		}
		if len(s.tokens) < whisperMost && s.tokens[len(s.tokens)-1] != l.of.end {
			continue
		}
		if err := l.answer(s, reply); err != nil {
			return err
		}
		l.listener.Drop(row)
		last := len(l.live) - 1
		l.live[row], l.live[last] = l.live[last], l.live[row]
		l.live = l.live[:last]
	}
	return nil
}

// whisperLabels are the characters of responses, by their numbers (reference_SUT.py).
const whisperLabels = " abcdefghijklmnopqrstuvwxyz'0123456789$%+-"

// answer gives the text in small letters, as int64 numbers of its characters. Others are left out. Tokens are
// counted as the model wrote them, with the one that ends the text.
func (l *listening) answer(s *writing, reply workload.Reply) error {
	text, err := l.of.words.Decode(s.tokens, hf.SkipSpecial)
	if err != nil {
		return fmt.Errorf("sample %d: %w", s.item.Index, err)
	}
	l.response = l.response[:0]
	for _, c := range strings.TrimSpace(strings.ToLower(text)) {
		if label := strings.IndexRune(whisperLabels, c); label >= 0 {
			l.response = binary.LittleEndian.AppendUint64(l.response, uint64(label))
		}
	}
	reply.Done(s.item.Ticket, l.response, len(s.tokens))
	return nil
}
