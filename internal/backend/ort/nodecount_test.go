package ort

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// event is an event of a profile, as ONNX Runtime 1.24 writes it.
func event(category, name, operator, index, provider string) string {
	args := fmt.Sprintf(`"op_name" : %q,"node_index" : %q`, operator, index)
	if provider != "" {
		args += fmt.Sprintf(`,"provider" : %q`, provider)
	}
	return fmt.Sprintf(`{"cat" : %q,"pid" :7,"tid" :7,"dur" :3,"ts" :9,"ph" : "X","name" :%q,"args" : {%s}}`, category, name, args)
}

func profile(events ...string) string { return "[\n" + strings.Join(events, ",\n") + "\n]\n" }

func TestCountNodes(t *testing.T) {
	const cpu = "CPUExecutionProvider"
	run := event("Node", "conv_kernel_time", "Conv", "1", cpu)
	for _, c := range []struct {
		name string
		text string
		want map[string]int
	}{
		{"no event", "[]", map[string]int{}},
		{"a run", profile(run), map[string]int{"cpu": 1}},
		{"a run again, as in a loop", profile(run, run, run), map[string]int{"cpu": 1}},
		{"the fences around it", profile(event("Node", "conv_fence_before", "Conv", "1", cpu), run, event("Node", "conv_fence_after", "Conv", "1", cpu)), map[string]int{"cpu": 1}},
		{"a time of the session", profile(event("Session", "model_loading_kernel_time", "", "", cpu), run), map[string]int{"cpu": 1}},
		{"a node without a device", profile(event("Node", "conv_kernel_time", "Conv", "1", ""), run), map[string]int{"cpu": 1}},
		{"nodes of one name with other numbers", profile(run, event("Node", "conv_kernel_time", "Conv", "2", cpu)), map[string]int{"cpu": 2}},
		{"nodes without a name", profile(event("Node", "_kernel_time", "Conv", "1", cpu), event("Node", "_kernel_time", "Add", "2", cpu)), map[string]int{"cpu": 2}},
		{"two devices", profile(run, event("Node", "a_kernel_time", "Add", "2", "CUDAExecutionProvider")), map[string]int{"cpu": 1, "cuda": 1}},
		{"an unknown device", profile(event("Node", "a_kernel_time", "Add", "2", "NewExecutionProvider")), map[string]int{"NewExecutionProvider": 1}},
		{"unknown keys", `[{"cat":"Node","name":"a_kernel_time","new":[1,{"a":null}],"args":{"provider":"CPUExecutionProvider","input_type_shape":[{"float":[1]}]}}]`, map[string]int{"cpu": 1}},
	} {
		got, err := countNodes(strings.NewReader(c.text))
		sums := map[string]int{}
		for device := range got {
			sums[device] = got.of(device)
		}
		if err != nil || !maps.Equal(sums, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// The counts of a profile that was cut off would be too small.
func TestDamagedProfile(t *testing.T) {
	text := profile(event("Session", "session_initialization", "", "", ""), event("Node", "a_kernel_time", "Add", "1", "CPUExecutionProvider"), event("Node", "b_kernel_time", "Mul", "2", "CPUExecutionProvider"))
	end := strings.LastIndex(text, "]")
	for n := range end {
		if got, err := countNodes(strings.NewReader(text[:n])); err == nil || !strings.HasPrefix(err.Error(), "reading the profile: ") {
			t.Fatalf("the first %d of %d bytes have %v, %v", n, len(text), got, err)
		}
	}
	if got, err := countNodes(strings.NewReader(text[:end+1])); err != nil || got.of("cpu") != 2 {
		t.Errorf("all of it has %v, %v", got, err)
	}
	for name, text := range map[string]string{
		"an object": `{"events":[]}`, "a text": `"none"`, "null": "null", "events that are numbers": "[1]", "a name that is a number": `[{"name":1}]`, "no JSON": "<profile/>",
	} {
		if got, err := countNodes(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "reading the profile: ") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := countNodes(io.MultiReader(strings.NewReader("["), failing{})); !testenv.Names(err, "profile … the disk is gone") {
		t.Errorf("a disk that fails: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("the disk is gone") }

// ran has devices and counts in turn.
func ran(counts ...any) nodeCounts {
	all := nodeCounts{}
	for i := 0; i < len(counts); i += 2 {
		all[counts[i].(string)] = map[string]int{"Conv": counts[i+1].(int)}
	}
	return all
}

func TestDeviceUse(t *testing.T) {
	asked, err := requests("tensorrt,cuda,cpu", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		counts nodeCounts
		want   string
	}{
		{"not counted", nil, "[{tensorrt -1} {cuda -1} {cpu -1}]"},
		{"nothing ran", nodeCounts{}, "[]"},
		{"all of them", ran("cpu", 1, "cuda", 2, "tensorrt", 3), "[{tensorrt 3} {cuda 2} {cpu 1}]"},
		{"one that ran nothing", ran("cpu", 1, "tensorrt", 3), "[{tensorrt 3} {cpu 1}]"},
		{"devices that ONNX Runtime chose", ran("xnnpack", 1, "cuda", 2, "dnnl", 3), "[{cuda 2} {dnnl 3} {xnnpack 1}]"},
	} {
		if got := deviceUse(asked, c.counts); fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func TestDeviceThatRunsNothing(t *testing.T) {
	asked, _ := requests("tensorrt", nil)
	if err := checkUsed(asked, ran("tensorrt", 3, "cpu", 1)); err != nil {
		t.Errorf("got %v though tensorrt runs nodes and the user did not ask for cuda", err)
	}
	err := checkUsed(asked, ran("cuda", 3, "cpu", 1))
	if !testenv.Names(err, "device tensorrt … no node … cpu, cuda") {
		t.Errorf("got %v, want an error about tensorrt", err)
	}
	if asked, _ = requests("", nil); checkUsed(asked, nil) != nil {
		t.Error("the processor must not be missed")
	}
}

func TestSmallInput(t *testing.T) {
	port := func(name string, d tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: name, Type: d, Shape: shape}
	}
	for _, c := range []struct {
		name  string
		port  backend.Port
		batch int
		want  tensor.Tensor
	}{
		{"pixels are zeros", port("image", tensor.Float32, -1, 3, 1), 2, tensor.New(tensor.Float32, 2, 3, 1)},
		{"tokens are zeros", port("input_ids", tensor.Int64, -1, -1), 1, tensor.Of([]int64{0}, 1, 1)},
		{"the lengths of sequences are zeros", port("seqlens_k", tensor.Int32, -1), 2, tensor.Of([]int32{0, 0}, 2)},
		{"the length of the longest is one", port("total_sequence_length", tensor.Int32, 1), 2, tensor.Of([]int32{1}, 1)},
		{"a whole scalar is one", port("count", tensor.Int64), 1, tensor.Of([]int64{1})},
		{"two numbers are not a count", port("size", tensor.Int64, 2), 1, tensor.Of([]int64{0, 0}, 2)},
		{"a row of one is not a count", port("input_ids", tensor.Int64, 1, 1), 1, tensor.Of([]int64{0}, 1, 1)},
		{"another scalar is zero", port("guidance", tensor.Float32, 1), 1, tensor.Of([]float32{0}, 1)},
		{"masks let all through", port("Attention_Mask", tensor.Int64, -1, 2), 2, tensor.Of([]int64{1, 1, 1, 1}, 2, 2)},
		{"and those of bool", port("key_padding_mask", tensor.Bool, 1, 2), 1, bools([]byte{1, 1}, 1, 2)},
		{"masks of numbers to add are zeros", port("attention_mask", tensor.Float32, 1, 2), 1, tensor.Of([]float32{0, 0}, 1, 2)},
		{"the batch is one by default", port("image", tensor.Uint8, -1, 2), 0, tensor.Of([]uint8{0, 0}, 1, 2)},
		{"fixed batches stay", port("image", tensor.Uint8, 3, -1), 7, tensor.Of([]uint8{0, 0, 0}, 3, 1)},
	} {
		got := smallInput(c.port, c.batch)
		if got.Type != c.want.Type || !slices.Equal(got.Shape, c.want.Shape) || !slices.Equal(got.Bytes(), c.want.Bytes()) {
			t.Errorf("%s: %v is %v of %v, want %v of %v", c.name, c.port, got.Bytes(), got, c.want.Bytes(), c.want)
		}
	}
}

func bools(list []byte, shape ...int64) tensor.Tensor {
	t, _ := tensor.FromBytes(tensor.Bool, list, shape...)
	return t
}

func FuzzProfile(f *testing.F) {
	f.Add(profile(event("Node", "a_kernel_time", "Add", "1", "CPUExecutionProvider")))
	f.Add("[]")
	f.Add(`[{"args":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		counts, err := countNodes(strings.NewReader(text))
		if err != nil {
			return
		}
		total := 0
		for device := range counts {
			total += counts.of(device)
		}
		if most := strings.Count(text, "{"); total > most {
			t.Errorf("%d nodes of %d events", total, most)
		}
	})
}
