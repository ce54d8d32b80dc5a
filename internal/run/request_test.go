package run

import (
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// simulated is a request that can be run here.
func simulatedRequest() Request {
	return Request{Model: "resnet50", Scenario: "offline", Engine: Engine{Name: Simulated}}
}

func TestNumbersHaveBounds(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		field string
		set   func(*Request, int)
		most  int // 0: none
	}{
		{"instances", func(q *Request, n int) { q.Instances = n }, 4096},
		{"max_batchsize", func(q *Request, n int) { q.MaxBatch = n }, 1 << 20},
		{"count", func(q *Request, n int) { q.Count = n }, 0},
		{"intra_threads", func(q *Request, n int) { q.Backend.IntraThreads = n }, 4096},
		{"inter_threads", func(q *Request, n int) { q.Backend.InterThreads = n }, 4096},
		{"shared_threads", func(q *Request, n int) { q.Engine.SharedThreads = n }, 4096},
	} {
		for n, ok := range map[int]bool{0: true, 1: true, c.most: true, c.most + 1: c.most == 0, -1: false, -1 << 62: false, 1 << 40: c.most == 0} {
			q := simulatedRequest()
			c.set(&q, n)
			_, err := Resolve(q)
			if ok != (err == nil) || !ok && (fieldOf(err) != c.field || !strings.Contains(err.Error(), "want ")) {
				t.Errorf("%s is %d: %v", c.field, n, err)
			}
		}
	}
	for _, c := range []struct {
		field string
		set   func(*Request, time.Duration)
	}{
		{"max_batch_delay", func(q *Request, d time.Duration) { q.MaxDelay = d }},
		{"sim_latency", func(q *Request, d time.Duration) { q.Engine.Latency = d }},
		{"sim_jitter", func(q *Request, d time.Duration) { q.Engine.Jitter = d }},
	} {
		for d, ok := range map[time.Duration]bool{0: true, 1: true, time.Hour: true, -1: false} {
			q := simulatedRequest()
			c.set(&q, d)
			if _, err := Resolve(q); ok != (err == nil) || !ok && fieldOf(err) != c.field {
				t.Errorf("%s is %v: %v", c.field, d, err)
			}
		}
	}
}

