package build

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/compliance"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A campaign makes all runs of a benchmark in fake time.
type campaign struct {
	t        *testing.T
	dir      string
	model    string // empty: resnet50
	numbers  standIn
	duration string // of performance runs; empty: the rules'
}

// A standIn is a benchmark's data and model.
type standIn interface {
	workload() *workload.Workload
	score(ctx context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error)
}

// entry is the model in the catalogue.
func (c *campaign) entry() workload.Model {
	c.t.Helper()
	m, err := models.Lookup(cmp.Or(c.model, "resnet50"))
	ok(c.t, err)
	return m
}

// settings are those of a test, as package run makes them.
func (c *campaign) settings(s loadgen.Scenario, mode, audit string) *config.Resolved {
	c.t.Helper()
	set, err := config.Rules("v6.1")
	ok(c.t, err)
	m := c.entry()
	q := config.Request{Model: m.Rules, Known: models.RuleNames(), Scenario: s, Rules: set, Options: []config.Override{{Key: "mode", Value: mode}}}
	if s == loadgen.Offline {
		q.Options = append(q.Options, config.Override{Key: "target_qps", Value: "40"})
	}
	if c.duration != "" {
		q.Options = append(q.Options, config.Override{Key: "min_duration", Value: c.duration, Origin: "flag --min-duration"})
	}
	if audit != "" {
		q.AuditConf, err = config.ReadConf(audit, config.ParseOptions{})
		ok(c.t, err)
	}
	r, err := config.Resolve(q)
	ok(c.t, err)
	return r
}

// run makes one run of an engine that answers 8 samples in 0.2 s.
func (c *campaign) run(s loadgen.Scenario, mode, audit, dir string) {
	c.t.Helper()
	r := c.settings(s, mode, audit)
	simulation := simulated.Config{
		Inputs: []backend.Port{{Name: "number", Type: tensor.Float32, Shape: tensor.Shape{-1, 1}}}, Outputs: []backend.Port{{Name: "class", Type: tensor.Float32, Shape: tensor.Shape{-1}}},
	}
	if mode == "performance" {
		simulation.Latency = 200 * time.Millisecond
	}
	engine, err := simulated.New(simulation)
	ok(c.t, err)
	m := c.entry()
	m.Open = func(workload.Setup) (*workload.Workload, error) { return c.numbers.workload(), nil }
	m.Score, m.Roles, m.Files = c.numbers.score, nil, nil
	results, err := harness.Run(c.t.Context(), harness.Config{
		Program: "mlperf test", Model: m, Rules: "v6.1", Settings: r.Settings, Precision: "fp32",
		Engine: renamed{engine}, Instances: 1, MaxBatch: 8, OutputDir: dir, Observer: quiet{}, Judge: judge(r),
		NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
	})
	ok(c.t, err)
	ok(c.t, engine.Close())
	if results.Result != report.Valid {
		c.t.Errorf("%s: %s %v", dir, results.Result, results.Problems)
	}
}

// judge says which settings are easier than the rules'.
func judge(r *config.Resolved) func(loadgen.TestSettings, func(string) string) (caveats, notes []string) {
	return func(s loadgen.TestSettings, _ func(string) string) (caveats, notes []string) {
		list, err := r.Differences(s, config.Closed)
		if err != nil {
			return []string{err.Error()}, nil
		}
		for _, d := range list {
			if d.Easier {
				caveats = append(caveats, fmt.Sprintf("%v (%s)", d, d.Origin))
			}
		}
		return caveats, nil
	}
}

// all makes the runs and tests of the three scenarios of an edge system.
func (c *campaign) all() {
	c.t.Helper()
	for _, s := range []loadgen.Scenario{loadgen.SingleStream, loadgen.MultiStream, loadgen.Offline} {
		dir := filepath.Join(c.dir, s.String())
		c.run(s, "performance", "", dir+"/runs/performance")
		c.run(s, "accuracy", "", dir+"/runs/accuracy")
		for _, test := range []string{compliance.Test01, compliance.Test04} {
			c.audit(s, test, dir)
		}
	}
}

// audit makes a test, whose runs for performance and accuracy are there.
func (c *campaign) audit(s loadgen.Scenario, test, dir string) {
	c.t.Helper()
	conf, err := compliance.Conf(test, c.entry().Rules.Name, "v6.1")
	ok(c.t, err)
	path := filepath.Join(dir, "runs", test, "audit.config")
	write(c.t, path, conf)
	c.run(s, "performance", path, filepath.Dir(path))
	v, err := compliance.Verify(c.t.Context(), test, compliance.Logs{Performance: dir + "/runs/performance", Accuracy: dir + "/runs/accuracy", Audit: filepath.Dir(path)}, compliance.Options{})
	ok(c.t, err)
	ok(c.t, v.Write(dir, false))
}

