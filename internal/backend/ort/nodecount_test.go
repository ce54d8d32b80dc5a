package ort

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// An event of a profile, as ONNX Runtime 1.24 writes it.
func event(category, name, operator, index, provider string) string {
	args := fmt.Sprintf(`"op_name" : %q,"node_index" : %q`, operator, index)
	if provider != "" {
		args += fmt.Sprintf(`,"provider" : %q`, provider)
	}
	return fmt.Sprintf(`{"cat" : %q,"pid" :7,"tid" :7,"dur" :3,"ts" :9,"ph" : "X","name" :%q,"args" : {%s}}`, category, name, args)
}

func profile(events ...string) string { return "[\n" + strings.Join(events, ",\n") + "\n]\n" }

func TestEventsThatAreNoRunsOfNodesDoNotCount(t *testing.T) {
	const cpu = "CPUExecutionProvider"
	run := event("Node", "conv_kernel_time", "Conv", "1", cpu)
	for _, c := range []struct {
		name string
		text string
		want map[string]int
	}{
		{"no event", "[]", map[string]int{}},
		{"a run", profile(run), map[string]int{"cpu": 1}},
		{"a run that is there again, as in a loop", profile(run, run, run), map[string]int{"cpu": 1}},
		{"the fences around it", profile(event("Node", "conv_fence_before", "Conv", "1", cpu), run, event("Node", "conv_fence_after", "Conv", "1", cpu)), map[string]int{"cpu": 1}},
		{"a time of the session", profile(event("Session", "model_loading_kernel_time", "", "", cpu), run), map[string]int{"cpu": 1}},
		{"a node that no device says it ran", profile(event("Node", "conv_kernel_time", "Conv", "1", ""), run), map[string]int{"cpu": 1}},
		{"nodes of one name with other numbers", profile(run, event("Node", "conv_kernel_time", "Conv", "2", cpu)), map[string]int{"cpu": 2}},
		{"nodes without a name", profile(event("Node", "_kernel_time", "Conv", "1", cpu), event("Node", "_kernel_time", "Add", "2", cpu)), map[string]int{"cpu": 2}},
		{"two devices", profile(run, event("Node", "a_kernel_time", "Add", "2", "CUDAExecutionProvider")), map[string]int{"cpu": 1, "cuda": 1}},
		{"a device of which nothing is known", profile(event("Node", "a_kernel_time", "Add", "2", "NewExecutionProvider")), map[string]int{"NewExecutionProvider": 1}},
		{"keys that are new, of any kind", `[{"cat":"Node","name":"a_kernel_time","new":[1,{"a":null}],"args":{"provider":"CPUExecutionProvider","input_type_shape":[{"float":[1]}]}}]`, map[string]int{"cpu": 1}},
	} {
		got, err := countNodes(strings.NewReader(c.text))
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// Fewer nodes than there are would be said to run on a device.
func TestAProfileThatWasCutOffIsNotCounted(t *testing.T) {
	text := profile(event("Session", "session_initialization", "", "", ""), event("Node", "a_kernel_time", "Add", "1", "CPUExecutionProvider"), event("Node", "b_kernel_time", "Mul", "2", "CPUExecutionProvider"))
	end := strings.LastIndex(text, "]")
	for n := range end {
		if got, err := countNodes(strings.NewReader(text[:n])); err == nil || !strings.HasPrefix(err.Error(), "reading the profile: ") {
			t.Fatalf("the first %d of %d bytes have %v, %v", n, len(text), got, err)
		}
	}
	if got, err := countNodes(strings.NewReader(text[:end+1])); err != nil || got["cpu"] != 2 {
		t.Errorf("all of it has %v, %v", got, err)
	}
	for name, text := range map[string]string{
		"an object": `{"events":[]}`, "a text": `"none"`, "null": "null", "events that are numbers": "[1]", "a name that is a number": `[{"name":1}]`, "no JSON": "<profile/>",
	} {
		if got, err := countNodes(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "reading the profile: ") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := countNodes(io.MultiReader(strings.NewReader("["), failing{})); err == nil || err.Error() != "reading the profile: the disk is gone" {
		t.Errorf("a disk that fails: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("the disk is gone") }

// A plain way to count: read all, and compare each with those before.
func TestNodesAreCountedAsTheyWouldBeOneByOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 200 {
		var events []string
		for range random.IntN(40) {
			events = append(events, event(pick("Node", "Node", "Session"), pick("a", "b", "c")+pick("_kernel_time", "_kernel_time", "_fence_before"),
				pick("Add", "Mul"), pick("1", "2", "3"), pick("CPUExecutionProvider", "CUDAExecutionProvider", "")))
		}
		want := map[string]int{}
		var list []map[string]any
		if err := json.Unmarshal([]byte(profile(events...)), &list); err != nil {
			t.Fatal(err)
		}
		for i, e := range list {
			provider, _ := e["args"].(map[string]any)["provider"].(string)
			first := true
			for _, before := range list[:i] {
				first = first && fmt.Sprint(before) != fmt.Sprint(e)
			}
			if first && provider != "" && e["cat"] == "Node" && strings.HasSuffix(e["name"].(string), "_kernel_time") {
				want[map[string]string{"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda"}[provider]]++
			}
		}
		if got, err := countNodes(strings.NewReader(profile(events...))); err != nil || !maps.Equal(got, want) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	}
}

func TestDevicesAreNamedInTheOrderInWhichTheyWereAskedFor(t *testing.T) {
	requests, err := requestsOf("tensorrt,cuda,cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		counts map[string]int
		want   string
	}{
		{"nobody counted", nil, "[{tensorrt -1} {cuda -1} {cpu -1}]"},
		{"nothing ran", map[string]int{}, "[]"},
		{"all of them", map[string]int{"cpu": 1, "cuda": 2, "tensorrt": 3}, "[{tensorrt 3} {cuda 2} {cpu 1}]"},
		{"one that ran nothing", map[string]int{"cpu": 1, "tensorrt": 3}, "[{tensorrt 3} {cpu 1}]"},
		{"others that were not asked for", map[string]int{"xnnpack": 1, "cuda": 2, "dnnl": 3}, "[{cuda 2} {dnnl 3} {xnnpack 1}]"},
	} {
		var got []backend.DeviceUse
		if got = deviceUse(requests, c.counts); fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
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
		for _, n := range counts {
			total += n
		}
		if most := strings.Count(text, "{"); total > most {
			t.Errorf("%d nodes of %d events", total, most)
		}
	})
}
