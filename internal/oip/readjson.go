package oip

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// readJSON puts the elements of valid JSON into a tensor. They may be one flat list, or lists
// in lists, one level for each axis.
func readJSON(text []byte, t tensor.Tensor, rank int) error {
	set, ok := setters(t)
	if !ok {
		return fmt.Errorf("%s has no form in JSON: want binary data", Datatype(t.Type))
	}
	if text[0] != '[' {
		return fmt.Errorf("data is no list")
	}
	n, depth, level := 0, 0, 0
	for len(text) > 0 {
		switch c := text[0]; c {
		case '[':
			depth++
		case ']':
			depth--
		case ',', ' ', '\n', '\r', '\t':
		case '{':
			return fmt.Errorf("element %d is an object", n)
		default:
			if level == 0 {
				level = depth
			}
			if depth != level || level != 1 && level != rank {
				return fmt.Errorf("element %d lies %d lists deep, want 1 or %d, like all others", n, depth, rank)
			}
			element := scalar(text)
			if n == t.Len() {
				return fmt.Errorf("more than %d elements", t.Len())
			}
			if err := set(n, element); err != nil {
				return fmt.Errorf("element %d: %w", n, err)
			}
			n, text = n+1, text[len(element):]
			continue
		}
		text = text[1:]
	}
	if n != t.Len() {
		return fmt.Errorf("%d elements, want %d", n, t.Len())
	}
	return nil
}

// scalar is the number, word or string that valid JSON begins with.
func scalar(text []byte) []byte {
	if text[0] != '"' {
		for i, c := range text {
			if c == ',' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t' {
				return text[:i]
			}
		}
		return text
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i+1]
		}
	}
	return text
}

// setters return what stores an element of a tensor.
func setters(t tensor.Tensor) (set func(i int, text []byte) error, ok bool) {
	switch t.Type {
	case tensor.Float32:
		return setFloats[float32](t, 32), true
	case tensor.Float64:
		return setFloats[float64](t, 64), true
	case tensor.Int8:
		return setInts[int8](t, 8), true
	case tensor.Int16:
		return setInts[int16](t, 16), true
	case tensor.Int32:
		return setInts[int32](t, 32), true
	case tensor.Int64:
		return setInts[int64](t, 64), true
	case tensor.Uint8:
		return setUints[uint8](t, 8), true
	case tensor.Uint16:
		return setUints[uint16](t, 16), true
	case tensor.Uint32:
		return setUints[uint32](t, 32), true
	case tensor.Uint64:
		return setUints[uint64](t, 64), true
	case tensor.Bool:
		return setBools(t), true
	case tensor.String:
		return func(i int, text []byte) error { return json.Unmarshal(text, &t.Strings()[i]) }, true
	}
	return nil, false
}

func setFloats[T float32 | float64](t tensor.Tensor, bits int) func(int, []byte) error {
	data := tensor.Data[T](t)
	return func(i int, text []byte) error {
		v, err := strconv.ParseFloat(string(text), bits)
		data[i] = T(v)
		return err
	}
}

func setInts[T int8 | int16 | int32 | int64](t tensor.Tensor, bits int) func(int, []byte) error {
	data := tensor.Data[T](t)
	return func(i int, text []byte) error {
		v, err := strconv.ParseInt(string(text), 10, bits)
		data[i] = T(v)
		return err
	}
}

func setUints[T uint8 | uint16 | uint32 | uint64](t tensor.Tensor, bits int) func(int, []byte) error {
	data := tensor.Data[T](t)
	return func(i int, text []byte) error {
		v, err := strconv.ParseUint(string(text), 10, bits)
		data[i] = T(v)
		return err
	}
}

func setBools(t tensor.Tensor) func(int, []byte) error {
	data := tensor.Data[uint8](t)
	return func(i int, text []byte) error {
		switch string(text) {
		case "true":
			data[i] = 1
		case "false":
			data[i] = 0
		default:
			return fmt.Errorf("%s is neither true nor false", text)
		}
		return nil
	}
}
