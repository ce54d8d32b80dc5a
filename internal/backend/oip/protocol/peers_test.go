package protocol

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// What clients of others send, in their own spelling, order of keys and white space.

func TestRequestsOfOtherClients(t *testing.T) {
	raw := func(values ...any) string {
		var b []byte
		for _, v := range values {
			b, _ = binary.Append(b, binary.LittleEndian, v)
		}
		return string(b)
	}
	for _, c := range []struct {
		name, text, body string
		want             []tensor.Tensor
		wanted           []string
		json             bool // the answer
	}{
		{
			name: "Triton's client in Python, with outputs in binary",
			text: `{"id":"1","inputs":[{"name":"INPUT0","shape":[1,4],"datatype":"INT32","parameters":{"binary_data_size":16}},` +
				`{"name":"INPUT1","shape":[1,4],"datatype":"INT32","parameters":{"binary_data_size":16}}],` +
				`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},{"name":"OUTPUT1","parameters":{"binary_data":true}}]}`,
			body:   raw([]int32{0, 1, 2, 3}, []int32{-1, -1, -1, -1}),
			want:   []tensor.Tensor{tensor.Of([]int32{0, 1, 2, 3}, 1, 4), tensor.Of([]int32{-1, -1, -1, -1}, 1, 4)},
			wanted: []string{"OUTPUT0", "OUTPUT1"},
		},
		{
			name: "the same without outputs, with a priority and a time",
			text: `{"inputs":[{"name":"INPUT0","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}}],` +
				`"parameters":{"priority":3,"timeout":500000,"binary_data_output":true}}`,
			body: raw([]float32{0.5, -2}),
			want: []tensor.Tensor{tensor.Of([]float32{0.5, -2}, 2)},
		},
		{
			name: "the same with numbers in JSON and an answer in it",
			text: `{"inputs":[{"name":"INPUT0","shape":[1,3],"datatype":"UINT8","data":[1,2,255]}],` +
				`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":false}}]}`,
			want:   []tensor.Tensor{tensor.Of([]uint8{1, 2, 255}, 1, 3)},
			wanted: []string{"OUTPUT0"}, json: true,
		},
		{
			name: "the same with strings in bytes",
			text: `{"inputs":[{"name":"INPUT0","shape":[2],"datatype":"BYTES","parameters":{"binary_data_size":13}}],"parameters":{"binary_data_output":true}}`,
			body: "\x05\x00\x00\x00hello\x00\x00\x00\x00",
			want: []tensor.Tensor{tensor.OfStrings([]string{"hello", ""}, 2)},
		},
		{
			name: "KServe's page, with lists in lists and no outputs",
			text: `{
  "id" : "42",
  "inputs" : [
    {
      "name" : "input0",
      "shape" : [ 2, 2 ],
      "datatype" : "UINT32",
      "data" : [ 1, 2, 3, 4 ]
    },
    {
      "name" : "input1",
      "shape" : [ 3 ],
      "datatype" : "BOOL",
      "data" : [ true, false, true ]
    }
  ]
}`,
			want: []tensor.Tensor{tensor.Of([]uint32{1, 2, 3, 4}, 2, 2), truth(1, 0, 1)},
			json: true,
		},
		{
			name: "KServe's page, with an output",
			text: `{"inputs":[{"name":"x","shape":[2,2],"datatype":"FP64","data":[[1.1,2.2],[3.3,4e4]]}],"outputs":[{"name":"output0"}]}`,
			want: []tensor.Tensor{tensor.Of([]float64{1.1, 2.2, 3.3, 4e4}, 2, 2)}, wanted: []string{"output0"}, json: true,
		},
		{
			name: "MLServer's client, which says what its data once was",
			text: `{"id": null, "parameters": {"content_type": "pd", "headers": null}, "inputs": [{"name": "a", "shape": [2, 1], "datatype": "INT64",` +
				` "parameters": {"content_type": "np", "headers": {"x": "y"}}, "data": [10, -10]}], "outputs": []}`,
			want: []tensor.Tensor{tensor.Of([]int64{10, -10}, 2, 1)}, json: true,
		},
		{
			name: "a program that escapes all that is not ASCII, and writes numbers with exponents",
			text: `{"inputs":[{"name":"t\u00e9xt","shape":[2],"datatype":"BYTES","data":["gr\u00f6\u00dfe","\ud83d\ude00\/"]},{"name":"y","shape":[],"datatype":"FP32","data":[1E+2]}]}`,
			want: []tensor.Tensor{tensor.OfStrings([]string{"größe", "😀/"}, 2), tensor.Of([]float32{100})}, json: true,
		},
		{
			name: "parameters that are null",
			text: `{"id":null,"parameters":null,"outputs":null,"inputs":[{"name":"x","shape":[1],"datatype":"INT8","parameters":null,"data":[1]}]}`,
			want: []tensor.Tensor{tensor.Of([]int8{1}, 1)}, json: true,
		},
		{
			name: "nothing of what can be asked for, said at length",
			text: `{"parameters":{"sequence_id":0,"sequence_start":false,"sequence_end":false},"inputs":[],"outputs":[{"name":"y","parameters":{"classification":0,"binary_data":false}}]}`,
			want: []tensor.Tensor{}, wanted: []string{"y"}, json: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, list, err := readRequest(c.text, c.body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(c.want), plain(list)); diff != "" {
				t.Errorf("tensors (-want +got):\n%s", diff)
			}
			if !slices.Equal(d.Wanted, c.wanted) || d.WantsJSON != c.json || d.BinarySize() != int64(len(c.body)) {
				t.Errorf("asked for are %q, in JSON: %v, after %d bytes; want %q, %v, %d", d.Wanted, d.WantsJSON, d.BinarySize(), c.wanted, c.json, len(c.body))
			}
		})
	}
}

