package tensor

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// panics returns what f panics with, empty if it does not.
func panics(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func TestTypesHaveNamesAndSizes(t *testing.T) {
	for d, want := range map[DType]string{
		Invalid: "invalid 0", Float32: "float32 4", Float64: "float64 8", Float16: "float16 2", BFloat16: "bfloat16 2",
		Int8: "int8 1", Int16: "int16 2", Int32: "int32 4", Int64: "int64 8", Uint8: "uint8 1", Uint16: "uint16 2",
		Uint32: "uint32 4", Uint64: "uint64 8", Bool: "bool 1", String: "string 0", 99: "DType(99) 0",
	} {
		if got := fmt.Sprint(d, " ", d.Size()); got != want {
			t.Errorf("type %d is %q, want %q", uint8(d), got, want)
		}
	}
}

func TestShapesCountAndPrint(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		len   int64
		text  string
	}{
		{nil, 1, "[]"}, {Shape{0, 5}, 0, "[0 5]"}, {Shape{2, 3, 4}, 24, "[2 3 4]"}, {Shape{-1, 3}, -1, "[? 3]"},
		{Shape{0, -1}, -1, "[0 ?]"}, {Shape{-5, 0}, -1, "[? 0]"}, {Shape{1, 1, 1}, 1, "[1 1 1]"},
		// What would be 0, 1 or 8 elements with 64 bits.
		{Shape{1 << 32, 1 << 32}, -1, "[4294967296 4294967296]"},
		{Shape{0xFFFFFFFF, 0x100000001}, -1, "[4294967295 4294967297]"},
		{Shape{1 << 61, 8, 8}, -1, "[2305843009213693952 8 8]"},
		{Shape{1 << 61, 1 << 61, 0}, 0, "[2305843009213693952 2305843009213693952 0]"},
		{Shape{maxLen}, maxLen, "[72057594037927936]"}, {Shape{maxLen, 2}, -1, "[72057594037927936 2]"}, {Shape{2, maxLen / 2}, maxLen, "[2 36028797018963968]"},
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

func TestDataIsTheMemoryOfTheTensor(t *testing.T) {
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

func TestEmptyTensorsHaveNoMemory(t *testing.T) {
	for _, a := range []Tensor{{}, New(Float32, 0, 3), Of([]int32{}, 0), New(String, 0)} {
		if a.Len() != 0 || a.Bytes() != nil {
			t.Errorf("%v has %d elements and %d bytes", a, a.Len(), len(a.Bytes()))
		}
	}
	if got := Data[float32](New(Float32, 0)); got != nil {
		t.Errorf("Data of no elements is %v", got)
	}
	if got := New(Float32, 0, 4).Rows(0, 0); got.Len() != 0 || got.Shape[1] != 4 {
		t.Errorf("no rows of nothing are %v", got)
	}
}

func TestRowsAreAViewThatCannotGrow(t *testing.T) {
	a := Of([]int16{1, 2, 3, 4, 5, 6}, 3, 2)
	rows := a.Rows(1, 1)
	Data[int16](rows)[1] = 40
	if got := Data[int16](a); got[3] != 40 || !slices.Equal(rows.Shape, Shape{1, 2}) {
		t.Errorf("after a change through the view %v the tensor is %v", rows, got)
	}
	if _ = append(rows.Bytes(), 99); Data[int16](a)[4] != 5 {
		t.Error("an append to the view writes into the next row")
	}
	words := OfStrings([]string{"a", "b", "c", "d"}, 2, 2).Rows(1, 1)
	if got := words.Strings(); !slices.Equal(got, []string{"c", "d"}) || words.Len() != 2 {
		t.Errorf("the second row of strings is %q", got)
	}
}

func TestReshapeKeepsTheMemory(t *testing.T) {
	a := Of([]int64{1, 2, 3, 4}, 4)
	b := a.Reshape(2, 2)
	if &Data[int64](a)[0] != &Data[int64](b)[0] || b.String() != "int64[2 2]" || a.String() != "int64[4]" {
		t.Errorf("%v became %v", a, b)
	}
}

func TestMisuseIsAPanicThatSaysWhat(t *testing.T) {
	a := New(Float32, 2, 2)
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"a free axis", func() { New(Float32, -1) }, "shape [?] has a free axis"},
		{"more elements than can be counted", func() { New(Float32, 1<<32, 1<<32) }, "shape [4294967296 4294967296] has a free axis, or too many elements"},
		{"no elements for many", func() { Of([]int8{}, 1<<32, 1<<32) }, "shape [4294967296 4294967296] does not hold 0 elements"},
		{"no elements for many, again", func() { New(Float32, 0).Reshape(1<<32, 1<<32) }, "cannot reshape [0] to [4294967296 4294967296]"},
		{"too few elements", func() { Of([]int8{1}, 2) }, "shape [2] does not hold 1 elements"},
		{"too few strings", func() { OfStrings(nil, 2) }, "shape [2] does not hold 0 strings"},
		{"another type", func() { Data[int32](a) }, "elements are float32, not int32"},
		{"rows beyond the end", func() { a.Rows(1, 2) }, "no rows 1 to 3 in shape [2 2]"},
		{"rows before the beginning", func() { a.Rows(-1, 1) }, "no rows -1 to 0"},
		{"rows of a scalar", func() { New(Float32).Rows(0, 1) }, "no rows 0 to 1 in shape []"},
		{"another number of elements", func() { a.Reshape(3) }, "cannot reshape [2 2] to [3]"},
	} {
		if got := panics(c.do); !strings.Contains(got, c.want) {
			t.Errorf("%s: panic %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFromBytesRefusesWhatDoesNotFit(t *testing.T) {
	mem := New(Float64, 2).Bytes()
	for _, c := range []struct {
		name  string
		dtype DType
		mem   []byte
		shape Shape
		want  string
	}{
		{"strings", String, nil, Shape{1}, "tensor of string cannot be made from bytes"},
		{"no type", Invalid, mem, Shape{1}, "tensor of invalid"},
		{"too few bytes", Float32, mem[:4], Shape{2}, "float32[2] needs 8 bytes, got 4"},
		{"a free axis", Float32, mem, Shape{-1}, "float32[?] needs"},
		{"more elements than can be counted", Float32, nil, Shape{1 << 32, 1 << 32}, "float32[4294967296 4294967296] needs"},
		{"more bytes than can be counted", Float64, nil, Shape{1 << 61}, "float64[2305843009213693952] needs"},
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

// A slow count, which has room for any number.
func TestLenIsTheProductWhereItCanBeCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		shape := make(Shape, rng.IntN(6))
		want := big.NewInt(1)
		for i := range shape {
			shape[i] = rng.Int64N(1 << rng.IntN(30))
			want.Mul(want, big.NewInt(shape[i]))
		}
		if want.Cmp(big.NewInt(maxLen)) > 0 {
			want.SetInt64(-1)
		}
		if got := shape.Len(); got != want.Int64() {
			t.Errorf("%v has %d elements, want %v", shape, got, want)
		}
	}
}

func TestRowsOfRowsAndOfNothing(t *testing.T) {
	a := New(Uint8, 4, 3)
	for i := range a.Bytes() {
		a.Bytes()[i] = byte(i)
	}
	if got := a.Rows(1, 3).Rows(1, 1); !slices.Equal(got.Bytes(), []byte{6, 7, 8}) || got.String() != "uint8[1 3]" {
		t.Errorf("the second of the last three rows is %v %v", got, got.Bytes())
	}
	if got := a.Rows(4, 0); got.Len() != 0 || got.String() != "uint8[0 3]" {
		t.Errorf("no rows from the end on are %v with %d elements", got, got.Len())
	}
	if got := New(String, 3, 0).Rows(1, 2); got.Len() != 0 || got.String() != "string[2 0]" {
		t.Errorf("rows of nothing are %v", got)
	}
}

func TestATensorDoesNotShareItsShapeWithTheCaller(t *testing.T) {
	shape := []int64{2, 3}
	tensors := []Tensor{New(Float32, shape...), Of(make([]float32, 6), shape...), OfStrings(make([]string, 6), shape...), New(Float32, 6).Reshape(shape...)}
	from, err := FromBytes(Uint8, make([]byte, 6), shape...)
	if err != nil {
		t.Fatal(err)
	}
	shape[0] = 99
	for i, a := range append(tensors, from) {
		if a.Shape[0] != 2 || a.Rows(0, 1).Shape[0] != 1 || a.Shape[0] != 2 {
			t.Errorf("tensor %d has shape %v", i, a.Shape)
		}
	}
}

func TestNewIsZeroAndAlignedForEveryType(t *testing.T) {
	for d := Float32; d < String; d++ {
		for n := int64(1); n < 20; n++ {
			a := New(d, n)
			if a.Len() != int(n) || len(a.Bytes()) != int(n)*d.Size() || slices.ContainsFunc(a.Bytes(), func(b byte) bool { return b != 0 }) {
				t.Errorf("New(%v, %d) has %d elements, %v", d, n, a.Len(), a.Bytes())
			}
			if _, err := FromBytes(Float64, New(d, 8).Bytes(), int64(d.Size())); err != nil {
				t.Errorf("memory of %v: %v", d, err)
			}
		}
	}
}

func TestMemoryIsUsedAgainWhereItIsEnough(t *testing.T) {
	s := make([]int, 2, 5)
	for n, same := range map[int]bool{0: true, 1: true, 2: true, 5: true, 6: false, 100: false} {
		if got := Grown(s, n); len(got) != n || n > 0 && (&got[0] == &s[0]) != same {
			t.Errorf("Grown to %d has %d elements, the same memory: %t, want %t", n, len(got), n > 0 && &got[0] == &s[0], same)
		}
	}
	if got := Grown([]int(nil), 3); len(got) != 3 {
		t.Errorf("Grown of nothing is %v", got)
	}
}
