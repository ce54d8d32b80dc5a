package oip

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Form is how elements of tensors are written over HTTP.
type Form uint8

// The forms: behind the JSON, or in it.
const (
	Binary Form = iota
	JSON
)

// AppendRequest appends the JSON of a request. In the binary form the elements of all tensors
// have to follow it, in order.
func AppendRequest(dst []byte, h *Head, tensors []tensor.Tensor, form Form) ([]byte, error) {
	dst = append(dst, '{')
	if h.ID != "" {
		dst = append(appendString(append(dst, `"id":`...), h.ID), ',')
	}
	dst, err := appendTensors(append(dst, `"inputs":[`...), h, tensors, form)
	if err != nil {
		return nil, err
	}
	if len(h.Wanted) > 0 {
		dst = append(appendWanted(append(dst, `,"outputs":[`...), h, form), ']')
	}
	if form == Binary {
		dst = append(dst, `,"parameters":{"binary_data_output":true}`...)
	}
	return append(dst, '}'), nil
}

func appendWanted(dst []byte, h *Head, form Form) []byte {
	for i, name := range h.Wanted {
		dst = append(appendString(append(appendComma(dst, i), `{"name":`...), name), `,"parameters":{`...)
		if h.Windows != nil && h.Windows[i].Region != "" {
			dst = appendWindow(dst, h.Windows[i])
		} else {
			dst = strconv.AppendBool(append(dst, `"binary_data":`...), form == Binary)
		}
		dst = append(dst, "}}"...)
	}
	return dst
}

// AppendResponse appends the JSON of an answer, like AppendRequest.
func AppendResponse(dst []byte, h *Head, tensors []tensor.Tensor, form Form) ([]byte, error) {
	dst = appendString(append(dst, `{"model_name":`...), h.Model)
	if h.Version != "" {
		dst = appendString(append(dst, `,"model_version":`...), h.Version)
	}
	if h.ID != "" {
		dst = appendString(append(dst, `,"id":`...), h.ID)
	}
	dst, err := appendTensors(append(dst, `,"outputs":[`...), h, tensors, form)
	return append(dst, '}'), err
}

func appendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

func appendWindow(dst []byte, w Window) []byte {
	dst = appendString(append(dst, `"shared_memory_region":`...), w.Region)
	dst = strconv.AppendInt(append(dst, `,"shared_memory_offset":`...), w.Offset, 10)
	return strconv.AppendInt(append(dst, `,"shared_memory_byte_size":`...), w.Size, 10)
}

// appendString appends a string as JSON writes it.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			text, _ := json.Marshal(s) // which no string makes fail
			return append(dst, text...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

func appendTensors(dst []byte, h *Head, tensors []tensor.Tensor, form Form) ([]byte, error) {
	for i, s := range h.Tensors {
		dst = appendString(append(appendComma(dst, i), `{"name":`...), s.Name)
		dst = append(append(append(dst, `,"datatype":"`...), Datatype(s.Type)...), `","shape":[`...)
		for k, d := range s.Shape {
			dst = strconv.AppendInt(appendComma(dst, k), d, 10)
		}
		if s.Window.Region != "" {
			dst = append(appendWindow(append(dst, `],"parameters":{`...), s.Window), "}}"...)
			continue
		}
		if form == Binary {
			dst = strconv.AppendInt(append(dst, `],"parameters":{"binary_data_size":`...), int64(wireSize(tensors[i])), 10)
			dst = append(dst, "}}"...)
			continue
		}
		var err error
		if dst, err = appendData(append(dst, `],"data":`...), tensors[i]); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", s.Name, err)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']'), nil
}

// appenders write elements as JSON.
var appenders = map[tensor.DType]func(dst []byte, t tensor.Tensor) ([]byte, error){
	tensor.Int8: appendInts[int8], tensor.Int16: appendInts[int16], tensor.Int32: appendInts[int32], tensor.Int64: appendInts[int64],
	tensor.Uint8: appendUints[uint8], tensor.Uint16: appendUints[uint16], tensor.Uint32: appendUints[uint32], tensor.Uint64: appendUints[uint64],
	tensor.Float32: appendFloats[float32], tensor.Float64: appendFloats[float64],
	tensor.Bool: func(dst []byte, t tensor.Tensor) ([]byte, error) {
		for i, v := range tensor.Data[uint8](t) {
			dst = strconv.AppendBool(appendComma(dst, i), v != 0)
		}
		return dst, nil
	},
	tensor.String: func(dst []byte, t tensor.Tensor) ([]byte, error) {
		for i, s := range t.Strings() {
			if !utf8.ValidString(s) { // JSON would have something else in its place
				return nil, fmt.Errorf("element %d is not UTF-8, which JSON cannot have: want binary data", i)
			}
			dst = appendString(appendComma(dst, i), s)
		}
		return dst, nil
	},
}

// appendData appends the elements of a tensor as one flat list.
func appendData(dst []byte, t tensor.Tensor) ([]byte, error) {
	write, ok := appenders[t.Type]
	if !ok {
		return nil, fmt.Errorf("%s has no form in JSON: want binary data", Datatype(t.Type))
	}
	dst, err := write(append(dst, '['), t)
	return append(dst, ']'), err
}

func appendInts[T int8 | int16 | int32 | int64](dst []byte, t tensor.Tensor) ([]byte, error) {
	for i, v := range tensor.Data[T](t) {
		dst = strconv.AppendInt(appendComma(dst, i), int64(v), 10)
	}
	return dst, nil
}

func appendUints[T uint8 | uint16 | uint32 | uint64](dst []byte, t tensor.Tensor) ([]byte, error) {
	for i, v := range tensor.Data[T](t) {
		dst = strconv.AppendUint(appendComma(dst, i), uint64(v), 10)
	}
	return dst, nil
}

func appendFloats[T float32 | float64](dst []byte, t tensor.Tensor) ([]byte, error) {
	for i, v := range tensor.Data[T](t) {
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("element %d is %v, which JSON does not have: want binary data", i, f)
		}
		dst = strconv.AppendFloat(appendComma(dst, i), f, 'g', -1, 8*t.Type.Size())
	}
	return dst, nil
}
