package tensor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestShapeLen(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		len   int64
		text  string
	}{
		{nil, 1, "[]"}, {Shape{0, 5}, 0, "[0 5]"}, {Shape{2, 3, 4}, 24, "[2 3 4]"}, {Shape{-1, 3}, -1, "[? 3]"}, {Shape{0, -1}, -1, "[0 ?]"},
		// 64-bit products of these are 0, 1 and 8.
		{Shape{1 << 32, 1 << 32}, -1, "[4294967296 4294967296]"},
		{Shape{0xFFFFFFFF, 0x100000001}, -1, "[4294967295 4294967297]"},
		{Shape{1 << 61, 8, 8}, -1, "[2305843009213693952 8 8]"},
		{Shape{1 << 61, 1 << 61, 0}, 0, "[2305843009213693952 2305843009213693952 0]"},
		{Shape{2, maxLen / 2}, maxLen, "[2 36028797018963968]"}, {Shape{maxLen, 2}, -1, "[72057594037927936 2]"},
	} {
		if c.shape.Len() != c.len || c.shape.String() != c.text {
			t.Errorf("shape %v has %d elements and prints as %s, want %d, %s", []int64(c.shape), c.shape.Len(), c.shape, c.len, c.text)
		}
	}
}

// roundTrip writes through one view of a new tensor and reads through another.
func roundTrip[T Element](t *testing.T, d DType, values ...T) {
	t.Helper()
	a := New(d, int64(len(values)))
	copy(Data[T](a), values)
	b, err := FromBytes(d, a.Bytes(), 1, int64(len(values)))
	if err != nil || b.Len() != len(values) || !slices.Equal(Data[T](b), values) {
		t.Errorf("%v: %v became %v, %v", d, values, Data[T](b), err)
	}
	if got := Of(values, int64(len(values))); got.Type != typeOf[T]() || &Data[T](got)[0] != &values[0] {
		t.Errorf("Of gives %v, and not over the same memory", got)
	}
}

func TestDataSharesMemory(t *testing.T) {
	roundTrip[float32](t, Float32, 1, -2.5)
	roundTrip[float64](t, Float64, 1, -2.5)
	roundTrip[uint16](t, Float16, 0x3c00, 0xc100)
	roundTrip[uint16](t, BFloat16, 0x3f80, 0xc020)
	roundTrip[int8](t, Int8, 1, -128)
	roundTrip[int16](t, Int16, 1, -32768)
	roundTrip[int32](t, Int32, 1, -1<<31)
	roundTrip[int64](t, Int64, 1, -1<<63)
	roundTrip[uint8](t, Uint8, 1, 255)
	roundTrip[uint16](t, Uint16, 1, 65535)
	roundTrip[uint32](t, Uint32, 1, 1<<32-1)
	roundTrip[uint64](t, Uint64, 1, 1<<64-1)
	roundTrip[uint8](t, Bool, 1, 0)
}

func TestEmptyTensors(t *testing.T) {
	for _, a := range []Tensor{{}, New(Float32, 0, 3), Of([]int32{}, 0), New(String, 0)} {
		if a.Len() != 0 || a.Bytes() != nil {
			t.Errorf("%v has %d elements and %d bytes", a, a.Len(), len(a.Bytes()))
		}
	}
	if got := Data[float32](New(Float32, 0)); got != nil {
		t.Errorf("Data of an empty tensor is %v", got)
	}
}

