package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nlpodyssey/gopickle/types"
)

// An Array is a NumPy array.
type Array struct {
	Type    string // of an element, as NumPy writes it: "f4", "u1", "O8", "U16" for texts of up to 16 characters
	Shape   []int
	Fortran bool   // in Data the first axis runs fastest, not the last
	Data    []byte // little-endian
	Objects []any  // in place of Data where the elements are objects; the last axis runs fastest
}

// Len is the number of elements.
func (a *Array) Len() int {
	n := 1
	for _, extent := range a.Shape {
		n *= extent
	}
	return n
}

// Integers returns the elements of an array of whole numbers, the last axis running fastest.
func (a *Array) Integers() ([]int64, error) {
	out := make([]int64, 0, a.Len())
	err := a.each(func(_ int, v any) error {
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("an array of %q, expected whole numbers", a.Type)
		}
		out = append(out, n)
		return nil
	})
	return out, err
}

// Floats writes the elements of an array of float32, the last axis running fastest.
func (a *Array) Floats(dst []float32) error {
	if a.Type != "f4" || len(dst) != a.Len() {
		return fmt.Errorf("an array of %d %q, expected %d \"f4\"", a.Len(), a.Type, len(dst))
	}
	a.order(func(to, from int) { dst[to] = math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*from:])) })
	return nil
}

// Numbers returns the elements of an array of any numbers, the last axis running fastest.
func (a *Array) Numbers() ([]float64, error) {
	out := make([]float64, 0, a.Len())
	err := a.each(func(_ int, v any) error {
		switch v := v.(type) {
		case float64:
			out = append(out, v)
		case int64:
			out = append(out, float64(v))
		default:
			return fmt.Errorf("an array of %q, expected numbers", a.Type)
		}
		return nil
	})
	return out, err
}

// Texts returns the elements of an array of texts, the last axis running fastest.
func (a *Array) Texts() ([]string, error) {
	out := make([]string, 0, a.Len())
	err := a.each(func(_ int, v any) error {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("an array of %q, expected texts", a.Type)
		}
		out = append(out, text)
		return nil
	})
	return out, err
}

// Bytes writes the elements of an array of uint8, the last axis running fastest.
func (a *Array) Bytes(dst []uint8) error {
	if a.Type != "u1" || len(dst) != a.Len() {
		return fmt.Errorf("an array of %d %q, expected %d \"u1\"", a.Len(), a.Type, len(dst))
	}
	a.order(func(to, from int) { dst[to] = a.Data[from] })
	return nil
}

// each visits the elements, the last axis running fastest: int64, float64, bool, string, or objects.
func (a *Array) each(visit func(i int, v any) error) (err error) {
	size := elementSize(a.Type)
	a.order(func(to, from int) {
		if err != nil {
			return
		}
		var v any
		if size == 0 {
			v = a.Objects[from]
		} else if v, err = number(a.Type, a.Data[from*size:][:size]); err != nil {
			return
		}
		err = visit(to, v)
	})
	return err
}

// order visits all elements, the last axis running fastest.
func (a *Array) order(visit func(to, from int)) {
	n := a.Len()
	if !a.Fortran {
		for i := range n {
			visit(i, i)
		}
		return
	}
	strides, stride := make([]int, len(a.Shape)), 1
	for axis, extent := range a.Shape {
		strides[axis] = stride
		stride *= extent
	}
	at, from := make([]int, len(a.Shape)), 0
	for i := range n {
		visit(i, from)
		for axis := len(at) - 1; axis >= 0; axis-- {
			at[axis]++
			from += strides[axis]
			if at[axis] < a.Shape[axis] {
				break
			}
			from -= strides[axis] * at[axis]
			at[axis] = 0
		}
	}
}

// elementSize returns the bytes of a number or a text, 0 for other types.
func elementSize(code string) int {
	if length, ok := strings.CutPrefix(code, "U"); ok {
		if n, err := strconv.ParseUint(length, 10, 16); err == nil {
			return 4 * int(n)
		}
	}
	switch code {
	case "b1", "i1", "u1":
		return 1
	case "f2", "i2", "u2":
		return 2
	case "f4", "i4", "u4":
		return 4
	case "f8", "i8", "u8":
		return 8
	}
	return 0
}

// number reads a number, or a text, of a type.
func number(code string, data []byte) (any, error) {
	if code[0] == 'U' {
		return text(data), nil
	}
	var raw [8]byte
	copy(raw[:], data)
	bits := binary.LittleEndian.Uint64(raw[:])
	switch code {
	case "f2":
		return nil, errors.New("a number is a float16")
	case "f4":
		return float64(math.Float32frombits(uint32(bits))), nil
	case "f8":
		return math.Float64frombits(bits), nil
	case "b1":
		return bits != 0, nil
	}
	if code[0] == 'i' {
		shift := 64 - 8*len(data)
		return int64(bits) << shift >> shift, nil
	}
	if bits > math.MaxInt64 {
		return nil, fmt.Errorf("a number is %d: must be at most %d", bits, math.MaxInt64)
	}
	return int64(bits), nil
}

