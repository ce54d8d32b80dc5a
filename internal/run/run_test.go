package run_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"image/jpeg"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine/power/ptdtest"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An observer keeps the phases and the notes of a job.
type observer struct {
	harness.Silent
	phases, notes []string
}

func (o *observer) Phase(name string) { o.phases = append(o.phases, name) }
func (o *observer) Note(text string)  { o.notes = append(o.notes, text) }

// inFakeTime runs a request.
func inFakeTime(t *testing.T, q run.Request, o run.Observer) (results *report.Results, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { results, err = run.Do(t.Context(), q, o) })
	return results, err
}

// provided is a request with everything that it needs, until the test ends.
func provided(t *testing.T, q run.Request) *run.Prepared {
	t.Helper()
	r, err := run.Resolve(q)
	testenv.Must(t, err)
	p, err := r.Provide(t.Context(), harness.Silent{})
	testenv.Must(t, err)
	t.Cleanup(func() { testenv.Must(t, p.Close()) })
	return p
}

func TestRun(t *testing.T) {
	results, err := inFakeTime(t, runtest.Request(t), harness.Silent{})
	testenv.Must(t, err)
	for _, want := range []limitation.Limitation{
		{ID: limitation.SimulatedEngine}, {ID: limitation.Unofficial}, {ID: limitation.BuiltInData},
		{ID: limitation.Setting, Key: "min_duration", Value: "20ms", Want: "10m0s", Origin: "flag --min-duration", Role: limitation.Flag},
	} {
		if !slices.Contains(results.Limitations, want) {
			t.Errorf("limitations %v, want %v", results.Limitations, want)
		}
	}
	if results.Limitations.Has(limitation.BuiltInModel) || !results.Backend.Simulated || !results.Input.BuiltInData || results.Input.BuiltIn {
		t.Errorf("the model is taken for a built-in one: %v, %+v", results.Limitations, results.Input)
	}
	latest := filepath.Join("results", "resnet50", "singlestream", "performance", "latest")
	if kept, err := report.Read(latest); err != nil || kept.Fingerprint == "" || kept.Fingerprint != results.Fingerprint {
		t.Errorf("%s has fingerprint %+v, %v", latest, kept, err)
	}
}

