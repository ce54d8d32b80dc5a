package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// silent is an observer of a session.
type silent struct{}

func (silent) Phase(string)             {}
func (silent) Loading(int, int)         {}
func (silent) Items(int, int)           {}
func (silent) Traffic(loadgen.Progress) {}
func (silent) Note(string)              {}

// material makes a folder with a small classifier and data, goes there, and asks for a search of
// batches on an engine that takes 20 ms for any.
func material(t *testing.T, scenario string) Request {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	if err := synth.WriteImageNet(t.Context(), "imagenet", synth.ImageNetSpec{Seed: 1, Images: 4, Classes: 3, Jitter: 0.1}, nil); err != nil {
		t.Fatal(err)
	}
	b := arch.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}})
	b.Output(b.ArgMax("class", b.Dense("scores", b.Flatten("features", x), arch.Dense{Units: 1000}), 1))
	model, _, err := b.Model()
	if err == nil {
		err = model.WriteFile(t.Context(), "tiny.onnx")
	}
	if err != nil {
		t.Fatal(err)
	}
	return Request{
		Bench: run.Request{
			Program: "mlperf test", Model: "resnet50", Scenario: scenario, ModelPath: "tiny.onnx", DatasetPath: "imagenet", Output: "out",
			Engine:   run.Engine{Name: run.Simulated, Latency: 20 * time.Millisecond},
			NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
		},
		Budget: time.Minute, Axes: Axes{Instances: []int{1}, Threads: []int{1}, Batches: []int{1, 4}}, Output: filepath.Join("profiles", "p.json"),
	}
}

// find searches in fake time.
func find(t *testing.T, q Request, o Observer) (found *Found, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { found, err = Find(t.Context(), q, o, silent{}) })
	return found, err
}

func TestAFoundWayIsWrittenAsAProfileThatARunTakes(t *testing.T) {
	q := material(t, "offline")
	q.ModelFiles = []string{"tiny.onnx"}
	found, err := find(t, q, &recorder{})
	if err != nil || !found.Finished || found.Winner.MaxBatch != 4 {
		t.Fatalf("found %+v, %v: want batches of 4, which take no longer", found, err)
	}
	p, err := profile.Read(q.Output)
	if err != nil || p.MaxBatch != 4 || p.Instances != 1 || p.Program != "mlperf test" || p.Value <= 0 || filepath.Base(p.ModelPath) != "tiny.onnx" || !filepath.IsAbs(p.ModelPath) {
		t.Errorf("profile %+v, %v", p, err)
	}
	again := q.Bench
	again.ModelPath, again.Profile = "", q.Output
	resolved, err := run.Resolve(again)
	if err != nil || resolved.Request.MaxBatch != 4 || resolved.Request.ModelPath != p.ModelPath {
		t.Errorf("a run with the profile: %+v, %v", resolved, err)
	}
}

func TestASecondSearchKeepsWhatWasMeasuredUnlessItIsFresh(t *testing.T) {
	q := material(t, "offline")
	q.ModelFiles = []string{"tiny.onnx"}
	r := &recorder{}
	if _, err := find(t, q, r); err != nil {
		t.Fatal(err)
	}
	again := &recorder{}
	if _, err := find(t, q, again); err != nil || again.kept != len(r.measured) || len(again.measured) != 0 {
		t.Errorf("a second search keeps %d of %d measurements and makes %d, %v", again.kept, len(r.measured), len(again.measured), err)
	}
	q.Fresh = true
	fresh := &recorder{}
	if _, err := find(t, q, fresh); err != nil || fresh.kept != 0 || len(fresh.measured) == 0 {
		t.Errorf("afresh it keeps %d, and makes %d, %v", fresh.kept, len(fresh.measured), err)
	}
}

func TestAnInterruptedSearchWritesNoProfile(t *testing.T) {
	q := material(t, "single-stream")
	q.Axes = Axes{Instances: []int{1}, Threads: []int{1, 2}}
	stopped := errors.New("stopped")
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		r := &recorder{on: func(n int) { stop(stopped) }}
		found, err := Find(ctx, q, r, silent{})
		if !errors.Is(err, stopped) || found == nil || found.Finished || found.Profile == nil {
			t.Errorf("found %+v, %v: want what there is", found, err)
		}
	})
	if _, err := os.Stat(q.Output); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a profile: %v", err)
	}
	r := &recorder{}
	if found, err := find(t, q, r); err != nil || r.kept != 1 || !found.Finished {
		t.Errorf("it goes on with %d measurements: %+v, %v", r.kept, found, err)
	}
	if _, err := os.Stat(q.Output); err != nil {
		t.Error(err)
	}
}

