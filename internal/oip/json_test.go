package oip

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// readRequest reads a request and its tensors.
func readRequest(text, body string) (*Document, []tensor.Tensor, error) {
	d, err := ParseRequest([]byte(text), Limits{})
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

func TestElementsInJSONMayBeWrittenInManyWays(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       tensor.Tensor
	}{
		{"flat", data("FP32", "[2,2]", "[1,2,3,4]"), tensor.Of([]float32{1, 2, 3, 4}, 2, 2)},
		{"in lists", data("FP32", "[2,2]", "[[1,2],[3,4]]"), tensor.Of([]float32{1, 2, 3, 4}, 2, 2)},
		{"with space", data("INT64", "[2]", " [ 1\n,\t2\r\n] "), tensor.Of([]int64{1, 2}, 2)},
		{"with exponents", data("FP64", "[3]", "[1e2,-1E-2,0.5e+1]"), tensor.Of([]float64{100, -0.01, 5}, 3)},
		{"a scalar", data("INT8", "[]", "[-7]"), tensor.Of([]int8{-7})},
		{"nothing", data("UINT8", "[0,3]", "[]"), tensor.Of([]uint8{}, 0, 3)},
		{"nothing in lists", data("UINT8", "[2,0]", "[[],[]]"), tensor.Of([]uint8{}, 2, 0)},
		{"strings with what separates elsewhere", data("BYTES", "[4]", `["a,b]","\"","\\","{é[\u00e9"]`), tensor.OfStrings([]string{"a,b]", `"`, `\`, "{é[é"}, 4)},
		{"truth", data("BOOL", "[2]", "[true, false]"), truth(1, 0)},
		{"the longest number that is exact", data("UINT64", "[1]", "[18446744073709551615]"), tensor.Of([]uint64{math.MaxUint64}, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got, err := readRequest(c.text, "")
			if err != nil {
				t.Fatal(err)
			}
			if g, w := plain(got), plain([]tensor.Tensor{c.want}); !slices.EqualFunc(g, w, equal) {
				t.Errorf("%s is %v, want %v", c.text, g, w)
			}
		})
	}
}

func truth(list ...byte) tensor.Tensor {
	t, _ := tensor.FromBytes(tensor.Bool, list, int64(len(list)))
	return t
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func TestElementsAreReadToTheNearestNumber(t *testing.T) {
	for _, text := range []string{"0.1", "16777217", "3.4028235677973366e38", "1e-46", "-0", "5e-324"} {
		var want32 float32
		if err := json.Unmarshal([]byte(text), &want32); err != nil {
			if _, _, err := readRequest(data("FP32", "[1]", "["+text+"]"), ""); err == nil || !strings.Contains(err.Error(), "element 0: ") {
				t.Errorf("%s is no float of 32 bits, and read with %v", text, err)
			}
			continue
		}
		_, list, err := readRequest(data("FP32", "[1]", "["+text+"]"), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := tensor.Data[float32](list[0])[0]; math.Float32bits(got) != math.Float32bits(want32) {
			t.Errorf("%s is read as %v, want %v", text, got, want32)
		}
	}
}

// oddTexts are what JSON has to write in another way, in a tensor and in the names around it.
func oddTexts() (tensor.Tensor, *Head) {
	in := tensor.OfStrings([]string{"a\"b\\c\n", "é😀", "\x7f\x00<&>"}, 3)
	return in, &Head{Model: `mo"del`, Version: "ä", ID: "i\x01d", Tensors: []Spec{{Name: "in\tput", Type: in.Type, Shape: in.Shape}}, Wanted: []string{"o,1", "o2"}}
}

// requestOfOthers is a request as others read it.
type requestOfOthers struct {
	ID              string
	Inputs, Outputs []struct {
		Name, Datatype string
		Shape          []int64
		Data           []string
		Parameters     map[string]any
	}
	Parameters map[string]any
}

// What is written is valid JSON in which others find what we meant.
func TestOthersReadTheRequestsThatAreWritten(t *testing.T) {
	in, h := oddTexts()
	for _, form := range []Form{Binary, JSON} {
		text, err := AppendRequest([]byte("before"), h, []tensor.Tensor{in}, form)
		if err != nil {
			t.Fatal(err)
		}
		var got requestOfOthers
		rest, ok := bytes.CutPrefix(text, []byte("before"))
		if err := json.Unmarshal(rest, &got); err != nil || !ok {
			t.Fatalf("%v\n%s", err, text)
		}
		o := got.Inputs[0]
		if got.ID != h.ID || o.Name != "in\tput" || o.Datatype != "BYTES" || !slices.Equal(o.Shape, []int64{3}) {
			t.Errorf("the input is %+v of %q", o, got.ID)
		}
		if form == JSON && !slices.Equal(o.Data, in.Strings()) {
			t.Errorf("the elements are %q", o.Data)
		}
		if form == Binary && o.Parameters["binary_data_size"] != float64(BytesSize(in.Strings())) {
			t.Errorf("the parameters are %v", o.Parameters)
		}
		for i, name := range h.Wanted {
			if w := got.Outputs[i]; w.Name != name || w.Parameters["binary_data"] != (form == Binary) {
				t.Errorf("output %d is %+v", i, w)
			}
		}
		if all := got.Parameters["binary_data_output"]; (all == true) != (form == Binary) {
			t.Errorf("form %v: binary_data_output is %v", form, all)
		}
	}
}

func TestOthersReadTheAnswersThatAreWritten(t *testing.T) {
	in, h := oddTexts()
	text, err := AppendResponse(nil, h, []tensor.Tensor{in}, JSON)
	var answer map[string]any
	if err != nil || json.Unmarshal(text, &answer) != nil || answer["model_name"] != h.Model || answer["model_version"] != h.Version || answer["id"] != h.ID {
		t.Errorf("the answer is %s, %v", text, err)
	}
}

func TestWhatJSONCannotHaveIsNotWritten(t *testing.T) {
	for _, c := range []struct {
		name string
		of   tensor.Tensor
		want string
	}{
		{"no number", tensor.Of([]float32{1, float32(math.NaN())}, 2), "tensor a: element 1 is NaN, which JSON does not have: want binary data"},
		{"more than all numbers", tensor.Of([]float64{math.Inf(1)}, 1), "tensor a: element 0 is +Inf"},
		{"less than all numbers", tensor.Of([]float32{float32(math.Inf(-1))}, 1), "tensor a: element 0 is -Inf"},
		{"half precision", tensor.New(tensor.Float16, 1), "tensor a: FP16 has no form in JSON: want binary data"},
		{"bytes that are no text", tensor.OfStrings([]string{"ok", "\xff\xd8"}, 2), "tensor a: element 1 is not UTF-8, which JSON cannot have: want binary data"},
	} {
		h := head(t, []string{"a"}, []tensor.Tensor{c.of})
		for what, write := range map[string]func([]byte, *Head, []tensor.Tensor, Form) ([]byte, error){"request": AppendRequest, "answer": AppendResponse} {
			if text, err := write(nil, h, []tensor.Tensor{c.of}, JSON); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s in a %s: %s, %v, want %q", c.name, what, text, err, c.want)
			}
			if _, err := write(nil, h, []tensor.Tensor{c.of}, Binary); err != nil {
				t.Errorf("%s in a %s with binary data: %v", c.name, what, err)
			}
		}
	}
}

func TestAnOutputIsInTheFormThatWasAskedFor(t *testing.T) {
	for _, c := range []struct {
		name, text string
		json       bool
	}{
		{"nothing is said", `{}`, true},
		{"all are to be binary", `{"parameters":{"binary_data_output":true}}`, false},
		{"all in JSON", `{"parameters":{"binary_data_output":false}}`, true},
		{"one in JSON", `{"outputs":[{"name":"a"}]}`, true},
		{"one in JSON, said", `{"outputs":[{"name":"a","parameters":{"binary_data":false}}],"parameters":{"binary_data_output":true}}`, true},
		{"one in binary", `{"outputs":[{"name":"a","parameters":{"binary_data":true}}]}`, false},
		{"one as all are", `{"outputs":[{"name":"a"}],"parameters":{"binary_data_output":true}}`, false},
		{"one in shared memory", `{"outputs":[{"name":"a","parameters":{"shared_memory_region":"r"}}],"parameters":{"binary_data_output":true}}`, false},
		{"two, one of them in shared memory", `{"outputs":[{"name":"a","parameters":{"shared_memory_region":"r"}},{"name":"b"}]}`, true},
	} {
		if d, err := ParseRequest([]byte(c.text), Limits{}); err != nil || d.WantsJSON != c.json {
			t.Errorf("%s: %+v, %v, want JSON %v", c.name, d, err, c.json)
		}
	}
}

func TestASequenceOfNoRequestsIsNone(t *testing.T) {
	for _, id := range []string{"0", `""`, "null"} {
		for _, text := range []string{`{"parameters":{"sequence_id":` + id + `}}`, `{"outputs":[{"name":"a","parameters":{"sequence_id":` + id + `}}]}`} {
			if _, err := ParseRequest([]byte(text), Limits{}); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	for _, text := range []string{`{"parameters":{"sequence_id":"one"}}`, `{"outputs":[{"name":"a","parameters":{"sequence_id":1}}]}`,
		`{"inputs":[{"name":"a","datatype":"INT8","shape":[1],"data":[1],"parameters":{"sequence_id":[]}}]}`} {
		if _, err := ParseRequest([]byte(text), Limits{}); CodeOf(err) != Unsupported {
			t.Errorf("%s: %v, want that it is not supported", text, err)
		}
	}
}

func TestARawRequestIsItsOnlyTensor(t *testing.T) {
	d := RawDocument(Head{Model: "m", Tensors: []Spec{{Name: "x", Type: tensor.Float32, Shape: tensor.Shape{1, 2}, Size: 8}}})
	if !d.WantsJSON || d.BinarySize() != 8 {
		t.Errorf("%+v, want 8 bytes and an answer in JSON", d)
	}
	list, err := d.Read(bytes.NewReader([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}), fresh)
	if err != nil || !slices.Equal(tensor.Data[float32](list[0]), []float32{1, 2}) {
		t.Errorf("%v, %v", list, err)
	}
	d = RawDocument(Head{Tensors: []Spec{{Name: "x", Type: tensor.String, Shape: tensor.Shape{1}, Size: 6}}})
	if list, err = d.Read(strings.NewReader("\x01\x00\x00\x00ab and more"), fresh); err != nil || list[0].Strings()[0] != "\x01\x00\x00\x00ab" {
		t.Errorf("a file is %v, %v, want its bytes without a length in front", list, err)
	}
	if _, err = d.Read(strings.NewReader("abc"), fresh); err == nil || err.Error() != "tensor x: 3 of 6 bytes arrived: unexpected EOF" {
		t.Errorf("half a file: %v", err)
	}
}

func TestSizesThatCannotBeAddedAreNegative(t *testing.T) {
	big := Spec{Name: "a", Type: tensor.String, Size: math.MaxInt64}
	d := &Document{Head: Head{Tensors: []Spec{big, {Name: "b", Size: 1}}}}
	if n := d.BinarySize(); n >= 0 {
		t.Errorf("%d bytes are to follow", n)
	}
	again := &Document{Head: Head{Tensors: []Spec{big, big, {Name: "c", Size: 102}}}} // which add up to 100, modulo 2⁶⁴
	if n := again.BinarySize(); n >= 0 {
		t.Errorf("%d bytes are to follow", n)
	}
	d.Tensors[1].Size = 0
	if n := d.BinarySize(); n != math.MaxInt64 {
		t.Errorf("%d bytes are to follow, want %d", n, int64(math.MaxInt64))
	}
}

func TestMemoryOfAnotherShapeIsNotFilled(t *testing.T) {
	text := data("FP32", "[2]", "[1,2]")
	for _, room := range []tensor.Tensor{tensor.New(tensor.Float32, 3), tensor.New(tensor.Int32, 2)} {
		d, err := ParseRequest([]byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Read(nil, func(int, Spec) (tensor.Tensor, error) { return room, nil })
		if err == nil || !strings.Contains(err.Error(), "tensor a is float32[2], there is room for ") {
			t.Errorf("into %v: %v", room, err)
		}
	}
}

// A tensor takes some two hundred bytes here and two letters there: what is not bounded before it is read takes a
// hundred times the memory of what was sent.
func TestMoreThanCouldBeAskedForIsRefusedBeforeItTakesMemory(t *testing.T) {
	many := "[" + strings.Repeat("{},", 1<<18) + "{}]"
	for name, text := range map[string]string{"inputs": `{"inputs":` + many + `}`, "outputs": `{"outputs":` + many + `}`, "another key": `{"x":` + many + `}`} {
		got := testing.AllocsPerRun(1, func() {
			if _, err := ParseRequest([]byte(text), Limits{}); err == nil || !strings.Contains(err.Error(), "objects, want at most 4098, for 1024 tensors") {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := ParseResponse([]byte(text), Limits{}); err == nil || !strings.Contains(err.Error(), "objects, want at most") {
				t.Errorf("%s of an answer: %v", name, err)
			}
		})
		if got > 50 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
	braces := strings.Repeat("{", 10000)
	_, list, err := readRequest(data("BYTES", "[2]", `["`+braces+`","\"{`+braces+`"]`), "")
	if err != nil || list[0].Strings()[1] != `"{`+braces {
		t.Errorf("braces in strings: %v", err)
	}
}

func TestAsManyTensorsAsAreAllowedAreTaken(t *testing.T) {
	const most = 3
	text := func(inputs, outputs int) []byte {
		var b strings.Builder
		b.WriteString(`{"parameters":{},"inputs":[`)
		for i := range inputs {
			b.WriteString([]string{"", ","}[min(i, 1)] + `{"name":"` + string(rune('a'+i)) + `","datatype":"INT8","shape":[0],"parameters":{"binary_data_size":0}}`)
		}
		b.WriteString(`],"outputs":[`)
		for i := range outputs {
			b.WriteString([]string{"", ","}[min(i, 1)] + `{"name":"` + string(rune('a'+i)) + `","parameters":{}}`)
		}
		return []byte(b.String() + "]}")
	}
	if _, err := ParseRequest(text(most, most), Limits{Tensors: most}); err != nil {
		t.Error(err)
	}
	if _, err := ParseRequest(text(most+1, 0), Limits{Tensors: most}); err == nil || err.Error() != "4 tensors, want at most 3" {
		t.Errorf("one more input: %v", err)
	}
	if _, err := ParseRequest(text(0, most+1), Limits{Tensors: most}); err == nil || err.Error() != "4 outputs are asked for, want at most 3" {
		t.Errorf("one more output: %v", err)
	}
}
