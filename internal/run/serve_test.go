package run_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestAModelWhoseSamplesAreOfADataSetIsOfferedByItsFileOnly(t *testing.T) {
	p := prepared(t, request(t))
	files, err := p.Parts()
	if err != nil || len(files) != 1 || files[0].Path != "tiny.onnx" {
		t.Errorf("Parts = %v, %v, want tiny.onnx", files, err)
	}
	var of *userinput.Error
	if s, _, err := p.OpenSequences(t.Context(), make([]int, 2), nil); !errors.As(err, &of) || of.Field != "model" || !strings.Contains(err.Error(), "resnet50 is not offered") {
		t.Errorf("OpenSequences = %v, %v, want an error of the field model", s, err)
	}
	if err := os.Remove("tiny.onnx"); err != nil {
		t.Fatal(err)
	}
	if w, _, err := p.OpenWorkload(t.Context()); err == nil || !strings.Contains(err.Error(), "tiny.onnx") {
		t.Errorf("without the file: %v, %v, want an error that names it", w, err)
	}
}

func TestAServiceNeedsNoScenarioAndLeavesResultsAlone(t *testing.T) {
	q := request(t)
	q.Output = "."
	if err := os.WriteFile("results.json", []byte("of a run"), 0o644); err != nil {
		t.Fatal(err)
	}
	var taken *run.ExistsError
	if _, err := run.Resolve(q); !errors.As(err, &taken) {
		t.Errorf("a run into the folder of another: %v, want an ExistsError", err)
	}
	q.Scenario, q.Force = "", true
	r, err := run.ResolveService(q)
	if err != nil {
		t.Fatal(err)
	}
	if r.ScenarioName() != "Offline" || r.Request.Output != "" {
		t.Errorf("the service is of %s, and writes into %q", r.ScenarioName(), r.Request.Output)
	}
	p, err := r.Provide(t.Context(), quiet{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	before := fileio.Glob(".", "*")
	if results, err := p.Run(t.Context()); err == nil {
		t.Errorf("a service was run as a test: %+v", results)
	}
	if after := fileio.Glob(".", "*"); !slices.Equal(before, after) {
		t.Errorf("the folder has %v, want %v", after, before)
	}
	q.Model = ""
	var of *userinput.Error
	if _, err := run.ResolveService(q); !errors.As(err, &of) || of.Field != "model" {
		t.Errorf("no model: %v, want an error of the field model", err)
	}
}

// servers starts one of some models.
func servers(t *testing.T, names ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var models []oipserver.Model
	for _, name := range names {
		models = append(models, &oiptest.Doubler{Name: name, Width: 2})
	}
	s := oipserver.New(oipserver.Config{Name: "test", Version: "1", Models: models})
	go func() { _ = s.ServeHTTP(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Drain(ctx)
	})
	return "http://" + l.Addr().String()
}

func TestServersAreAskedForWhatTheDivisionHasThemAnswer(t *testing.T) {
	for _, c := range []struct {
		name, model, division, at string
		want                      string // what the server has, of another form
	}{
		{"the model", "resnet50", "closed", "resnet50", "it has y float32[? 2]"},
		{"its samples", "resnet50", "network", "resnet50" + protocol.TaskSuffix, "model resnet50-task has the outputs [{y FP32 [-1 2]}]"},
		{"samples that nobody answers", "resnet50", "network", "resnet50", "resnet50-task"},
		{"samples of a model of several files", "gnmt", "network", "gnmt" + protocol.TaskSuffix, "model gnmt-task has the outputs"},
	} {
		q := request(t)
		t.Setenv("MLPERF_ORT_LIB", "")
		q.ModelPath, q.Model, q.Division, q.Scenario = "", c.model, c.division, "offline"
		q.Engine = run.Engine{Name: run.OIP, Remote: run.Remote{Endpoints: []string{servers(t, c.at)}, Concurrency: 3}}
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if r.Request.Instances != 3 {
			t.Errorf("%s: %d requests are under way, want 3", c.name, r.Request.Instances)
		}
		p, err := r.Provide(t.Context(), quiet{})
		if err == nil {
			_, _, err = p.OpenWorkload(t.Context())
			err = errors.Join(err, p.Close())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
