package run_test

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestPairsMakeSamples(t *testing.T) {
	var b bytes.Buffer
	if err := run.WriteAggregation(&b, 300); err != nil || b.Len() == 0 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	var of *userinput.Error
	if err := run.WriteAggregation(&b, 0); !errors.As(err, &of) || of.Field != "pairs" {
		t.Errorf("of no pairs: %v, want an error about pairs", err)
	}
}

func TestAClientIsMeasuredByWhatItTakes(t *testing.T) {
	t.Parallel() // it waits for the clock
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{}))
	defer server.Close()
	r, err := run.ClientTest{URL: server.URL, Streams: 2, Tokens: 5, Duration: 300 * time.Millisecond}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Answers < 2 || r.Tokens != 5*r.Answers || r.Failures != 0 || r.FirstTokenP50NS <= 0 || r.TokensPerSecond() <= 0 || r.TokensPerCore() <= 0 {
		t.Errorf("measured %+v", r)
	}
	server.Close()
	if _, err := (run.ClientTest{URL: server.URL, Streams: 1, Tokens: 5, Duration: time.Millisecond}).Run(t.Context()); err == nil {
		t.Error("a server that is gone is no error")
	}
}

func TestHowLongTrafficWillTake(t *testing.T) {
	q := request(t)
	q.Settings, q.Scenario = nil, "offline"
	for _, c := range []struct {
		name, mode  string
		speed       float64
		samples     int
		least, most time.Duration
	}{
		{"an accuracy run", "accuracy", 50, 500, 10 * time.Second, 10 * time.Second},
		{"an accuracy run of which nothing is known", "accuracy", 0, 500, 0, 0},
		{"a performance run of which nothing is known", "", 0, 500, 10 * time.Minute, 10 * time.Minute},
		{"a performance run", "", 100, 500, 10 * time.Minute, 12 * time.Minute},
	} {
		q.Mode = c.mode
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Estimate(c.speed, c.samples); err != nil || got < c.least || got > c.most {
			t.Errorf("%s: %v, %v, want %v to %v", c.name, got, err, c.least, c.most)
		}
	}
}

// Speeds come from results of earlier runs, whatever those say.
func TestTheTimeOfAVerySlowModelIsTheLongestAndNotNegative(t *testing.T) {
	for _, c := range []struct {
		rules, scenario, mode string
		quick                 bool
	}{
		{"v0.5", "server", "performance", false}, {"v0.5", "server", "performance", true}, {"v6.1", "single-stream", "performance", true},
		{"v6.1", "offline", "performance", false}, {"v6.1", "offline", "accuracy", false}, {"v0.5", "multi-stream", "performance", true},
	} {
		q := request(t)
		q.Settings, q.Rules, q.Scenario, q.Mode, q.Quick = nil, c.rules, c.scenario, c.mode, c.quick
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, speed := range []float64{1e-3, 1e-12, 1e-300} {
			if got, err := r.Estimate(speed, 50_000); err == nil && got <= 0 {
				t.Errorf("%+v at %g samples a second: %v", c, speed, got)
			}
		}
	}
}

// TestHowLongAQuickRunWillTake has a model that takes 2 s for a sample: of 64 queries, 11 are made, 22
// of Server, which is asked at 60 % of what the machine does; those at intervals take twice as long as one.
func TestHowLongAQuickRunWillTake(t *testing.T) {
	for scenario, want := range map[string]time.Duration{
		"single-stream": 22 * time.Second, "multi-stream": 44 * time.Second, "server": 73 * time.Second, "offline": 14 * time.Second,
	} {
		q := request(t)
		q.Settings, q.Scenario, q.Rules, q.Quick, q.AutoLatency = nil, scenario, "v0.5", true, strings.HasSuffix(scenario, "er") || scenario == "multi-stream"
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Estimate(0.5, 500); err != nil || got < want-2*time.Second || got > want+2*time.Second {
			t.Errorf("%s: %v, %v, want about %v", scenario, got, err, want)
		}
	}
}

