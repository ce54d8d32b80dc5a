//go:build cgo

package ort

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A keptMemory is memory of a device that belongs to the caller of Keep.
type keptMemory struct {
	session  *session
	element  tensor.DType
	elements int64
	whole    unsafe.Pointer // OrtValue
	data     unsafe.Pointer
}

var errMemoryClosed = errors.New("the memory is closed")

// Keep implements backend.Keeper.
func (s *session) Keep(t tensor.DType, elements int64) (backend.Memory, error) {
	if s.memory == nil {
		return nil, nil
	}
	if s.closed.Load() {
		return nil, errClosed
	}
	n, like := s.engine.native, tensor.Tensor{Type: t, Shape: tensor.Shape{elements}}
	whole, err := n.newTensor(s.memory.allocator, like)
	if err != nil {
		return nil, fmt.Errorf("memory of %s for %v: %w", s.memory.name, like, err)
	}
	m := &keptMemory{session: s, element: t, elements: elements, whole: whole}
	if m.data, err = n.contents(whole); err == nil {
		err = m.clear()
	}
	if err != nil {
		m.free()
		return nil, fmt.Errorf("memory of %s for %v: %w", s.memory.name, like, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[m] = struct{}{}
	return m, nil
}

// clear writes zeros.
func (m *keptMemory) clear() error {
	zeros := make([]byte, 1<<20)
	for at, end := 0, int(m.elements)*m.element.Size(); at < end; at += len(zeros) {
		n := min(len(zeros), end-at)
		if err := m.session.memory.copier.copy(unsafe.Add(m.data, at), unsafe.Pointer(unsafe.SliceData(zeros)), n); err != nil {
			return err
		}
	}
	return m.session.memory.copier.wait()
}

// at is the address of an element.
func (m *keptMemory) at(element int64) unsafe.Pointer {
	return unsafe.Add(m.data, element*int64(m.element.Size()))
}

// has reports whether a part is in the memory.
func (m *keptMemory) has(from, elements int64) bool {
	return from >= 0 && elements >= 0 && from <= m.elements-elements
}

// Value implements backend.Memory.
func (m *keptMemory) Value(from int64, shape ...int64) (backend.Value, error) {
	t := tensor.Tensor{Type: m.element, Shape: append(tensor.Shape(nil), shape...)}
	if m.whole == nil {
		return nil, errMemoryClosed
	}
	if !m.has(from, t.Shape.Len()) {
		return nil, fmt.Errorf("%v from element %d on is not in memory of %d", t, from, m.elements)
	}
	s := m.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, errClosed
	}
	kept, err := s.engine.native.tensorOver(s.memory.info, m.at(from), t)
	if err != nil {
		return nil, fmt.Errorf("binding %v: %w", t, err)
	}
	v := &value{tensor: t, kept: kept, memory: m}
	s.adopt(v)
	return v, nil
}

// Copy implements backend.Memory.
func (m *keptMemory) Copy(to, from, elements int64) error {
	if m.whole == nil {
		return errMemoryClosed
	}
	if !m.has(to, elements) || !m.has(from, elements) {
		return fmt.Errorf("copying %d elements from %d to %d: there are %d", elements, from, to, m.elements)
	}
	return m.session.memory.copier.copy(m.at(to), m.at(from), int(elements)*m.element.Size())
}

// Close implements backend.Memory. If it is not called, closing the session does it.
func (m *keptMemory) Close() error {
	m.session.mu.Lock()
	defer m.session.mu.Unlock()
	m.free()
	delete(m.session.kept, m)
	return nil
}

// free frees the memory, once.
func (m *keptMemory) free() {
	if m.whole != nil {
		m.session.engine.native.release(fnReleaseValue, m.whole)
		m.whole = nil
	}
}
