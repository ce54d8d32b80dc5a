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
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// expectedPrefix begins the names of arrays that have what an output should be.
const expectedPrefix = "expected_"

// tolerance is how far a number may be from the expected one: so much, and this part of the expected one besides.
// ONNX Runtime judges the models of the ONNX zoo so (onnxruntime/test/providers/cpu/model_tests.cc, per_sample_tolerance).
const tolerance = 1e-3

// An expected has what an output should be.
type expected struct {
	name    string // of the array, with expectedPrefix
	samples int
	length  int       // numbers of a sample
	floats  []float32 // or else wholes
	wholes  []int64

	output int // its place among those that are computed
	port   backend.Port
	whole  bool // the output has no batch axis
}

// expectedOf are the expected outputs among arrays, in the order of their names.
func expectedOf(arrays map[string][]tensor.Tensor) (list []*expected, err error) {
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if !strings.HasPrefix(name, expectedPrefix) {
			continue
		}
		e := &expected{name: name}
		for _, t := range arrays[name] {
			if len(t.Shape) == 0 || e.samples > 0 && t.Len()/int(t.Shape[0]) != e.length {
				return nil, fmt.Errorf("%s is %v, want samples along the first axis, all of one shape", name, t)
			}
			e.samples += int(t.Shape[0])
			e.length = t.Len() / int(t.Shape[0])
			if !singlepass.IsFloat(t.Type) {
				values, err := integers([]tensor.Tensor{t})
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				e.wholes = append(e.wholes, values...)
				continue
			}
			t, err := converted(t, tensor.Float32)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			e.floats = append(e.floats, tensor.Data[float32](t)...)
		}
		if len(e.floats) > 0 && len(e.wholes) > 0 {
			return nil, fmt.Errorf("%s has floats and whole numbers, want one type", name)
		}
		list = append(list, e)
	}
	return list, nil
}

// bind finds the output.
func (e *expected) bind(outputs []backend.Port, batched bool) error {
	name := strings.TrimPrefix(e.name, expectedPrefix)
	e.output = slices.IndexFunc(outputs, func(p backend.Port) bool { return p.Name == name || plainName(p.Name) == name })
	if e.output < 0 {
		return fmt.Errorf("the model has no output %q; it has %s", name, described(outputs))
	}
	e.port, e.whole = outputs[e.output], !batched
	if singlepass.IsFloat(e.port.Type) != (e.floats != nil) {
		return fmt.Errorf("the array has other numbers than output %s, which has %v", e.port.Name, e.port.Type)
	}
	return nil
}

// answer appends the outputs of a sample that are expected: floats as float32, others as int64.
func (in *inputs) answer(dst []byte, outputs []tensor.Tensor, k int, _ workload.Item) ([]byte, error) {
	for _, e := range in.expected {
		t := outputs[e.output]
		n := t.Len()
		if !e.whole && len(t.Shape) > 0 && t.Shape[0] > 0 {
			n /= int(t.Shape[0])
		}
		if n != e.length || (k+1)*n > t.Len() {
			return dst, fmt.Errorf("output %s is %v, %d numbers for a sample; %s has %d", e.port.Name, t, n, e.name, e.length)
		}
		if e.floats != nil {
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

// scoreExpected scores a log of outputs: the accuracy is the part of the samples, in percent, all of whose numbers are the
// expected ones within the tolerance; whole numbers have none.
func scoreExpected(log accuracy.Input, list []*expected) (*accuracy.Score, error) {
	size, samples := 0, list[0].samples
	for _, e := range list {
		samples = min(samples, e.samples)
		if size += 4 * e.length; e.floats == nil {
			size += 4 * e.length
		}
	}
	score := &accuracy.Score{Coverage: accuracy.Coverage{Samples: samples}, Right: make([]byte, (samples+7)/8)}
	equal, farthest, where := 0, 0.0, ""
	for rec, err := range accuracy.FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		if len(rec.Data) != size {
			return nil, fmt.Errorf("%s: record %d (qsl_idx %d): payload has %d bytes, want %d", log.Name(), rec.Number, rec.QSLIndex, len(rec.Data), size)
		}
		same, data := true, rec.Data
		for _, e := range list {
			at := int(rec.QSLIndex) * e.length
			for i := range e.length {
				far := 0.0
				if e.floats == nil {
					far = math.Abs(float64(int64(binary.LittleEndian.Uint64(data)) - e.wholes[at+i]))
					same, data = same && far == 0, data[8:]
				} else {
					got, want := math.Float32frombits(binary.LittleEndian.Uint32(data)), e.floats[at+i]
					if got != want { // infinities are equal
						far = math.Abs(float64(got) - float64(want))
					}
					same, data = same && far <= tolerance+tolerance*math.Abs(float64(want)) && !math.IsInf(far, 0), data[4:]
				}
				if !(far <= farthest) && farthest == farthest { // NaN is farthest
					farthest, where = far, fmt.Sprintf("sample %d, %s", rec.QSLIndex, strings.TrimPrefix(e.name, expectedPrefix))
				}
			}
		}
		if same {
			equal++
			score.Right[rec.QSLIndex/8] |= 1 << (rec.QSLIndex % 8)
		}
	}
	n := score.Coverage.Scored
	if n == 0 {
		return nil, fmt.Errorf("%s: the log has no record", log.Name())
	}
	score.Values = []accuracy.Value{{Name: "accuracy", Value: 100 * float64(equal) / float64(n), Unit: "%"}}
	line := fmt.Sprintf("equal=%d of %d within %g + %g·|expected|, largest difference %.3g", equal, n, tolerance, tolerance, farthest)
	if where != "" {
		line += " (" + where + ")"
	}
	score.Lines = []string{line}
	return score, nil
}
