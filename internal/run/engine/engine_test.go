package engine

import (
	"fmt"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A model of several or large outputs finds nothing: other answers would have to make sense.
func TestSimulatedAnswers(t *testing.T) {
	f32 := func(shape ...int64) tensor.Tensor {
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		return tensor.Of(make([]float32, n), shape...)
	}
	for _, c := range []struct {
		name    string
		outputs []tensor.Tensor
		answers bool
	}{
		{"classes", []tensor.Tensor{f32(2, 1001)}, true},
		{"the most classes", []tensor.Tensor{f32(2, 4096)}, true},
		{"an image", []tensor.Tensor{f32(2, 4097)}, false},
		{"a number for each sample", []tensor.Tensor{f32(2)}, true},
		{"boxes, classes and scores", []tensor.Tensor{f32(2, 10, 4), f32(2, 10), f32(2, 10)}, false},
	} {
		input := f32(2, 8)
		for i := range tensor.Data[float32](input) {
			tensor.Data[float32](input)[i] = 7
		}
		testenv.Must(t, pretend([]tensor.Tensor{input}, c.outputs))
		zeros := true
		for _, out := range c.outputs {
			for _, x := range tensor.Data[float32](out) {
				zeros = zeros && x == 0
			}
		}
		if zeros == c.answers {
			t.Errorf("%s: answered: %t, want %t", c.name, !zeros, c.answers)
		}
	}
}

func TestNamesAtServers(t *testing.T) {
	m := workload.Model{Name: "gnmt", Roles: []string{"encoder", "decoder"}}
	for _, c := range []struct{ given, name, files string }{
		{"", "gnmt", "map[]"}, {"mine", "mine", "map[]"}, {"decoder=d", "gnmt", "map[decoder:d]"}, {"decoder=d,encoder=e", "gnmt", "map[decoder:d encoder:e]"},
	} {
		r := Remote{Model: c.given}
		if name, files := r.names(m); name != c.name || fmt.Sprint(files) != c.files {
			t.Errorf("%q: %s, %v, want %s, %s", c.given, name, files, c.name, c.files)
		}
	}
}

// Each connection is an open file.
func TestRequestsFitOpenFiles(t *testing.T) {
	for _, c := range []struct {
		files       uint64
		given, want int // 0: no bound
	}{
		{0, 0, 0}, {0, 256, 256}, // not known
		{1 << 20, 0, 0}, {1 << 40, 256, 256}, // enough
		{1024, 0, 896}, {1024, 256, 256}, {257, 0, 129},
		{256, 0, 128}, {256, 256, 128}, {200, 0, 100}, {100, 256, 50}, {2, 0, 1}, {1, 0, 1},
	} {
		r := Remote{Concurrency: c.given}
		if r.FitFiles(c.files); r.Concurrency != c.want {
			t.Errorf("%d files and %d requests: %d at once, want %d", c.files, c.given, r.Concurrency, c.want)
		}
	}
}

func TestEachAddressOfAName(t *testing.T) {
	for text, want := range map[string]string{
		"http://gpu:8000/v1": "http://gpu:8000/v1", "dns+http://127.0.0.1:8000/v1": "http://127.0.0.1:8000/v1", "dns+http://[::1]": "http://[::1]:80",
	} {
		if got, err := eachAddress(t.Context(), []string{text}); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"dns+https://gpu:8000", "dns+grpc://gpu:8001", "dns+http://:8000"} {
		if _, err := eachAddress(t.Context(), []string{text}); !testenv.Names(err, "endpoint … "+text+" … dns+http://HOST:PORT") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