func TestAnswersOfOtherServers(t *testing.T) {
	for _, c := range []struct {
		name, text, body  string
		want              []tensor.Tensor
		version, id, fail string
	}{
		{
			name: "Triton, with tensors behind the JSON",
			text: `{"model_name":"simple","model_version":"1","outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1,2],"parameters":{"binary_data_size":8}},` +
				`{"name":"OUTPUT1","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}}]}`,
			body: "\x01\x00\x00\x00\xff\xff\xff\xff\x00\x3c", version: "1",
			want: []tensor.Tensor{tensor.Of([]int32{1, -1}, 1, 2), half(0x3c00)},
		},
		{
			name: "Triton's ensembles, with parameters of the answer",
			text: `{"id":"7","model_name":"e","model_version":"2","parameters":{"sequence_id":0,"sequence_start":false,"sequence_end":false,"triton_final_response":true},` +
				`"outputs":[{"name":"y","datatype":"BOOL","shape":[3],"data":[true,false,true]}]}`,
			want: []tensor.Tensor{truth(1, 0, 1)}, version: "2", id: "7",
		},
		{
			name: "a server that names sequences in its answers",
			text: `{"model_name":"m","parameters":{"sequence_id":42},"outputs":[{"name":"y","datatype":"INT8","shape":[1],"data":[5]}]}`,
			want: []tensor.Tensor{tensor.Of([]int8{5}, 1)},
		},
		{
			name: "MLServer, with lists as they were and keys in another order",
			text: `{"outputs":[{"data":[[0.25],[0.5]],"datatype":"FP32","parameters":{"content_type":"np"},"shape":[2,1],"name":"predict"}],"id":"8f","model_name":"m","parameters":{}}`,
			want: []tensor.Tensor{tensor.Of([]float32{0.25, 0.5}, 2, 1)}, id: "8f",
		},
		{
			name: "OpenVINO's, with 16 digits of each number",
			text: "{\n    \"model_name\": \"dummy\",\n    \"model_version\": \"1\",\n    \"outputs\": [{\n            \"name\": \"a\",\n            \"shape\": [1, 2],\n" +
				"            \"datatype\": \"FP64\",\n            \"data\": [0.1000000000000000, 2.2000000000000002]\n        }]\n}",
			want: []tensor.Tensor{tensor.Of([]float64{0.1, 2.2}, 1, 2)}, version: "1",
		},
		{
			name: "no outputs at all",
			text: `{"model_name":"m"}`, want: []tensor.Tensor{},
		},
		{name: "an error in place of an answer", text: `{"error":"no such model","outputs":[{}]}`, fail: "the answer is an error: no such model"},
		{name: "a page of a proxy", text: "<html>502 Bad Gateway</html>", fail: "invalid character '<'"},
		{name: "an answer that was cut off", text: `{"model_name":"m","outputs":[{"name":"y"`, fail: "the JSON of an answer: jsontext: unexpected EOF"},
		{name: "an error beside outputs", text: `{"model_name":"m","outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":[1]}],"error":"out of memory"}`, fail: "the answer is an error: out of memory"},
		{name: "an empty answer", text: "", fail: "the JSON of an answer: jsontext: unexpected EOF"},
		{name: "NaN, as Python writes it", text: `{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":[NaN]}]}`, fail: "invalid character 'N'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := FromResponseJSON([]byte(c.text))
			var list []tensor.Tensor
			if err == nil {
				list, err = d.Read(strings.NewReader(c.body), fresh)
			}
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Errorf("got %v, want %q", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(c.want), plain(list)); diff != "" || d.Version != c.version || d.ID != c.id {
				t.Errorf("version %q, id %q (-want +got):\n%s", d.Version, d.ID, diff)
			}
		})
	}
}

