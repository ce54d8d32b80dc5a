package recsys

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A predictor runs the model on the pairs of all samples of a batch at once.
type predictor struct {
	w       *clickWorkload
	session backend.Session
	store   *workload.Store

	numbers     []float32
	categories  []int64 // table by table
	offsets     []int64
	predictions []float32
	scratch     []byte
	values      []backend.Value
	pairs       int // that values are bound for
}

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) == 0 {
		return nil
	}
	if p.store == nil {
		return errors.New("no samples are loaded")
	}
	pairs := 0
	for _, item := range items {
		pairs += p.count(item)
	}
	if err := p.bind(pairs); err != nil {
		return err
	}
	p.gather(items, pairs)
	n := len(p.w.inputs)
	if err := p.session.Run(ctx, p.values[:n], p.values[n:]); err != nil {
		return err
	}
	predictions := p.predictions
	for k, item := range items {
		labels := tensor.Data[float32](p.store.Slot(2, item.Row, 1))
		var err error
		if p.scratch, err = appendPairs(p.scratch[:0], predictions[:len(labels)], labels); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		reply.Done(k, p.scratch, 0)
		predictions = predictions[len(labels):]
	}
	return nil
}

// count is the number of pairs of a sample: its row has a label of 4 bytes for each.
func (p *predictor) count(item workload.Item) int {
	return len(p.store.RowBytes(2, item.Row)) / tensor.Float32.Size()
}

// gather copies the pairs of the items.
func (p *predictor) gather(items []workload.Item, pairs int) {
	first := 0
	for _, item := range items {
		count := p.count(item)
		copy(p.numbers[first*dataset.CriteoNumbers:], tensor.Data[float32](p.store.Slot(0, item.Row, 1)))
		from := tensor.Data[int64](p.store.Slot(1, item.Row, 1))
		for table, hot := range p.w.hot {
			n := count * hot
			copy(p.categories[p.w.starts[table]*pairs+first*hot:], from[:n])
			from = from[n:]
		}
		first += count
	}
	for table, hot := range p.w.hot {
		for i := range pairs {
			p.offsets[table*pairs+i] = int64(i * hot)
		}
	}
}

// bind makes the values of the inputs, and at the end that of the output, for a number of pairs.
func (p *predictor) bind(pairs int) error {
	if pairs == p.pairs {
		return nil
	}
	if err := p.Close(); err != nil {
		return err
	}
	if len(p.predictions) < pairs {
		p.numbers, p.predictions = make([]float32, pairs*dataset.CriteoNumbers), make([]float32, pairs)
		p.categories, p.offsets = make([]int64, pairs*p.w.starts[dataset.CriteoCategories]), make([]int64, pairs*dataset.CriteoCategories)
	}
	n := int64(pairs)
	shape := []int64{n, 1}
	if len(p.session.Info().Outputs[0].Shape) == 1 {
		shape = shape[:1]
	}
	var tensors []tensor.Tensor
	for _, in := range p.w.inputs {
		var t tensor.Tensor
		switch {
		case in.kind == numbers:
			t = tensor.Of(p.numbers[:n*dataset.CriteoNumbers], n, dataset.CriteoNumbers)
		case in.kind == offsets && in.table >= 0:
			t = tensor.Of(p.offsets[int64(in.table)*n:][:n], n)
		case in.kind == offsets:
			t = tensor.Of(p.offsets[:n*dataset.CriteoCategories], dataset.CriteoCategories, n)
		case in.table < 0:
			t = tensor.Of(p.categories[:n*dataset.CriteoCategories], dataset.CriteoCategories, n)
		default:
			start, hot := int64(p.w.starts[in.table]), int64(p.w.hot[in.table])
			own := p.categories[start*n:][:hot*n]
			if t = tensor.Of(own, n, hot); in.flat() {
				t = tensor.Of(own, hot*n)
			}
		}
		tensors = append(tensors, t)
	}
	for _, t := range append(tensors, tensor.Of(p.predictions[:pairs], shape...)) {
		v, err := p.session.Bind(t)
		if err != nil {
			return errors.Join(err, p.Close())
		}
		p.values = append(p.values, v)
	}
	p.pairs = pairs
	return nil
}

// appendPairs appends the prediction and the label of each pair.
func appendPairs(dst []byte, chances, labels []float32) ([]byte, error) {
	for i, v := range chances {
		if v != v {
			return dst, fmt.Errorf("the model's prediction for pair %d is not a number", i)
		}
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(labels[i]))
	}
	return dst, nil
}

// Close implements workload.Predictor.
func (p *predictor) Close() error {
	var errs []error
	for _, v := range p.values {
		errs = append(errs, v.Close())
	}
	p.values, p.pairs = p.values[:0], 0
	return errors.Join(errs...)
}
