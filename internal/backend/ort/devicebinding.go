//go:build cgo

package ort

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A deviceBinding has buffers in a device's own memory for the ports of a session, and is used by one
// run at a time. Contents are copied in before a run, and out after it. The addresses stay the same as
// long as the shapes do, which graphs that a device records and replays (CUDA graphs) ask for.
type deviceBinding struct {
	session         *session
	bound           *binding
	inputs, outputs []deviceBuffer
}

// A deviceBuffer is a tensor in a device's memory.
type deviceBuffer struct {
	shape tensor.Shape
	value unsafe.Pointer // OrtValue; nil: none yet
	data  unsafe.Pointer // its numbers, in the device's memory
	given *value         // that is bound instead of a buffer; nil: none
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

// prepare sees to it that all ports have buffers of the right shapes, and copies the inputs.
func (d *deviceBinding) prepare(inputs, outputs []backend.Value) error {
	for i, given := range inputs {
		port := &d.session.inputs[i]
		v, err := own(given, port, "input")
		if err != nil {
			return err
		}
		if err := d.feed(&d.inputs[i], port, v); err != nil {
			return err
		}
	}
	for i, given := range outputs {
		port := &d.session.outputs[i]
		v, err := own(given, port, "output")
		if err != nil {
			return err
		}
		if v.kept != nil {
			err = d.bindGiven(&d.outputs[i], fnBindOutput, port, v)
		} else {
			err = d.fit(&d.outputs[i], fnBindOutput, port, v)
		}
		if err != nil {
			return err
		}
	}
	return d.session.memory.copier.wait()
}

// feed binds an input, and copies it where it is not in the device's memory.
func (d *deviceBinding) feed(b *deviceBuffer, port *modelPort, v *value) error {
	switch {
	case v.kept != nil:
		return d.bindGiven(b, fnBindInput, port, v)
	case d.session.memory.counts(v.tensor):
		return d.bindAnew(b, port, v)
	}
	if err := d.fit(b, fnBindInput, port, v); err != nil {
		return err
	}
	if err := d.load(b, v); err != nil {
		return fmt.Errorf("copying input %s to the device: %w", port.Name, err)
	}
	return nil
}

// bindAnew binds a value in the processor's memory, as its contents are now.
func (d *deviceBinding) bindAnew(b *deviceBuffer, port *modelPort, v *value) error {
	h, err := v.read()
	if err != nil {
		return err
	}
	if err := d.bound.inner.BindInput(port.Name, h); err != nil {
		return fmt.Errorf("copying input %s to the device: %s", port.Name, readable(err.Error()))
	}
	b.free(d.session.engine.native)
	b.given = v
	return nil
}

// bindGiven binds a value that is in the device's memory.
func (d *deviceBinding) bindGiven(b *deviceBuffer, function int, port *modelPort, v *value) error {
	n := d.session.engine.native
	switch {
	case v.session != d.session:
		return fmt.Errorf("%s: the value is in the memory of another session", port.Name)
	case b.given == v:
		return nil
	}
	if err := n.bindValue(function, d.bound.pointer, port.Name, v.kept); err != nil {
		return fmt.Errorf("%s: %w", port.Name, err)
	}
	b.free(n)
	b.given = v
	return nil
}

// load copies a value into its buffer.
func (d *deviceBinding) load(b *deviceBuffer, v *value) error {
	h, err := v.read()
	if err != nil {
		return err
	}
	from, err := d.session.engine.native.contents(h.pointer)
	if err != nil {
		return err
	}
	return d.session.memory.copier.copy(b.data, from, len(v.tensor.Bytes()))
}

// fetch copies the outputs from the device.
func (d *deviceBinding) fetch(outputs []backend.Value) error {
	for i, given := range outputs {
		if d.outputs[i].given != nil {
			continue
		}
		if err := d.store(given.(*value), &d.outputs[i]); err != nil {
			return fmt.Errorf("copying output %s from the device: %w", d.session.outputs[i].Name, err)
		}
	}
	return nil
}

// store copies a buffer into its value.
func (d *deviceBinding) store(v *value, b *deviceBuffer) error {
	to, err := d.session.engine.native.contents(v.handle.pointer)
	if err != nil {
		return err
	}
	if err := d.session.memory.copier.copy(to, b.data, len(v.tensor.Bytes())); err != nil {
		return err
	}
	return v.written()
}

// fit makes a buffer of a value's shape, unless there is one, and binds it.
func (d *deviceBinding) fit(b *deviceBuffer, function int, port *modelPort, v *value) error {
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
