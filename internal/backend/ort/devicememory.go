//go:build cgo

package ort

import (
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// deviceMemory is where a session has buffers.
type deviceMemory struct {
	name            string // as ONNX Runtime calls it
	info, allocator unsafe.Pointer
	copier          memoryCopier
	stays           bool // addresses do
}

// openMemory gets the allocator of a device's memory for a session.
func (n native) openMemory(session unsafe.Pointer, name string, device int) (*deviceMemory, error) {
	m := &deviceMemory{name: name}
	var err error
	if name == "Cuda" {
		if m.copier, err = cudaCopier(); err != nil {
			return nil, err
		}
	}
	if m.info, err = n.memoryOf(name, device); err != nil {
		return nil, fmt.Errorf("memory of %s %d: %w", name, device, err)
	}
	if m.allocator, err = n.allocator(session, m.info); err != nil {
		n.release(fnReleaseMemoryInfo, m.info)
		return nil, fmt.Errorf("memory of %s %d: %w", name, device, err)
	}
	return m, nil
}

// memory is where a session has its buffers, if it has any.
func (o *opening) memory(session unsafe.Pointer) (*deviceMemory, error) {
	first := o.plan.requests[0]
	if !o.plan.options.DeviceMemory && !first.records() {
		return nil, nil
	}
	text := func(p modelPort) bool { return p.Type == tensor.String }
	if first.device.memory == "" || slices.ContainsFunc(o.inputs, text) || slices.ContainsFunc(o.outputs, text) {
		return nil, &DeviceError{first.name, "buffers in its own memory are not possible, or not for strings"}
	}
	device, _ := strconv.Atoi(first.options["device_id"])
	m, err := o.engine.native.openMemory(session, first.device.memory, device)
	if err == nil {
		m.stays = first.records()
	}
	return m, err
}

func (m *deviceMemory) close(n native) {
	n.release(fnReleaseAllocator, m.allocator)
	n.release(fnReleaseMemoryInfo, m.info)
}

// counts reports whether a tensor is a few whole numbers, which operators of a device often want in the
// processor's memory, such as lengths. ONNX Runtime knows, and copies them where they are wanted
// whenever they are bound.
func (m *deviceMemory) counts(t tensor.Tensor) bool {
	const few = 4096 // bytes
	return !m.stays && (t.Type == tensor.Int64 || t.Type == tensor.Int32) && len(t.Bytes()) <= few
}