func TestRows(t *testing.T) {
	a := Of([]int16{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2)
	Data[int16](a.Rows(1, 3).Rows(1, 1))[1] = 60
	if got := Data[int16](a); got[5] != 60 {
		t.Errorf("after a change through a view the tensor is %v", got)
	}
	if _ = append(a.Rows(1, 1).Bytes(), 99); Data[int16](a)[4] != 5 {
		t.Error("an append to the view writes into the next row")
	}
	if got := OfStrings([]string{"a", "b", "c", "d"}, 2, 2).Rows(1, 1); !slices.Equal(got.Strings(), []string{"c", "d"}) || got.Len() != 2 {
		t.Errorf("the second row of strings is %q", got.Strings())
	}
	for _, c := range []struct {
		rows Tensor
		want string
	}{
		{a.Rows(4, 0), "int16[0 2]"}, {New(String, 3, 0).Rows(1, 2), "string[2 0]"}, {New(Float32, 0, 4).Rows(0, 0), "float32[0 4]"},
	} {
		if c.rows.Len() != 0 || c.rows.String() != c.want {
			t.Errorf("empty rows are %v with %d elements, want %s", c.rows, c.rows.Len(), c.want)
		}
	}
}

func TestReshapeSharesMemory(t *testing.T) {
	a := Of([]int64{1, 2, 3, 4}, 4)
	b := a.Reshape(2, 2)
	if &Data[int64](a)[0] != &Data[int64](b)[0] || b.String() != "int64[2 2]" || a.String() != "int64[4]" {
		t.Errorf("%v became %v", a, b)
	}
}

func TestMisusePanics(t *testing.T) {
	a := New(Float32, 2, 2)
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"free axis", func() { New(Float32, -1) }, "shape [?] has a free axis"},
		{"overflow", func() { New(Float32, 1<<32, 1<<32) }, "shape [4294967296 4294967296] has a free axis or too many elements"},
		{"too few elements", func() { Of([]int8{1}, 2) }, "shape [2] does not hold 1 elements"},
		{"too few strings", func() { OfStrings(nil, 2) }, "shape [2] does not hold 0 strings"},
		{"another type", func() { Data[int32](a) }, "elements are float32, not int32"},
		{"rows beyond the end", func() { a.Rows(1, 2) }, "no rows 1 to 3 in shape [2 2]"},
		{"rows before the beginning", func() { a.Rows(-1, 1) }, "no rows -1 to 0"},
		{"rows of a scalar", func() { New(Float32).Rows(0, 1) }, "no rows 0 to 1 in shape []"},
		{"reshape", func() { a.Reshape(3) }, "cannot reshape [2 2] to [3]"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("%s: panic %q, want %q", c.name, got, c.want)
				}
			}()
			c.do()
		}()
	}
}

func TestFromBytesErrors(t *testing.T) {
	mem := New(Float64, 2).Bytes()
	for _, c := range []struct {
		name  string
		dtype DType
		mem   []byte
		shape Shape
		want  string
	}{
		{"strings", String, nil, Shape{1}, "string has no flat memory"},
		{"too few bytes", Float32, mem[:4], Shape{2}, "float32[2] needs 8 bytes, got 4"},
		{"free axis", Float32, mem, Shape{-1}, "float32[?] needs"},
		{"overflow", Float32, nil, Shape{1 << 32, 1 << 32}, "float32[4294967296 4294967296] needs"},
		{"odd memory", Float32, mem[1:5], Shape{1}, "not aligned to 4 bytes"},
	} {
		if _, err := FromBytes(c.dtype, c.mem, c.shape...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func ExampleTensor_Rows() {
	images := New(Float32, 8, 3, 2, 2)
	pixels := Data[float32](images.Rows(2, 1)) // third image, no copy
	pixels[0] = 0.5
	fmt.Println(images.Rows(2, 1), Data[float32](images)[24])
	// Output: float32[1 3 2 2] 0.5
}

func TestShapeIsCopied(t *testing.T) {
	shape := []int64{2, 3}
	from, err := FromBytes(Uint8, make([]byte, 6), shape...)
	if err != nil {
		t.Fatal(err)
	}
	tensors := []Tensor{New(Float32, shape...), Of(make([]float32, 6), shape...), OfStrings(make([]string, 6), shape...), New(Float32, 6).Reshape(shape...), from}
	shape[0] = 99
	for i, a := range tensors {
		if a.Shape[0] != 2 || a.Rows(0, 1).Shape[0] != 1 || a.Shape[0] != 2 {
			t.Errorf("tensor %d has shape %v", i, a.Shape)
		}
	}
}

func TestNewIsAligned(t *testing.T) {
	for d := Float32; d < String; d++ {
		if _, err := FromBytes(Float64, New(d, 8).Bytes(), int64(d.Size())); err != nil {
			t.Errorf("memory of %v: %v", d, err)
		}
	}
}

func TestGrown(t *testing.T) {
	s := make([]int, 2, 5)
	for n, same := range map[int]bool{1: true, 2: true, 5: true, 6: false} {
		if got := Grown(s, n); len(got) != n || (&got[0] == &s[0]) != same {
			t.Errorf("Grown to %d has %d elements, the same memory: %t, want %t", n, len(got), &got[0] == &s[0], same)
		}
	}
}