// text reads characters of four bytes each, which zeros follow where it is shorter than others.
func text(data []byte) string {
	var b strings.Builder
	for ; len(data) >= 4; data = data[4:] {
		if r := binary.LittleEndian.Uint32(data); r != 0 {
			b.WriteRune(rune(min(r, utf8.MaxRune+1))) // what is no character becomes U+FFFD
		}
	}
	return b.String()
}

var errNumPy = errors.New("an array is not written as NumPy writes it")

// An ndarray is an array under construction.
type ndarray struct {
	Array
	built bool
}

// PySetState takes version, shape, type, order of axes, and content.
func (a *ndarray) PySetState(state any) error {
	s, ok := state.(*types.Tuple)
	if !ok || len(*s) != 5 || a.built {
		return errNumPy
	}
	d, ok := (*s)[2].(*dtype)
	fortran, ok2 := (*s)[3].(bool)
	if !ok || !ok2 {
		return errNumPy
	}
	return a.fill(d, (*s)[1], fortran, (*s)[4])
}

// fill checks and takes the content. NumPy lists objects with the last axis running fastest,
// whatever their order in memory was.
func (a *ndarray) fill(d *dtype, extents any, fortran bool, content any) error {
	shape, err := shapeOf(extents)
	if err != nil {
		return err
	}
	n, err := product(shape, math.MaxInt32)
	if err != nil {
		return err
	}
	if d.bigEndian {
		return fmt.Errorf("an array of %q is big-endian: must be little-endian", d.code)
	}
	a.Array, a.built = Array{Type: d.code, Shape: shape, Fortran: fortran && len(shape) > 1}, true
	have, size := 0, 1
	switch content := content.(type) {
	case *types.List:
		a.Fortran = false
		if a.Objects, have = *content, len(*content); d.code != "O8" {
			return errNumPy
		}
	case []byte:
		a.Data, have, size = content, len(content), elementSize(d.code)
	case *types.ByteArray:
		a.Data, have, size = *content, len(*content), elementSize(d.code)
	default:
		return errNumPy
	}
	if size == 0 {
		return fmt.Errorf("an array has elements of type %q, expected plain numbers or texts", d.code)
	}
	if have != n*size {
		return fmt.Errorf("an array of %q with shape %v has %d bytes or objects, expected %d", d.code, shape, have, n*size)
	}
	return nil
}

// fromBuffer makes an array of content, type, shape and order, as protocol 5 writes it.
func fromBuffer(args []any) (any, error) {
	d, ok := arg[*dtype](args, 1)
	order, ok2 := arg[string](args, 3)
	if !ok || !ok2 {
		return nil, errNumPy
	}
	a := &ndarray{}
	return a, a.fill(d, args[2], order == "F", args[0])
}

// newScalar makes a single number of its type and bytes.
func newScalar(args []any) (any, error) {
	d, ok := arg[*dtype](args, 0)
	data, ok2 := arg[[]byte](args, 1)
	if !ok || !ok2 || d.bigEndian || len(data) == 0 || elementSize(d.code) != len(data) {
		return nil, errors.New("a number is not written as NumPy writes it")
	}
	return number(d.code, data)
}

// A dtype is a NumPy type: a letter and a size.
type dtype struct {
	code      string // "f4"
	bigEndian bool
}

func newDType(args []any) (any, error) {
	code, ok := arg[string](args, 0)
	if !ok {
		return nil, errNumPy
	}
	return &dtype{code: code}, nil
}

// PySetState takes version, byte order, and more that plain numbers do not need.
func (d *dtype) PySetState(state any) error {
	s, ok := state.(*types.Tuple)
	if !ok || len(*s) < 2 {
		return errNumPy
	}
	d.bigEndian = (*s)[1] == ">"
	return nil
}

// shapeOf reads a tuple of extents.
func shapeOf(v any) ([]int, error) {
	t, ok := v.(*types.Tuple)
	if !ok || len(*t) > 32 {
		return nil, errNumPy
	}
	shape := make([]int, len(*t))
	for i, extent := range *t {
		n, ok := extent.(int)
		if !ok || n < 0 || n > math.MaxInt32 {
			return nil, errNumPy
		}
		shape[i] = n
	}
	return shape, nil
}

// product counts the elements of a shape, up to a limit.
func product(shape []int, limit int) (int, error) {
	n := 1
	for _, extent := range shape {
		if extent > 0 && n > limit/extent {
			return 0, fmt.Errorf("an array has shape %v, which is more than %d elements", shape, limit)
		}
		n *= extent
	}
	return n, nil
}
