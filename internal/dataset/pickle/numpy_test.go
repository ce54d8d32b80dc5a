package pickle

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What NumPy wrote into testdata/numpy_protocol*.pkl.
type numpyValue struct {
	Type   string
	Shape  []int
	Values []any
	Number bool
}

func numpyValues(t *testing.T) map[string]numpyValue {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(readFile(t, "numpy.json"))))
	decoder.UseNumber()
	var values map[string]numpyValue
	if err := decoder.Decode(&values); err != nil {
		t.Fatal(err)
	}
	return values
}

// plain turns numbers of JSON into what a pickle has in their place.
func plain(t *testing.T, typ string, v any) any {
	t.Helper()
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if whole, err := n.Int64(); err == nil && typ[0] != 'f' {
		return whole
	}
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEveryTypeThatNumPyPicklesIsRead(t *testing.T) {
	for _, protocol := range []string{"1", "2", "3", "4", "5"} {
		v, err := Read(readFile(t, "numpy_protocol"+protocol+".pkl"))
		if err != nil {
			t.Fatalf("protocol %s: %v", protocol, err)
		}
		have := v.(map[string]any)
		for name, want := range numpyValues(t) {
			for i := range want.Values {
				want.Values[i] = plain(t, want.Type, want.Values[i])
			}
			if want.Number {
				if d := cmp.Diff(want.Values[0], have[name]); d != "" {
					t.Errorf("protocol %s: %s (-want +got):\n%s", protocol, name, d)
				}
				continue
			}
			a := have[name].(*Array)
			if a.Type != want.Type || !slices.Equal(a.Shape, want.Shape) || a.Len() != len(want.Values) {
				t.Errorf("protocol %s: %s is %q of shape %v with %d elements, want %q of %v", protocol, name, a.Type, a.Shape, a.Len(), want.Type, want.Shape)
			}
			values := []any{}
			err := a.eachValue(func(i int, v any) error {
				if i != len(values) {
					t.Errorf("%s: element %d comes as the %dth", name, i, len(values))
				}
				values = append(values, v)
				return nil
			})
			if d := cmp.Diff(want.Values, values); err != nil || d != "" {
				t.Errorf("protocol %s: %s: %v (-want +got):\n%s", protocol, name, err, d)
			}
		}
	}
}

// An array is read as what it is: not rounded, not cut off.
func TestArraysAreReadAsTheirTypeOnly(t *testing.T) {
	floats := &Array{Type: "f4", Shape: []int{2}, Data: make([]byte, 8)}
	bytes := &Array{Type: "u1", Shape: []int{2}, Data: []byte{1, 2}}
	huge := &Array{Type: "u8", Shape: []int{2}, Data: binary.LittleEndian.AppendUint64(make([]byte, 8), 1<<63)}
	half := &Array{Type: "f2", Shape: []int{1}, Data: make([]byte, 2)}
	truth := &Array{Type: "b1", Shape: []int{1}, Data: []byte{1}}
	objects := &Array{Type: "O8", Shape: []int{1}, Objects: []any{"x"}}
	integers := func(a *Array) func() error {
		return func() error { _, err := a.Integers(); return err }
	}
	for _, c := range []struct {
		name string
		read func() error
		want string // "" if there is no error
	}{
		{"bytes as integers", integers(bytes), ""},
		{"floats as integers", integers(floats), `an array of "f4" was read where whole numbers were expected`},
		{"truth values as integers", integers(truth), `an array of "b1" was read where whole numbers were expected`},
		{"objects as integers", integers(objects), `an array of "O8" was read where whole numbers were expected`},
		{"float16 as integers", integers(half), `elements of type "f2", want whole numbers, float32 or float64`},
		{"integers beyond int64", integers(huge), "a number is 9223372036854775808, want at most 9223372036854775807"},
		{"floats as floats", func() error { return floats.Floats(make([]float32, 2)) }, ""},
		{"bytes as floats", func() error { return bytes.Floats(make([]float32, 2)) }, `an array of "u1" with 2 elements was read where 2 float32 were expected`},
		{"two floats into three", func() error { return floats.Floats(make([]float32, 3)) }, `with 2 elements was read where 3 float32 were expected`},
		{"two floats into one", func() error { return floats.Floats(make([]float32, 1)) }, `with 2 elements was read where 1 float32 were expected`},
		{"bytes as bytes", func() error { return bytes.Bytes(make([]uint8, 2)) }, ""},
		{"floats as bytes", func() error { return floats.Bytes(make([]uint8, 2)) }, `an array of "f4" with 2 elements was read where 2 uint8 were expected`},
		{"two bytes into none", func() error { return bytes.Bytes(nil) }, `with 2 elements was read where 0 uint8 were expected`},
	} {
		err := c.read()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestTheFirstErrorEndsAVisit(t *testing.T) {
	a := &Array{Type: "u1", Shape: []int{3}, Data: []byte{1, 2, 3}}
	visits := 0
	err := a.eachValue(func(i int, v any) error {
		visits++
		return errFrame
	})
	if err != errFrame || visits != 1 {
		t.Errorf("eachValue = %v after %d visits, want the first one's error", err, visits)
	}
}

// An element's place is the sum of index times stride, which each works out step by step.
func TestFortranOrderIsTheDefinitionOfIt(t *testing.T) {
	for _, shape := range [][]int{{2, 3}, {3, 2, 4}, {1, 5, 1, 2}, {2, 0, 3}, {4, 1}} {
		a := &Array{Type: "u1", Shape: shape, Fortran: true}
		visited := 0
		a.each(func(to, from int) {
			if to != visited {
				t.Errorf("shape %v: element %d comes as the %dth", shape, to, visited)
			}
			visited++
			want, rest := 0, to
			for axis := len(shape) - 1; axis >= 0; axis-- {
				stride := 1
				for _, extent := range shape[:axis] {
					stride *= extent
				}
				want += rest % shape[axis] * stride
				rest /= shape[axis]
			}
			if from != want {
				t.Errorf("shape %v: element %d lies at %d, want %d", shape, to, from, want)
			}
		})
		if visited != a.Len() {
			t.Errorf("shape %v: %d elements visited, want %d", shape, visited, a.Len())
		}
	}
}

const (
	arrayCall = "cnumpy.core.multiarray\n_reconstruct\n)R"
	floatType = "cnumpy\ndtype\n\x8c\x02f4\x85R"
)

func TestArraysThatNumPyDoesNotWriteAreRefused(t *testing.T) {
	extents := func(n int) string { return "(" + strings.Repeat("K\x01", n) + "t" }
	const state = "an object's state is not as NumPy writes it"
	for _, c := range []struct{ name, data, want string }{
		{"a state of four", arrayCall + "(K\x01)" + floatType + "\x89tb.", state},
		{"a second state", arrayCall + "(K\x01)" + floatType + "\x89C\x04....tb(K\x01)" + floatType + "\x89C\x04....tb.", state},
		{"a shape that is a list", arrayCall + "(K\x01]" + floatType + "\x89C\x04....tb.", state},
		{"a negative extent", arrayCall + "(K\x01J\xff\xff\xff\xff\x85" + floatType + "\x89C\x00tb.", state},
		{"an extent that is text", arrayCall + "(K\x01\x8c\x011\x85" + floatType + "\x89C\x00tb.", state},
		{"more axes than NumPy has", arrayCall + "(K\x01" + extents(33) + floatType + "\x89C\x04....tb.", state},
		{"a type that is text", arrayCall + "(K\x01)\x8c\x02f4\x89C\x04....tb.", state},
		{"an order of axes that is a number", arrayCall + "(K\x01)" + floatType + "K\x00C\x04....tb.", state},
		{"content that is text", arrayCall + "(K\x01)" + floatType + "\x89\x8c\x04....tb.", state},
		{"a list of plain numbers", arrayCall + "(K\x01)" + floatType + "\x89]tb.", state},
		{"memory of objects", arrayCall + "(K\x01)cnumpy\ndtype\n\x8c\x02O8\x85R\x89C\x08........tb.", `elements of type "O8", want plain numbers`},
		{"text", arrayCall + "(K\x01)cnumpy\ndtype\n\x8c\x02U1\x85R\x89C\x04....tb.", `elements of type "U1", want plain numbers`},
		{"too many bytes", arrayCall + "(K\x01)" + floatType + "\x89C\x05.....tb.", `shape [] has 5 bytes, want 4`},
		{"a call of a class", "cnumpy\nndarray\n)R.", "a class is called that is only named otherwise"},
		{"a type without a code", "cnumpy\ndtype\nK\x01\x85R.", "a call with 1 arguments"},
		{"memory of three arguments", "cnumpy.core.numeric\n_frombuffer\n(NNNtR.", "a call with 3 arguments"},
		{"bytes of something", "c__builtin__\nbytes\n\x8c\x01x\x85R.", "a call with 1 arguments"},
		{"a number of one argument", "cnumpy.core.multiarray\nscalar\n" + floatType + "\x85R.", "a call with 1 arguments"},
		{"a number of text", "cnumpy.core.multiarray\nscalar\n" + floatType + "\x8c\x04....\x86R.", "a number is not as NumPy writes it"},
	} {
		if v, err := Read([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Read = %v, %v, want an error with %q", c.name, v, err, c.want)
		}
	}
	if v, err := Read([]byte(arrayCall + "(K\x01" + extents(32) + floatType + "\x89C\x04....tb.")); err != nil || v.(*Array).Len() != 1 {
		t.Errorf("32 axes, which NumPy has: %v, %v", v, err)
	}
	order := arrayCall + "(K\x01)cnumpy\ndtype\n\x8c\x02u1\x85R(K\x03\x8c\x01>tb\x89C\x01.tb."
	if v, err := Read([]byte(order)); err != nil || v.(*Array).Data[0] != '.' {
		t.Errorf("bytes whose order does not matter: %v, %v", v, err)
	}
}

func TestProductCountsUpToItsLimit(t *testing.T) {
	for _, c := range []struct {
		shape []int
		limit int
		want  int // -1 if it is an error
	}{
		{nil, 1, 1}, {[]int{2, 3}, 6, 6}, {[]int{2, 3}, 5, -1}, {[]int{0, math.MaxInt32}, 5, 0},
		{[]int{math.MaxInt32, math.MaxInt32, math.MaxInt32}, math.MaxInt, -1},
	} {
		got, err := product(c.shape, c.limit)
		if err == nil && got != c.want || err != nil && c.want >= 0 {
			t.Errorf("product(%v, %d) = %d, %v, want %d", c.shape, c.limit, got, err, c.want)
		}
	}
}
