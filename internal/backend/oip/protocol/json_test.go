package protocol

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// fresh gives memory to all tensors.
func fresh(_ int, s Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }

// bounded gives memory to tensors that are not too large for a test.
func bounded(i int, s Spec) (tensor.Tensor, error) {
	if n := s.Shape.Len(); n > 1<<16 {
		return tensor.Tensor{}, Errorf(TooLarge, "%d elements", n)
	}
	return fresh(i, s)
}

// everyType returns a tensor of each type, with elements at both ends of its range.
func everyType() (names []string, list []tensor.Tensor) {
	for _, t := range []tensor.Tensor{
		truth(0, 1, 1), tensor.Of([]uint8{0, 255}, 2), tensor.Of([]uint16{0, 65535}, 2), tensor.Of([]uint32{0, math.MaxUint32}, 1, 2),
		tensor.Of([]uint64{0, math.MaxUint64}, 2, 1), tensor.Of([]int8{-128, 127}, 2), tensor.Of([]int16{-32768, 32767}, 2),
		tensor.Of([]int32{math.MinInt32, math.MaxInt32}, 2), tensor.Of([]int64{math.MinInt64, math.MaxInt64}, 2),
		tensor.Of([]float32{-0.1, math.MaxFloat32, math.SmallestNonzeroFloat32}, 3), tensor.Of([]float64{-0.1, math.MaxFloat64}, 2),
		tensor.OfStrings([]string{"", "a\"\n\x00é", "b"}, 3), tensor.Of([]float32{}, 0), tensor.Of([]float32{7}),
	} {
		names, list = append(names, t.String()), append(list, t)
	}
	return names, list
}

func truth(list ...byte) tensor.Tensor {
	t, _ := tensor.FromBytes(tensor.Bool, list, int64(len(list)))
	return t
}

// plain is a tensor as something that can be compared.
func plain(list []tensor.Tensor) (all []any) {
	for _, t := range list {
		all = append(all, t.String(), slices.Clone(t.Bytes()), slices.Clone(t.Strings()))
	}
	return all
}

func head(t *testing.T, names []string, list []tensor.Tensor) *Head {
	t.Helper()
	var specs []Spec
	for i, of := range list {
		specs = append(specs, Spec{Name: names[i], Type: of.Type, Shape: of.Shape})
	}
	return &Head{Model: "m", Version: "1", ID: "7", Tensors: specs}
}

// wireOf are the elements of tensors as they follow the JSON.
func wireOf(list []tensor.Tensor) (b []byte) {
	for _, t := range list {
		b = append(b, Wire(t)...)
	}
	return b
}

// readRequest reads a request and its tensors.
func readRequest(text, body string) (*Document, []tensor.Tensor, error) {
	d, err := FromRequestJSON([]byte(text))
	if err != nil {
		return nil, nil, err
	}
	list, err := d.Read(strings.NewReader(body), fresh)
	return d, list, err
}

// data is a request of one tensor whose elements are in the JSON.
func data(datatype, shape, elements string) string {
	return `{"inputs":[{"name":"a","datatype":"` + datatype + `","shape":` + shape + `,"data":` + elements + `}]}`
}

