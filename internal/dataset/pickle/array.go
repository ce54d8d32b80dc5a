package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// An Array is a NumPy array.
type Array struct {
	Type    string // of an element, as NumPy writes it: "f4", "u1", "O8"
	Shape   []int
	Fortran bool   // the first axis runs fastest, not the last
	Data    []byte // little-endian
	Objects []any  // in the place of Data where the elements are objects

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
	if d.order == ">" && size > 1 {
		return errors.New("an array is big-endian")
	}
	n := size
	for _, extent := range shape {
		if extent < 0 || extent > 0 && n > math.MaxInt32*8/extent {
			return fmt.Errorf("an array has shape %v", shape)
		}
		n *= extent
	}
	if n != len(data) {
		return fmt.Errorf("an array of %q with shape %v has %d bytes, want %d", d.code, shape, len(data), n)
	}
	*a = Array{Type: d.code, Shape: shape, Fortran: fortran && len(shape) > 1, Data: data, built: true}
	return nil
}

// fillObjects is fill for objects.
func (a *Array) fillObjects(shape []int, fortran bool, items []any) error {
	n := 1
	for _, extent := range shape {
		if extent > 0 && n > math.MaxInt32/extent {
			return fmt.Errorf("an array has shape %v", shape)
		}
		n *= extent
	}
	if n != len(items) {
		return fmt.Errorf("an array with shape %v has %d objects, want %d", shape, len(items), n)
	}
	*a = Array{Type: "O8", Shape: shape, Fortran: fortran && len(shape) > 1, Objects: items, built: true}
	return nil
}

// eachValue visits the elements of any type in the order in which the last axis runs
// fastest. Whole numbers are int64, others float64.
func (a *Array) eachValue(visit func(i int, v any) error) error {
	value, err := a.reader()
	if err != nil {
		return err
	}
	var first error
	a.each(func(to, from int) {
		if first == nil {
			first = visit(to, value(from))
		}
	})
	return first
}

// reader returns what reads an element by its place in memory.
func (a *Array) reader() (func(i int) any, error) {
	if a.Type == "O8" {
		return func(i int) any { return a.Objects[i] }, nil
	}
	d := dtype{code: a.Type}
	size := d.size()
	if size == 0 || a.Type == "f2" {
		return nil, fmt.Errorf("an array has elements of type %q, want whole numbers, float32 or float64", a.Type)
	}
	return func(i int) any {
		v, err := scalarOf(&d, a.Data[i*size:(i+1)*size])
		if err != nil {
			return nil
		}
		if n, ok := v.(int64); ok && a.Type == "b1" {
			return n != 0
		}
		return v
	}, nil
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
	if a.Objects == nil {
		return a, nil
	}
	finished := *a
	var err error
	finished.Objects, err = finishAll(a.Objects, depth, left)
	return &finished, err
}