// edit changes the results of all runs.
func (c *campaign) edit(change func(*report.Results)) {
	c.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.dir, "*/runs/*/results.json"))
	ok(c.t, err)
	for _, path := range paths {
		r, err := report.Read(filepath.Dir(path))
		ok(c.t, err)
		change(r)
		text, err := json.Marshal(r)
		ok(c.t, err)
		write(c.t, path, string(text))
	}
}

// request asks for a tree of the runs, with everything that somebody has to say.
func (c *campaign) request() Request {
	return Request{
		Tree: filepath.Join(c.t.TempDir(), "tree"), Runs: []string{c.dir}, Rules: "v6.1", Division: "closed", Submitter: "ExampleOrg", System: "board1",
		Description: whole(c.t, "closed", "edge"), Measurements: map[string]string{"starting_weights_filename": "resnet50_v1.onnx"},
	}
}

// keepTree is for showing the tree to the official checker, in tools/submission of
// github.com/mlcommons/inference: python3 -m submission_checker.main --input TREE --version v6.1
var keepTree = flag.String("tree", "", "make the tree of our own runs here, and leave it")

func TestATreeOfOurOwnRunsPasses(t *testing.T) {
	testenv.SkipLong(t, "nine runs of 600 s of fake time, and three of 50,000 samples")
	t.Parallel()
	c := &campaign{dir: t.TempDir(), numbers: numbers{38_006}}
	synctest.Test(t, func(t *testing.T) { c.t = t; c.all() })
	c.t = t
	q := c.request()
	if *keepTree != "" {
		q.Tree = *keepTree
	}
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes || len(built.Check.Results) != 3 {
		t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
	}
	r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: "v6.1"})
	ok(t, err)
	if !r.Passes {
		t.Errorf("profile reference: the tree breaks %v", rulesOf(r))
	}
	c.mayNotEnter()
}

// mayNotEnter shows what keeps runs out that are fine otherwise.
func (c *campaign) mayNotEnter() {
	c.t.Helper()
	for _, f := range []struct {
		fault func(*report.Results)
		want  string
	}{
		{func(r *report.Results) { r.Backend.Engine = "simulated" }, "the engine is simulated"},
		{func(r *report.Results) { r.Backend.Engine, r.Input.BuiltInData = "onnxruntime", true }, "the built-in data"},
		{func(r *report.Results) { r.Input.BuiltInData, r.Input.BuiltIn = false, true }, "the built-in model"},
		{func(r *report.Results) { r.Input.BuiltIn, r.Result = false, report.Interrupted }, "the run is INTERRUPTED"},
		{func(r *report.Results) {
			r.Result, r.Caveats = report.Valid, append(r.Caveats, "quick run: min_duration is 10s instead of 10m0s")
		}, "it has a caveat: quick run"},
		{func(r *report.Results) {
			r.Caveats = r.Caveats[:1]
			if r.Mode == "AccuracyOnly" {
				r.Input.ModelSHA256 = "other"
			}
		}, "are of different tests: model file"},
	} {
		c.edit(f.fault)
		if _, err := Build(c.t.Context(), c.request()); err == nil || !strings.Contains(err.Error(), f.want) {
			c.t.Errorf("error %v, want %q", err, f.want)
		}
	}
}

func TestOfShortRunsTheDurationIsTheOnlyFault(t *testing.T) {
	testenv.SkipLong(t, "three accuracy runs of 50,000 samples")
	t.Parallel()
	c := &campaign{dir: t.TempDir(), numbers: numbers{38_006}, duration: "200s"}
	synctest.Test(t, func(t *testing.T) { c.t = t; c.all() })
	c.t = t
	if _, err := Build(t.Context(), c.request()); err == nil || !strings.Contains(err.Error(), "it has a caveat: closed division: min_duration is 3m20s instead of the official 10m0s (flag --min-duration)") {
		t.Errorf("error %v, want the caveat", err)
	}
	c.edit(func(r *report.Results) { r.Caveats = []string{report.CaveatUnofficial} })
	built, err := Build(t.Context(), c.request())
	ok(t, err)
	if diff := gocmp.Diff([]string{"perf-min-duration"}, rulesOf(built.Check)); diff != "" {
		t.Errorf("rules that the tree breaks (-want +got):\n%s", diff)
	}
}
