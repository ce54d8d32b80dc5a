package own

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// expectedPrefix begins the names of arrays that have what an output should be.
const expectedPrefix = "expected_"

// An expected is bound to an output.
type expected struct {
	accuracy.Expected
	output int // its place among those that are computed
	port   backend.Port
}

// expectedOf are the expected outputs among arrays, in the order of their names.
func expectedOf(arrays map[string][]tensor.Tensor) (list []*expected, err error) {
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if !strings.HasPrefix(name, expectedPrefix) {
			continue
		}
		e := &expected{Expected: accuracy.Expected{Name: strings.TrimPrefix(name, expectedPrefix)}}
		if singlepass.IsFloat(arrays[name][0].Type) {
			e.Floats = []float32{} // also if the arrays are empty
		}
		for _, t := range arrays[name] {
			if singlepass.IsFloat(t.Type) != (e.Floats != nil) {
				return nil, fmt.Errorf("%s has floats and whole numbers, expected one type", name)
			}
			if len(t.Shape) == 0 || t.Shape[0] == 0 || e.Samples > 0 && t.Len()/int(t.Shape[0]) != e.Length {
				return nil, fmt.Errorf("%s is %v: must be samples along the first axis, all of one shape", name, t)
			}
			e.Samples += int(t.Shape[0])
			e.Length = t.Len() / int(t.Shape[0])
			if e.Floats == nil {
				values, err := integers([]tensor.Tensor{t})
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				e.Wholes = append(e.Wholes, values...)
				continue
			}
			t, err := converted(t, tensor.Float32)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			e.Floats = append(e.Floats, tensor.Data[float32](t)...)
		}
		list = append(list, e)
	}
	return list, nil
}

// array is the name of the array.
func (e *expected) array() string { return expectedPrefix + e.Name }

// bind finds the output.
func (e *expected) bind(outputs []backend.Port) error {
	e.output = slices.IndexFunc(outputs, func(p backend.Port) bool { return p.Name == e.Name || plainName(p.Name) == e.Name })
	if e.output < 0 {
		return fmt.Errorf("the model has no output %q; it has %s", e.Name, described(outputs))
	}
	e.port = outputs[e.output]
	if singlepass.IsFloat(e.port.Type) != (e.Floats != nil) {
		return fmt.Errorf("the array has other numbers than output %s, which has %v", e.port.Name, e.port.Type)
	}
	return nil
}

// answer appends the outputs of sample k of a batch that are expected: floats as float32, others as int64.
func (in *inputs) answer(dst []byte, outputs []tensor.Tensor, k, batch int) ([]byte, error) {
	for _, e := range in.expected {
		t := outputs[e.output]
		n, err := ofSample(e.port, t, batch)
		if err != nil {
			return dst, err
		}
		if n != e.Length {
			return dst, fmt.Errorf("output %s is %v, %d numbers for a sample; %s has %d", e.port.Name, t, n, e.array(), e.Length)
		}
		if e.Floats != nil {
			for _, v := range tensor.Data[float32](t)[k*n:][:n] {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
			}
			continue
		}
		values, err := integers([]tensor.Tensor{t})
		if err != nil {
			return dst, fmt.Errorf("output %s: %w", e.port.Name, err)
		}
		for _, v := range values[k*n:][:n] {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	}
	return dst, nil
}

// ofSample is how many numbers of an output belong to a sample of a batch: all of them to the only one.
func ofSample(p backend.Port, t tensor.Tensor, batch int) (int, error) {
	switch {
	case batch == 1:
		return t.Len(), nil
	case len(t.Shape) > 0 && t.Shape[0] == int64(batch):
		return t.Len() / batch, nil
	}
	return 0, fmt.Errorf("output %s is %v after a run of %d samples, and has no row for each", p.Name, t, batch)
}