func TestRunNamesMissingFiles(t *testing.T) {
	good := runtest.Request(t)
	q := good
	q.DatasetPath, q.Engine = "", engine.Config{Library: "nowhere.so"}
	if _, err := run.Do(t.Context(), q, harness.Silent{}); err == nil || !strings.Contains(err.Error(), "nowhere.so") {
		t.Errorf("%v, want an error that names the library", err)
	}
	if _, err := os.Stat("cache"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data were made before the engine was opened: %v", err)
	}
	testenv.Must(t, os.Mkdir("folder", 0o755))
	for want, change := range map[string]func(*run.Request){
		"the model file: stat nowhere.onnx: no such file":      func(q *run.Request) { q.ModelPath = "nowhere.onnx" },
		"the model file: open " + os.DevNull + ": is a device": func(q *run.Request) { q.ModelPath = os.DevNull },
		"folder": func(q *run.Request) { q.ModelPath = "folder" },
		"nodata": func(q *run.Request) { q.DatasetPath = "nodata" },
		"http://127.0.0.1:1": func(q *run.Request) {
			q.ModelPath, q.Engine = "", engine.Config{Name: engine.OIP, Remote: engine.Remote{Endpoints: []string{"http://127.0.0.1:1"}}}
		},
		"token_file": func(q *run.Request) {
			q.ModelPath, q.Engine = "", engine.Config{Name: engine.OIP, Remote: engine.Remote{Endpoints: []string{"http://127.0.0.1:1"}, TokenFile: "nokey"}}
		},
		"endpoint": func(q *run.Request) {
			q.Model, q.ModelPath, q.DatasetPath = "", "", ""
			q.Engine, q.Prompts = engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"ftp://host"}}}, run.Prompts{Synthetic: 1}
		},
	} {
		q := good
		change(&q)
		if _, err := run.Do(t.Context(), q, harness.Silent{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	enough := errors.New("enough")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(enough)
	if _, err := run.Do(stopped, good, harness.Silent{}); !errors.Is(err, enough) {
		t.Errorf("interrupted: %v, want %v", err, enough)
	}
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "MLPERF_CACHE_DIR", "MLPERF_DATA_DIR"} {
		t.Setenv(name, "")
	}
	if _, err := run.Do(t.Context(), good, harness.Silent{}); err == nil || !strings.HasSuffix(err.Error(), "; set MLPERF_CACHE_DIR") {
		t.Errorf("without a home: %v", err)
	}
	good.Profile = run.Auto
	if _, err := run.Resolve(good); err == nil || !strings.HasSuffix(err.Error(), "; set MLPERF_DATA_DIR") {
		t.Errorf("a profile without a home: %v", err)
	}
}

func TestRunReplacesResultsOnlyOnRequest(t *testing.T) {
	q := runtest.Request(t)
	q.Output = "out[1]" // which is no pattern
	_, err := inFakeTime(t, q, harness.Silent{})
	testenv.Must(t, err)
	testenv.Tree(t, q.Output, map[string]string{"accuracy.txt": "of another run", "run_2/results.json": `{"schema":"mlperf-go/results/3"}`, "notes.txt": "of the user"})
	exists := &outdir.ExistsError{}
	if _, err := run.Resolve(q); !errors.As(err, &exists) || exists.Folder != q.Output {
		t.Errorf("Resolve = %v, want an ExistsError", err)
	}
	q.Force = true
	_, err = inFakeTime(t, q, harness.Silent{})
	testenv.Must(t, err)
	for _, old := range []string{"accuracy.txt", "run_2/results.json"} {
		if _, err := os.Stat(filepath.Join(q.Output, old)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("an old %s lies beside a new run: %v", old, err)
		}
	}
	if _, err := os.Stat(filepath.Join(q.Output, "notes.txt")); err != nil {
		t.Errorf("a file of the user is gone: %v", err)
	}
	q.Output = "blocked"
	testenv.Must(t, os.MkdirAll("blocked/results.json/folder", 0o755))
	if _, err := inFakeTime(t, q, harness.Silent{}); err == nil || !strings.Contains(err.Error(), filepath.Join("blocked", "results.json")) {
		t.Errorf("results that cannot be removed: %v", err)
	}
}

func TestInterruptedSearchKeepsItsFolder(t *testing.T) {
	q := runtest.Request(t)
	testenv.Tree(t, "out", map[string]string{report.FileName: "", harness.PeakFile: ""})
	q.Scenario, q.Mode, q.Output = "server", run.FindPeak, "out"
	if _, err := run.Resolve(q); err != nil {
		t.Errorf("the search cannot continue: %v", err)
	}
	q.Mode = ""
	_, err := run.Resolve(q)
	if exists := (*outdir.ExistsError)(nil); !errors.As(err, &exists) || *exists != (outdir.ExistsError{Folder: "out"}) {
		t.Errorf("another run: %v", err)
	}
}

func TestTwoRunsInOneFolder(t *testing.T) {
	q := runtest.Request(t)
	q.Output = "out"
	first, second := provided(t, q), provided(t, q) // both see an empty folder
	_, err := first.Run(t.Context())
	testenv.Must(t, err)
	before := testenv.Read(t, "out/"+report.FileName)
	exists := &outdir.ExistsError{}
	if _, err := second.Run(t.Context()); !errors.As(err, &exists) || exists.Folder != "out" {
		t.Errorf("the second run: %v, want an ExistsError of out", err)
	}
	if string(testenv.Read(t, "out/"+report.FileName)) != string(before) {
		t.Error("the results of the first were changed")
	}

	q.Force = true
	p := provided(t, q)
	release, err := outdir.Lock("out")
	testenv.Must(t, err)
	if _, err := p.Run(t.Context()); !testenv.Names(err, "out … another run") {
		t.Errorf("beside a run of another process: %v", err)
	}
	if string(testenv.Read(t, "out/"+report.FileName)) != string(before) {
		t.Error("the results of the other were changed")
	}
	release()
	if _, err := p.Run(t.Context()); err != nil {
		t.Errorf("after the other: %v", err)
	}
	if left := fileio.Glob("out", "*lock*"); len(left) > 0 {
		t.Errorf("%q are left among the results", left)
	}
}

// Runs of the same second have folders of their own; those of a measurement of power lie in one.
func TestFolderOfARunWithoutOutput(t *testing.T) {
	q := runtest.Request(t)
	first, second := provided(t, q), provided(t, q)
	for _, p := range []*run.Prepared{first, second} {
		_, err := p.Run(t.Context())
		testenv.Must(t, err)
	}
	if a, b := first.Request.Output, second.Request.Output; a == b || !strings.HasPrefix(b, filepath.Dir(a)) {
		t.Errorf("the results are in %s and %s", a, b)
	}
}

func TestResultsWithoutALinkAndAPage(t *testing.T) {
	q := runtest.Request(t)
	q.Output = "out"
	o := inTheWay{observer: &observer{}, path: "out/report.html/folder"}
	if _, err := inFakeTime(t, q, o); err != nil || !strings.Contains(strings.Join(o.notes, "\n"), "report.html was not written: ") {
		t.Errorf("without a page: %v, notes %q", err, o.notes)
	}
	q.Output = ""
	testenv.Must(t, os.MkdirAll(filepath.Join("results", "resnet50", "singlestream", "performance", "latest", "folder"), 0o755))
	if results, err := inFakeTime(t, q, o); results == nil || err != nil || !strings.Contains(strings.Join(o.notes, "\n"), "no link to the latest results: ") {
		t.Errorf("without a link: %v, notes %q, want results and a note that names the link", err, o.notes)
	}
}

// A log that is gone at the end of a run proves nothing.
func TestLogThatIsGoneAtTheEnd(t *testing.T) {
	q := runtest.Request(t)
	q.Output = "out"
	o := deleting{observer: &observer{}, path: "out/mlperf_log_accuracy.json"}
	results, err := inFakeTime(t, q, o)
	testenv.Must(t, err)
	if text := strings.Join(results.Problems, "\n"); results.Valid() || !strings.Contains(text, "mlperf_log_accuracy.json") {
		t.Errorf("%s, problems %s", results.Result, text)
	}
}

// deleting deletes a file when the traffic begins.
type deleting struct {
	*observer
	path string
}

func (d deleting) Phase(name string) {
	if name == "traffic" {
		_ = os.Remove(d.path)
	}
	d.observer.Phase(name)
}

// inTheWay makes a folder where a file is to be, when a run has begun.
type inTheWay struct {
	*observer
	path string
}

func (i inTheWay) Phase(name string) {
	_ = os.MkdirAll(i.path, 0o755)
	i.observer.Phase(name)
}

func TestFingerprint(t *testing.T) {
	good := runtest.Request(t)
	runtest.WriteModel(t, "other.onnx", 2)
	runtest.WriteModel(t, "copy.onnx", 1)
	of := func(q run.Request) run.Fingerprint { return provided(t, q).Fingerprint }
	before := of(good)
	if again := of(good); again != before {
		t.Errorf("the same request has %+v and then %+v", before, again)
	}
	for _, c := range []struct {
		name   string
		same   bool
		change func(*run.Request)
	}{
		{"the program", false, func(q *run.Request) { q.Program = "mlperf next" }},
		{"a setting", false, func(q *run.Request) { q.Settings = nil }},
		{"the scenario", false, func(q *run.Request) { q.Scenario = "offline" }},
		{"the rules", false, func(q *run.Request) { q.Rules = "v5.1" }},
		{"the division", false, func(q *run.Request) { q.Division = "open" }},
		{"a target, even that of the rules", false, func(q *run.Request) {
			q.Settings = append(q.Settings[:2:2], config.Override{Key: "target_latency", Value: "10ms"})
		}},
		{"the number of queries, which a quick run may lower", false, func(q *run.Request) { q.Settings, q.Quick = nil, true }},
		{"the engine", false, func(q *run.Request) { q.Engine.Latency = 2 * time.Millisecond }},
		{"threads", false, func(q *run.Request) { q.Backend.IntraThreads = 7 }},
		{"shared threads", false, func(q *run.Request) { q.Engine.SharedThreads = 2 }},
		{"an option of the engine", false, func(q *run.Request) { q.Backend.Config = map[string]string{"a": "b"} }},
		{"the workers", false, func(q *run.Request) { q.Instances = 3 }},
		{"how the model is read", false, func(q *run.Request) { q.Options = map[string]string{"label-offset": "3"} }},
		{"the content of the model", false, func(q *run.Request) { q.ModelPath = "other.onnx" }},
		{"a part of the data", false, func(q *run.Request) { q.Count = 2 }},
		{"the processors", false, func(q *run.Request) { q.Cores = 99 }},
		{"the same model elsewhere", true, func(q *run.Request) { q.ModelPath = "copy.onnx" }},
		{"the folder of the results", true, func(q *run.Request) { q.Output = "elsewhere" }},
		{"messages of the engine", true, func(q *run.Request) { q.Backend.LogSeverity = 2 }},
	} {
		q := good
		c.change(&q)
		if after := of(q); (after.String() == before.String()) != c.same {
			t.Errorf("%s: same fingerprint is %t, want %t", c.name, !c.same, c.same)
		}
	}
	for name, to := range map[string]string{"loop": "loop", "gone": "away"} {
		testenv.Must(t, os.Symlink(to, filepath.Join("imagenet", name)))
	}
	if after := of(good); after.Data != before.Data {
		t.Error("links to nowhere count as data")
	}
	testenv.Tree(t, "imagenet", map[string]string{"more.txt": "more"})
	if after := of(good); after.Data == before.Data {
		t.Error("another file in the data set leaves its fingerprint")
	}

	search := good
	search.Scenario, search.Mode, search.Settings = "server", run.FindPeak, []config.Override{{Key: "target_qps", Value: "10"}}
	before = of(search)
	search.Settings = []config.Override{{Key: "target_qps", Value: "20"}}
	if after := of(search); after != before {
		t.Errorf("a search that begins elsewhere has another fingerprint: %+v, %+v", before, after)
	}

	compiled := func(q run.Request) string {
		options, err := provided(t, q).WithModel(t.Context(), "x")
		testenv.Must(t, err)
		return options.EngineCacheDir
	}
	plain := compiled(good)
	good.Backend.IntraThreads = 3
	if got := compiled(good); got != plain {
		t.Errorf("threads change the folder of compiled models: %s, %s", plain, got)
	}
	good.Backend.DeviceOptions = map[string]string{"trt_fp16_enable": "1"}
	if got := compiled(good); got == plain {
		t.Errorf("an option of the device leaves the folder %s", got)
	}
	good.Backend.EngineCacheDir = "mine"
	if got := compiled(good); got != "mine" {
		t.Errorf("the folder is %s, want mine", got)
	}
}

// A built-in model or data set is marked also if the user gives its path.
func TestBuiltInFilesAreMarked(t *testing.T) {
	q := runtest.Request(t)
	q.Settings = nil
	model, _, err := arch.MobileNet().Build(arch.Options{Outputs: []string{"MobilenetV1/Conv2d_0:0"}})
	testenv.Must(t, err)
	testenv.Must(t, model.WriteFile(t.Context(), "drawn.onnx"))
	testenv.Must(t, os.Symlink("drawn.onnx", "link.onnx"))
	for _, dir := range []string{"copied", "damaged", "stripped", "theirs"} {
		testenv.Must(t, os.CopyFS(dir, os.DirFS("imagenet")))
	}
	testenv.Must(t, os.WriteFile("damaged/builtin.json", []byte("{"), 0o600))
	testenv.Must(t, os.Remove("stripped/builtin.json"))
	testenv.Must(t, os.Remove("theirs/builtin.json"))
	for _, file := range fileio.Glob("theirs", "*.JPEG") { // encoded again: other files
		picture, err := jpeg.Decode(bytes.NewReader(testenv.Read(t, file)))
		testenv.Must(t, err)
		var again bytes.Buffer
		testenv.Must(t, jpeg.Encode(&again, picture, nil))
		testenv.Must(t, os.WriteFile(file, again.Bytes(), 0o600))
	}
	for _, c := range []struct{ model, data, want string }{
		{"tiny.onnx", "theirs", ""}, {"nowhere.onnx", "nowhere", ""},
		{"tiny.onnx", "copied", "built-in data"}, {"tiny.onnx", "damaged", "built-in data"}, {"tiny.onnx", "stripped", "built-in data"}, {"tiny.onnx", "imagenet/val_map.txt", "built-in data"},
		{"drawn.onnx", "theirs", "built-in model"}, {"link.onnx", "theirs", "built-in model"}, {"link.onnx", "imagenet", "built-in model and data"},
	} {
		q.ModelPath, q.DatasetPath = c.model, c.data
		r, err := run.Resolve(q)
		testenv.Must(t, err)
		if got := r.Forecast(); c.want == "" && strings.Contains(got, "built-in") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s on %s: %q, want %q", c.model, c.data, got, c.want)
		}
	}
}