// half is a tensor of one number of 16 bits.
func half(bits uint16) tensor.Tensor {
	t := tensor.New(tensor.Float16, 1)
	binary.LittleEndian.PutUint16(t.Bytes(), bits)
	return t
}

func TestMetadataOfOtherServers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want ModelMetadata
	}{
		"Triton": {
			`{"name":"simple","versions":["1","3"],"platform":"onnxruntime_onnx","inputs":[{"name":"INPUT0","datatype":"INT32","shape":[-1,16]}],"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[-1,16]}]}`,
			ModelMetadata{"simple", []string{"1", "3"}, "onnxruntime_onnx", []Port{{"INPUT0", "INT32", []int64{-1, 16}}}, []Port{{"OUTPUT0", "INT32", []int64{-1, 16}}}},
		},
		"MLServer, which knows nothing of ports": {
			`{"name":"iris","versions":[],"platform":"","inputs":[],"outputs":[],"parameters":{}}`,
			ModelMetadata{Name: "iris", Versions: []string{}, Inputs: []Port{}, Outputs: []Port{}},
		},
		"OpenVINO Model Server": {
			`{"name":"resnet","versions":["1"],"platform":"OpenVINO","inputs":[{"name":"0","datatype":"FP32","shape":[1,224,224,3]}],"outputs":[{"name":"1463","datatype":"FP32","shape":[1,1000]}],"rt_info":{"model_info":{"scale":"58"}}}`,
			ModelMetadata{"resnet", []string{"1"}, "OpenVINO", []Port{{"0", "FP32", []int64{1, 224, 224, 3}}}, []Port{{"1463", "FP32", []int64{1, 1000}}}},
		},
		"TorchServe, whose lists are null": {
			`{"name":"bert","versions":null,"platform":"","inputs":null,"outputs":null}`,
			ModelMetadata{Name: "bert"},
		},
	} {
		got, err := FromModelMetadataJSON([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStatisticsOfOtherServers(t *testing.T) {
	triton := `{"model_stats":[{"name":"simple","version":"1","last_inference":1607439426561,"inference_count":8,"execution_count":4,` +
		`"inference_stats":{"success":{"count":4,"ns":2000},"fail":{"count":1,"ns":10},"queue":{"count":4,"ns":20},"compute_input":{"count":4,"ns":30},` +
		`"compute_infer":{"count":4,"ns":40},"compute_output":{"count":4,"ns":50},"cache_hit":{"count":0,"ns":0},"cache_miss":{"count":0,"ns":0}},` +
		`"response_stats":{},"batch_stats":[{"batch_size":2,"compute_input":{"count":4,"ns":30}}],"memory_usage":[]}]}`
	want := []ModelStatistics{{Name: "simple", Version: "1", LastInference: 1607439426561, InferenceCount: 8, ExecutionCount: 4,
		InferenceStats: InferenceSum{Success: Sum{4, 2000}, Fail: Sum{1, 10}, Queue: Sum{4, 20}, ComputeInput: Sum{4, 30}, ComputeInfer: Sum{4, 40}, ComputeOutput: Sum{4, 50}}}}
	if got, err := FromStatisticsJSON([]byte(triton)); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v, (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	largest := ModelStatistics{Name: "m", InferenceCount: math.MaxUint64}
	text, err := StatisticsJSON([]ModelStatistics{largest})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := FromStatisticsJSON(text); err != nil || got[0] != largest {
		t.Errorf("a count that no float has comes back as %+v, %v", got, err)
	}
	for name, text := range map[string]string{"a negative count": `{"model_stats":[{"inference_count":-1}]}`, "a fraction": `{"model_stats":[{"execution_count":1.5}]}`, "one that is too large": `{"model_stats":[{"last_inference":18446744073709551616}]}`} {
		if got, err := FromStatisticsJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), `within "/model_stats/0/`) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
