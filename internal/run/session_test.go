package run_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// quiet is an observer that says nothing.
type quiet struct{}

func (quiet) Phase(string)             {}
func (quiet) Loading(int, int)         {}
func (quiet) Items(int, int)           {}
func (quiet) Traffic(loadgen.Progress) {}
func (quiet) Note(string)              {}

// images is a small data set, which is drawn once for all tests.
var images = sync.OnceValues(func() (fstest.MapFS, error) {
	dir, err := os.MkdirTemp("", "imagenet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	spec := synth.ImageNetSpec{Seed: 1, Images: 4, Classes: 3, Jitter: 0.1}
	if err := synth.WriteImageNet(context.Background(), dir, spec, nil); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	return files, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	})
})

// request is one of a quick run of a tiny model on a simulated engine.
func request(t *testing.T) run.Request {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	writeModel(t, "tiny.onnx", 1)
	data, err := images()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS("imagenet", data); err != nil {
		t.Fatal(err)
	}
	return run.Request{
		Program: "mlperf test", Model: "resnet50", Scenario: "single-stream", ModelPath: "tiny.onnx", DatasetPath: "imagenet",
		Engine:   run.Engine{Name: run.Simulated, Latency: time.Millisecond},
		Settings: []config.Override{{Key: "min_duration", Value: "20ms", Origin: "flag --min-duration"}, {Key: "min_query_count", Value: "5", Origin: "flag --min-query-count"}},
		NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
	}
}