// A file that tells how it was converted is limited by that, whoever gives it to the run.
func TestConvertedModel(t *testing.T) {
	q := runtest.Request(t)
	m, err := onnx.ReadWhole("tiny.onnx")
	testenv.Must(t, err)
	m.Metadata = append(m.Metadata, onnx.Property{Key: "mlperf_conversion", Value: `{"precision":"fp16","nodes":2,"of":4,"agreement":{"samples":8,"answers":8,"equal_answers":3}}`})
	testenv.Must(t, m.WriteFile(t.Context(), "half.onnx"))
	q.ModelPath = "half.onnx"
	o := &observer{}
	r, err := inFakeTime(t, q, o)
	testenv.Must(t, err)
	part := limitation.Limitation{ID: limitation.PartlyConverted, Key: "fp16", Value: "2", Of: "4"}
	useless := limitation.Limitation{ID: limitation.OtherAnswers, Key: "fp16", Value: r.Input.Conversion.Agreement.String()}
	if !slices.Contains(r.Limitations, part) || !slices.Contains(r.Limitations, useless) || !slices.Contains(o.notes, report.Sentence(useless)) {
		t.Errorf("limitations %v, notes %q", r.Limitations, o.notes)
	}
	if c := r.Input.Conversion; c == nil || c.Nodes != 2 || c.Agreement.Equal != 3 {
		t.Errorf("results.json has the conversion %+v", c)
	}
}