func TestThreadsAreOfOneKind(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name   string
		change func(*Request)
		want   string // empty: no error
	}{
		{"of each worker", func(q *Request) { q.Backend.IntraThreads = 4 }, ""},
		{"of each worker, at chosen processors", func(q *Request) { q.Backend.IntraThreads, q.Backend.Affinity = 2, "1;2" }, ""},
		{"shared", func(q *Request) { q.Engine.SharedThreads = 4 }, ""},
		{"shared, at chosen processors", func(q *Request) { q.Engine.SharedThreads, q.Backend.Affinity = 2, "1;2" }, ""},
		{"shared, with threads between operators", func(q *Request) { q.Engine.SharedThreads, q.Backend.InterThreads = 2, 2 }, ""},
		{"shared and of each worker", func(q *Request) { q.Engine.SharedThreads, q.Backend.IntraThreads = 4, 4 },
			"shared_threads: all sessions share 4 threads, so that no worker has threads of its own: want neither intra_threads nor pin beside it"},
		{"shared and pinned", func(q *Request) { q.Engine.SharedThreads, q.Pin = 3, true },
			"shared_threads: all sessions share 3 threads, so that no worker has threads of its own: want neither intra_threads nor pin beside it"},
		{"pinned twice", func(q *Request) { q.Backend.Affinity, q.Pin = "1", true },
			"pin: processors are chosen for the threads, and thread_affinity chooses them too: want one of the two"},
	} {
		q := simulatedRequest()
		c.change(&q)
		if _, err := Resolve(q); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestNamesAreAmongTheFewThatThereAre(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name   string
		change func(*Request)
		want   string // of the error; empty: there is none
	}{
		{"no names", func(*Request) {}, ""},
		{"each precision", func(q *Request) { q.Precision = "fp32" }, ""},
		{"a precision in capitals", func(q *Request) { q.Precision = "FP32" }, `precision is "FP32", want fp32, fp16 or int8`},
		{"an optimisation", func(q *Request) { q.Backend.OptimizeLevel = "extended" }, ""},
		{"no such optimisation", func(q *Request) { q.Backend.OptimizeLevel = "99" }, `graph_optimization is "99", want none, basic, extended or all`},
		{"a device", func(q *Request) { q.Backend.Device = "cpu" }, ""},
		{"several devices, with spaces", func(q *Request) { q.Backend.Device = "cuda, cpu" }, ""},
		{"a device that no library has", func(q *Request) { q.Backend.Device = "cpu,abacus" }, `device: unknown device "abacus"; devices are `},
		{"a comma too many", func(q *Request) { q.Backend.Device = "cuda,,cpu" }, `device is "cuda,,cpu", want names of devices, separated by commas`},
		{"a device that is empty", func(q *Request) { q.Given = map[string]string{"device": "flag --device"} }, `device is "", want names of devices`},
		{"an engine", func(q *Request) { q.Engine.Name = "onnx" }, `backend: unknown backend "onnx", want onnxruntime, simulated, oip or openai`},
		{"no model", func(q *Request) { q.Model = "" }, "model: is missing: want a model of the catalogue"},
		{"no scenario", func(q *Request) { q.Scenario = "" }, "scenario: is missing: want SingleStream, MultiStream, Server, Offline or Interactive"},
		{"a division", func(q *Request) { q.Division = "Open" }, ""},
		{"no such division", func(q *Request) { q.Division = "preview" }, `division: unknown division "preview", want closed, open or network`},
		{"rules in capitals, without a v", func(q *Request) { q.Rules = "5.1" }, ""},
		{"no such rules", func(q *Request) { q.Rules = "v0.6" }, `rules: unknown rules "v0.6", want one of v0.5, `},
		{"a model for servers of text only", func(q *Request) { q.Model = "deepseek-r1" }, "openai"},
	} {
		q := simulatedRequest()
		c.change(&q)
		if _, err := Resolve(q); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestWithoutAnEngineONNXRuntimeIsMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	q := simulatedRequest()
	q.Engine.Name = ""
	r, err := Resolve(q)
	if err != nil || r.Request.Engine.Name != ONNXRuntime {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAModelOfSeveralOrLargeOutputsPretendsToFindNothing(t *testing.T) {
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
		{"as many classes as there can be", []tensor.Tensor{f32(2, 4096)}, true},
		{"one more is an image", []tensor.Tensor{f32(2, 4097)}, false},
		{"a number for each sample", []tensor.Tensor{f32(2)}, true},
		{"boxes, classes and scores", []tensor.Tensor{f32(2, 10, 4), f32(2, 10), f32(2, 10)}, false},
	} {
		input := f32(2, 8)
		for i := range tensor.Data[float32](input) {
			tensor.Data[float32](input)[i] = 7
		}
		if err := pretend([]tensor.Tensor{input}, c.outputs); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		zeros := true
		for _, out := range c.outputs {
			for _, x := range tensor.Data[float32](out) {
				zeros = zeros && x == 0
			}
		}
		if zeros == c.answers {
			t.Errorf("%s: an answer is given: %t, want %t", c.name, !zeros, c.answers)
		}
	}
}

func TestSharedThreadsAreAPoolForAllSessions(t *testing.T) {
	q := &Request{}
	q.Backend.InterThreads = 3
	if got := q.pool(); got != nil {
		t.Errorf("without shared threads there is the pool %+v", got)
	}
	q.Engine.SharedThreads, q.Backend.NoSpinning, q.Backend.Affinity = 5, true, "1;2;3;4"
	if got := q.pool(); got.IntraThreads != 5 || got.InterThreads != 3 || !got.NoSpinning || got.Affinity != "1;2;3;4" {
		t.Errorf("the pool is %+v", got)
	}
	q.Backend.InterThreads = 0
	if got := q.pool(); got.InterThreads != 1 {
		t.Errorf("between operators there are %d threads, want at least 1", got.InterThreads)
	}
}

// The same file by two spellings is one, and two of the same name are not.
func TestFilesThatWouldBeWrittenToOnePlaceAreNamed(t *testing.T) {
	for _, c := range []struct {
		name  string
		root  string
		files []string
		want  string // empty: no error
	}{
		{"different names", "", []string{"a/x.jpg", "b/y.jpg"}, ""},
		{"one file", "", []string{"a/x.jpg", "a/x.jpg", "./a/x.jpg", "a/../a/x.jpg"}, ""},
		{"one name in two folders", "", []string{"a/x.jpg", "b/x.jpg"}, "root: a/x.jpg and b/x.jpg would both be written to out/x.jpg.npy: want the folder whose structure is kept"},
		{"whose structure is kept", ".", []string{"a/x.jpg", "b/x.jpg"}, ""},
		{"below another folder", "a", []string{"a/x.jpg", "a/sub/x.jpg"}, ""},
		{"one outside", "a", []string{"a/x.jpg", "b/x.jpg"}, "b/x.jpg: it is not below a"},
		{"one above", "a", []string{"a/../x.jpg"}, "a/../x.jpg: it is not below a"},
		{"nothing", "", nil, ""},
	} {
		q := PreprocessRequest{Files: c.files, Root: c.root, Output: "out"}
		if err := q.twice(); (err == nil) != (c.want == "") || err != nil && strings.ReplaceAll(err.Error(), `\`, "/") != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