// writeModel writes a classifier.
func writeModel(t *testing.T, path string, seed uint64) {
	t.Helper()
	b := arch.NewBuilder("tiny", seed)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}})
	b.Output(b.Softmax("softmax", b.Dense("scores", b.Flatten("features", x), arch.Dense{Units: 1001}), 1))
	model, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	if err := model.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeRightNamesItsField(t *testing.T) {
	good := request(t)
	for _, c := range []struct {
		name, field string
		change      func(*run.Request)
	}{
		{"no model", "model", func(q *run.Request) { q.Model = "" }},
		{"an unknown model", "model", func(q *run.Request) { q.Model = "alexnet" }},
		{"no scenario", "scenario", func(q *run.Request) { q.Scenario = "" }},
		{"an unknown scenario", "scenario", func(q *run.Request) { q.Scenario = "servers" }},
		{"a scenario that the model has not", "scenario", func(q *run.Request) { q.Scenario = "interactive" }},
		{"unknown rules", "rules", func(q *run.Request) { q.Rules = "v9.9" }},
		{"an unknown division", "division", func(q *run.Request) { q.Division = "mixed" }},
		{"an unknown mode", "mode", func(q *run.Request) { q.Mode = "fast" }},
		{"a search without a bound", "mode", func(q *run.Request) { q.Mode = run.FindPeak }},
		{"a bound where there is none", "target_latency", func(q *run.Request) { q.AutoLatency = true }},
		{"an unknown engine", "backend", func(q *run.Request) { q.Engine.Name = "tensorflow" }},
		{"an unknown device", "device", func(q *run.Request) { q.Backend.Device = "gpu" }},
		{"an empty device", "device", func(q *run.Request) { q.Given = map[string]string{"device": "flag --device"} }},
		{"too many threads", "intra_threads", func(q *run.Request) { q.Backend.IntraThreads = 100_000 }},
		{"threads shared and not", "shared_threads", func(q *run.Request) { q.Engine.SharedThreads, q.Backend.IntraThreads = 2, 2 }},
		{"a pin and an affinity", "pin", func(q *run.Request) { q.Pin, q.Backend.Affinity = true, "0;1" }},
		{"a negative delay", "max_batch_delay", func(q *run.Request) { q.MaxDelay = -1 }},
		{"a negative latency", "sim_latency", func(q *run.Request) { q.Engine.Latency = -1 }},
		{"a negative jitter", "sim_jitter", func(q *run.Request) { q.Engine.Jitter = -1 }},
		{"an unknown optimisation", "graph_optimization", func(q *run.Request) { q.Backend.OptimizeLevel = "max" }},
		{"a negative count", "count", func(q *run.Request) { q.Count = -1 }},
		{"a batch that no memory holds", "max_batchsize", func(q *run.Request) { q.MaxBatch = 1e9 }},
		{"an unknown precision", "precision", func(q *run.Request) { q.Precision = "int4" }},
		{"an option that the model has not", "box_order", func(q *run.Request) { q.Options = map[string]string{"box-order": "yxyx"} }},
		{"an unknown setting", "colour", func(q *run.Request) { q.Settings = []config.Override{{Key: "colour", Value: "red"}} }},
		{"settings that exclude each other", "settings", func(q *run.Request) {
			q.Settings = []config.Override{{Key: "performance_issue_same", Value: "1"}, {Key: "performance_issue_unique", Value: "1"}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := good
			c.change(&q)
			_, err := run.Resolve(q)
			var of *userinput.Error
			if !errors.As(err, &of) || strings.ReplaceAll(of.Field, "-", "_") != c.field {
				t.Errorf("Resolve = %v, want an error of the field %s", err, c.field)
			}
		})
	}
}

func TestFilesThatCannotBeReadAreNamed(t *testing.T) {
	good := request(t)
	if err := os.WriteFile("text.conf", []byte("no setting"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*run.Request)
		want   string
	}{
		"no user.conf":          {func(q *run.Request) { q.UserConf = "nowhere.conf" }, "nowhere.conf"},
		"another mlperf.conf":   {func(q *run.Request) { q.MLPerfConf = "text.conf" }, "text.conf"},
		"a folder as a conf":    {func(q *run.Request) { q.AuditConf = "folder" }, "folder"},
		"no model":              {func(q *run.Request) { q.ModelPath = "nowhere.onnx" }, "the model file: "},
		"a device as a model":   {func(q *run.Request) { q.ModelPath = os.DevNull }, "the model file: "},
		"a folder as its model": {func(q *run.Request) { q.ModelPath = "folder" }, "folder"},
		"no data":               {func(q *run.Request) { q.DatasetPath = "nodata" }, "nodata"},
	} {
		q := good
		c.change(&q)
		if _, err := runFake(t, q, quiet{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestADataSetMayHaveLinksToNowhere(t *testing.T) {
	q := request(t)
	if err := os.Symlink("nowhere", "imagenet/link"); err != nil {
		t.Skip(err)
	}
	before := fingerprint(t, q)
	if err := os.Remove("imagenet/link"); err != nil {
		t.Fatal(err)
	}
	if after := fingerprint(t, q); after.Data != before.Data {
		t.Error("a link to nowhere counts as data")
	}
	stopped, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	if _, err := runLive(stopped, q, quiet{}); !errors.Is(err, enough) {
		t.Errorf("when nobody waits: %v, want %v", err, enough)
	}
}

func TestOldResultsThatCannotBeRemovedAreAnError(t *testing.T) {
	q := request(t)
	q.Output, q.Force = "out", true
	if err := os.MkdirAll("out/results.json/folder", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := runFake(t, q, quiet{}); err == nil || !strings.Contains(err.Error(), filepath.Join("out", "results.json")) {
		t.Errorf("a folder in the place of results.json: %v", err)
	}
}

// With a folder in the place of the link, and of the page, the results are there all the same.
func TestResultsAreThereWithoutALinkAndAPage(t *testing.T) {
	q := request(t)
	q.Output = "out"
	if err := os.MkdirAll("out/report.html/folder", 0o755); err != nil {
		t.Fatal(err)
	}
	var o notes
	if _, err := runFake(t, q, &o); err != nil || !strings.Contains(strings.Join(o.said, "\n"), "there is no page: ") {
		t.Errorf("without a page: %v, notes %q", err, o.said)
	}
	q.Output = ""
	latest := filepath.Join("results", "resnet50", "singlestream", "performance", "latest")
	if err := os.MkdirAll(filepath.Join(latest, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	results, err := runFake(t, q, quiet{})
	if results == nil || err == nil || !strings.Contains(err.Error(), "latest") {
		t.Errorf("without a link: %v, %v, want results and an error that names the link", results, err)
	}
}

// notes is an observer that keeps notes.
type notes struct {
	quiet
	said []string
}

func (o *notes) Note(text string) { o.said = append(o.said, text) }

func TestWhatSomebodyGaveWinsOverAQuickRun(t *testing.T) {
	q := request(t)
	q.Quick, q.Settings = true, []config.Override{{Key: "min_duration", Value: "3s", Origin: "environment MLPERF_MIN_DURATION"}}
	r, err := run.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	if r.Settings.MinDuration != 3*time.Second || r.Settings.MinQueryCount != 64 || r.Settings.SingleStreamTargetLatencyPercentile != 0.9 {
		t.Errorf("settings %+v", r.Settings)
	}
	if !strings.HasPrefix(r.Request.Output, filepath.Join("results", "resnet50", "singlestream", "performance")) {
		t.Errorf("the folder is %s", r.Request.Output)
	}
}

// runFake runs a request in fake time.
func runFake(t *testing.T, q run.Request, o run.Observer) (results *report.Results, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { results, err = runLive(t.Context(), q, o) })
	return results, err
}

// runLive runs a request beside what knows no fake time, such as a meter.
func runLive(ctx context.Context, q run.Request, o run.Observer) (*report.Results, error) {
	r, err := run.Resolve(q)
	if err != nil {
		return nil, err
	}
	p, err := r.Provide(ctx, o)
	if err != nil {
		return nil, err
	}
	results, err := p.Run(ctx)
	return results, errors.Join(err, p.Close())
}

func TestARequestBecomesAResult(t *testing.T) {
	results, err := runFake(t, request(t), quiet{})
	if err != nil {
		t.Fatal(err)
	}
	caveats := strings.Join(results.Caveats, "\n")
	for _, want := range []string{"the engine is simulated", "min_duration is 20ms instead of the official 10m0s (flag --min-duration)", "not an official MLPerf result"} {
		if !strings.Contains(caveats, want) {
			t.Errorf("caveats %q, want %q", results.Caveats, want)
		}
	}
	latest := filepath.Join("results", "resnet50", "singlestream", "performance", "latest")
	kept, err := report.Read(latest)
	if err != nil || kept.Fingerprint == "" || kept.Fingerprint != results.Fingerprint {
		t.Errorf("%s has fingerprint %+v, %v", latest, kept, err)
	}
}

func TestResultsAreReplacedOnlyIfThatIsAskedFor(t *testing.T) {
	q := request(t)
	q.Output = "out[1]" // which is no pattern
	if _, err := runFake(t, q, quiet{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(q.Output+"/run_2", 0o755); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"accuracy.txt": "of another run", "run_2/results.json": "{}", "notes.txt": "of the user"} {
		if err := os.WriteFile(filepath.Join(q.Output, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var exists *run.ExistsError
	if _, err := run.Resolve(q); !errors.As(err, &exists) || exists.Folder != q.Output || !strings.Contains(err.Error(), "choose another folder") {
		t.Errorf("Resolve = %v, want an ExistsError", err)
	}
	q.Force = true
	if _, err := runFake(t, q, quiet{}); err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"accuracy.txt", "run_2/results.json"} {
		if _, err := os.Stat(filepath.Join(q.Output, old)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("an old %s lies beside a new run: %v", old, err)
		}
	}
	if _, err := os.Stat(filepath.Join(q.Output, "notes.txt")); err != nil {
		t.Errorf("a file of the user is gone: %v", err)
	}
}

func fingerprint(t *testing.T, q run.Request) run.Fingerprint {
	t.Helper()
	r, err := run.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Provide(t.Context(), quiet{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	return p.Fingerprint
}

func TestTheFingerprintNamesEverythingThatChangesAResult(t *testing.T) {
	good := request(t)
	writeModel(t, "other.onnx", 2)
	writeModel(t, "copy.onnx", 1)
	before := fingerprint(t, good)
	if again := fingerprint(t, good); again != before {
		t.Errorf("the same request has %+v and then %+v", before, again)
	}
	for _, c := range []struct {
		name   string
		change func(*run.Request)
		same   bool
	}{
		{"the program", func(q *run.Request) { q.Program = "mlperf next" }, false},
		{"a setting", func(q *run.Request) { q.Settings = nil }, false},
		{"the scenario", func(q *run.Request) { q.Scenario = "offline" }, false},
		{"the rules", func(q *run.Request) { q.Rules = "v5.1" }, false},
		{"the division, which says what is easier than the rules", func(q *run.Request) { q.Division = "open" }, false},
		{"a target that somebody gave, be it that of the rules", func(q *run.Request) {
			q.Settings = append(q.Settings[:2:2], config.Override{Key: "target_latency", Value: "10ms"})
		}, false},
		{"the queries, which a quick run may make fewer", func(q *run.Request) {
			q.Settings, q.Quick = nil, true
		}, false},
		{"the engine", func(q *run.Request) { q.Engine.Latency = 2 * time.Millisecond }, false},
		{"an option of the engine", func(q *run.Request) { q.Backend.IntraThreads = 7 }, false},
		{"threads for all", func(q *run.Request) { q.Engine.SharedThreads = 2 }, false},
		{"another one", func(q *run.Request) { q.Backend.Config = map[string]string{"a": "b"} }, false},
		{"the workers", func(q *run.Request) { q.Instances = 3 }, false},
		{"how the model is read", func(q *run.Request) { q.Options = map[string]string{"label-offset": "3"} }, false},
		{"the content of the model", func(q *run.Request) { q.ModelPath = "other.onnx" }, false},
		{"a part of the data", func(q *run.Request) { q.Count = 2 }, false},
		{"the same model elsewhere", func(q *run.Request) { q.ModelPath = "copy.onnx" }, true},
		{"where results go", func(q *run.Request) { q.Output = "elsewhere" }, true},
		{"what the engine says on screen", func(q *run.Request) { q.Backend.LogSeverity = 2 }, true},
	} {
		q := good
		c.change(&q)
		if after := fingerprint(t, q); (after.String() == before.String()) != c.same {
			t.Errorf("%s: same fingerprint is %t, want %t", c.name, !c.same, c.same)
		}
	}
	if err := os.WriteFile("imagenet/more.txt", []byte("more"), 0o644); err != nil {
		t.Fatal(err)
	}
	if after := fingerprint(t, good); after.Data == before.Data {
		t.Error("another file in the data set leaves its fingerprint as it was")
	}
}

func TestASearchMayBeginAnywhere(t *testing.T) {
	q := request(t)
	q.Scenario, q.Mode = "server", run.FindPeak
	q.Settings = []config.Override{{Key: "target_qps", Value: "10"}}
	before := fingerprint(t, q)
	q.Settings = []config.Override{{Key: "target_qps", Value: "20"}}
	if after := fingerprint(t, q); after != before {
		t.Errorf("the load that a search begins with makes another fingerprint: %+v, %+v", before, after)
	}
}

func TestEveryDeviceCompilesIntoAFolderOfItsOwn(t *testing.T) {
	q := request(t)
	folder := func(q run.Request) string {
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Provide(t.Context(), quiet{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		return p.WithModel("x").EngineCacheDir
	}
	plain := folder(q)
	q.Backend.IntraThreads = 3 // does not matter to what is compiled
	if got := folder(q); got != plain {
		t.Errorf("threads change the folder: %s, %s", plain, got)
	}
	q.Backend.DeviceOptions = map[string]string{"trt_fp16_enable": "1"}
	if got := folder(q); got == plain {
		t.Errorf("an option of the device leaves the folder %s", got)
	}
	q.Backend.EngineCacheDir = "mine"
	if got := folder(q); got != "mine" {
		t.Errorf("the folder that somebody gave is %s", got)
	}
}
