//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A deviceBinding has buffers in a device's memory for the ports of a session. It serves one run at a time. Contents are copied in before a
// run, and out after it. Addresses stay the same as long as the shapes do: graphs that a device records and replays (CUDA graphs) need that.
type deviceBinding struct {
	session         *session
	bound           *binding
	inputs, outputs []deviceBuffer
}

// A deviceBuffer is a tensor in a device's memory.
type deviceBuffer struct {
	shape tensor.Shape
	value unsafe.Pointer // OrtValue; nil: none yet
	data  unsafe.Pointer // of value, in the device's memory
	given *value         // bound instead of a buffer; nil: none
}

// runOnDevice runs with buffers in the device's memory.
func (s *session) runOnDevice(ctx context.Context, inputs, outputs []backend.Value) error {
	b, err := s.bindingOf(outputs)
	if err != nil {
		return err
	}
	if b.device == nil {
		b.device = &deviceBinding{session: s, bound: b, inputs: make([]deviceBuffer, len(s.inputs)), outputs: make([]deviceBuffer, len(s.outputs))}
	}
	if err := b.device.prepare(inputs, outputs); err != nil {
		return err
	}
	if err := b.stopper.watch(ctx); err != nil {
		return err
	}
	if err := s.engine.native.runBound(s.pointer, b.stopper.pointer, b.pointer); err != nil {
		return err
	}
	return b.device.fetch(outputs)
}

// prepare binds all ports, to buffers of the right shapes where values are not in the device's memory, and copies the inputs.
func (d *deviceBinding) prepare(inputs, outputs []backend.Value) error {
	memory, n := d.session.memory, d.session.engine.native
	for i, given := range inputs {
		port, b := &d.session.inputs[i], &d.inputs[i]
		v, err := own(given, port, "input")
		if err != nil {
			return err
		}
		if v.memory != nil {
			if err := d.bindKept(b, fnBindInput, port, v); err != nil {
				return err
			}
			continue
		}
		if err := v.read(); err != nil {
			return err
		}
		if memory.counts(v.tensor) { // bound anew, as its contents are now
			if err := n.bindValue(fnBindInput, d.bound.pointer, port.Name, v.pointer); err != nil {
				return fmt.Errorf("copying input %s to the device: %w", port.Name, err)
			}
			b.free(n)
			b.given = v
			continue
		}
		if err := d.fit(b, fnBindInput, port, v); err != nil {
			return err
		}
		from, err := n.contents(v.pointer)
		if err == nil {
			err = memory.copier.copy(b.data, from, len(v.tensor.Bytes()))
		}
		if err != nil {
			return fmt.Errorf("copying input %s to the device: %w", port.Name, err)
		}
	}
	for i, given := range outputs {
		port := &d.session.outputs[i]
		v, err := own(given, port, "output")
		if err != nil {
			return err
		}
		if v.memory != nil {
			err = d.bindKept(&d.outputs[i], fnBindOutput, port, v)
		} else {
			err = d.fit(&d.outputs[i], fnBindOutput, port, v)
		}
		if err != nil {
			return err
		}
	}
	return memory.copier.wait()
}

// bindKept binds a value that is in the device's memory.
func (d *deviceBinding) bindKept(b *deviceBuffer, function int, port *backend.Port, v *value) error {
	n := d.session.engine.native
	switch {
	case v.session != d.session:
		return fmt.Errorf("%s: the value is in the memory of another session", port.Name)
	case b.given == v:
		return nil
	}
	if err := n.bindValue(function, d.bound.pointer, port.Name, v.pointer); err != nil {
		return fmt.Errorf("%s: %w", port.Name, err)
	}
	b.free(n)
	b.given = v
	return nil
}

// fetch copies the outputs from the device.
func (d *deviceBinding) fetch(outputs []backend.Value) error {
	for i, given := range outputs {
		if d.outputs[i].given != nil {
			continue
		}
		v := given.(*value)
		to, err := d.session.engine.native.contents(v.pointer)
		if err == nil {
			err = d.session.memory.copier.copy(to, d.outputs[i].data, len(v.tensor.Bytes()))
		}
		if err == nil {
			err = v.written()
		}
		if err != nil {
			return fmt.Errorf("copying output %s from the device: %w", d.session.outputs[i].Name, err)
		}
	}
	return nil
}

