package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// An Array is a NumPy array.
type Array struct {
	Type    string // of an element, as NumPy writes it: "f4", "u1", "O8"
	Shape   []int
	Fortran bool   // in Data the first axis runs fastest, not the last
	Data    []byte // little-endian
	Objects []any  // in the place of Data where the elements are objects; the last axis runs fastest

	built bool
}

// A dtype is a NumPy type: a letter, a size, and the order of bytes.
type dtype struct {
	code  string // "f4"
	order string // "<", ">", "|" or "="
}

// size returns the bytes of an element, 0 if the type is not one of plain numbers.
func (d dtype) size() int {
	switch d.code {
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

// swapped reports whether the first byte of a number is its highest.
func (d dtype) swapped() bool { return d.order == ">" && d.size() > 1 }

// littleEndian returns numbers with their lowest bytes first, in memory of their own where they were not so.
func (d dtype) littleEndian(data []byte) []byte {
	if !d.swapped() {
		return data
	}
	out := slices.Clone(data)
	for number := range slices.Chunk(out, d.size()) {
		slices.Reverse(number)
	}
	return out
}

// number reads a little-endian number of as many bytes as the type has.
func (d dtype) number(data []byte) (any, error) {
	var raw [8]byte
	copy(raw[:], data)
	bits := binary.LittleEndian.Uint64(raw[:])
	switch d.code {
	case "f2":
		return nil, errors.New("a number is a float16")
	case "f4":
		return float64(math.Float32frombits(uint32(bits))), nil
	case "f8":
		return math.Float64frombits(bits), nil
	case "b1":
		return bits != 0, nil
	}
	if d.code[0] == 'i' {
		shift := 64 - 8*len(data)
		return int64(bits) << shift >> shift, nil
	}
	if bits > math.MaxInt64 {
		return nil, fmt.Errorf("a number is %d, want at most %d", bits, math.MaxInt64)
	}
	return int64(bits), nil
}

// Len is the number of elements.
func (a *Array) Len() int {
	n := 1
	for _, extent := range a.Shape {
		n *= extent
	}
	return n
}

// fill checks and takes what an array consists of.
func (a *Array) fill(d dtype, shape []int, fortran bool, data []byte) error {
	size := d.size()
	if size == 0 {
		return fmt.Errorf("an array has elements of type %q, want plain numbers", d.code)
	}
	n, err := product(shape, math.MaxInt32*8/size)
	if err != nil {
		return err
	}
	if n*size != len(data) {
		return fmt.Errorf("an array of %q with shape %v has %d bytes, want %d", d.code, shape, len(data), n*size)
	}
	*a = Array{Type: d.code, Shape: shape, Fortran: fortran && len(shape) > 1, Data: d.littleEndian(data), built: true}
	return nil
}

// fillObjects is fill for objects. NumPy lists them with the last axis running fastest whatever
// their order in memory was.
func (a *Array) fillObjects(shape []int, items []any) error {
	n, err := product(shape, math.MaxInt32)
	if err != nil {
		return err
	}
	if n != len(items) {
		return fmt.Errorf("an array with shape %v has %d objects, want %d", shape, len(items), n)
	}
	*a = Array{Type: "O8", Shape: shape, Objects: items, built: true}
	return nil
}

// product counts the elements of a shape, whose extents are not negative, up to a limit.
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

// eachValue visits the elements of any type in the order in which the last axis runs
// fastest. Whole numbers are int64, truth values bool, others float64.
func (a *Array) eachValue(visit func(i int, v any) error) error {
	value, err := a.reader()
	if err != nil {
		return err
	}
	var first error
	a.each(func(to, from int) {
		if first != nil {
			return
		}
		v, err := value(from)
		if err == nil {
			err = visit(to, v)
		}
		first = err
	})
	return first
}

// reader returns what reads an element by its place in memory.
func (a *Array) reader() (func(i int) (any, error), error) {
	if a.Type == "O8" {
		return func(i int) (any, error) { return a.Objects[i], nil }, nil
	}
	d := dtype{code: a.Type}
	size := d.size()
	if size == 0 || a.Type == "f2" {
		return nil, fmt.Errorf("an array has elements of type %q, want whole numbers, float32 or float64", a.Type)
	}
	return func(i int) (any, error) { return d.number(a.Data[i*size : (i+1)*size]) }, nil
}

// Integers returns the elements of an array of whole numbers, the last axis running fastest.
func (a *Array) Integers() ([]int64, error) {
	out := make([]int64, 0, a.Len())
	err := a.eachValue(func(_ int, v any) error {
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("an array of %q was read where whole numbers were expected", a.Type)
		}
		out = append(out, n)
		return nil
	})
	return out, err
}

// Floats writes the elements of an array of float32, the last axis running fastest.
func (a *Array) Floats(dst []float32) error {
	if a.Type != "f4" || len(dst) != a.Len() {
		return fmt.Errorf("an array of %q with %d elements was read where %d float32 were expected", a.Type, a.Len(), len(dst))
	}
	a.each(func(to, from int) { dst[to] = math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*from:])) })
	return nil
}

// Bytes writes the elements of an array of uint8, the last axis running fastest.
func (a *Array) Bytes(dst []uint8) error {
	if a.Type != "u1" || len(dst) != a.Len() {
		return fmt.Errorf("an array of %q with %d elements was read where %d uint8 were expected", a.Type, a.Len(), len(dst))
	}
	a.each(func(to, from int) { dst[to] = a.Data[from] })
	return nil
}

// each visits all elements in the order in which the last axis runs fastest.
func (a *Array) each(visit func(to, from int)) {
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

// finish turns an array into what Read returns, which differs for objects.
func (a *Array) finish(depth int, left *int) (*Array, error) {
	if !a.built {
		return nil, errors.New("an array has no content")
	}
	if a.Objects == nil {
		return a, nil
	}
	finished := *a
	var err error
	finished.Objects, err = finishAll(a.Objects, depth, left)
	return &finished, err
}
