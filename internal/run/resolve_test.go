package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// here is a request of a run on this machine.
func here() Request {
	return Request{Model: "resnet50", Scenario: "offline", Engine: engine.Config{Name: engine.Simulated}}
}

// atServers is a request of inferences at servers.
func atServers() Request {
	return Request{Model: "resnet50", Scenario: "offline", Engine: engine.Config{Name: engine.OIP, Remote: engine.Remote{Endpoints: []string{"http://h:1"}}}}
}

// textPrompts is a request of prompts that are made up, at servers of text.
func textPrompts() Request {
	return Request{Scenario: "server", Engine: engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://h"}, Model: "org/m"}}, Prompts: Prompts{Synthetic: 5}}
}

// benchmarkPrompts is a request of a benchmark's prompts at servers of text.
func benchmarkPrompts() Request {
	q := textPrompts()
	q.Model, q.Prompts, q.DatasetPath = "llama2-70b", Prompts{}, "data"
	return q
}

// set is an override by a flag.
func set(key, value string) config.Override {
	return config.Override{Key: key, Value: value, Origin: "flag --" + key, Role: limitation.Flag}
}

// resolved resolves a request in a folder without a user.conf.
func resolved(t *testing.T, q Request) *Resolved {
	t.Helper()
	t.Chdir(t.TempDir())
	r, err := Resolve(q)
	testenv.Must(t, err)
	return r
}

// aboutServers lists the fields of a request that are about servers.
var aboutServers = map[string]engine.Remote{
	"endpoint": {Endpoints: []string{"http://h"}}, "remote_model": {Model: "m"}, "remote_version": {Version: "1"}, "concurrency": {Concurrency: 1},
	"request_timeout": {Timeout: 1}, "retry": {Retry: 1}, "token_file": {TokenFile: "f"}, "tls_ca": {CA: "ca"}, "tls_cert": {Cert: "c"}, "tls_key": {Key: "k"},
}

var aboutPrompts = map[string]Prompts{
	"synthetic_prompts": {Synthetic: 1}, "prompt_words": {Words: "1"}, "answer_tokens": {Answer: "1"}, "route": {Route: "chat"}, "stream": {Stream: "on"}, "endpoints_artifacts": {Artifacts: "out"},
	"conversation_num": {Conversations: 1}, "conversation_turns": {Turns: "2"}, "conversation_delay": {Delays: "1s"}, "recorded_answers": {Recorded: true}, "inputs_per_request": {Inputs: 2},
}

func TestResolveRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	type change = func(*Request)
	check := func(from Request, edit change, want string) {
		t.Helper()
		edit(&from)
		_, err := Resolve(from)
		if of := (*userinput.Error)(nil); !errors.As(err, &of) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, c := range []struct {
		edit change
		want string
	}{
		{func(q *Request) { q.Model = "" }, "model: is missing: give a model of the catalogue"},
		{func(q *Request) { q.Model = "alexnet" }, "model: unknown model"},
		{func(q *Request) { q.Model = "deepseek-r1" }, "model: deepseek-r1 does not run here: servers of text are asked (backend openai)"},
		{func(q *Request) { q.Scenario = "" }, "scenario: is missing: give SingleStream, MultiStream, Server, Offline or Interactive"},
		{func(q *Request) { q.Scenario = "servers" }, "scenario: "},
		{func(q *Request) { q.Scenario = "interactive" }, "scenario: "},
		{func(q *Request) { q.Rules = "v0.6" }, `rules: unknown rules "v0.6": must be one of v0.5, `},
		{func(q *Request) { q.Division = "preview" }, `division: unknown division "preview": must be closed, open or network`},
		{func(q *Request) { q.Mode = "fast" }, `mode: unknown mode "fast": must be performance, accuracy or submission, or find-peak`},
		{func(q *Request) { q.Mode = FindPeak }, "mode: find-peak searches the highest load that keeps a bound: Server has one, and MultiStream under rules v0.5 to v1.0; Offline has none, so measure it in performance mode"},
		{func(q *Request) { q.Mode, q.Scenario, q.Rules = FindPeak, "multi-stream", "v2.0" }, "mode: find-peak"},
		{func(q *Request) { q.AutoLatency = true }, "target_latency: auto is for the Server scenario"},
		{func(q *Request) { q.AutoLatency, q.Scenario, q.Rules = true, "multi-stream", "v2.0" }, "target_latency: auto"},
		{func(q *Request) { q.Settings = []config.Override{set("colour", "red")} }, "flag --colour"},
		{func(q *Request) {
			q.Settings = []config.Override{set("performance_issue_same", "1"), set("performance_issue_unique", "1")}
		}, "settings: "},
		{func(q *Request) { q.Options = map[string]string{"box-order": "yxyx"} }, "box-order: "},
		{func(q *Request) { q.Rows = 5000 }, "rows: resnet50 has no tables of categories"},
		{func(q *Request) { q.Model, q.Rows = "dlrm", 999 }, "rows is 999: must be 1000 or more rows of each table"},
		{func(q *Request) { q.Model, q.Rows, q.ModelPath = "dlrm", 1000, "m.onnx" }, "rows: is of built-in models, the model is m.onnx"},

		{func(q *Request) { q.Engine.Name = "onnx" }, `backend: unknown backend "onnx": must be onnxruntime, simulated, oip or openai`},
		{func(q *Request) { q.Engine.Latency = -1 }, "sim_latency is "},
		{func(q *Request) { q.Engine.Jitter = -1 }, "sim_jitter is "},
		{func(q *Request) { q.Engine.Name = "triton" }, `backend: unknown backend "triton"; servers of this kind are asked by oip. Want onnxruntime,`},
		{func(q *Request) { q.Engine.Name = "TensorRT-LLM" }, `backend: unknown backend "TensorRT-LLM"; servers of this kind are asked by openai. Want `},
		{func(q *Request) { q.Backend.Device = "gpu" }, `device: unknown device "gpu"; did you mean cuda? Devices are cpu, `},
		{func(q *Request) { q.Backend.Device = "ROCm" }, `device: unknown device "ROCm"; did you mean migraphx?`},
		{func(q *Request) { q.Backend.Device = "cudaa" }, `device: unknown device "cudaa"; did you mean cuda? Devices are cpu, `},
		{func(q *Request) { q.Backend.Device = "cpu,abacus" }, `device: unknown device "abacus"; devices are `},
		{func(q *Request) { q.Backend.Device = "cuda,,cpu" }, `device is "cuda,,cpu": must be names of devices, separated by commas`},
		{func(q *Request) { q.Given = map[string]string{"device": "flag --device"} }, `device is "": must be names of devices`},
		{func(q *Request) { q.Precision = "FP32" }, `precision is "FP32": must be fp32, fp16, int8 or int4`},
		{func(q *Request) { q.Backend.OptimizeLevel = "99" }, `graph_optimization is "99": must be none, basic, extended or all`},
		{func(q *Request) { q.Engine.SharedThreads, q.Backend.IntraThreads = 4, 4 },
			"shared_threads: all sessions share 4 threads, so that no worker has threads of its own: leave out intra_threads and pin"},
		{func(q *Request) { q.Engine.SharedThreads, q.Pin = 3, true }, "shared_threads: all sessions share 3 threads"},
		{func(q *Request) { q.Backend.Affinity, q.Pin = "1", true }, "pin: processors are chosen for the threads, and thread_affinity chooses them too: give one of the two"},
		{func(q *Request) { q.Instances = 4097 }, "instances is 4097: must be at most 4096"},
		{func(q *Request) { q.Instances = -1 }, "instances is -1: must be a positive number, or 0 for the default"},
		{func(q *Request) { q.MaxBatch = 1<<20 + 1 }, "max_batchsize is 1048577: must be at most 1048576"},
		{func(q *Request) { q.Count = -1 }, "count is -1"},
		{func(q *Request) { q.Backend.IntraThreads = 4097 }, "intra_threads is 4097"},
		{func(q *Request) { q.Backend.InterThreads = 4097 }, "inter_threads is 4097"},
		{func(q *Request) { q.Engine.SharedThreads = 4097 }, "shared_threads is 4097"},
		{func(q *Request) { q.MaxDelay = -1 }, "max_batch_delay is "},

		{func(q *Request) { q.Power = "battery" }, "power: "},
		{func(q *Request) { q.Ranging = true }, `power_ranging: an analyser finds its ranges: power must be ptd:HOST:PORT, not ""`},
		{func(q *Request) { q.Ranging, q.Power = true, "rapl" }, `power_ranging: an analyser finds its ranges: power must be ptd:HOST:PORT, not "rapl"`},
		{func(q *Request) { q.Ranging, q.Power, q.Mode = true, "ptd:host:1", "accuracy" }, "power_ranging: power is measured of performance, not of accuracy"},
		{func(q *Request) { q.Ranging, q.Power, q.Mode, q.Scenario = true, "ptd:host:1", FindPeak, "server" }, "power_ranging: power is measured of performance, not of find-peak"},
	} {
		check(here(), c.edit, c.want)
	}
	for name, remote := range aboutServers {
		check(here(), func(q *Request) { q.Engine.Remote = remote }, name+": is about servers: the engine is simulated and must be oip or openai")
	}
	for name, p := range aboutPrompts {
		check(here(), func(q *Request) { q.Prompts = p }, name+": is about servers of text: the engine is simulated and must be openai")
		check(atServers(), func(q *Request) { q.Prompts = p }, name+": is about servers of text: the engine is oip and must be openai")
	}

	for name, edit := range map[string]change{
		"model_path": func(q *Request) { q.ModelPath = "m.onnx" }, "precision": func(q *Request) { q.Precision = "fp16" },
		"device": func(q *Request) { q.Backend.Device = "cuda" }, "intra_threads": func(q *Request) { q.Backend.IntraThreads = 1 },
		"pin": func(q *Request) { q.Pin = true }, "shared_threads": func(q *Request) { q.Engine.SharedThreads = 1 },
	} {
		check(atServers(), edit, name+": is up to the servers: the engine oip only asks them")
		check(textPrompts(), edit, name+": is up to the servers: the engine openai only asks them")
	}
	for _, c := range []struct {
		edit change
		want string
	}{
		{func(q *Request) { q.Engine.Remote.Endpoints = nil }, "endpoint: is missing: the engine asks servers, as http://host:8000"},
		{func(q *Request) { q.Engine.Remote.Endpoints = []string{"h:1"} }, "endpoint: "},
		{func(q *Request) { q.Engine.Remote.Concurrency = 4097 }, "concurrency is 4097: must be from 1 to 4096, or 0 for the default"},
		{func(q *Request) { q.Engine.Remote.Concurrency = -1 }, "concurrency is -1"},
		{func(q *Request) { q.Instances, q.Engine.Remote.Concurrency = 3, 4 }, "concurrency: 4 requests are to be under way, and 3 instances ask: give one of the two"},
		{func(q *Request) { q.Engine.Remote.Retry = 101 }, "retry is 101: must be from 0 to 100"},
		{func(q *Request) { q.Engine.Remote.Retry = -1 }, "retry is -1"},
		{func(q *Request) { q.Engine.Remote.Timeout = -time.Second }, "request_timeout is -1s: must be a time"},
		{func(q *Request) { q.Engine.Remote.Cert = "c" }, "tls_cert: a certificate and its key go together: give both or neither"},
		{func(q *Request) { q.Engine.Remote.Key = "k" }, "tls_cert: "},
		{func(q *Request) {
			q.Given = map[string]string{"model_name": "flag --model-name", "remote_model": "mlperf.yaml"}
		},
			"remote_model: is the same as model_name, and both are given (flag --model-name, mlperf.yaml): give one of the two"},
		{func(q *Request) { q.Model, q.Engine.Remote.Model = "gnmt", "encoder=a,joint=b" }, `remote_model: "encoder=a,joint=b": the model has no file "joint", expected encoder, decoder`},
		{func(q *Request) { q.Model, q.Engine.Remote.Model = "gnmt", "encoder=" }, `remote_model: "encoder=": the encoder has no name, expected role=name`},
		{func(q *Request) { q.Model = "llama3.1-8b" }, "backend: llama3.1-8b keeps the state of its decoder in memory from step to step"},
		{func(q *Request) { q.Model, q.Division, q.Scenario = "llama3.1-8b", "network", "server" },
			"scenario: llama3.1-8b bounds the time to the first token, and the answers of llama3.1-8b-task come whole: it must be offline, or the engine openai"},
		{func(q *Request) { q.Division, q.MaxBatch = "network", 4 }, "max_batchsize: is not for the Network division"},
		{func(q *Request) { q.Division, q.MaxDelay = "network", 1 }, "max_batch_delay: is not for the Network division"},
		{func(q *Request) { q.Division, q.Engine.Remote.Retry = "network", 1 }, "retry: is not for the Network division"},
		{func(q *Request) { q.Division, q.Scenario = "network", "singlestream" }, "scenario: the Network division has Server and Offline, not SingleStream"},
	} {
		check(atServers(), c.edit, c.want)
	}
	for _, c := range []struct {
		edit change
		want string
	}{
		{func(q *Request) { q.Prompts.Synthetic = 0 }, "dataset_path: is missing: give a file of prompts"},
		{func(q *Request) { q.DatasetPath = "x" }, "synthetic_prompts: give either synthetic prompts or a file of prompts, not both"},
		{func(q *Request) { q.Prompts, q.DatasetPath = Prompts{Words: "5"}, "x" }, "prompt_words: is about prompts that are made up"},
		{func(q *Request) { q.Prompts.Synthetic = 1 << 30 }, "synthetic_prompts is 1073741824: must be from 1 to 1048576, or 0 for the default"},
		{func(q *Request) { q.Prompts.Words = "1048577" }, `prompt_words: "1048577": must be a length`},
		{func(q *Request) { q.Prompts.Answer = "-1" }, `answer_tokens: "-1": must be a length`},
		{func(q *Request) { q.Prompts.Inputs = 2 }, "inputs_per_request: is about synthetic_prompts for the routes embeddings and rerank: the route is auto"},
		{func(q *Request) { q.Prompts.Route, q.Prompts.Stream = "rerank", "on" }, "stream: is about answers of text, and the route is rerank"},
		{func(q *Request) { q.Prompts.Route, q.Prompts.Answer = "embeddings", "5" }, "answer_tokens: is about answers of text"},
		{func(q *Request) { q.Prompts.Conversations = 2 }, "conversation_num: are made up instead of synthetic_prompts"},
		{func(q *Request) { q.Prompts.Turns = "3" }, "conversation_turns: is about conversations: give conversation_num instead of synthetic_prompts"},
		{func(q *Request) { q.Prompts = Prompts{Conversations: 2, Turns: "0-3"} }, `conversation_turns: "0-3": must be a length`},
		{func(q *Request) { q.Prompts = Prompts{Conversations: 2, Delays: "soon"} }, `conversation_delay: "soon": must be a time`},
		{func(q *Request) { q.Prompts = Prompts{Conversations: 2, Recorded: true} }, "recorded_answers: are those of a file"},
		{func(q *Request) { q.Prompts, q.DatasetPath = Prompts{Delays: "1s"}, "x" }, "conversation_delay: comes before the turns"},
		{func(q *Request) { q.Prompts.Stream = "ON" }, `stream is "ON": must be auto, on or off`},
		{func(q *Request) { q.Mode = "submission" }, "mode: submission needs a benchmark of the catalogue: other prompts have no ground truth"},
		{func(q *Request) { q.Prompts.Artifacts, q.Mode = "out", FindPeak }, "endpoints_artifacts: are of one test of performance or accuracy, and find-peak is several"},
		{func(q *Request) { q.MaxBatch = 2 }, "instances: the engine openai has no batches and no workers"},
		{func(q *Request) { q.Model, q.Prompts = "resnet50", Prompts{} }, "model: resnet50 takes no prompts: servers of text are asked for language models only"},
	} {
		check(textPrompts(), c.edit, c.want)
	}
	check(benchmarkPrompts(), func(q *Request) { q.Prompts.Synthetic, q.DatasetPath = 4, "" }, "synthetic_prompts: llama2-70b has prompts of its own")
	check(benchmarkPrompts(), func(q *Request) { q.Prompts.Artifacts, q.Mode = "out", "submission" }, "endpoints_artifacts: are of one test")
	check(benchmarkPrompts(), func(q *Request) { q.Prompts.Stream = "off" }, "stream: llama2-70b has bounds on tokens in Server, and whole answers have no first one: it must be on")
	check(benchmarkPrompts(), func(q *Request) { q.Options = map[string]string{"context": "9"} }, "context: ")
}

func TestResolveAccepts(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name string
		from Request
		edit func(*Request)
	}{
		{"threads of each worker at chosen processors", here(), func(q *Request) { q.Backend.IntraThreads, q.Backend.Affinity = 2, "1;2" }},
		{"shared threads, and others between operators", here(), func(q *Request) { q.Engine.SharedThreads, q.Backend.Affinity, q.Backend.InterThreads = 2, "1;2", 2 }},
		{"the largest numbers", here(), func(q *Request) { q.Instances, q.MaxBatch, q.Count = 4096, 1<<20, 1<<40 }},
		{"several devices, with spaces", here(), func(q *Request) { q.Backend.Device = "cuda, cpu" }},
		{"rules without a v", here(), func(q *Request) { q.Rules = "5.1" }},
		{"a division in capitals", here(), func(q *Request) { q.Division = "Open" }},
		{"rows of tables", here(), func(q *Request) { q.Model, q.Rows = "dlrm", 1<<40 }},
		{"a search of Server", here(), func(q *Request) { q.Mode, q.Scenario = FindPeak, "server" }},
		{"a search at intervals", here(), func(q *Request) { q.Mode, q.Scenario, q.Rules = FindPeak, "multi-stream", "v0.5" }},
		{"a chosen bound", here(), func(q *Request) { q.AutoLatency, q.Scenario = true, "server" }},
		{"a chosen interval", here(), func(q *Request) { q.AutoLatency, q.Scenario, q.Rules = true, "multi-stream", "v1.0" }},
		{"files at servers", atServers(), func(q *Request) { q.Model, q.Engine.Remote.Model = "gnmt", "encoder=a,decoder=b" }},
		{"a name with the sign of several files", atServers(), func(q *Request) { q.Engine.Remote.Model = "a=b" }},
		{"a decoder's task", atServers(), func(q *Request) { q.Model, q.Division = "llama3.1-8b", "network" }},
		{"images of the Network division", atServers(), func(q *Request) { q.Model, q.Division, q.Scenario = "stable-diffusion-xl", "network", "server" }},
		{"the most requests and tries", atServers(), func(q *Request) { q.Engine.Remote.Concurrency, q.Engine.Remote.Retry = 4096, 100 }},
		{"prompts of a file", textPrompts(), func(q *Request) { q.Prompts.Synthetic, q.DatasetPath = 0, "prompts.jsonl" }},
		{"prompts of one test kept", textPrompts(), func(q *Request) { q.Prompts.Artifacts = "out" }},
		{"prompts that are scored", benchmarkPrompts(), func(q *Request) { q.Mode = "accuracy" }},
		{"whole answers in Offline", benchmarkPrompts(), func(q *Request) { q.Scenario, q.Prompts.Stream = "offline", "off" }},
	} {
		c.edit(&c.from)
		if _, err := Resolve(c.from); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	q := here()
	q.Engine.Name = ""
	if r := resolved(t, q); r.Request.Engine.Name != engine.ONNXRuntime {
		t.Errorf("the default engine is %s", r.Request.Engine.Name)
	}
}

// All prompts are asked equally often, unless the user says how many are asked at least. A model of the user at servers is named as it is there.
func TestPromptsOfTheUser(t *testing.T) {
	q := textPrompts()
	q.Scenario = "single-stream"
	if r := resolved(t, q); !r.Settings.SampleConcatenatePermutation {
		t.Error("some prompts are asked more often than others")
	}
	q.Settings = append(q.Settings, config.Override{Key: "min_query_count", Value: "20"})
	if r := resolved(t, q); r.Settings.SampleConcatenatePermutation || r.Settings.MinQueryCount != 20 {
		t.Errorf("%+v", r.Settings)
	}
	q = atServers()
	q.Model, q.Engine.Remote.Model = "", "their own"
	if r := resolved(t, q); r.ModelName() != "their_own@server" || r.division != config.Open {
		t.Errorf("%s, division %v", r.ModelName(), r.division)
	}
	file := filepath.Join(t.TempDir(), "resnet50.onnx")
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	q.ModelPath, q.Engine.Remote.Model = file, ""
	if r := resolved(t, q); r.Request.Engine.Remote.Model != "resnet50.onnx" || r.Request.ModelPath != "" {
		t.Errorf("a file that is called as a benchmark: %+v", r.Request)
	}
}

// Servers can be asked for every benchmark: file by file, for whole samples, or for texts.
func TestServersOfEveryBenchmark(t *testing.T) {
	for _, m := range models.All() {
		var refused []error
		for _, way := range [][2]string{{engine.OIP, "closed"}, {engine.OIP, "network"}, {engine.OpenAI, "closed"}} {
			q := atServers()
			q.Model, q.Division, q.Output, q.Engine.Name = m.Name, way[1], t.TempDir(), way[0]
			if _, err := Resolve(q); err != nil {
				refused = append(refused, err)
			}
		}
		if len(refused) == 3 || !m.FilesRunTogether() && len(refused) > 1 {
			t.Errorf("%s: %v", m.Name, errors.Join(refused...))
		}
	}
}

func TestRequestsUnderWay(t *testing.T) {
	for _, c := range []struct {
		from                          Request
		scenario, model, division     string
		given                         int
		instances, concurrency, batch int // concurrency 0: as many as files may be open
	}{
		{atServers(), "single-stream", "resnet50", "closed", 7, 7, 7, 1},
		{atServers(), "single-stream", "gnmt", "closed", 0, 1, 1, 1},
		{atServers(), "offline", "resnet50", "closed", 0, 64, 64, 1},
		{atServers(), "server", "resnet50", "open", 0, 64, 64, 1},
		{atServers(), "offline", "gnmt", "closed", 0, 8, 8, 1}, // its state lies here
		{atServers(), "offline", "gnmt", "network", 0, 64, 64, 1},
		{textPrompts(), "single-stream", "", "closed", 0, 1, 0, 1},
		{textPrompts(), "server", "", "closed", 0, 1, 0, 16},
		{textPrompts(), "server", "", "closed", 9, 1, 9, 16},
		{textPrompts(), "offline", "", "closed", 0, 1, 256, 64},
		{textPrompts(), "offline", "", "closed", 5, 1, 5, 5},
	} {
		c.from.Model, c.from.Scenario, c.from.Division, c.from.Engine.Remote.Concurrency = c.model, c.scenario, c.division, c.given
		q := resolved(t, c.from).Request
		if n := q.Engine.Remote.Concurrency; c.concurrency > 0 && n != c.concurrency || c.concurrency == 0 && n != 0 && n < 512 || q.MaxBatch != c.batch || q.Instances != c.instances || q.Backend.IntraThreads != 1 {
			t.Errorf("%s of %q in %s, %d given: %d under way, batches of %d, %d instances of %d threads", c.scenario, c.model, c.division, c.given, n, q.MaxBatch, q.Instances, q.Backend.IntraThreads)
		}
	}
}

// Each source of a setting is stronger than the one before.
func TestSettingsOfTheUserWin(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.Tree(t, ".", map[string]string{"mine.conf": "*.*.min_duration = 1200000\n", "audit.config": "*.*.min_duration = 7000\n"})
	q := here()
	for _, s := range []struct {
		origin string
		want   time.Duration
		add    func()
	}{
		{"rules v5.1", 10 * time.Minute, func() { q.Rules = "v5.1" }},
		{"mine.conf:1", 20 * time.Minute, func() { q.MLPerfConf = "mine.conf" }},
		{"user.conf:2", 3 * time.Second, func() { testenv.Tree(t, ".", map[string]string{"user.conf": "# mine\n*.*.min_duration = 3000\n"}) }},
		{config.QuickOrigin, 10 * time.Second, func() { q.Quick = true }},
		{"flag --min_duration", 5 * time.Second, func() { q.Settings = []config.Override{set("min_duration", "5s")} }},
		{"audit.config:1", 7 * time.Second, func() { q.AuditConf = "audit.config" }},
	} {
		s.add()
		r, err := Resolve(q)
		testenv.Must(t, err)
		if got := r.Origin("min_duration"); r.Settings.MinDuration != s.want || got != s.origin {
			t.Errorf("min_duration is %v of %s, want %v of %s", r.Settings.MinDuration, got, s.want, s.origin)
		}
	}
}

func TestConfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "\uFEFF# mine\r\nresnet50.Offline.target_qps = 12\r\n"
	testenv.Tree(t, ".", map[string]string{"user.conf": text, "other.conf": "*.Offline.target_qps = 2\n", "mine.conf": "*.*.min_duration = 1000\n", "bad.conf": "*.Offline.target_qps = fast\n", "colour.conf": "*.Offline.colour = 3\n", "audit.config": "*.*.mode = 2\n"})
	q := here()
	r, err := Resolve(q)
	testenv.Must(t, err)
	testenv.Tree(t, ".", map[string]string{"user.conf": "*.Offline.target_qps = 3\n"})
	if got := string(r.confFiles["user.conf"]); got != text || r.Settings.OfflineExpectedQPS != 12 || r.Request.UserConf != "user.conf" {
		t.Errorf("a rate of %g, and the results keep the user.conf %q", r.Settings.OfflineExpectedQPS, got)
	}
	if got := string(r.confFiles["mlperf.conf"]); !strings.Contains(got, "*.*.qsl_rng_seed = ") {
		t.Errorf("the results keep the mlperf.conf %q", got)
	}
	q.UserConf, q.MLPerfConf = "other.conf", "mine.conf"
	if r, err := Resolve(q); err != nil || r.Settings.OfflineExpectedQPS != 2 || string(r.confFiles["mlperf.conf"]) != "*.*.min_duration = 1000\n" {
		t.Errorf("%+v, %v, want other.conf and mine.conf", r, err)
	}
	q.MLPerfConf = ""
	for file, want := range map[string]string{
		"bad.conf": `bad.conf:1: *.Offline.target_qps: "fast" is not a number`, "colour.conf": `colour.conf:1: unknown key "colour"`, "nowhere.conf": "nowhere.conf", ".": "is a folder",
	} {
		q.UserConf = file
		if _, err := Resolve(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
	q.UserConf, q.AllowUnknownKeys = "colour.conf", true
	if r, err := Resolve(q); err != nil || strings.Join(r.Warnings, "\n") != `colour.conf:1: unknown key "colour" is left out` {
		t.Errorf("%+v, %v, want a warning of the key", r, err)
	}
	q = here()
	q.Scenario, q.AuditConf = "server", "audit.config"
	for mode, warns := range map[string]bool{FindPeak: true, "performance": false} {
		q.Mode = mode
		r, err := Resolve(q)
		testenv.Must(t, err)
		if got := slices.Contains(r.Warnings, "audit.config:1: the mode is that of each test: find-peak still searches"); got != warns {
			t.Errorf("mode %s: warnings %q", mode, r.Warnings)
		}
	}
}

func TestMode(t *testing.T) {
	for mode, want := range map[string]loadgen.Mode{
		"": loadgen.PerformanceOnly, "performance": loadgen.PerformanceOnly, "accuracy": loadgen.AccuracyOnly, "submission": loadgen.SubmissionRun, FindPeak: loadgen.PerformanceOnly,
	} {
		q := here()
		q.Scenario, q.Mode, q.Given = "server", mode, map[string]string{"mode": "environment MLPERF_MODE"}
		if r := resolved(t, q); r.Settings.Mode != want || r.Origin("mode") != "environment MLPERF_MODE" {
			t.Errorf("%q: %v of %s, want %v", mode, r.Settings.Mode, r.Origin("mode"), want)
		}
	}
}

func TestOutputFolder(t *testing.T) {
	q := benchmarkPrompts()
	for scenario, want := range map[string]string{"SERVER": "server", "single_stream": "singlestream", "interactive": "interactive"} {
		q.Scenario = scenario
		r := resolved(t, q)
		if folder := fmt.Sprintf("results/llama2-70b/%s/performance/", want); strings.ToLower(r.ScenarioName()) != want || !strings.HasPrefix(filepath.ToSlash(r.Request.Output), folder) {
			t.Errorf("%s: results of %s go to %s, want %s", scenario, r.ScenarioName(), r.Request.Output, folder)
		}
	}
	q = here()
	q.Scenario, q.Power, q.Ranging, q.Output = "server", "ptd:host:1", true, "out"
	if r := resolved(t, q); r.Request.Output != filepath.Join("out", "run_1") {
		t.Errorf("the run after the ranging run goes to %s", r.Request.Output)
	}
	for model, want := range map[string]string{"": "endpoint", "m": "m", "org/Model-7B": "org_Model-7B"} {
		q := textPrompts()
		q.Engine.Remote.Model = model
		if got := resolved(t, q).ModelName(); got != want {
			t.Errorf("the model %q is called %q, want %q", model, got, want)
		}
	}
}

// The limits are those of loadgen/mlperf.conf, the counts those of the checker.
func TestBoundsOfTokens(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		model, scenario, rules string
		first, per             time.Duration
		samples                uint64 // in memory
	}{
		{"llama3.1-8b", "server", "v6.1", 2000 * ms, 100 * ms, 13368}, {"llama3.1-8b", "interactive", "v6.1", 500 * ms, 30 * ms, 13368},
		{"llama2-70b", "interactive", "v5.1", 450 * ms, 40 * ms, 24576}, {"mixtral-8x7b", "server", "v5.0", 2000 * ms, 200 * ms, 15000},
		{"llama3.1-405b", "server", "v6.0", 6000 * ms, 175 * ms, 8313}, {"llama3.1-405b", "interactive", "v5.1", 4500 * ms, 80 * ms, 8313},
		{"deepseek-r1", "server", "v5.1", 2000 * ms, 80 * ms, 4388}, {"deepseek-r1", "interactive", "v6.1", 1500 * ms, 15 * ms, 4388},
		{"gpt-oss-120b", "server", "v6.1", 3000 * ms, 80 * ms, 6396}, {"gpt-oss-120b", "interactive", "v6.0", 2000 * ms, 15 * ms, 6396},
		{"", "server", "v6.1", 2000 * ms, 200 * ms, 0}, {"", "interactive", "v6.1", 450 * ms, 40 * ms, 0},
	} {
		q := textPrompts()
		if c.model != "" {
			q = benchmarkPrompts()
		}
		q.Model, q.Scenario, q.Rules = c.model, c.scenario, c.rules
		r := resolved(t, q)
		s := r.Settings
		if s.Scenario != loadgen.Server || !s.UseTokenLatencies || s.ServerTTFTLatency != c.first || s.ServerTPOTLatency != c.per || s.PerformanceSampleCountOverride != c.samples || s.MinDuration != 10*time.Minute {
			t.Errorf("%+v: TTFT %v, TPOT %v, %d samples, %v", c, s.ServerTTFTLatency, s.ServerTPOTLatency, s.PerformanceSampleCountOverride, s.MinDuration)
		}
		if minima, ok := r.Rules.Minima(r.model.Rules); ok != (c.model != "") || minima.PerformanceSamples != c.samples {
			t.Errorf("%s: %+v, %v", c.model, minima, ok)
		}
		if settings, _ := r.judge(s, r.made()); c.model == "" && (len(settings) != 0 || len(r.limitations()) != 2 || s.MinQueryCount != 662) {
			t.Errorf("prompts without a benchmark: limitations %v, %v, %d queries", settings, r.limitations(), s.MinQueryCount)
		}
	}
}

// The client of v6.0 asks for whole answers about products, that of v6.1 for streams, and Interactive has a bound and a data set of its own.
func TestRequestsOfRounds(t *testing.T) {
	for _, c := range []struct {
		scenario, rules, stream string
		streams                 bool
		latency                 time.Duration
		samples                 uint64
	}{
		{"server", "v6.0", "", false, 12 * time.Second, 48289}, {"server", "v6.0", "on", true, 12 * time.Second, 48289},
		{"server", "v6.1", "", true, 12 * time.Second, 48289}, {"server", "v6.1", "off", false, 12 * time.Second, 48289},
		{"interactive", "v6.1", "", true, 1500 * time.Millisecond, 8000}, {"offline", "v6.1", "", false, 0, 48289},
	} {
		q := benchmarkPrompts()
		q.Model, q.Scenario, q.Rules, q.Prompts.Stream = "qwen3-vl-235b-a22b", c.scenario, c.rules, c.stream
		r := resolved(t, q)
		if s := r.Settings; r.streams() != c.streams || c.latency > 0 && s.ServerTargetLatency != c.latency || s.PerformanceSampleCountOverride != c.samples || s.UseTokenLatencies {
			t.Errorf("%+v: streams %v, %v, %d samples", c, r.streams(), s.ServerTargetLatency, s.PerformanceSampleCountOverride)
		}
		if official := r.model.OfficialSamples(r.Rules); official.AccuracySamples != c.samples || official.PerformanceSamples != c.samples {
			t.Errorf("%+v: %+v", c, official)
		}
		if limitations, _ := r.judge(r.Settings, r.made()); len(limitations) != 0 {
			t.Errorf("%+v: %v", c, limitations)
		}
	}
}

func TestRunFindsTheTargetThatIsNotGiven(t *testing.T) {
	for _, c := range []struct {
		scenario, key, value string
		want                 bool
	}{
		{"server", "", "", true}, {"server", "target_qps", "7", false}, {"server", "target_latency", "9ms", true}, // the bound is not the load
		{"single-stream", "", "", true}, {"single-stream", "target_latency", "9ms", false}, {"offline", "", "", true},
	} {
		q := here()
		if q.Scenario = c.scenario; c.key != "" {
			q.Settings = []config.Override{set(c.key, c.value)}
		}
		if got := resolved(t, q).needsTarget(); got != c.want {
			t.Errorf("%s with %s: %t, want %t", c.scenario, c.key, got, c.want)
		}
	}
}

func TestQuickRunMayBeShorter(t *testing.T) {
	for _, c := range []struct {
		scenario, rules, mode string
		quick                 bool
		given                 config.Override
		queries, streams      bool // may be fewer
	}{
		{"server", "", "", true, config.Override{}, true, false},
		{"server", "", "", true, set("min_query_count", "200"), false, false},
		{"server", "", "", false, config.Override{}, false, false},
		{"multi-stream", "v0.5", "", true, config.Override{}, true, true},
		{"multi-stream", "v0.5", "", true, set("samples_per_query", "2"), true, false},
		{"multi-stream", "v0.5", FindPeak, true, config.Override{}, true, false},
		{"multi-stream", "v0.5", "", false, config.Override{}, false, false},
		{"multi-stream", "v3.0", "", true, config.Override{}, true, false},
	} {
		q := here()
		if q.Scenario, q.Rules, q.Mode, q.Quick = c.scenario, c.rules, c.mode, c.quick; c.given.Key != "" {
			q.Settings = []config.Override{c.given}
		}
		if r := resolved(t, q); r.fewQueries() != c.queries || r.fitStreams() != c.streams {
			t.Errorf("%+v: fewer queries %t, streams %t", c, r.fewQueries(), r.fitStreams())
		}
	}
}

func TestProfile(t *testing.T) {
	inFolder := func(q Request, change func(*profile.Profile)) (*Resolved, error) {
		t.Helper()
		t.Chdir(t.TempDir())
		t.Setenv("MLPERF_DATA_DIR", filepath.Join(t.TempDir(), "data"))
		name := q.Profile
		q.Profile = ""
		r, err := Resolve(q)
		testenv.Must(t, err)
		p := &profile.Profile{Schema: profile.Schema, Subject: r.Subject(), Instances: 3, Threads: 5, MaxBatch: 16, MaxDelay: "1.5ms"}
		if change != nil {
			change(p)
		}
		path := name
		if name == Auto {
			path, err = ProfilePath(r.Subject())
			testenv.Must(t, err)
		}
		testenv.Must(t, p.Write(path))
		q.Profile = name
		return Resolve(q)
	}
	model := func(p *profile.Profile) { p.ModelPath, p.Precision = "faster.onnx", "fp32" }
	all := map[string]string{}
	for _, field := range []string{"instances", "intra_threads", "max_batchsize", "max_batch_delay", "model_path", "precision"} {
		all[field] = "flag"
	}
	type taken struct {
		instances, threads, batch, concurrency int
		delay                                  time.Duration
		model, precision                       string
	}
	for _, c := range []struct {
		name    string
		from    Request
		edit    func(*Request)
		profile func(*profile.Profile)
		want    taken
		notes   string
	}{
		{"all", here(), func(*Request) {}, model, taken{3, 5, 16, 0, 1500 * time.Microsecond, "faster.onnx", "fp32"}, "profile p.json: instances 3, intra_threads 5, max_batch_size 16, max_batch_delay 1.5ms, model_path faster.onnx, precision fp32"},
		{"of this machine", here(), func(q *Request) { q.Profile = Auto }, nil, taken{3, 5, 16, 0, 1500 * time.Microsecond, "", ""}, "instances 3"},
		{"beside a flag", here(), func(q *Request) { q.Instances, q.Given = 2, map[string]string{"instances": "flag --instances"} }, nil, taken{2, 5, 16, 0, 1500 * time.Microsecond, "", ""}, "profile p.json: intra_threads 5, max_batch_size 16, max_batch_delay 1.5ms"},
		{"beside all flags", here(), func(q *Request) { q.Given, q.ModelPath = all, "mine.onnx" }, model, taken{model: "mine.onnx"}, "profile p.json: all of its values were given otherwise"},
		{"of another machine", here(), func(*Request) {}, func(p *profile.Profile) { p.Machine.CPU = "An Abacus" }, taken{3, 5, 16, 0, 1500 * time.Microsecond, "", ""}, "the profile p.json was made on another machine: An Abacus"},
		{"beside shared threads", here(), func(q *Request) { q.Engine.SharedThreads = 4 }, nil, taken{3, 0, 16, 0, 1500 * time.Microsecond, "", ""}, "profile p.json: instances 3, max_batch_size 16, max_batch_delay 1.5ms"},
		{"of servers", atServers(), func(*Request) {}, model, taken{3, 1, 16, 3, 1500 * time.Microsecond, "", ""}, ""},
		{"of servers, with a given number of requests", atServers(), func(q *Request) { q.Engine.Remote.Concurrency = 7 }, model, taken{7, 1, 16, 7, 1500 * time.Microsecond, "", ""}, ""},
	} {
		c.from.Profile = "p.json"
		c.edit(&c.from)
		r, err := inFolder(c.from, c.profile)
		testenv.Must(t, err)
		q := r.Request
		if got := (taken{q.Instances, q.Backend.IntraThreads, q.MaxBatch, q.Engine.Remote.Concurrency, q.MaxDelay, q.ModelPath, q.Precision}); got != c.want || !strings.Contains(strings.Join(r.Notes, "\n"), c.notes) {
			t.Errorf("%s: %+v with notes %q, want %+v and %q", c.name, got, r.Notes, c.want, c.notes)
		}
	}
	q := here()
	q.Profile = "p.json"
	for want, change := range map[string]func(*profile.Profile){
		"profile … p.json … model mobilenet … resnet50": func(p *profile.Profile) { p.Model = "mobilenet" },
		"profile … p.json … scenario Server … Offline":  func(p *profile.Profile) { p.Scenario = "Server" },
		"profile … p.json … device cuda … simulated":    func(p *profile.Profile) { p.Device = "cuda" },
		"p.json … instances … 1073741824 … 4096":        func(p *profile.Profile) { p.Instances = 1 << 30 },
	} {
		if _, err := inFolder(q, change); !testenv.Names(err, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	testenv.Must(t, os.Remove("p.json"))
	if _, err := Resolve(q); err == nil || !strings.Contains(err.Error(), "p.json") {
		t.Errorf("%v, want an error that names the file", err)
	}
	q.Profile = Auto
	if r, err := Resolve(q); err != nil || len(r.Notes) != 1 || !strings.HasSuffix(r.Notes[0], "mlperf tune --model resnet50 --scenario offline makes one") {
		t.Errorf("%+v, %v, want a note", r, err)
	}
}

var errComputed = errors.New("the model's file computes")

// A filesEngine opens the files of models, and fails once they compute.
type filesEngine struct{ backend.Engine }

func (filesEngine) Ports(_ context.Context, o backend.Options) (inputs, outputs []backend.Port, err error) {
	return backend.ReadPorts(o.ModelPath)
}

func (filesEngine) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	in, out, err := backend.ReadPorts(o.ModelPath)
	if err != nil {
		return nil, err
	}
	e, err := simulated.New(simulated.Config{Inputs: in, Outputs: out, Answer: func(_, _ []tensor.Tensor) error { return errComputed }})
	if err != nil {
		return nil, err
	}
	return e.Open(ctx, backend.Options{Outputs: o.Outputs})
}

// Servers of text have the model; the built-in prompts for them are made with its files here.
func TestPromptsForServersAreMadeByFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	q := Request{Model: "llama3.1-8b", Scenario: "offline", Engine: engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://h:1"}}}}
	r, err := Resolve(q)
	testenv.Must(t, err)
	p := &Prepared{Resolved: r, config: &harness.Config{}, maker: builtin.Maker{Dir: t.TempDir(), Engine: filesEngine{}, Observer: harness.Silent{}}}
	if err := p.findFiles(t.Context()); !errors.Is(err, errComputed) {
		t.Errorf("%v, want %v", err, errComputed)
	}
}

func TestReplay(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.csv")
	testenv.Must(t, os.WriteFile(trace, []byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.0,374,44\n2023-11-16 18:15:47.0,396,9\n2023-11-16 18:15:50.0,1,9\n"), 0o600))
	request := func(arrivals string, more ...config.Override) Request {
		q := textPrompts()
		q.Prompts, q.DatasetPath = Prompts{}, trace
		q.Settings = append([]config.Override{set("arrivals", arrivals)}, more...)
		return q
	}
	r := resolved(t, request("replay:2x:"+trace))
	s := &r.Settings
	if want := []time.Duration{0, 500 * time.Millisecond, 2 * time.Second}; !slices.Equal(s.ServerReplay, want) || s.MinQueryCount != 3 || s.MinDuration != 0 || s.ServerTargetQPS != 1 {
		t.Errorf("arrivals at %v, %d queries of %v at %v/s", s.ServerReplay, s.MinQueryCount, s.MinDuration, s.ServerTargetQPS)
	}
	if text := r.Forecast(); !testenv.Tells(text, "arrive … replay:2x:") {
		t.Errorf("the forecast is %s", text)
	}
	q := request("replay:" + trace)
	q.Count = 2
	if r := resolved(t, q); len(r.Settings.ServerReplay) != 2 {
		t.Errorf("two rows are %d arrivals", len(r.Settings.ServerReplay))
	}
	for want, q := range map[string]Request{
		"target_qps: follows from the time stamps":                           request("replay:"+trace, set("target_qps", "3")),
		"min_duration: follows from":                                         request("replay:"+trace, set("min_duration", "3s")),
		"no such file":                                                       request("replay:" + trace + "x"),
		"arrivals: the speed of a replay must be above 0":                    request("replay:0x:" + trace),
		"arrivals: a file is replayed in performance mode, not in find-peak": func() Request { q := request("replay:" + trace); q.Mode = FindPeak; return q }(),
		"not in a quick run":                                                 func() Request { q := request("replay:" + trace); q.Quick = true; return q }(),
	} {
		if _, err := Resolve(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