// fit binds a buffer of a value's shape, which is made unless there is one.
func (d *deviceBinding) fit(b *deviceBuffer, function int, port *backend.Port, v *value) error {
	if b.value != nil && slices.Equal(b.shape, v.tensor.Shape) {
		return nil
	}
	n := d.session.engine.native
	fresh, err := n.newTensor(d.session.memory.allocator, v.tensor)
	if err != nil {
		return fmt.Errorf("%s: memory of %s for %v: %w", port.Name, d.session.memory.name, v.tensor, err)
	}
	data, err := n.contents(fresh)
	if err != nil {
		n.release(fnReleaseValue, fresh)
		return fmt.Errorf("%s: %w", port.Name, err)
	}
	if err := n.bindValue(function, d.bound.pointer, port.Name, fresh); err != nil {
		n.release(fnReleaseValue, fresh)
		return fmt.Errorf("%s: %w", port.Name, err)
	}
	b.free(n)
	b.given = nil
	b.shape, b.value, b.data = slices.Clone(v.tensor.Shape), fresh, data
	return nil
}

// close frees the buffers. The binding that refers to them must be gone.
func (d *deviceBinding) close() {
	for _, list := range [][]deviceBuffer{d.inputs, d.outputs} {
		for i := range list {
			list[i].free(d.session.engine.native)
		}
	}
}

func (b *deviceBuffer) free(n native) {
	if b.value != nil {
		n.release(fnReleaseValue, b.value)
		b.value = nil
	}
}

// A deviceMemory is memory of a device, where a session has its buffers.
type deviceMemory struct {
	name            string         // in ONNX Runtime
	info, allocator unsafe.Pointer // OrtMemoryInfo, OrtAllocator
	copier          memoryCopier
	fixed           bool // addresses must stay the same
}

// memory is the memory of a session's buffers; nil: it has none.
func (o *opening) memory(session unsafe.Pointer) (*deviceMemory, error) {
	first, n := o.plan.requests[0], o.engine.native
	if !o.plan.options.DeviceMemory && !first.records() {
		return nil, nil
	}
	text := func(p backend.Port) bool { return p.Type == tensor.String }
	if first.device.memory == "" || slices.ContainsFunc(o.inputs, text) || slices.ContainsFunc(o.outputs, text) {
		return nil, &deviceError{first.name, "buffers in its own memory are not possible, or not for strings"}
	}
	m := &deviceMemory{name: first.device.memory, fixed: first.records()}
	var err error
	if m.name == "Cuda" {
		if m.copier, err = cudaCopier(); err != nil {
			return nil, err
		}
	}
	device, _ := strconv.Atoi(first.options["device_id"])
	if m.info, err = n.memoryOf(m.name, device); err != nil {
		return nil, fmt.Errorf("memory of %s %d: %w", m.name, device, err)
	}
	if m.allocator, err = n.allocator(session, m.info); err != nil {
		n.release(fnReleaseMemoryInfo, m.info)
		return nil, fmt.Errorf("memory of %s %d: %w", m.name, device, err)
	}
	return m, nil
}

func (m *deviceMemory) close(n native) {
	n.release(fnReleaseAllocator, m.allocator)
	n.release(fnReleaseMemoryInfo, m.info)
}

// counts reports whether a tensor is a few whole numbers, which operators of a device often want in the processor's memory, as lengths. ONNX
// Runtime copies them to the right place each time they are bound.
func (m *deviceMemory) counts(t tensor.Tensor) bool {
	const few = 4096 // bytes
	return !m.fixed && (t.Type == tensor.Int64 || t.Type == tensor.Int32) && len(t.Bytes()) <= few
}

// A keptMemory is memory of a device that the caller of Keep owns.
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
	m.data, err = n.contents(whole)
	zeros := make([]byte, 1<<20)
	for at, end := 0, int(elements)*t.Size(); at < end && err == nil; at += len(zeros) {
		err = s.memory.copier.copy(unsafe.Add(m.data, at), unsafe.Pointer(unsafe.SliceData(zeros)), min(len(zeros), end-at))
	}
	if err == nil {
		err = s.memory.copier.wait()
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
	pointer, err := s.engine.native.tensorOver(s.memory.info, m.at(from), t)
	if err != nil {
		return nil, fmt.Errorf("binding %v: %w", t, err)
	}
	v := &value{native: s.engine.native, tensor: t, pointer: pointer, memory: m}
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
