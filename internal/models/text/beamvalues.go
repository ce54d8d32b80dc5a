package text

import (
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A stepShape is what the values of a step depend on.
type stepShape struct{ active, beams, current int }

// bound are the values of a run, in the order of the ports.
type bound struct{ inputs, outputs []backend.Value }

func (b *bound) close() error {
	var errs []error
	for _, v := range append(b.inputs, b.outputs...) {
		errs = append(errs, v.Close())
	}
	return errors.Join(errs...)
}

// step returns the values for a step of so many sentences, each with so many beams.
func (m *beamMemory) step(active, beams int) (*bound, error) {
	at := stepShape{active, beams, m.current}
	if b := m.steps[at]; b != nil {
		return b, nil
	}
	tensors := m.tensors(active, beams)
	b := &bound{}
	var err error
	if b.inputs, err = m.valuesOf(m.decoder.Info().Inputs, tensors); err == nil {
		b.outputs, err = m.valuesOf(m.decoder.Info().Outputs, tensors)
	}
	if err != nil {
		return nil, err
	}
	m.steps[at] = b
	return b, nil
}

func (m *beamMemory) valuesOf(ports []backend.Port, tensors map[string]tensor.Tensor) ([]backend.Value, error) {
	var values []backend.Value
	for _, port := range ports {
		v, err := m.value(port.Name, tensors[port.Name])
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// tensors are what a step reads and writes.
func (m *beamMemory) tensors(active, beams int) map[string]tensor.Tensor {
	slots, length, hidden, rows := int64(m.slots), int64(m.length), int64(m.sizes.hidden), active*beams
	candidates := len(m.found) / len(m.tokens)
	best := []int64{int64(rows), int64(candidates)}
	return map[string]tensor.Tensor{
		"memory": tensor.Of(m.memory, slots, length, hidden), "keys": tensor.Of(m.keys, slots, length, hidden), "mask": tensor.Of(m.mask, slots, length),
		"active": tensor.Of(m.active[:active], int64(active)), "parents": tensor.Of(m.parents[:rows], int64(rows)), "pieces": tensor.Of(m.tokens[:rows], int64(rows)),
		"state": m.states[m.current], "next_state": m.states[1-m.current].Rows(0, rows),
		"logits": tensor.Of(m.logits[:rows*candidates], best...), "candidates": tensor.Of(m.found[:rows*candidates], best...),
		"log_sum": tensor.Of(m.sums[:rows], int64(rows)),
	}
}

// value binds a tensor of a port once. Those of a port that lie at one place differ in their length.
func (m *beamMemory) value(port string, t tensor.Tensor) (backend.Value, error) {
	name := port
	switch port {
	case "memory", "keys", "mask":
	case "state", "next_state":
		name = fmt.Sprint(port, t.Shape[0], m.current)
	default:
		name = fmt.Sprint(port, t.Shape[0])
	}
	if v := m.values[name]; v != nil {
		return v, nil
	}
	v, err := m.decoder.Bind(t)
	if err != nil {
		return nil, err
	}
	m.values[name] = v
	return v, nil
}

// free forgets a value.
func (m *beamMemory) free(name string) error {
	v := m.values[name]
	if v == nil {
		return nil
	}
	delete(m.values, name)
	return v.Close()
}

// close frees the values.
func (m *beamMemory) close() error {
	var errs []error
	for name := range m.values {
		errs = append(errs, m.free(name))
	}
	clear(m.steps)
	return errors.Join(errs...)
}
