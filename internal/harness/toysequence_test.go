package harness

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	rulesof "github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// toyTranslation is a benchmark on sequences: sample i has i%7+1 numbers, and its answer counts
// down from their sum, number by number. An encoder reads a sequence at once, a decoder
// makes the next number of all sequences that are under way.
func toyTranslation(observe func(live int, admitted []int)) workload.Model {
	const samples = 64
	return workload.Model{
		Name: "toy-translation", Title: "Toy translation", Dataset: "sums", PerformanceSampleCount: samples,
		Rules:   rulesof.Model{Name: "toy-translation"},
		Quality: workload.Quality{Metric: "exact", Reference: 100, Fraction: 1},
		// A model with files says Roles: []string{"encoder", "decoder"}. This one has none.
		Files: func(path string) ([]workload.File, error) {
			return []workload.File{{Role: "encoder", Path: path}, {Role: "decoder", Path: path}}, nil
		},
		Open: func(workload.Setup) (*workload.Workload, error) {
			return (&toySequences{samples: samples, observe: observe}).workload(), nil
		},
		Score: scoreToy,
	}
}

// toySequences is the benchmark joined with its data.
type toySequences struct {
	samples int
	observe func(live int, admitted []int)
	pause   func() // in each step; nil: none
	mu      sync.Mutex
}

func (w *toySequences) workload() *workload.Workload {
	return &workload.Workload{
		Samples: w.samples, Length: toyLength,
		Row: func(index int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{int64(toyLength(index)), 1}}}
		},
		Prepare: func(index int, row []tensor.Tensor) error {
			for i := range tensor.Data[float32](row[0]) {
				tensor.Data[float32](row[0])[i] = float32(number(index, i))
			}
			return nil
		},
		NewDecoder: func(sessions workload.Sessions, maxBatch int) (workload.Decoder, error) {
			if len(sessions) != 2 {
				return nil, fmt.Errorf("there are %d sessions", len(sessions))
			}
			return &toyDecoder{toySequences: w, encoder: sessions["encoder"], decoder: sessions["decoder"], room: maxBatch}, nil
		},
	}
}

func toyLength(index int) int { return index%7 + 1 }

// number is the i-th of a sample.
func number(index, i int) int { return (index+i)%5 + 2 }

// sum is what a sample's answer counts down from.
func (w *toySequences) sum(index int) int {
	sum := 0
	for i := range toyLength(index) {
		sum += number(index, i)
	}
	return sum
}

// A toyDecoder answers as many sequences at once as it has room for.
type toyDecoder struct {
	*toySequences
	encoder, decoder backend.Session
	room             int
	store            *workload.Store
	live             []toyLive
	items            []workload.Item
}

// A toyLive is a sequence under way.
type toyLive struct {
	item   workload.Item
	left   int
	answer []byte
}

func (d *toyDecoder) Use(store *workload.Store) error {
	d.store = store
	return nil
}

func (d *toyDecoder) Close() error { return nil }

func (d *toyDecoder) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return d.Serve(ctx, workload.BatchSource(items, reply))
}

// Serve admits sequences whenever there is room, waits only if it has none, and answers each
// when its own end is reached.
func (d *toyDecoder) Serve(ctx context.Context, source workload.Source) error {
	d.live = d.live[:0]
	for {
		items, open := source.Admit(d.items[:0], d.room-len(d.live), len(d.live) == 0)
		d.items = items
		if len(items) == 0 && len(d.live) == 0 && !open {
			return nil
		}
		for _, item := range items {
			if err := d.encode(ctx, item); err != nil {
				return err
			}
		}
		if err := d.step(ctx, source); err != nil {
			return err
		}
	}
}

func (d *toyDecoder) encode(ctx context.Context, item workload.Item) error {
	d.tell()
	numbers := d.store.Row(item.Row)[0]
	out := tensor.New(tensor.Int64, numbers.Shape[0])
	if err := runToy(ctx, d.encoder, numbers, out); err != nil {
		return err
	}
	sum := 0
	for _, v := range tensor.Data[int64](out) {
		sum += int(v)
	}
	d.live = append(d.live, toyLive{item: item, left: sum})
	return nil
}

func (d *toyDecoder) tell() {
	d.mu.Lock()
	defer d.mu.Unlock()
	var admitted []int
	for _, item := range d.items {
		admitted = append(admitted, item.Index)
	}
	d.observe(len(d.live), admitted)
}

// step makes one number of every sequence.
func (d *toyDecoder) step(ctx context.Context, reply workload.Source) error {
	if len(d.live) == 0 {
		return nil
	}
	reply.Worked()
	if d.pause != nil {
		d.pause()
	}
	in, out := tensor.New(tensor.Float32, int64(len(d.live)), 1), tensor.New(tensor.Int64, int64(len(d.live)))
	for k, s := range d.live {
		tensor.Data[float32](in)[k] = float32(s.left)
	}
	if err := runToy(ctx, d.decoder, in, out); err != nil {
		return err
	}
	kept := d.live[:0]
	for k, s := range d.live {
		number := tensor.Data[int64](out)[k]
		s.answer = binary.LittleEndian.AppendUint16(s.answer, uint16(number))
		if len(s.answer) == 2 {
			reply.FirstToken(s.item.Ticket, s.answer)
		}
		if s.left--; s.left > 0 {
			kept = append(kept, s)
			continue
		}
		reply.Done(s.item.Ticket, s.answer, len(s.answer)/2)
	}
	d.live = kept
	return nil
}

func runToy(ctx context.Context, session backend.Session, in, out tensor.Tensor) error {
	var values [2]backend.Value
	for i, t := range []tensor.Tensor{in, out} {
		v, err := session.Bind(t)
		if err != nil {
			return err
		}
		defer v.Close()
		values[i] = v
	}
	return session.Run(ctx, values[:1], values[1:])
}

// scoreToy says how many answers are exactly right.
func scoreToy(ctx context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	right, w := 0, &toySequences{samples: 64}
	seen := map[uint64]bool{}
	for rec, err := range accuracy.Records(log) {
		if err != nil {
			return nil, err
		}
		var want []byte
		for n := w.sum(int(rec.QSLIndex)); n > 0; n-- {
			want = binary.LittleEndian.AppendUint16(want, uint16(n))
		}
		if slices.Equal(rec.Data, want) && !seen[rec.QSLIndex] {
			right++
		}
		seen[rec.QSLIndex] = true
	}
	if len(seen) == 0 {
		return nil, errors.New("the log is empty")
	}
	value := 100 * float64(right) / float64(len(seen))
	return &accuracy.Score{Coverage: accuracy.Coverage{Samples: 64, Scored: len(seen)}, Values: []accuracy.Value{{Name: "exact", Value: value, Unit: "%"}}, Lines: []string{fmt.Sprint(value)}}, nil
}

// closedBatches makes a workload whose predictors get batches and no more.
func closedBatches(open func(workload.Setup) (*workload.Workload, error)) func(workload.Setup) (*workload.Workload, error) {
	return func(s workload.Setup) (*workload.Workload, error) {
		w, err := open(s)
		if err == nil {
			w.NewPredictor = func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
				return (&toySequences{observe: func(int, []int) {}}).workload().NewDecoder(sessions, maxBatch)
			}
			w.NewDecoder, w.Length = nil, nil
		}
		return w, err
	}
}
