package oip

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// readJSON puts the elements of valid JSON into a tensor. They may be one flat list, or lists
// in lists, one level for each axis and as long as that.
func readJSON(text []byte, t tensor.Tensor, shape tensor.Shape) error {
	of, ok := setters[t.Type]
	if !ok {
		return fmt.Errorf("%s has no form in JSON: want binary data", Datatype(t.Type))
	}
	if text[0] != '[' {
		return fmt.Errorf("data is no list")
	}
	r := elementReader{set: of(t), count: t.Len(), shape: shape}
	for len(text) > 0 {
		n, err := r.step(text)
		if err != nil {
			return err
		}
		text = text[n:]
	}
	if r.read != t.Len() {
		return fmt.Errorf("%d elements, want %d", r.read, t.Len())
	}
	return nil
}

// An elementReader stores the elements of a list.
type elementReader struct {
	set   func(i int, text []byte) error
	count int
	shape tensor.Shape
	read  int     // elements so far
	level int     // of lists: where the elements lie
	begun []int64 // the lists that have begun and not ended: what each has
}

// step takes what the text begins with, which is so many bytes long.
func (r *elementReader) step(text []byte) (n int, err error) {
	switch c := text[0]; {
	case c == '[':
		r.inner()
		r.begun = append(r.begun, 0)
	case c == ']':
		return 1, r.end()
	case c == '{':
		return 0, fmt.Errorf("element %d is an object", r.read)
	case c != ',' && !isSpace(c):
		element := scalar(text)
		return len(element), r.take(element)
	}
	return 1, nil
}

// isSpace reports whether a byte is what JSON has between values.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// inner counts what the innermost list has.
func (r *elementReader) inner() {
	if n := len(r.begun); n > 0 {
		r.begun[n-1]++
	}
}

// end ends a list. Lists in lists are those of the axes.
func (r *elementReader) end() error {
	n := len(r.begun)
	has := r.begun[n-1]
	r.begun = r.begun[:n-1]
	if flat := n == 1 && r.level <= 1; !flat && n <= len(r.shape) && has != r.shape[n-1] {
		return fmt.Errorf("a list before element %d, %d lists deep, has %d values, want %d as axis %d", r.read, n, has, r.shape[n-1], n-1)
	}
	return nil
}

func (r *elementReader) take(element []byte) error {
	r.inner()
	depth := len(r.begun)
	if r.level == 0 {
		r.level = depth
	}
	if depth != r.level || r.level != 1 && r.level != len(r.shape) {
		return fmt.Errorf("element %d lies %d lists deep, want 1 or %d, like all others", r.read, depth, len(r.shape))
	}
	if r.read == r.count {
		return fmt.Errorf("more than %d elements", r.count)
	}
	if err := r.set(r.read, element); err != nil {
		return fmt.Errorf("element %d: %w", r.read, err)
	}
	r.read++
	return nil
}

// scalar is the number, word or string that valid JSON begins with.
func scalar(text []byte) []byte {
	if text[0] == '"' {
		return quoted(text)
	}
	for i, c := range text {
		if c == ',' || c == ']' || isSpace(c) {
			return text[:i]
		}
	}
	return text
}

// quoted is the string that valid JSON begins with.
func quoted(text []byte) []byte {
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
var setters = map[tensor.DType]func(t tensor.Tensor) func(i int, text []byte) error{
	tensor.Float32: setFloats[float32], tensor.Float64: setFloats[float64],
	tensor.Int8: setInts[int8], tensor.Int16: setInts[int16], tensor.Int32: setInts[int32], tensor.Int64: setInts[int64],
	tensor.Uint8: setUints[uint8], tensor.Uint16: setUints[uint16], tensor.Uint32: setUints[uint32], tensor.Uint64: setUints[uint64],
	tensor.Bool: setBools, tensor.String: setStrings,
}

func setStrings(t tensor.Tensor) func(int, []byte) error {
	return func(i int, text []byte) error {
		if text[0] != '"' { // null would be taken for an empty one
			return fmt.Errorf("%s is no string", text)
		}
		if lone := loneSurrogate(text); lone != nil { // which would be replaced
			return fmt.Errorf("%s is half a letter", lone)
		}
		return json.Unmarshal(text, &t.Strings()[i])
	}
}

// loneSurrogate finds \ud800 and its like in a string of JSON where it is no half of a pair. Programs write bytes so that
// are no text.
func loneSurrogate(text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return nil
		}
		text = text[i:]
		first := escaped(text)
		switch second := escaped(text[min(6, len(text)):]); {
		case !utf16.IsSurrogate(first):
			text = text[2:]
		case utf16.DecodeRune(first, second) == utf8.RuneError:
			return text[:6]
		default:
			text = text[12:]
		}
	}
}

// escaped is what \uXXXX at the beginning of a text stands for; 0: there is none.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	v, _ := strconv.ParseUint(string(text[2:6]), 16, 16) // in valid JSON it is one
	return rune(v)
}

func setFloats[T float32 | float64](t tensor.Tensor) func(int, []byte) error {
	data, bits := tensor.Data[T](t), 8*t.Type.Size()
	return func(i int, text []byte) error {
		v, err := strconv.ParseFloat(string(text), bits)
		data[i] = T(v)
		return err
	}
}

func setInts[T int8 | int16 | int32 | int64](t tensor.Tensor) func(int, []byte) error {
	data, bits := tensor.Data[T](t), 8*t.Type.Size()
	return func(i int, text []byte) error {
		v, err := strconv.ParseInt(string(text), 10, bits)
		data[i] = T(v)
		return err
	}
}

func setUints[T uint8 | uint16 | uint32 | uint64](t tensor.Tensor) func(int, []byte) error {
	data, bits := tensor.Data[T](t), 8*t.Type.Size()
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
