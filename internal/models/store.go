package models

import (
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend/hostmem"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Store holds the rows of samples that are in memory. The rows of each slot lie side
// by side in one tensor, so that consecutive rows are a batch without being copied. The
// memory is not Go's: it may be many gigabytes.
type Store struct {
	slots []tensor.Tensor // outermost axis: rows
	rows  int
	free  []func() error
}

// NewStore makes room for rows. The store must be closed.
func NewStore(row []Slot, rows int) (*Store, error) {
	s := &Store{rows: rows}
	for _, slot := range row {
		t, free, err := hostmem.New(slot.Type, append([]int64{int64(rows)}, slot.Shape...)...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("memory for %d samples: %w", rows, err), s.Close())
		}
		s.slots = append(s.slots, t)
		s.free = append(s.free, free)
	}
	return s, nil
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

// Rows is the number of rows.
func (s *Store) Rows() int { return s.rows }

// Slot returns n rows of a slot as a batch over the store's own memory.
func (s *Store) Slot(slot, first, n int) tensor.Tensor { return s.slots[slot].Rows(first, n) }

// Batch returns n rows, each slot with a batch axis, over the store's own memory.
func (s *Store) Batch(first, n int) []tensor.Tensor {
	batch := make([]tensor.Tensor, len(s.slots))
	for k := range batch {
		batch[k] = s.Slot(k, first, n)
	}
	return batch
}

// rowBytes is the memory of a row of a slot. Unlike Slot it allocates nothing.
func (s *Store) rowBytes(slot, row int) []byte {
	mem := s.slots[slot].Bytes()
	size := len(mem) / s.rows
	return mem[row*size : (row+1)*size]
}

// Row returns one row, each slot without a batch axis, over the store's own memory.
func (s *Store) Row(i int) []tensor.Tensor {
	row := make([]tensor.Tensor, len(s.slots))
	for k, slot := range s.slots {
		row[k] = slot.Rows(i, 1).Reshape(slot.Shape[1:]...)
	}
	return row
}

// Bytes is the memory that rows of this kind take.
func Bytes(row []Slot, rows int) int64 {
	n := int64(0)
	for _, slot := range row {
		n += slot.Bytes() * int64(rows)
	}
	return n
}

// consecutive says whether the items are rows that lie side by side in order.
func consecutive(items []Item) bool {
	for i, item := range items {
		if item.Row != items[0].Row+i {
			return false
		}
	}
	return true
}

// String describes the slot as float32[3 224 224].
func (s Slot) String() string { return fmt.Sprintf("%v%v", s.Type, s.Shape) }