func TestInPrecision(t *testing.T) {
	p := provided(t, runtest.Request(t))
	of := &userinput.Error{}
	if _, err := p.InPrecision(t.Context(), "int8"); !errors.As(err, &of) || of.Field != "precision" {
		t.Errorf("int8 without ONNX Runtime: %v, want an error of the field precision", err)
	}
	if o, err := p.InPrecision(t.Context(), "fp32"); err != nil || o.ModelPath != "tiny.onnx" {
		t.Errorf("fp32 = %+v, %v, want the model as it is", o, err)
	}
}

func TestService(t *testing.T) {
	q := runtest.Request(t)
	q.Output = "."
	testenv.Tree(t, ".", map[string]string{"results.json": "of a run"})
	q.Scenario, q.Force = "", true
	r, err := run.ResolveService(q)
	testenv.Must(t, err)
	p, err := r.Provide(t.Context(), harness.Silent{})
	testenv.Must(t, err)
	defer p.Close()
	before := fileio.Glob(".", "*")
	if results, err := p.Run(t.Context()); err == nil {
		t.Errorf("a service was run as a test: %+v", results)
	}
	if after := fileio.Glob(".", "*"); !slices.Equal(before, after) || r.ScenarioName() != "Offline" || r.Request.Output != "" {
		t.Errorf("the folder has %v, want %v; the service is of %s", after, before, r.ScenarioName())
	}
	w, ports, err := p.OpenWorkload(t.Context())
	if err != nil || len(ports) != 1 || w.Samples != 4 || len(w.Row(0)) != 1 {
		t.Errorf("%v, %v, want the 4 images", w, err)
	}
	if files, err := p.Parts(); err != nil || len(files) != 1 || files[0].Path != "tiny.onnx" || p.DatasetDir() != "imagenet" || p.ModelPath() != "tiny.onnx" {
		t.Errorf("Parts = %v, %v, want tiny.onnx; data %s", files, err, p.DatasetDir())
	}
	if v, err := strconv.ParseInt(p.Version(), 10, 64); err != nil || v == 0 {
		t.Errorf("version %s, %v, want a positive int64", p.Version(), err)
	}
	of := &userinput.Error{}
	if s, _, err := p.OpenSequences(t.Context(), make([]int, 2), nil); !errors.As(err, &of) || of.Field != "model" || !strings.Contains(err.Error(), "resnet50 is not offered") {
		t.Errorf("OpenSequences = %v, %v, want an error of the field model", s, err)
	}
	testenv.Must(t, os.Remove("tiny.onnx"))
	if w, _, err := p.OpenWorkload(t.Context()); err == nil || !strings.Contains(err.Error(), "tiny.onnx") {
		t.Errorf("without the file: %v, %v, want an error that names it", w, err)
	}
}

