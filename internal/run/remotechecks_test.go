package run

import (
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// TestWhatIsSaidAboutServersNeedsSome has each of the fields alone, with an engine that asks nobody.
func TestWhatIsSaidAboutServersNeedsSome(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, remote := range map[string]Remote{
		"endpoint": {Endpoints: []string{"http://h"}}, "remote_model": {Model: "m"}, "remote_version": {Version: "1"}, "concurrency": {Concurrency: 1},
		"request_timeout": {Timeout: 1}, "retry": {Retry: 1}, "token_file": {TokenFile: "f"},
		"tls_ca": {CA: "ca"}, "tls_cert": {Cert: "c"}, "tls_key": {Key: "k"},
	} {
		q := simulatedRequest()
		q.Engine.Remote = remote
		if _, err := Resolve(q); err == nil || err.Error() != name+": is about servers, and the engine is simulated: want oip or openai" {
			t.Errorf("%+v: %v, want an error of the field %s", remote, err, name)
		}
	}
	for name, prompts := range map[string]Prompts{
		"synthetic_prompts": {Synthetic: 1}, "prompt_words": {Words: 1}, "answer_tokens": {Answer: 1}, "route": {Route: "chat"}, "stream": {Stream: "on"},
		"endpoints_artifacts": {Artifacts: "out"},
	} {
		q := simulatedRequest()
		q.Prompts = prompts
		if _, err := Resolve(q); err == nil || err.Error() != name+": is about servers of text, and the engine is simulated: want openai" {
			t.Errorf("%+v: %v, want an error of the field %s", prompts, err, name)
		}
	}
}

func TestWhatIsOfThisMachineIsUpToServers(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, change := range map[string]func(*Request){
		"model_path":     func(q *Request) { q.ModelPath = "m.onnx" },
		"precision":      func(q *Request) { q.Precision = "fp16" },
		"device":         func(q *Request) { q.Backend.Device = "cuda" },
		"intra_threads":  func(q *Request) { q.Backend.IntraThreads = 1 },
		"pin":            func(q *Request) { q.Pin = true },
		"shared_threads": func(q *Request) { q.Engine.SharedThreads = 1 },
	} {
		for engine, want := range map[string]string{OIP: "the engine oip only asks them", OpenAI: "the engine openai only asks them"} {
			q := atServers()
			q.Engine.Name = engine
			if engine == OIP {
				q.Model, q.Prompts, q.Engine.Remote.Model = "resnet50", Prompts{}, ""
			}
			if _, err := Resolve(q); err != nil {
				t.Fatalf("%s alone: %v", engine, err)
			}
			change(&q)
			if _, err := Resolve(q); fieldOf(err) != name || !strings.HasSuffix(err.Error(), "is up to the servers: "+want) {
				t.Errorf("%s for %s: %v", name, engine, err)
			}
		}
	}
}

func TestNumbersOfRequestsHaveBounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		remote Remote
		want   string
	}{
		{"nobody to ask", Remote{}, "endpoint: is missing: the engine asks servers, as http://host:8000"},
		{"the default", Remote{Endpoints: []string{"h"}}, ""},
		{"the most at once", Remote{Endpoints: []string{"h"}, Concurrency: 4096}, ""},
		{"one more", Remote{Endpoints: []string{"h"}, Concurrency: 4097}, "concurrency is 4097, want from 1 to 4096, or 0 for the default"},
		{"less than none", Remote{Endpoints: []string{"h"}, Concurrency: -1}, "concurrency is -1, want from 1"},
		{"the most tries", Remote{Endpoints: []string{"h"}, Retry: 100}, ""},
		{"one more try", Remote{Endpoints: []string{"h"}, Retry: 101}, "retry is 101, want from 0 to 100"},
		{"less than no try", Remote{Endpoints: []string{"h"}, Retry: -1}, "retry is -1, want from 0 to 100"},
		{"an end before the beginning", Remote{Endpoints: []string{"h"}, Timeout: -time.Second}, "request_timeout is -1s, want a time"},
		{"a certificate with its key", Remote{Endpoints: []string{"h"}, Cert: "c", Key: "k"}, ""},
		{"a certificate alone", Remote{Endpoints: []string{"h"}, Cert: "c"}, "tls_cert: a certificate and its key go together: want both or neither"},
		{"a key alone", Remote{Endpoints: []string{"h"}, Key: "k"}, "tls_cert: a certificate and its key go together: want both or neither"},
	} {
		err := c.remote.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestRequestsUnderWayAreOneInSingleStreamAndElseAsManyAsServersTake(t *testing.T) {
	several := workload.Model{Roles: []string{"encoder", "decoder"}}
	for _, c := range []struct {
		name     string
		scenario loadgen.Scenario
		model    workload.Model
		division config.Division
		given    int
		want     int
	}{
		{"somebody said how many", loadgen.SingleStream, several, config.Closed, 7, 7},
		{"one stream", loadgen.SingleStream, oneFile, config.Closed, 0, 1},
		{"one stream of several files", loadgen.SingleStream, several, config.Closed, 0, 1},
		{"a model of one file", loadgen.Offline, oneFile, config.Closed, 0, 64},
		{"a model of several files keeps its state here", loadgen.Offline, several, config.Closed, 0, 8},
		{"and at the servers in the Network division", loadgen.Offline, several, config.Network, 0, 64},
		{"queries as they come", loadgen.Server, oneFile, config.Open, 0, 64},
	} {
		r := &Resolved{model: c.model, division: c.division}
		r.Settings.Scenario, r.Request.Engine.Remote.Concurrency = c.scenario, c.given
		if got := r.underWay(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Every connection is an open file: where few may be open, requests have to wait for each other.
func TestRequestsUnderWayFitIntoTheFilesThatMayBeOpen(t *testing.T) {
	for _, c := range []struct {
		files uint64
		given int
		want  int // 0: no bound
	}{
		{0, 0, 0}, {0, 256, 256}, // nobody knows
		{1 << 20, 0, 0}, {1 << 40, 256, 256}, // enough
		{1024, 0, 896}, {1024, 256, 256}, {257, 0, 129},
		{256, 0, 128}, {256, 256, 128}, {200, 0, 100}, {100, 256, 50}, {2, 0, 1}, {1, 0, 1},
	} {
		r := Remote{Concurrency: c.given}
		r.fitFiles(c.files)
		if r.Concurrency != c.want {
			t.Errorf("%d files and %d requests: %d at once, want %d", c.files, c.given, r.Concurrency, c.want)
		}
	}
}

func TestPromptsAreAskedForByOnePredictor(t *testing.T) {
	for _, c := range []struct {
		scenario           string
		given              int
		concurrency, batch int // 0: as many as files may be open
	}{
		{"single-stream", 0, 0, 1}, {"single-stream", 4, 4, 1}, {"server", 0, 0, 16}, {"server", 9, 9, 16}, {"offline", 0, 256, 64}, {"offline", 5, 5, 5}, {"offline", 4096, 4096, 64},
	} {
		t.Chdir(t.TempDir())
		q := atServers()
		q.Scenario, q.Engine.Remote.Concurrency = c.scenario, c.given
		r, err := Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		q = r.Request
		if n := q.Engine.Remote.Concurrency; c.concurrency > 0 && n != c.concurrency || q.MaxBatch != c.batch || q.Instances != 1 || q.Backend.IntraThreads != 1 {
			t.Errorf("%s, %d: %d under way, batches of %d, %d instances of %d threads", c.scenario, c.given, n, q.MaxBatch, q.Instances, q.Backend.IntraThreads)
		}
	}
}

func TestPromptsComeFromOnePlace(t *testing.T) {
	t.Chdir(t.TempDir())
	benchmark := func(q *Request) { q.Model, q.Prompts, q.DatasetPath = "llama2-70b", Prompts{}, "data" }
	for _, c := range []struct {
		name   string
		change func(*Request)
		want   string // empty: no error
	}{
		{"made up", func(*Request) {}, ""},
		{"made up, of so many words and answers", func(q *Request) {
			q.Prompts = Prompts{Synthetic: 3, Words: 9, Answer: 2, Stream: "off"}
			q.Scenario = "offline"
		}, ""},
		{"in a file", func(q *Request) { q.Prompts.Synthetic, q.DatasetPath = 0, "prompts.jsonl" }, ""},
		{"of a benchmark", benchmark, ""},
		{"made up for a benchmark", func(q *Request) { benchmark(q); q.Prompts.Synthetic, q.DatasetPath = 4, "" }, "synthetic_prompts: llama2-70b has prompts of its own"},
		{"a benchmark scored", func(q *Request) { benchmark(q); q.Mode = "accuracy" }, ""},
		{"made up and scored", func(q *Request) { q.Mode = "submission" }, "mode: submission needs a benchmark of the catalogue: there is no truth for other prompts"},
		{"answers of a search kept", func(q *Request) { q.Prompts.Artifacts, q.Mode = "out", FindPeak }, "endpoints_artifacts: are of one test of performance or accuracy, and find-peak is several"},
		{"answers of two tests kept", func(q *Request) { benchmark(q); q.Prompts.Artifacts, q.Mode = "out", "submission" }, "endpoints_artifacts: are of one test"},
		{"answers of one test kept", func(q *Request) { q.Prompts.Artifacts = "out" }, ""},
		{"batches", func(q *Request) { q.MaxBatch = 2 }, "instances: there are no batches and no workers for them: the engine openai asks for each sample by itself, want concurrency"},
		{"a prompt of no end", func(q *Request) { q.Prompts.Words = 1<<20 + 1 }, "prompt_words is 1048577, want from 1 to 1048576, or 0 for the default"},
		{"an answer of less than nothing", func(q *Request) { q.Prompts.Answer = -1 }, "answer_tokens is -1, want from 1 to 1048576, or 0 for the default"},
		{"a way to stream", func(q *Request) { q.Prompts.Stream = "ON" }, `stream is "ON", want auto, on or off`},
		{"no address", func(q *Request) { q.Engine.Remote.Endpoints = []string{"ftp://host"} }, "endpoint"},
	} {
		q := atServers()
		c.change(&q)
		r, err := Resolve(q)
		if err == nil && c.name == "no address" {
			_, err = r.Provide(t.Context(), silent{})
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestAModelWithoutANameIsTheEndpoint(t *testing.T) {
	t.Chdir(t.TempDir())
	for given, want := range map[string]string{"": "endpoint", "m": "m", "org/Model-7B": "model-7b"} {
		q := atServers()
		q.Engine.Remote.Model = given
		r, err := Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.ModelName(); !strings.EqualFold(got, want) && !strings.HasSuffix(strings.ToLower(got), want) {
			t.Errorf("%q is called %q, want %q", given, got, want)
		}
	}
}

func TestAModelHasOneNameAtItsServers(t *testing.T) {
	t.Chdir(t.TempDir())
	q := atServers()
	for _, given := range []map[string]string{nil, {"model_name": "flag --model-name"}, {"remote_model": "mlperf.yaml: remote-model"}} {
		q.Given = given
		if _, err := Resolve(q); err != nil {
			t.Errorf("given %v: %v", given, err)
		}
	}
	q.Given = map[string]string{"model_name": "flag --model-name", "remote_model": "mlperf.yaml: remote-model"}
	const want = "remote_model: is the same as model_name, and both are given (flag --model-name, mlperf.yaml: remote-model): want one of the two"
	if _, err := Resolve(q); err == nil || err.Error() != want {
		t.Errorf("both: %v, want %s", err, want)
	}
}
