package oip

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestADescriptionThatNobodyCanUseIsRefused(t *testing.T) {
	port := func(rest string) string { return `{"name":"m","inputs":[{"name":"a","datatype":"FP32",` + rest + `}]}` }
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", "<html>", "the description of a model: invalid character"},
		{"a word for extents", port(`"shape":["x"]`), "the description of a model: inputs.shape: a text where a whole number of 64 bits should be"},
		{"two lists of inputs, of which package json mixes the ports", `{"inputs":[{"name":"a","shape":[1]}],"inputs":[{"name":"b"}]}`, `the description of a model: an object has two keys "inputs"`},
		{"an extent below -1", port(`"shape":[-2]`), "model m: port a: an extent is -2, want 0 or more, or -1 for a free one"},
		{"extents beyond all memory", port(`"shape":[9223372036854775807,2]`), "model m: port a: shape [9223372036854775807 2] has too many elements"},
		{"a port without a name", `{"name":"m","outputs":[{"datatype":"FP32"}]}`, "model m has a port without a name"},
		{"a name twice", `{"name":"m","outputs":[{"name":"y"},{"name":"y"}]}`, `or two of the name "y"`},
	} {
		if _, err := ParseModelMetadata([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, text := range []string{port(`"shape":[-1,0,3]`), port(`"shape":[]`), `{"inputs":[{"name":"a"}],"outputs":[{"name":"a"}]}`, `{}`} {
		if _, err := ParseModelMetadata([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`{"model_stats":5}`: "model_stats: a number where a list should be",
		`{"model_stats":[{"inference_stats":{"cache_hit":{"count":7,"ns":1,"count":0}}}]}`: `an object has two keys "count"`,
	} {
		if _, err := ParseStatistics([]byte(text)); err == nil || err.Error() != "statistics of a model: "+want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// filled are statistics in which the nth number is a multiple of n.
func filled(times uint64) (s ModelStatistics) {
	n := uint64(0)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Uint64:
			n++
			v.SetUint(n * times)
		}
	}
	fill(reflect.ValueOf(&s).Elem())
	return s
}

func TestStatisticsOfSeveralServersAddUp(t *testing.T) {
	got, want := filled(2), filled(5)
	got.Name, got.Version = "old", "1"
	more := filled(3)
	more.Name = "m"
	got.Add(more)
	want.Name, want.Version, want.LastInference = "m", "1", 3 // the later one
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	late := ModelStatistics{LastInference: 100}
	late.Add(more)
	if late.LastInference != 100 {
		t.Errorf("the last inference was at %d, want 100", late.LastInference)
	}
}

func TestDescriptionsThatDifferSayInWhat(t *testing.T) {
	fresh := func() *ModelMetadata {
		return &ModelMetadata{Name: "m", Versions: []string{"1"}, Inputs: []Port{{"a", "FP32", []int64{-1, 2}}}, Outputs: []Port{{"y", "INT64", []int64{1}}}}
	}
	for _, c := range []struct {
		name   string
		change func(m *ModelMetadata)
		want   string
	}{
		{"nothing", func(*ModelMetadata) {}, ""},
		{"the platform", func(m *ModelMetadata) { m.Platform = "onnx" }, ""},
		{"a version", func(m *ModelMetadata) { m.Versions[0] = "2" }, "versions [1] and [2]"},
		{"the name of an input", func(m *ModelMetadata) { m.Inputs[0].Name = "b" }, "inputs "},
		{"the type of an output", func(m *ModelMetadata) { m.Outputs[0].Datatype = "INT32" }, "outputs "},
		{"an extent", func(m *ModelMetadata) { m.Inputs[0].Shape[1] = 3 }, "inputs [{a FP32 [-1 2]}] and [{a FP32 [-1 3]}]"},
		{"an axis", func(m *ModelMetadata) { m.Outputs[0].Shape = nil }, "outputs "},
		{"an output more", func(m *ModelMetadata) { m.Outputs = append(m.Outputs, Port{Name: "z"}) }, "outputs "},
	} {
		other := fresh()
		c.change(other)
		if got := fresh().Difference(other); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEveryCodeHasAStatusOfItsOwn(t *testing.T) {
	wantHTTP := map[Code]int{Internal: 500, NotFound: 404, Unavailable: 503, Unsupported: 501, InvalidArgument: 400, Unauthorized: 401, TooLarge: 413, TimedOut: 408}
	wantGRPC := map[Code]codes.Code{Internal: codes.Internal, NotFound: codes.NotFound, Unavailable: codes.Unavailable, Unsupported: codes.Unimplemented,
		InvalidArgument: codes.InvalidArgument, Unauthorized: codes.Unauthenticated, TooLarge: codes.ResourceExhausted, TimedOut: codes.DeadlineExceeded}
	for c := Internal; c <= TimedOut; c++ {
		if c.HTTP() != wantHTTP[c] || c.GRPC() != wantGRPC[c] || http.StatusText(c.HTTP()) == "" {
			t.Errorf("code %d is status %d and %v, want %d and %v", c, c.HTTP(), c.GRPC(), wantHTTP[c], wantGRPC[c])
		}
	}
	cause := errors.New("cause")
	err := fmt.Errorf("around: %w", Errorf(TooLarge, "inside: %w", cause))
	if CodeOf(err) != TooLarge || err.Error() != "around: inside: cause" || !errors.Is(err, cause) {
		t.Errorf("%v has the code %d", err, CodeOf(err))
	}
	if CodeOf(cause) != Internal {
		t.Errorf("an error without a code has %d, want that it is internal", CodeOf(cause))
	}
}

func TestElementTypesAreCalledAsInTheProtocol(t *testing.T) {
	for name, size := range map[string]int{"BOOL": 1, "UINT8": 1, "UINT16": 2, "UINT32": 4, "UINT64": 8, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "FP16": 2, "BF16": 2, "FP32": 4, "FP64": 8} {
		d, err := ParseDatatype(name)
		if err != nil || d.Size() != size || Datatype(d) != name {
			t.Errorf("%s is %v of %d bytes, called %s: %v", name, d, d.Size(), Datatype(d), err)
		}
	}
	if d, err := ParseDatatype("BYTES"); err != nil || d != tensor.String {
		t.Errorf("BYTES is %v, %v", d, err)
	}
	_, err := ParseDatatype("fp32")
	if want := `unknown datatype "fp32", want one of [BF16 BOOL BYTES FP16 FP32 FP64 INT16 INT32 INT64 INT8 UINT16 UINT32 UINT64 UINT8]`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if got := Datatype(tensor.Invalid); got != "" {
		t.Errorf("no type is called %q", got)
	}
	if got := (Spec{"image", tensor.Float32, tensor.Shape{1, 3}, 0, Window{}}).String(); got != "image FP32[1 3]" {
		t.Errorf("a tensor is described as %q", got)
	}
	if got := PartName("bert", "encoder"); got != "bert-encoder" {
		t.Errorf("a file of a model is called %q", got)
	}
}

func FuzzDescriptionInJSON(f *testing.F) {
	f.Add([]byte(`{"name":"m","versions":["1"],"platform":"onnx","inputs":[{"name":"a","datatype":"FP32","shape":[-1,3]}],"outputs":[]}`))
	f.Add([]byte(`{"model_stats":[{"name":"m","inference_stats":{"success":{"count":1,"ns":2}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := ParseModelMetadata(text); err == nil {
			again, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := ParseModelMetadata(again); err != nil || m.Difference(second) != "" {
				t.Fatalf("%v: %s", err, m.Difference(second))
			}
		}
		if list, err := ParseStatistics(text); err == nil {
			again, err := FormatStatistics(list)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := ParseStatistics(again); err != nil || !cmp.Equal(list, second) {
				t.Fatalf("%v, %s", err, cmp.Diff(list, second))
			}
		}
	})
}