func TestOnlyCheckpointsOfGNMTAreConverted(t *testing.T) {
	r := &run.ConvertRequest{Model: "bert"}
	if err := run.Convert(t.Context(), r); err == nil || !strings.Contains(err.Error(), "want gnmt") {
		t.Errorf("another model: %v", err)
	}
	r = &run.ConvertRequest{Model: "gnmt", Checkpoint: t.TempDir()}
	if err := run.Convert(t.Context(), r); err == nil || r.Output != "gnmt-onnx" {
		t.Errorf("an empty folder: %v, to %s", err, r.Output)
	}
	_ = os.RemoveAll(r.Output)
}

func TestEnginesAreListed(t *testing.T) {
	request(t)
	names := map[string]bool{}
	for _, b := range run.Backends() {
		names[b.Name] = true
	}
	for _, want := range []string{run.ONNXRuntime, run.Simulated, run.OIP, run.OpenAI} {
		if !names[want] {
			t.Errorf("%s is not among %v", want, names)
		}
	}
}

func TestAWorkloadIsOpenedAsInATest(t *testing.T) {
	p := prepared(t, request(t))
	w, ports, err := p.OpenWorkload(t.Context())
	if err != nil || len(ports) != 1 || w.Samples != 4 || len(w.Row(0)) != 1 {
		t.Errorf("%v, %v, want the 4 images", w, err)
	}
	if n := p.Cores(4); n != 4 {
		t.Errorf("%d of 4 cores are for workers, want all in SingleStream", n)
	}
	if p.ModelName() != "resnet50" || p.DatasetDir() != "imagenet" || p.ModelPath() != "tiny.onnx" || p.Version() == "" {
		t.Errorf("model %s (%s) in %s, data in %s", p.ModelName(), p.Version(), p.ModelPath(), p.DatasetDir())
	}
}

// prepared is a request with everything that it needs, until the test ends.
func prepared(t *testing.T, q run.Request) *run.Prepared {
	t.Helper()
	r, err := run.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Provide(t.Context(), quiet{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestServersThatCannotBeAskedAreNamed(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*run.Remote)
	}{
		{"nobody listens", "http://127.0.0.1:1", func(*run.Remote) {}},
		{"another name of the model", "http://127.0.0.1:1", func(r *run.Remote) { r.Model = "other" }},
		{"no such key", "token_file", func(r *run.Remote) { r.TokenFile = "nokey" }},
	} {
		q := request(t)
		q.ModelPath = ""
		q.Engine = run.Engine{Name: run.OIP, Remote: run.Remote{Endpoints: []string{"http://127.0.0.1:1"}}}
		c.change(&q.Engine.Remote)
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Provide(t.Context(), quiet{}); err == nil || !strings.Contains(err.Error(), c.want) {
			var of *userinput.Error
			if !errors.As(err, &of) || of.Field != c.want {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
		}
	}
}

func TestWhatIsBuiltInHasAName(t *testing.T) {
	request(t)
	var of *userinput.Error
	if _, err := run.SynthModel(t.Context(), "test", "alexnet", run.Engine{}, run.Size{}, quiet{}); !errors.As(err, &of) || of.Field != "model" {
		t.Errorf("a model that is not there: %v", err)
	}
	if err := run.SynthDataset(t.Context(), "test", "nodata", run.Engine{}, false, quiet{}, nil); !errors.As(err, &of) || of.Field != "dataset" {
		t.Errorf("a data set that is not there: %v", err)
	}
	nowhere := run.Engine{Library: "nowhere.so"}
	for _, name := range []string{"imagenet", "resnet50"} {
		if err := run.SynthDataset(t.Context(), "test", name, nowhere, false, quiet{}, nil); err == nil || !strings.Contains(err.Error(), "nowhere.so") {
			t.Errorf("%s without the library: %v", name, err)
		}
	}
}
