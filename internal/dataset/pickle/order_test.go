package pickle

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// What NumPy and pandas write of numbers whose highest byte comes first, on machines where it does and of files that have it so.
func TestNumbersWithTheirHighestByteFirstAreRead(t *testing.T) {
	cases := testfile.JSON[[]struct {
		Name, Type string
		Shape      []int
		Values     []float64
		Pickles    []string
	}](t, "testdata/big_endian.json.gz")
	if len(cases) == 0 {
		t.Fatal("there are no cases")
	}
	for _, c := range cases {
		for i, digits := range c.Pickles {
			data, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			v, err := Read(data)
			if err != nil {
				t.Errorf("%s, pickle %d: %v", c.Name, i, err)
				continue
			}
			var got []float64
			take := func(v any) {
				switch v := v.(type) {
				case int64:
					got = append(got, float64(v))
				case float64:
					got = append(got, v)
				}
			}
			switch v := v.(type) {
			case *Array:
				if v.Type != c.Type || !slices.Equal(v.Shape, c.Shape) {
					t.Errorf("%s, pickle %d: an array of %s with shape %v", c.Name, i, v.Type, v.Shape)
				}
				if err := v.eachValue(func(_ int, v any) error { take(v); return nil }); err != nil {
					t.Error(err)
				}
			case *Frame:
				for _, name := range v.Names {
					for _, item := range column(t, v, name) {
						take(item)
					}
				}
			}
			if !slices.Equal(got, c.Values) {
				t.Errorf("%s, pickle %d: %v, want %v", c.Name, i, got, c.Values)
			}
		}
	}
}

func TestSingleNumbersWithTheirHighestByteFirstAreRead(t *testing.T) {
	number := func(code, data string) string {
		return "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n\x8c\x02" + code + "\x85R(K\x03\x8c\x01>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbC" +
			string(rune(len(data))) + data + "\x86R."
	}
	for _, c := range []struct {
		code, data string
		want       any
	}{
		{"i2", "\xff\xfe", int64(-2)}, {"u2", "\x01\x02", int64(0x102)}, {"i4", "\x00\x00\x01\x00", int64(256)}, {"i8", "\x80\x00\x00\x00\x00\x00\x00\x00", int64(math.MinInt64)},
		{"f4", "\x3f\x00\x00\x00", 0.5}, {"f8", "\x40\x00\x00\x00\x00\x00\x00\x00", 2.0}, {"u1", "\x07", int64(7)}, {"b1", "\x01", true},
	} {
		if v, err := Read([]byte(number(c.code, c.data))); err != nil || v != c.want {
			t.Errorf("%s % X is %v, %v, want %v", c.code, c.data, v, err, c.want)
		}
	}
}

// The bytes of the file stay as they are: several arrays may be of the same ones.
func TestBytesAreTurnedInMemoryOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		d          dtype
		data, want []byte
	}{
		{dtype{"i2", ">"}, []byte{1, 2, 3, 4}, []byte{2, 1, 4, 3}},
		{dtype{"f8", ">"}, []byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{8, 7, 6, 5, 4, 3, 2, 1}},
		{dtype{"i2", "<"}, []byte{1, 2, 3, 4}, []byte{1, 2, 3, 4}},
		{dtype{"i2", "="}, []byte{1, 2}, []byte{1, 2}},
		{dtype{"u1", ">"}, []byte{1, 2}, []byte{1, 2}},
		{dtype{"f4", ">"}, []byte{}, []byte{}},
	} {
		before := slices.Clone(c.data)
		if got := c.d.littleEndian(c.data); !slices.Equal(got, c.want) || !slices.Equal(c.data, before) {
			t.Errorf("%+v: %v is %v, want %v, and %v is left", c.d, before, got, c.want, c.data)
		}
	}
}

// Numbers of all types, from their bits.
func TestNumbersAreThoseOfTheirBits(t *testing.T) {
	for _, c := range []struct {
		code string
		data []byte
		want any
		err  string
	}{
		{"b1", []byte{0}, false, ""}, {"b1", []byte{255}, true, ""},
		{"i1", []byte{0x80}, int64(-128), ""}, {"u1", []byte{0x80}, int64(128), ""},
		{"i2", []byte{0, 0x80}, int64(-32768), ""}, {"u2", []byte{0, 0x80}, int64(32768), ""},
		{"i4", []byte{0, 0, 0, 0x80}, int64(math.MinInt32), ""}, {"u4", []byte{0, 0, 0, 0x80}, int64(1 << 31), ""},
		{"i8", []byte{255, 255, 255, 255, 255, 255, 255, 0x7f}, int64(math.MaxInt64), ""},
		{"u8", []byte{255, 255, 255, 255, 255, 255, 255, 0x7f}, int64(math.MaxInt64), ""},
		{"u8", []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, nil, "a number is 9223372036854775808, want at most 9223372036854775807"},
		{"f4", []byte{0, 0, 0x80, 0x7f}, math.Inf(1), ""}, {"f8", []byte{1, 0, 0, 0, 0, 0, 0, 0}, 5e-324, ""},
		{"f2", []byte{0, 0}, nil, "a number is a float16"},
	} {
		got, err := dtype{code: c.code}.number(c.data)
		if got != c.want || fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
			t.Errorf("%s % X is %v, %v, want %v, %q", c.code, c.data, got, err, c.want, c.err)
		}
	}
}