func TestTensorsSurviveJSON(t *testing.T) {
	names, list := everyType()
	for _, form := range []Form{Binary, JSON} {
		text, err := ResponseJSON(head(t, names, list), list, form)
		if err != nil {
			t.Fatal(err)
		}
		d, err := FromResponseJSON(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var body []byte
		if form == Binary {
			body = wireOf(list)
		}
		got, err := d.Read(bytes.NewReader(body), fresh)
		if err != nil || d.BinarySize() != int64(len(body)) || d.Model != "m" || d.Version != "1" || d.ID != "7" {
			t.Fatalf("form %v: %+v, %v, %d bytes are to follow, want %d", form, d.Head, err, d.BinarySize(), len(body))
		}
		if diff := cmp.Diff(plain(list), plain(got)); diff != "" {
			t.Errorf("form %v (-want +got):\n%s", form, diff)
		}
	}
}

func TestElementsInJSON(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       tensor.Tensor
	}{
		{"flat", data("FP32", "[2,2]", "[1,2,3,4]"), tensor.Of([]float32{1, 2, 3, 4}, 2, 2)},
		{"in lists", data("FP32", "[2,2]", "[[1,2],[3,4]]"), tensor.Of([]float32{1, 2, 3, 4}, 2, 2)},
		{"with space", data("INT64", "[2]", " [ 1\n,\t2\r\n] "), tensor.Of([]int64{1, 2}, 2)},
		{"with exponents", data("FP64", "[3]", "[1e2,-1E-2,0.5e+1]"), tensor.Of([]float64{100, -0.01, 5}, 3)},
		{"a float that is rounded once", data("FP32", "[1]", "[7.038531e-26]"), tensor.Of([]float32{7.038531e-26}, 1)},
		{"a scalar", data("INT8", "[]", "[-7]"), tensor.Of([]int8{-7})},
		{"nothing", data("UINT8", "[0,3]", "[]"), tensor.Of([]uint8{}, 0, 3)},
		{"nothing in lists", data("UINT8", "[2,0]", "[[],[]]"), tensor.Of([]uint8{}, 2, 0)},
		{"strings with what separates elsewhere", data("BYTES", "[4]", `["a,b]","\"","\\","{é[\u00e9"]`), tensor.OfStrings([]string{"a,b]", `"`, `\`, "{é[é"}, 4)},
		{"truth", data("BOOL", "[2]", "[true, false]"), truth(1, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got, err := readRequest(c.text, "")
			if diff := cmp.Diff(plain([]tensor.Tensor{c.want}), plain(got)); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", c.text, err, diff)
			}
		})
	}
}

func TestBadRequestJSON(t *testing.T) {
	one := func(rest string) string { return `{"inputs":[{"name":"a",` + rest + `}]}` }
	for _, c := range []struct{ name, text, body, want string }{
		{"no JSON", `<html>`, "", "invalid character"},
		{"something behind it", `{"inputs":[]} {}`, "", "invalid character"},
		{"not UTF-8", `{"id":"` + "\xff" + `"}`, "", `invalid UTF-8 within "/id"`},
		{"a key twice", `{"inputs":[],"inputs":[]}`, "", `duplicate object member name "inputs"`},
		{"a key twice, once with an escape", one(`"shape":[1],"\u0073hape":[1]`), "", "duplicate object member name"},
		{"an unknown type", one(`"datatype":"FP8","shape":[1],"data":[1]`), "", `unknown datatype "FP8"`},
		{"no name", `{"inputs":[{"datatype":"FP32","shape":[1],"data":[1]}]}`, "", "no name"},
		{"a name twice", `{"inputs":[{"name":"a","datatype":"FP32","shape":[1],"data":[1]},{"name":"a","datatype":"FP32","shape":[1],"data":[1]}]}`, "", `two tensors "a"`},
		{"no shape", one(`"datatype":"INT8","data":[1]`), "", `tensor "a" has no shape`},
		{"a fraction for an extent", one(`"shape":[1.5]`), "", `within "/inputs/0/shape/0"`},
		{"a negative extent", one(`"datatype":"FP32","shape":[-1],"data":[1]`), "", "negative extent"},
		{"a negative extent beside none", one(`"datatype":"INT8","shape":[0,-1],"data":[]`), "", "negative extent"},
		{"extents beyond all memory", one(`"datatype":"FP32","shape":[4294967296,4294967296,4],"data":[1]`), "", "too many elements"},
		{"extents that overflow to something small", one(`"datatype":"INT8","shape":[4294967296,4294967297],"data":[1]`), "", "too many elements"},
		{"33 axes", one(`"datatype":"FP32","shape":[` + strings.Repeat("1,", 32) + `1],"data":[1]`), "", "33 axes"},
		{"more elements than the text can have", one(`"datatype":"FP32","shape":[1000000000],"data":[1]`), "", "has 1000000000 elements, which 3 bytes cannot be"},
		{"a size that does not fit", one(`"datatype":"FP32","shape":[1],"parameters":{"binary_data_size":8}`), "12345678", "has 8 bytes, expected 4"},
		{"a negative size", one(`"datatype":"BYTES","shape":[0],"parameters":{"binary_data_size":-8}`), "", "has -8 bytes"},
		{"both forms", one(`"datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4}`), "", "either data or"},
		{"neither form", one(`"datatype":"FP32","shape":[1]`), "", "either data or"},
		{"too few bytes", one(`"datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}`), "1234", "4 of 8 bytes arrived"},
		{"too few elements", one(`"datatype":"FP32","shape":[2],"data":[1]`), "", "1 elements, expected 2"},
		{"too many elements", one(`"datatype":"FP32","shape":[2],"data":[1,2,3]`), "", "more than 2"},
		{"a number too large", one(`"datatype":"UINT8","shape":[1],"data":[256]`), "", "unmarshal JSON number 256"},
		{"a number that no float is", one(`"datatype":"FP32","shape":[1],"data":[1e39]`), "", "out of range"},
		{"a negative number for a count", one(`"datatype":"UINT32","shape":[1],"data":[-1]`), "", "element 0: "},
		{"a fraction for a whole number", one(`"datatype":"INT32","shape":[1],"data":[1.5]`), "", "invalid syntax"},
		{"a word for a number", one(`"datatype":"FP32","shape":[1],"data":["1"]`), "", "JSON string"},
		{"a number for a word", one(`"datatype":"BYTES","shape":[1],"data":[1]`), "", "JSON number"},
		{"nothing for a number", one(`"datatype":"FP32","shape":[1],"data":[null]`), "", "element 0 is null"},
		{"nothing for a word", one(`"datatype":"BYTES","shape":[1],"data":[null]`), "", "element 0 is null"},
		{"nothing for a list", one(`"datatype":"FP32","shape":[1],"data":null`), "", "expected a list"},
		{"half a letter", one(`"datatype":"BYTES","shape":[1],"data":["a\ud83d"]`), "", "invalid surrogate pair"},
		{"an object", one(`"datatype":"FP32","shape":[1],"data":[{"a":1}]`), "", "JSON object"},
		{"no list", one(`"datatype":"FP32","shape":[1],"data":1`), "", "expected a list"},
		{"lists too deep", one(`"datatype":"FP32","shape":[2],"data":[[1],[2]]`), "", "JSON array"},
		{"lists of all depths", one(`"datatype":"FP32","shape":[1,2],"data":[[1],2]`), "", "expected 2 as axis 1"},
		{"lists of other lengths", one(`"datatype":"INT8","shape":[2,2],"data":[[1,2,3],[4]]`), "", "a list before element 3 has 3 values, expected 2 as axis 1"},
		{"lists of another shape", one(`"datatype":"INT8","shape":[2,3],"data":[[1,2],[3,4],[5,6]]`), "", "a list before element 2 has 2 values, expected 3 as axis 1"},
		{"an empty list more", one(`"datatype":"INT8","shape":[2,1],"data":[[1],[2],[]]`), "", "has 0 values, expected 1 as axis 1"},
		{"half precision", one(`"datatype":"FP16","shape":[1],"data":[1]`), "", "no form in JSON"},
		{"truth that is neither", one(`"datatype":"BOOL","shape":[1],"data":[2]`), "", "JSON number"},
		{"truth that is neither, in bytes", one(`"datatype":"BOOL","shape":[1],"parameters":{"binary_data_size":1}`), "\x02", "must be 0 or 1"},
		{"strings that claim too much", one(`"datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}`), "\xff\xff\xff\xffa", "claims 4294967295 bytes"},
		{"strings that leave something", one(`"datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}`), "\x00\x00\x00\x00a", "1 bytes are left"},
		{"fewer strings", one(`"datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":9}`), "\x05\x00\x00\x00abcde", "length is missing"},
		{"strings in fewer bytes than their lengths", one(`"datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":7}`), "1234567", "has 7 bytes, expected at least 8"},
		{"shared memory", one(`"datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"x","shared_memory_byte_size":4}`), "", "(shared_memory_region) are not supported"},
		{"a sequence", `{"parameters":{"sequence_id":7},"inputs":[]}`, "", "(sequence_id) are not supported"},
		{"a sequence with a name", `{"outputs":[{"name":"a","parameters":{"sequence_id":"one"}}]}`, "", "(sequence_id) are not supported"},
		{"classes of an output", `{"outputs":[{"name":"a","parameters":{"binary_data":true,"classification":3}}]}`, "", "(classification) are not supported"},
		{"outputs in two forms", `{"outputs":[{"name":"a","parameters":{"binary_data":true}},{"name":"b"}]}`, "", "all in one form"},
		{"an output without a name", `{"outputs":[{}]}`, "", "a requested output has no name"},
		{"an output twice", `{"outputs":[{"name":"y"},{"name":"z"},{"name":"y"}]}`, "", `the output "y" is asked for twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := readRequest(c.text, c.body); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestNoFormInJSON(t *testing.T) {
	for _, c := range []struct {
		name string
		of   tensor.Tensor
		want string
	}{
		{"no number", tensor.Of([]float32{1, float32(math.NaN())}, 2), `unsupported value: NaN: send binary data`},
		{"more than all numbers", tensor.Of([]float64{math.Inf(1)}, 1), "+Inf: send binary data"},
		{"half precision", tensor.New(tensor.Float16, 1), "tensor a: FP16 has no form in JSON: send binary data"},
		{"bytes that are no text", tensor.OfStrings([]string{"ok", "\xff\xd8"}, 2), "invalid UTF-8"},
	} {
		h := head(t, []string{"a"}, []tensor.Tensor{c.of})
		if text, err := ResponseJSON(h, []tensor.Tensor{c.of}, JSON); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "tensor a: ") {
			t.Errorf("%s: %s, %v, want %q", c.name, text, err, c.want)
		}
		if _, err := ResponseJSON(h, []tensor.Tensor{c.of}, Binary); err != nil {
			t.Errorf("%s with binary data: %v", c.name, err)
		}
	}
}

func TestFormOfOutputs(t *testing.T) {
	for _, c := range []struct {
		name, text string
		json       bool
	}{
		{"nothing is said", `{}`, true},
		{"all are to be binary", `{"parameters":{"binary_data_output":true}}`, false},
		{"one in JSON", `{"outputs":[{"name":"a"}]}`, true},
		{"one in JSON, said", `{"outputs":[{"name":"a","parameters":{"binary_data":false}}],"parameters":{"binary_data_output":true}}`, true},
		{"one in binary", `{"outputs":[{"name":"a","parameters":{"binary_data":true}}]}`, false},
		{"one as all are", `{"outputs":[{"name":"a"}],"parameters":{"binary_data_output":true}}`, false},
	} {
		if d, err := FromRequestJSON([]byte(c.text)); err != nil || d.WantsJSON != c.json {
			t.Errorf("%s: %+v, %v, want JSON %v", c.name, d, err, c.json)
		}
	}
}

func TestRawDocument(t *testing.T) {
	d := RawDocument(Head{Model: "m", Tensors: []Spec{{Name: "x", Type: tensor.Float32, Shape: tensor.Shape{1, 2}, Size: 8}}})
	list, err := d.Read(bytes.NewReader([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}), fresh)
	if err != nil || !slices.Equal(tensor.Data[float32](list[0]), []float32{1, 2}) || !d.WantsJSON {
		t.Errorf("%+v: %v, %v", d, list, err)
	}
	d = RawDocument(Head{Tensors: []Spec{{Name: "x", Type: tensor.String, Shape: tensor.Shape{1}, Size: 6}}})
	if list, err = d.Read(strings.NewReader("\x01\x00\x00\x00ab and more"), fresh); err != nil || list[0].Strings()[0] != "\x01\x00\x00\x00ab" {
		t.Errorf("a file is %v, %v, want its bytes without a length in front", list, err)
	}
	if _, err = d.Read(strings.NewReader("abc"), fresh); !testenv.Names(err, "tensor x … 3 … 6 bytes … unexpected EOF") {
		t.Errorf("half a file: %v", err)
	}
}

func TestBinarySizeOverflow(t *testing.T) {
	big := Spec{Name: "a", Type: tensor.String, Size: math.MaxInt64}
	d := &Document{Head: Head{Tensors: []Spec{big, big, {Name: "c", Size: 102}}}} // which add up to 100, modulo 2⁶⁴
	if n := d.BinarySize(); n >= 0 {
		t.Errorf("%d bytes are to follow", n)
	}
}

func TestPlaceThatDoesNotFit(t *testing.T) {
	full := Errorf(TooLarge, "no room")
	for want, place := range map[string]Place{
		"tensor a … no room":                 func(int, Spec) (tensor.Tensor, error) { return tensor.Tensor{}, full },
		"tensor a … float32[2] … float32[3]": func(int, Spec) (tensor.Tensor, error) { return tensor.New(tensor.Float32, 3), nil },
		"tensor a … float32[2] … int32[2]":   func(int, Spec) (tensor.Tensor, error) { return tensor.New(tensor.Int32, 2), nil },
	} {
		d, err := FromRequestJSON([]byte(data("FP32", "[2]", "[1,2]")))
		if err == nil {
			_, err = d.Read(nil, place)
		}
		if !testenv.Names(err, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A tensor takes two hundred bytes here and two letters there: what is not bounded while it is read takes a
// hundred times the memory of what was sent.
func TestManyTensorsTakeLittleMemory(t *testing.T) {
	many := "[" + strings.Repeat("{},", 1<<18) + "{}]"
	for _, text := range []string{`{"inputs":` + many + `}`, `{"outputs":` + many + `}`, `{"x":` + many + `}`} {
		got := testing.AllocsPerRun(1, func() {
			if _, err := FromRequestJSON([]byte(text)); text[2] != 'x' && (err == nil || !strings.Contains(err.Error(), "more than 1024 tensors")) {
				t.Error(err)
			}
		})
		if got > 1000 {
			t.Errorf("%.12s…: %v allocations", text, got)
		}
	}
}

func FuzzRequestJSON(f *testing.F) {
	f.Add([]byte(`{"id":"1","inputs":[{"name":"a","datatype":"FP32","shape":[1,2],"data":[[1,2]]}],"outputs":[{"name":"b"}]}`), []byte{})
	f.Add([]byte(`{"inputs":[{"name":"a","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}`), []byte("\x01\x00\x00\x00a"))
	f.Fuzz(func(t *testing.T, text, body []byte) {
		d, err := FromRequestJSON(text)
		if err != nil || d.BinarySize() > 1<<20 {
			return
		}
		list, err := d.Read(bytes.NewReader(body), bounded)
		if err != nil {
			return
		}
		again, err := RequestJSON(&d.Head, list, Binary)
		if err != nil {
			t.Fatal(err)
		}
		second, err := FromRequestJSON(again)
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		got, err := second.Read(bytes.NewReader(wireOf(list)), bounded)
		if diff := cmp.Diff(plain(list), plain(got)); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}
