package workload

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend/hostmem"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Store holds the rows of samples that are in memory. The rows of each slot lie side by
// side, each with the bytes that its own shape asks for, so that consecutive rows of the
// same shape are a batch without being copied. The memory is not Go's: it may be many
// gigabytes.
type Store struct {
	slots []column
	rows  int
	free  []func() error
}

// A column has one tensor of each row.
type column struct {
	all tensor.Tensor // if all rows have the same shape: outermost axis rows; else bytes

	// Where rows differ:
	dtype  tensor.DType
	shapes []tensor.Shape
	starts []int64 // in all
}

const (
	// alignment is that of a row whose shape is not that of the one before.
	alignment = 64
	// maxBytes exceeds any memory.
	maxBytes = 1 << 56
)

// NewStore makes room for rows. The store must be closed.
func NewStore(rows int, row func(i int) []Slot) (*Store, error) {
	s := &Store{rows: rows}
	if rows == 0 {
		return s, nil
	}
	for k := range row(0) {
		c, free, err := newColumn(rows, func(i int) Slot { return row(i)[k] })
		if err != nil {
			return nil, errors.Join(fmt.Errorf("memory for %d samples: %w", rows, err), s.Close())
		}
		s.slots = append(s.slots, c)
		s.free = append(s.free, free)
	}
	return s, nil
}

func newColumn(rows int, slot func(i int) Slot) (c column, free func() error, err error) {
	first, same, total := slot(0), true, int64(0)
	for i := range rows { // shapes come from data sets: a wrong one must not become a small number
		s := slot(i)
		if k := slices.IndexFunc(s.Shape, func(extent int64) bool { return extent < 0 }); k >= 0 {
			return c, nil, fmt.Errorf("sample %d: %v has an axis of %d, expected 0 or more", i, s, s.Shape[k])
		}
		n := s.Shape.Len()
		if n < 0 {
			return c, nil, fmt.Errorf("sample %d: %v is more than any memory", i, s)
		}
		if total += n*int64(max(s.Type.Size(), 1)) + alignment; total > maxBytes {
			return c, nil, fmt.Errorf("sample %d: up to %v it is more than any memory", i, s)
		}
		same = same && slices.Equal(s.Shape, first.Shape)
	}
	if first.Type == tensor.String { // in Go's memory: texts are of any length
		if !same {
			return c, nil, errors.New("samples have different numbers of texts: must be the same for all")
		}
		c.all = tensor.New(tensor.String, append([]int64{int64(rows)}, first.Shape...)...)
		return c, func() error { return nil }, nil
	}
	if same {
		c.all, free, err = hostmem.New(first.Type, append([]int64{int64(rows)}, first.Shape...)...)
		return c, free, err
	}
	c.dtype, c.shapes, c.starts = first.Type, make([]tensor.Shape, rows), make([]int64, rows)
	end := int64(0)
	for i := range rows {
		s := slot(i)
		if i > 0 && !slices.Equal(s.Shape, c.shapes[i-1]) {
			end = (end + alignment - 1) / alignment * alignment
		}
		c.shapes[i], c.starts[i] = s.Shape, end
		end += s.Bytes()
	}
	c.all, free, err = hostmem.New(tensor.Uint8, end)
	return c, free, err
}

// Close frees the memory. Nothing may use the rows any more.
func (s *Store) Close() error {
	var errs []error
	for _, free := range s.free {
		errs = append(errs, free())
	}
	s.slots, s.free, s.rows = nil, nil, 0
	return errors.Join(errs...)
}

// Slots is how many tensors a row has.
func (s *Store) Slots() int { return len(s.slots) }

// Rows is the number of rows.
func (s *Store) Rows() int { return s.rows }

// Slot returns n rows of a slot as a batch over the store's own memory. It panics if they
// have not all the same shape (Alike).
func (s *Store) Slot(slot, first, n int) tensor.Tensor {
	c := &s.slots[slot]
	if c.shapes == nil {
		return c.all.Rows(first, n)
	}
	if !c.alike(first, n) {
		panic(fmt.Sprintf("workload: rows %d to %d of slot %d differ in shape", first, first+n, slot))
	}
	shape := append([]int64{int64(n)}, c.shapes[first]...)
	size := Slot{c.dtype, c.shapes[first]}.Bytes()
	t, err := tensor.FromBytes(c.dtype, c.all.Bytes()[c.starts[first]:c.starts[first]+int64(n)*size], shape...)
	if err != nil {
		panic("workload: " + err.Error()) // rows are aligned and as long as their shapes say
	}
	return t
}

// Batch returns n rows, each slot with a batch axis, over the store's own memory.
func (s *Store) Batch(first, n int) []tensor.Tensor {
	batch := make([]tensor.Tensor, len(s.slots))
	for k := range batch {
		batch[k] = s.Slot(k, first, n)
	}
	return batch
}

// RowBytes is the memory of a row of a slot; none for texts. Unlike Slot it allocates nothing.
func (s *Store) RowBytes(slot, row int) []byte {
	c := &s.slots[slot]
	mem := c.all.Bytes()
	if c.shapes == nil {
		size := len(mem) / s.rows
		return mem[row*size : (row+1)*size]
	}
	return mem[c.starts[row]:][:Slot{c.dtype, c.shapes[row]}.Bytes()]
}

// Row returns one row, each slot without a batch axis, over the store's own memory.
func (s *Store) Row(i int) []tensor.Tensor {
	row := make([]tensor.Tensor, len(s.slots))
	for k := range s.slots {
		t := s.Slot(k, i, 1)
		row[k] = t.Reshape(t.Shape[1:]...)
	}
	return row
}

// Alike reports whether the items are rows that lie side by side in order, with the same
// shapes: a batch that need not be copied.
func (s *Store) Alike(items []Item) bool {
	if len(items) == 0 {
		return false
	}
	for i, item := range items {
		if item.Row != items[0].Row+i {
			return false
		}
	}
	for k := range s.slots {
		if c := &s.slots[k]; c.shapes != nil && !c.alike(items[0].Row, len(items)) {
			return false
		}
	}
	return true
}

// alike reports whether rows have the same shape.
func (c *column) alike(first, n int) bool {
	for i := first + 1; i < first+n; i++ {
		if !slices.Equal(c.shapes[i], c.shapes[first]) {
			return false
		}
	}
	return true
}