func TestWithoutAWayThereIsAReason(t *testing.T) {
	q := material(t, "server")
	q.Bench.Engine.Latency = 50 * time.Millisecond // the bound is 15
	q.Axes.Batches = []int{1}
	var none *NoneError
	if _, err := find(t, q, &recorder{}); !errors.As(err, &none) || none.Bound != 15*time.Millisecond ||
		err.Error() != "no way to run the model that was tried keeps the latency bound of 15ms at any rate" {
		t.Errorf("nothing keeps the bound: %v", err)
	}
	if _, err := os.Stat(q.Output); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a profile: %v", err)
	}
	failed := none.Bound
	err := noneOf(&Outcome{Done: []Measurement{{Point: Point{Instances: 1, Threads: 2, MaxBatch: 4}, Err: "out of memory"}}, Bound: failed})
	if !errors.As(err, &none) || none.Bound != 0 || err.Error() != "nothing could be measured; 1 × 2 threads, batch 4: out of memory" {
		t.Errorf("nothing could be measured: %v", err)
	}
}

func TestASearchThatCannotBeIsRefusedByItsField(t *testing.T) {
	good := material(t, "offline")
	for _, c := range []struct {
		name   string
		change func(*Request)
		field  string
		want   string
	}{
		{"no time", func(q *Request) { q.Budget = 0 }, "budget", "budget is 0s, want a time to search"},
		{"no workers", func(q *Request) { q.Axes.Instances = []int{1, 0} }, "instances", "instances is 0, want positive numbers"},
		{"negative threads", func(q *Request) { q.Axes.Threads = []int{-4} }, "intra_threads", "intra_threads is -4"},
		{"no batch", func(q *Request) { q.Axes.Batches = []int{0} }, "max_batchsize", "max_batchsize is 0"},
		{"a delay before the sample", func(q *Request) { q.Axes.Delays = []time.Duration{-time.Second} }, "max_batch_delay", "-1s is not a time"},
		{"more workers than any machine has", func(q *Request) { q.Axes.Instances = []int{1, 1 << 20} }, "instances", "want at most 4096"},
		{"a file without a path", func(q *Request) { q.ModelFiles = []string{"fp32="} }, "model_path", "fp32=: want a file, or label=file"},
		{"two files of one name", func(q *Request) { q.ModelFiles = []string{"a/m.onnx", "b/m.onnx"} }, "model_path", "there is another m; give them labels"},
		{"precisions of several files", func(q *Request) { q.ModelFiles, q.Precisions = []string{"a.onnx", "b.onnx"}, []string{"int8"} }, "precision", "there are 2"},
		{"an unknown precision", func(q *Request) { q.Precisions = []string{"fp32", "int4"} }, "precision", `precision is "int4"`},
		{"an unknown model", func(q *Request) { q.Bench.Model = "alexnet" }, "model", "alexnet"},
	} {
		q := good
		c.change(&q)
		_, err := Find(t.Context(), q, &recorder{}, silent{})
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != c.field || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q of the field %s", c.name, err, c.want, c.field)
		}
	}
	if _, err := os.Stat(filepath.Dir(good.Output)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func TestASampleNeedNotWait(t *testing.T) {
	if err := (Axes{Instances: []int{1}, Threads: []int{1}, Batches: []int{1}, Delays: []time.Duration{0, time.Second}}).check(); err != nil {
		t.Error(err)
	}
}

func TestTwoSearchesDoNotWriteToOneJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "j.jsonl")
	first, err := openJournal(path, header, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{false, true} {
		if _, err := openJournal(path, header, fresh); err == nil || err.Error() != path+": another process searches for this profile: wait for it, or write another one" {
			t.Errorf("a second search, afresh %v: %v", fresh, err)
		}
	}
	list := measurements()
	if err := errors.Join(first.Append(list[0]), first.Close()); err != nil {
		t.Fatal(err)
	}
	second, err := openJournal(path, header, false)
	if err != nil || len(second.Done) != 1 {
		t.Fatalf("after the first has ended: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	other := header
	other.Dataset = "coco"
	for range 2 { // a journal that is refused is let go
		if _, err := openJournal(path, other, false); err == nil || !strings.Contains(err.Error(), "is of another search (dataset)") {
			t.Errorf("another search: %v", err)
		}
	}
}

func TestAJournalThatCannotBeKeptIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o644), os.MkdirAll(filepath.Join(dir, "j.jsonl"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "file", "j.jsonl"): "keeping the measurements: ",
		filepath.Join(dir, "j.jsonl"):         "reading the measurements so far: ",
	} {
		if _, err := openJournal(path, header, false); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := openJournal(filepath.Join(dir, "j.jsonl"), header, true); err == nil || !strings.HasPrefix(err.Error(), "keeping the measurements: ") {
		t.Errorf("afresh: %v", err)
	}
}

func TestLinesThatNoSearchWroteAreRefused(t *testing.T) {
	const first = `{"schema":"mlperf-go/tune/1"}` + "\n"
	for _, c := range []struct{ text, want string }{
		{"{}\n", `line 1: schema is "", this program reads "mlperf-go/tune/1"`},
		{first + `{"stage":3}` + "\n", "line 2: stage is 3, want 0 to 2"},
		{first + `{"stage":-1}` + "\n", "line 2: stage is -1, want 0 to 2"},
		{first + `{"took_ns":-1}` + "\n", "line 2: a time or the value is negative"},
		{first + `{"length_ns":-1}` + "\n", "line 2: a time or the value is negative"},
		{first + `{"value":-0.5}` + "\n", "line 2: a time or the value is negative"},
		{first + `{"value":1e999}` + "\n", "line 2: json: cannot unmarshal number 1e999"},
		{first + `{"speed":1}` + "\n", `line 2: json: unknown field "speed"`},
		{first + "{}\n" + `{} {}` + "\n", "line 3: something follows the JSON document"},
		{first + "\n", "line 2: EOF"},
		{"\xef\xbb\xbf" + first, "line 1: invalid character"},
	} {
		if _, _, _, err := parseJournal([]byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	h, done, whole, err := parseJournal([]byte(strings.ReplaceAll(first+"{\"stage\":2,\"value\":5}\n{\"stage\":", "\n", "\r\n")))
	if err != nil || h.Schema != JournalSchema || len(done) != 1 || done[0].Value != 5 || whole == 0 {
		t.Errorf("lines that end as on Windows: %v, %v, %d, %v", h, done, whole, err)
	}
}

func TestTheHeaderNamesWhatDecidesAMeasurement(t *testing.T) {
	base := material(t, "")
	for _, c := range []struct {
		scenario   string
		change     func(*run.Request)
		percentile float64
		samples    int
		bound      string
	}{
		{"offline", nil, 0, 0, ""},
		{"single-stream", nil, 0.9, 0, ""},
		{"multi-stream", nil, 0.99, 8, ""},
		{"server", nil, 0.99, 0, "15ms"},
		{"server", func(q *run.Request) { q.AutoLatency = true }, 0.99, 0, "auto"},
		{"server", func(q *run.Request) {
			q.Settings = []config.Override{{Key: "target_latency", Value: "20ms", Origin: "flag"}}
		}, 0.99, 0, "20ms"},
	} {
		q := base
		q.Bench.Scenario = c.scenario
		if c.change != nil {
			c.change(&q.Bench)
		}
		resolved, err := run.Resolve(q.Bench)
		if err != nil {
			t.Fatal(err)
		}
		prepared, err := resolved.Provide(t.Context(), silent{})
		if err != nil {
			t.Fatal(err)
		}
		f := &finding{Request: q, files: []modelFile{{path: "tiny.onnx"}}}
		h := f.header(subject, prepared)
		if h.Percentile != c.percentile || h.SamplesPerQuery != c.samples || h.BoundAsked != c.bound || len(h.ModelFiles) != 1 || h.Fingerprint == "" || h.Dataset == "" {
			t.Errorf("%s: header %+v", c.scenario, h)
		}
		if err := prepared.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestModelFilesHaveLabels(t *testing.T) {
	for _, c := range []struct {
		list []string
		want string // label:path
	}{
		{nil, ""},
		{[]string{"a/m.onnx"}, ":a/m.onnx"},
		{[]string{"x=a/m.onnx"}, ":a/m.onnx"},
		{[]string{"a/m.onnx", "b/n.onnx"}, "m:a/m.onnx n:b/n.onnx"},
		{[]string{"fp32=a/m.onnx", "m.int8.onnx"}, "fp32:a/m.onnx m.int8:m.int8.onnx"},
	} {
		files, err := parseModelFiles(c.list)
		var got []string
		for _, f := range files {
			got = append(got, f.label+":"+f.path)
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, %v, want %q", c.list, got, err, c.want)
		}
	}
	if got := (modelFile{label: "x", path: filepath.Join(t.TempDir(), "gone.onnx")}).String(); !strings.HasPrefix(got, "x /") || !strings.HasSuffix(got, "gone.onnx, 0 bytes") {
		t.Errorf("a file that is gone is %q", got)
	}
}

func TestDevicesWithProcessorsOfTheirOwnAccelerate(t *testing.T) {
	for device, want := range map[string]bool{"": false, "cpu": false, "CPU": false, "xnnpack,cpu": false, "dnnl": false, "acl": false, "cuda": true, "tensorrt,cuda,cpu": true, "CoreML": true} {
		if got := accelerates(device); got != want {
			t.Errorf("accelerates(%q) = %v", device, got)
		}
	}
}

func TestTheBaseIsWhatARunChoosesAmongTheAxes(t *testing.T) {
	for _, c := range []struct {
		name string
		axes Axes
		want Point
	}{
		{"nothing is given", Axes{}, Point{Instances: 2, Threads: 1, MaxBatch: 1}},
		{"one value of each", Axes{Instances: []int{5}, Threads: []int{3}, Batches: []int{7}}, Point{Instances: 5, Threads: 3, MaxBatch: 7}},
		{"several, with what a run chooses", Axes{Instances: []int{4, 2}, Batches: []int{8, 1}}, Point{Instances: 2, Threads: 1, MaxBatch: 1}},
		{"several, without", Axes{Instances: []int{4, 8}, Batches: []int{8, 16}}, Point{Instances: 4, Threads: 1, MaxBatch: 8}},
		{"files", Axes{Variants: []string{"fp32", "int8"}}, Point{Variant: "fp32", Instances: 2, Threads: 1, MaxBatch: 1}},
	} {
		cfg := Config{Settings: settingsOf(loadgen.Offline), Axes: c.axes, Open: func(_ context.Context, p Point) (Opened, error) {
			if p.Instances == 0 {
				p.Instances, p.Threads, p.MaxBatch = 2, 1, 1
			}
			return &fakeModel{point: p, fixed: 3}, nil
		}}
		if fixed, err := openBase(t.Context(), &cfg); err != nil || fixed != 3 || cfg.Header.Base != c.want || cfg.Header.Engine != "fake 1" || cfg.Header.Bound != 0 {
			t.Errorf("%s: base %+v, %d, %v, want %+v", c.name, cfg.Header, fixed, err, c.want)
		}
	}
	closing := errors.New("it does not close")
	cfg := Config{Settings: settingsOf(loadgen.Server), Open: func(_ context.Context, p Point) (Opened, error) { return &fakeModel{wrongClose: closing}, nil }}
	if _, err := openBase(t.Context(), &cfg); !errors.Is(err, closing) || cfg.Header.Bound != 20*time.Millisecond {
		t.Errorf("bound %v, %v", cfg.Header.Bound, err)
	}
}

func TestASearchWhoseModelDoesNotOpenIsAnError(t *testing.T) {
	broken := errors.New("the file is cut off")
	cfg := Config{
		Settings: settingsOf(loadgen.Offline), Budget: time.Minute, Journal: filepath.Join(t.TempDir(), "j.jsonl"), Observer: &recorder{},
		Open: func(context.Context, Point) (Opened, error) { return nil, broken },
	}
	if out, err := Run(t.Context(), cfg); out != nil || !errors.Is(err, broken) {
		t.Errorf("Run = %+v, %v", out, err)
	}
	if _, err := os.Stat(cfg.Journal); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a journal: %v", err)
	}
}
