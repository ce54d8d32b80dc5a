package protocol

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBadMetadata(t *testing.T) {
	port := func(rest string) string { return `{"name":"m","inputs":[{"name":"a","datatype":"FP32",` + rest + `}]}` }
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", "<html>", "the description of a model: jsontext: invalid character"},
		{"a word for extents", port(`"shape":["x"]`), `within "/inputs/0/shape/0"`},
		{"two lists of inputs", `{"inputs":[{"name":"a","shape":[1]}],"inputs":[{"name":"b"}]}`, `duplicate object member name "inputs"`},
		{"an extent below -1", port(`"shape":[-2]`), "model m: port a: an extent is -2: must be 0 or more, or -1 for a free one"},
		{"extents beyond all memory", port(`"shape":[9223372036854775807,2]`), "model m: port a: shape [9223372036854775807 2] has too many elements"},
		{"a port without a name", `{"name":"m","outputs":[{"datatype":"FP32"}]}`, "model m has a port without a name"},
		{"a name twice", `{"name":"m","outputs":[{"name":"y"},{"name":"y"}]}`, `or two of the name "y"`},
	} {
		if _, err := FromModelMetadataJSON([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, text := range []string{port(`"shape":[-1,0,3]`), port(`"shape":[]`), `{"inputs":[{"name":"a"}],"outputs":[{"name":"a"}]}`, `{}`} {
		if _, err := FromModelMetadataJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	const twice = `{"model_stats":[{"inference_stats":{"cache_hit":{"count":7,"ns":1,"count":0}}}]}`
	if _, err := FromStatisticsJSON([]byte(twice)); err == nil || !strings.Contains(err.Error(), `duplicate object member name "count"`) {
		t.Errorf("%s: %v", twice, err)
	}
}

func TestConfigOf(t *testing.T) {
	about := &ModelMetadata{"m", []string{"1"}, "onnxruntime 1", []Port{{"x", "FP32", []int64{-1, 3}}, {"text", "BYTES", []int64{-1}}}, []Port{{"y", "INT64", []int64{-1}}}}
	for most, want := range map[int64]*ModelConfig{
		0: {"m", "onnxruntime 1", 0, []ConfigPort{{"x", "TYPE_FP32", []int64{-1, 3}}, {"text", "TYPE_STRING", []int64{-1}}}, []ConfigPort{{"y", "TYPE_INT64", []int64{-1}}}},
		8: {"m", "onnxruntime 1", 8, []ConfigPort{{"x", "TYPE_FP32", []int64{3}}, {"text", "TYPE_STRING", []int64{}}}, []ConfigPort{{"y", "TYPE_INT64", []int64{}}}},
	} {
		if diff := cmp.Diff(want, ConfigOf(about, most)); diff != "" {
			t.Errorf("%d samples (-want +got):\n%s", most, diff)
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

func TestAddStatistics(t *testing.T) {
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

func TestDifference(t *testing.T) {
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

func FuzzMetadataJSON(f *testing.F) {
	f.Add([]byte(`{"name":"m","versions":["1"],"platform":"onnx","inputs":[{"name":"a","datatype":"FP32","shape":[-1,3]}],"outputs":[]}`))
	f.Add([]byte(`{"model_stats":[{"name":"m","inference_stats":{"success":{"count":1,"ns":2}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := FromModelMetadataJSON(text); err == nil {
			again, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := FromModelMetadataJSON(again); err != nil || m.Difference(second) != "" {
				t.Fatalf("%v: %s", err, m.Difference(second))
			}
		}
		if list, err := FromStatisticsJSON(text); err == nil {
			again, err := StatisticsJSON(list)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := FromStatisticsJSON(again); err != nil || !slices.Equal(list, second) {
				t.Fatalf("%v, %s", err, cmp.Diff(list, second))
			}
		}
	})
}
