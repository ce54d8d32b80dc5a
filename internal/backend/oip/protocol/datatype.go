package protocol

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// datatypes are the protocol's names of element types.
var datatypes = map[tensor.DType]string{
	tensor.Bool:  "BOOL",
	tensor.Uint8: "UINT8", tensor.Uint16: "UINT16", tensor.Uint32: "UINT32", tensor.Uint64: "UINT64",
	tensor.Int8: "INT8", tensor.Int16: "INT16", tensor.Int32: "INT32", tensor.Int64: "INT64",
	tensor.Float16: "FP16", tensor.BFloat16: "BF16", tensor.Float32: "FP32", tensor.Float64: "FP64",
	tensor.String: "BYTES",
}

var types = func() map[string]tensor.DType {
	m := map[string]tensor.DType{}
	for d, name := range datatypes {
		m[name] = d
	}
	return m
}()

// Datatype is the protocol's name of an element type; empty: it has none.
func Datatype(d tensor.DType) string { return datatypes[d] }

// ParseDatatype returns the element type that the protocol calls by a name.
func ParseDatatype(name string) (tensor.DType, error) {
	if d, ok := types[name]; ok {
		return d, nil
	}
	var names []string
	for n := range types {
		names = append(names, n)
	}
	slices.Sort(names)
	return tensor.Invalid, fmt.Errorf("unknown datatype %q, want one of %v", name, names)
}

// Elements of BYTES have their length in front of them, 32 bits, little endian.

// Wire are the elements of a tensor as they are sent: its own memory, except for strings.
func Wire(t tensor.Tensor) []byte {
	if t.Type != tensor.String {
		return t.Bytes()
	}
	b := make([]byte, 0, wireSize(t))
	for _, s := range t.Strings() {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	return b
}

// wireSize is how many bytes Wire has.
func wireSize(t tensor.Tensor) int {
	n := len(t.Bytes())
	for _, s := range t.Strings() {
		n += 4 + len(s)
	}
	return n
}

// parseBytes reads exactly as many strings as there is room for.
func parseBytes(data []byte, strings []string) error {
	for i := range strings {
		if len(data) < 4 {
			return fmt.Errorf("element %d of %d: its length is missing", i, len(strings))
		}
		n := binary.LittleEndian.Uint32(data)
		if data = data[4:]; uint64(n) > uint64(len(data)) {
			return fmt.Errorf("element %d of %d claims %d bytes, %d are left", i, len(strings), n, len(data))
		}
		strings[i], data = string(data[:n]), data[n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes are left after all %d elements", len(data), len(strings))
	}
	return nil
}
