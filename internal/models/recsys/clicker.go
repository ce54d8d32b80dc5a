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

// A clicker has a model answer samples. The pairs of all samples of a batch go in at once.
type clicker struct {
	w       *clicks
	session backend.Session
	store   *workload.Store

	numbers    []float32
	categories []int64 // table by table
	offsets    []int64
	chances    []float32
	scratch    []byte
	values     []backend.Value
	pairs      int // for which there are values
}

// Use implements workload.Predictor.
func (c *clicker) Use(store *workload.Store) error {
	c.store = store
	return nil
}

// Predict implements workload.Predictor.
func (c *clicker) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) == 0 {
		return nil
	}
	if c.store == nil {
		return errors.New("no samples are loaded")
	}
	pairs := 0
	for _, item := range items {
		pairs += c.count(item)
	}
	if err := c.bind(pairs); err != nil {
		return err
	}
	c.gather(items, pairs)
	n := len(c.w.inputs)
	if err := c.session.Run(ctx, c.values[:n], c.values[n:]); err != nil {
		return err
	}
	return c.answer(items, reply)
}

// answer gives each sample the predictions of its pairs.
func (c *clicker) answer(items []workload.Item, reply workload.Reply) (err error) {
	chances := c.chances
	for k, item := range items {
		labels := tensor.Data[float32](c.store.Slot(2, item.Row, 1))
		if c.scratch, err = respond(c.scratch[:0], chances[:len(labels)], labels); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		reply.Done(k, c.scratch, 0)
		chances = chances[len(labels):]
	}
	return nil
}

// count is how many pairs a sample has: a number of 4 bytes for each in the row.
func (c *clicker) count(item workload.Item) int {
	return len(c.store.RowBytes(2, item.Row)) / tensor.Float32.Size()
}

// gather copies the pairs of the items.
func (c *clicker) gather(items []workload.Item, pairs int) {
	first := 0
	for _, item := range items {
		count := c.count(item)
		copy(c.numbers[first*dataset.CriteoNumbers:], tensor.Data[float32](c.store.Slot(0, item.Row, 1)))
		from := tensor.Data[int64](c.store.Slot(1, item.Row, 1))
		for table, hot := range c.w.hot {
			n := count * hot
			copy(c.categories[c.w.starts[table]*pairs+first*hot:], from[:n])
			from = from[n:]
		}
		first += count
	}
	for table, hot := range c.w.hot {
		for i := range pairs {
			c.offsets[table*pairs+i] = int64(i * hot)
		}
	}
}

// bind makes values for a number of pairs.
func (c *clicker) bind(pairs int) error {
	if pairs == c.pairs {
		return nil
	}
	if err := c.Close(); err != nil {
		return err
	}
	if len(c.chances) < pairs {
		c.numbers, c.chances = make([]float32, pairs*dataset.CriteoNumbers), make([]float32, pairs)
		c.categories, c.offsets = make([]int64, pairs*c.w.starts[dataset.CriteoCategories]), make([]int64, pairs*dataset.CriteoCategories)
	}
	for _, t := range c.tensors(int64(pairs)) {
		if err := c.add(t); err != nil {
			return err
		}
	}
	c.pairs = pairs
	return nil
}

// tensors are what goes into the inputs, and at the end what comes out.
func (c *clicker) tensors(pairs int64) (list []tensor.Tensor) {
	for _, in := range c.w.inputs {
		list = append(list, c.tensorOf(in, pairs))
	}
	shape := []int64{pairs, 1}
	if len(c.session.Info().Outputs[0].Shape) == 1 {
		shape = shape[:1]
	}
	return append(list, tensor.Of(c.chances[:pairs], shape...))
}

func (c *clicker) add(t tensor.Tensor) error {
	v, err := c.session.Bind(t)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	c.values = append(c.values, v)
	return nil
}

// tensorOf is what goes into an input.
func (c *clicker) tensorOf(in pairInput, n int64) tensor.Tensor {
	if in.kind == numbers {
		return tensor.Of(c.numbers[:n*dataset.CriteoNumbers], n, dataset.CriteoNumbers)
	}
	if in.kind == offsets {
		if in.table >= 0 {
			return tensor.Of(c.offsets[int64(in.table)*n:][:n], n)
		}
		return tensor.Of(c.offsets[:n*dataset.CriteoCategories], dataset.CriteoCategories, n)
	}
	if in.table < 0 {
		return tensor.Of(c.categories[:n*dataset.CriteoCategories], dataset.CriteoCategories, n)
	}
	start, hot := int64(c.w.starts[in.table]), int64(c.w.hot[in.table])
	if in.flat() {
		return tensor.Of(c.categories[start*n:][:hot*n], hot*n)
	}
	return tensor.Of(c.categories[start*n:][:hot*n], n, hot)
}

// respond appends a prediction and the label of each pair.
func respond(dst []byte, chances, labels []float32) ([]byte, error) {
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
func (c *clicker) Close() error {
	var errs []error
	for _, v := range c.values {
		errs = append(errs, v.Close())
	}
	c.values, c.pairs = c.values[:0], 0
	return errors.Join(errs...)
}
