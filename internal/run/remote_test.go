package run

import (
	"errors"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestWhatServersCannotDoIsRefusedAtOnce(t *testing.T) {
	good := Request{Model: "resnet50", Scenario: "offline", Engine: Engine{Name: OIP, Remote: Remote{Endpoints: []string{"http://h:1"}}}}
	for _, c := range []struct {
		name  string
		edit  func(q *Request)
		field string // that the error is about; empty: none
	}{
		{"all is right", func(*Request) {}, ""},
		{"no endpoint", func(q *Request) { q.Engine.Remote.Endpoints = nil }, "endpoint"},
		{"no URL", func(q *Request) { q.Engine.Remote.Endpoints = []string{"h:1"} }, "endpoint"},
		{"an endpoint of another engine", func(q *Request) { q.Engine.Name = Simulated }, "endpoint"},
		{"a model file here", func(q *Request) { q.ModelPath = "x.onnx" }, "model_path"},
		{"a precision", func(q *Request) { q.Precision = "int8" }, "precision"},
		{"a device", func(q *Request) { q.Backend.Device = "cuda" }, "device"},
		{"two numbers of requests", func(q *Request) { q.Instances, q.Engine.Remote.Concurrency = 3, 4 }, "concurrency"},
		{"a negative number of tries", func(q *Request) { q.Engine.Remote.Retry = -1 }, "retry"},
		{"half a pair", func(q *Request) { q.Engine.Remote.Cert = "c" }, "tls_cert"},
		{"a model of several files", func(q *Request) { q.Model = "gnmt" }, ""},
		{"files with names of their own", func(q *Request) { q.Model, q.Engine.Remote.Model = "gnmt", "encoder=a,decoder=b" }, ""},
		{"a file that there is not", func(q *Request) { q.Model, q.Engine.Remote.Model = "gnmt", "encoder=a,joint=b" }, "remote_model"},
		{"a file without a name", func(q *Request) { q.Model, q.Engine.Remote.Model = "gnmt", "encoder=" }, "remote_model"},
		{"a name with a sign of one file", func(q *Request) { q.Engine.Remote.Model = "a=b" }, ""},
		{"a decoder, token by token", func(q *Request) { q.Model = "llama3.1-8b" }, "backend"},
		{"a decoder's task", func(q *Request) { q.Model, q.Division = "llama3.1-8b", "network" }, ""},
		{"a decoder's first tokens", func(q *Request) { q.Model, q.Division, q.Scenario = "llama3.1-8b", "network", "server" }, "scenario"},
		{"a model that listens", func(q *Request) { q.Model = "whisper" }, ""},
		{"its task", func(q *Request) { q.Model, q.Division = "whisper", "network" }, ""},
		{"its first tokens", func(q *Request) { q.Model, q.Division, q.Scenario = "whisper", "network", "server" }, "scenario"},
		{"a pipeline of networks", func(q *Request) { q.Model = "stable-diffusion-xl" }, ""},
		{"its images", func(q *Request) { q.Model, q.Division, q.Scenario = "stable-diffusion-xl", "network", "server" }, ""},
		{"the Network division", func(q *Request) { q.Division = "network" }, ""},
		{"the Network division with batches", func(q *Request) { q.Division, q.MaxBatch = "network", 4 }, "max_batchsize"},
		{"the Network division with a second try", func(q *Request) { q.Division, q.Engine.Remote.Retry = "network", 1 }, "retry"},
		{"the Network division in another scenario", func(q *Request) { q.Division, q.Scenario = "network", "singlestream" }, "scenario"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := good
			q.Output = t.TempDir()
			c.edit(&q)
			_, err := Resolve(q)
			var of *userinput.Error
			errors.As(err, &of)
			if c.field == "" && err != nil || c.field != "" && (of == nil || of.Field != c.field) {
				t.Errorf("got %v, want an error about %q", err, c.field)
			}
		})
	}
}

func TestFilesAreAskedForByTheirNamesAtTheServers(t *testing.T) {
	m := workload.Model{Name: "gnmt", Roles: []string{"encoder", "decoder"}}
	for _, c := range []struct{ given, encoder, decoder string }{
		{"", "gnmt-encoder", "gnmt-decoder"},
		{"mine", "mine-encoder", "mine-decoder"},
		{"decoder=d", "gnmt-encoder", "d"},
		{"decoder=d,encoder=e", "e", "d"},
	} {
		r := Remote{Model: c.given}
		files, err := r.parts(m)("")
		if want := []workload.File{{Role: "encoder", Path: c.encoder}, {Role: "decoder", Path: c.decoder}}; err != nil || !slices.Equal(files, want) {
			t.Errorf("%q: %v, %v, want %v", c.given, files, err, want)
		}
	}
}

// Servers can be asked for every benchmark: file by file, for whole samples, or for texts.
func TestEveryBenchmarkCanBeAskedOfServers(t *testing.T) {
	for _, m := range models.All() {
		var refused []error
		for _, way := range []struct{ engine, division string }{{OIP, "closed"}, {OIP, "network"}, {OpenAI, "closed"}} {
			q := Request{Model: m.Name, Scenario: "offline", Division: way.division, Output: t.TempDir(), Engine: Engine{Name: way.engine, Remote: Remote{Endpoints: []string{"http://h:1"}}}}
			if _, err := Resolve(q); err != nil {
				refused = append(refused, err)
			}
		}
		if len(refused) == 3 {
			t.Errorf("%s: %v", m.Name, errors.Join(refused...))
		}
		if only := m.Open == nil; !m.FilesRunTogether() && !only && len(refused) > 1 {
			t.Errorf("%s: its files are not asked for one by one, or its samples not: %v", m.Name, errors.Join(refused...))
		}
	}
}
