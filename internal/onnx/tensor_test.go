package onnx

import (
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func checkElements[T Element](t *testing.T, typ ElemType, raw string, data ...T) {
	t.Helper()
	tensor := TensorOf("t", data, int64(len(data)))
	if tensor.Type != typ || string(tensor.Data.(Raw)) != raw {
		t.Errorf("TensorOf(%v) is %v %q, want %v %q", data, tensor.Type, tensor.Data, typ, raw)
	}
	got, err := Elements[T](tensor)
	if diff := cmp.Diff(data, got); diff != "" || err != nil {
		t.Errorf("Elements of %v: %v\n%s", data, err, diff)
	}
}

func TestElementsAreLittleEndianInEveryType(t *testing.T) {
	checkElements(t, Float32, "\x00\x00\xc0\x3f\x00\x00\x80\xff", 1.5, float32(math.Inf(-1)))
	checkElements(t, Float64, "\x00\x00\x00\x00\x00\x00\xf8\x3f", 1.5)
	checkElements(t, Int8, "\xff\x02", int8(-1), 2)
	checkElements(t, Int16, "\xfe\xff", int16(-2))
	checkElements(t, Int32, "\xfe\xff\xff\xff", int32(-2))
	checkElements(t, Int64, "\xfe\xff\xff\xff\xff\xff\xff\xff", int64(-2))
	checkElements(t, Uint8, "\xfe", uint8(254))
	checkElements(t, Uint16, "\x02\x01", uint16(0x102))
	checkElements(t, Uint32, "\x04\x03\x02\x01", uint32(0x1020304))
	checkElements(t, Uint64, "\x08\x07\x06\x05\x04\x03\x02\x01", uint64(0x102030405060708))
	checkElements(t, Float32, "", []float32{}...)
}

func TestElementsOfBoolAndHalfFloatsAreTheirBits(t *testing.T) {
	half := TensorOf("h", []uint16{0x3c00})
	half.Type = Float16
	if got, err := Elements[uint16](half); err != nil || len(got) != 1 || got[0] != 0x3c00 {
		t.Errorf("Elements[uint16](float16) = %v, %v", got, err)
	}
	truth := TensorOf("b", []uint8{1}, 1)
	truth.Type = Bool
	if got, err := Elements[uint8](truth); err != nil || len(got) != 1 || got[0] != 1 {
		t.Errorf("Elements[uint8](bool) = %v, %v", got, err)
	}
}

type brokenSource struct{}

func (brokenSource) Size() int64                      { return 4 }
func (brokenSource) WriteTo(io.Writer) (int64, error) { return 0, io.ErrUnexpectedEOF }

func TestElementsFailWithTheTensorsName(t *testing.T) {
	for _, c := range []struct {
		name, want string
		tensor     Tensor
	}{
		{"another type", "has int64 elements, not float32", Tensor{Type: Int64, Data: Raw{}}},
		{"too few bytes", "holds 4 bytes, want 8", Tensor{Type: Float32, Dims: []int64{2}, Data: Raw("abcd")}},
		{"no bytes", "holds 0 bytes, want 4", Tensor{Type: Float32}},
		{"another file", "in another file", Tensor{Type: Float32, External: []Property{}}},
		{"a negative axis", "no possible shape: [-1]", Tensor{Type: Float32, Dims: []int64{-1}}},
		{"too many elements", "no possible shape", Tensor{Type: Float32, Dims: []int64{1 << 40, 1 << 40}}},
		{"a source that fails", "unexpected EOF", Tensor{Type: Float32, Data: brokenSource{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.tensor.Name = "w"
			_, err := Elements[float32](&c.tensor)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `tensor "w"`) {
				t.Errorf("Elements() = %v, want tensor \"w\" and %q", err, c.want)
			}
		})
	}
}

func TestExternalDataIsLocated(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []Property
		want    External
		outside bool
		err     string
	}{
		{"in the model itself", nil, External{}, false, ""},
		{"all given", []Property{{Key: "location", Value: "w"}, {Key: "offset", Value: "4096"}, {Key: "length", Value: "12"}, {Key: "checksum", Value: "x"}},
			External{"w", 4096, 12}, true, ""},
		{"only a location", []Property{{Key: "location", Value: "w"}}, External{"w", 0, -1}, true, ""},
		{"no location", []Property{{Key: "offset", Value: "1"}}, External{}, true, "without a location"},
		{"no number", []Property{{Key: "offset", Value: "-1"}}, External{}, true, `offset "-1" is no size`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, outside, err := (&Tensor{Name: "t", External: c.entries}).ExternalData()
			if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("ExternalData() fails with %v, want %q", err, c.err)
			}
			if got != c.want || outside != c.outside {
				t.Errorf("ExternalData() = %v, %v, want %v, %v", got, outside, c.want, c.outside)
			}
		})
	}
}