// Servers are asked for what the division has them answer, and the error shows what they have instead.
func TestServersOfTheDivision(t *testing.T) {
	for _, c := range []struct{ model, division, offered, want string }{
		{"resnet50", "closed", "resnet50", "it has y float32[? 2]"},
		{"resnet50", "network", "resnet50" + protocol.TaskSuffix, "model resnet50-task has the outputs [{y FP32 [-1 2]}]"},
		{"resnet50", "network", "resnet50", "resnet50-task"},
		{"gnmt", "network", "gnmt" + protocol.TaskSuffix, "model gnmt-task has the outputs"},
	} {
		q := runtest.Request(t)
		t.Setenv("MLPERF_ORT_LIB", "")
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.Must(t, err)
		s := oipserver.New(oipserver.Config{Name: "test", Version: "1", Models: []oipserver.Model{&oiptest.Doubler{Name: c.offered, Width: 2}}})
		go func() { _ = s.ServeHTTP(l) }()
		q.ModelPath, q.Model, q.Division, q.Scenario = "", c.model, c.division, "offline"
		q.Engine = engine.Config{Name: engine.OIP, Remote: engine.Remote{Endpoints: []string{"http://" + l.Addr().String()}, Concurrency: 3}}
		r, err := run.Resolve(q)
		testenv.Must(t, err)
		p, err := r.Provide(t.Context(), harness.Silent{})
		if err == nil {
			_, _, err = p.OpenWorkload(t.Context())
			err = errors.Join(err, p.Close())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		ended, end := context.WithCancel(context.Background())
		end()
		_ = s.Drain(ended)
	}
}

func TestEnergy(t *testing.T) {
	for _, c := range []struct {
		from time.Time // of a meter that saw 50 W for some minutes; zero: none
		want string    // reason for no energy
	}{
		{time.Now().Add(-time.Minute), ""}, {time.Now().Add(-time.Hour), "power was measured from"}, {time.Time{}, "no such file"},
	} {
		q := runtest.Request(t)
		if !c.from.IsZero() {
			text := "time,watts\n"
			for i := range 600 {
				text += c.from.Add(time.Duration(i)*time.Second).UTC().Format(time.RFC3339Nano) + ",50\n"
			}
			testenv.Tree(t, ".", map[string]string{"meter.csv": text})
		}
		q.Power, q.Output = "file:meter.csv", "out"
		_, err := run.Do(t.Context(), q, harness.Silent{})
		testenv.Must(t, err)
		r, err := report.Read("out")
		testenv.Must(t, err)
		joules := 50 * time.Duration(r.Performance.DurationNS).Seconds()
		if c.want != "" {
			joules = 0
		}
		if e := r.Energy; e == nil || e.Joules < joules-1e-6 || e.Joules > joules+1e-6 || !strings.Contains(e.NotMeasured, c.want) || c.want == "" && e.Source != "file meter.csv" {
			t.Errorf("%+v, want %v J, or %q", e, joules, c.want)
		}
	}
	q := runtest.Request(t)
	q.Power = "ptd:127.0.0.1:1"
	for _, q.Ranging = range []bool{false, true} {
		if _, err := run.Do(t.Context(), q, harness.Silent{}); !testenv.Names(err, "energy … PTDaemon") {
			t.Errorf("without PTDaemon: %v", err)
		}
	}
}

func TestRangingRun(t *testing.T) {
	q, daemon := runtest.Request(t), ptdtest.New()
	q.Power, q.Ranging, q.Output = "ptd:"+daemon.Serve(t)+"?settle=0s", true, "out"
	_, err := run.Do(t.Context(), q, harness.Silent{})
	testenv.Must(t, err)
	r, err := report.Read(filepath.Join("out", "run_1"))
	if err != nil || r.Energy == nil || r.Energy.NotMeasured != "" || r.Energy.MeanWatts < 99 || r.Energy.MeanWatts > 101 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !r.Limitations.Has(limitation.PowerClient) {
		t.Errorf("limitations %v", r.Limitations)
	}
	var about struct {
		Sources map[string]string
		Results map[string]string
		Phases  map[string][][2]float64
		Daemon  []struct{ Cmd, Reply string } `json:"ptd_messages"`
	}
	testenv.Must(t, json.Unmarshal(testenv.Read(t, "out/power/server.json"), &about))
	if len(about.Sources) != 0 || len(about.Phases["ranging"]) != 4 || len(about.Phases["testing"]) != 4 || len(about.Daemon) != len(daemon.Said()) || len(about.Results) != 9 {
		t.Errorf("server.json has %+v", about)
	}
	for name, want := range about.Results {
		if sum := sha1.Sum(testenv.Read(t, filepath.Join("out", name))); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: %x, want %s", name, sum, want)
		}
	}
	if said := daemon.Said(); said[len(said)-1] != "SR,V,300.0" {
		t.Errorf("the analyser has other ranges at the end: %q", said)
	}
}
