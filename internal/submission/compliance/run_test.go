package compliance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// classifier asks for runs of a tiny classifier of four pictures on the simulated engine.
func classifier(t *testing.T, test, scenario string) Request {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	b := arch.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.Flatten("features", b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}}))
	b.Output(b.Softmax("softmax", b.Dense("scores", x, arch.Dense{Units: 1000}), 1))
	model, _, err := b.Model()
	if err == nil {
		err = model.WriteFile(t.Context(), filepath.Join(dir, "tiny.onnx"))
	}
	truth := ""
	for i := range 4 {
		picture := image.NewRGBA(image.Rect(0, 0, 32, 32))
		for at := range 32 * 32 {
			picture.Set(at%32, at/32, color.RGBA{uint8(60 * i), 100, uint8(7 * at), 255})
		}
		var data bytes.Buffer
		err = errors.Join(err, jpeg.Encode(&data, picture, nil))
		err = errors.Join(err, fileio.CopyIn(dir, fmt.Sprintf("data/val/%d.JPEG", i), &data))
		truth += fmt.Sprintf("val/%d.JPEG %d\n", i, i)
	}
	if err = errors.Join(err, fileio.CopyIn(dir, "data/val_map.txt", strings.NewReader(truth))); err != nil {
		t.Fatal(err)
	}
	q := Request{Test: test}
	q.Request = run.Request{
		Model: "resnet50", Scenario: scenario, ModelPath: filepath.Join(dir, "tiny.onnx"), DatasetPath: filepath.Join(dir, "data"),
		Output: filepath.Join(dir, "out"), NoReport: true, Quick: true, Engine: engine.Config{Name: engine.Simulated, Latency: 50 * time.Microsecond},
		Settings: []config.Override{{Key: "min_duration", Value: "10ms", Origin: "test"}, {Key: "min_query_count", Value: "70", Origin: "test"}},
	}
	return q
}

// tree lists the files below a folder.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A short run of a slow model has too few queries for the percentile of the rules.
func TestRunJudgedByMedian(t *testing.T) {
	q := classifier(t, test04, "single-stream")
	q.Settings = append(q.Settings, config.Override{Key: "target_latency_percentile", Value: "50", Origin: "test"},
		config.Override{Key: "min_query_count", Value: "11", Origin: "test"})
	q.Engine.Latency = 2 * time.Millisecond // 11 queries last longer than the least duration
	v, err := Run(t.Context(), q, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Facts) == 0 || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "50th percentile") {
		t.Errorf("facts %q, notes %q, want two latencies and the note that they are medians", v.Facts, v.Notes)
	}
}

func TestRun(t *testing.T) {
	q := classifier(t, "test04", "single-stream")
	v, err := Run(t.Context(), q, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Test != test04 || v.Folder != filepath.Join(q.Output, test04) || len(v.Facts) == 0 || len(v.Limitations) == 0 {
		t.Errorf("the verdict is %+v", v)
	}
	want := []string{"performance/run_1/mlperf_log_detail.txt", "performance/run_1/mlperf_log_summary.txt", "verify_performance.txt"}
	if got := tree(t, v.Folder); !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
	conf, err := os.ReadFile(filepath.Join(q.Output, "runs", test04, confFile))
	if wanted, _ := Conf(test04, "resnet50", ""); err != nil || string(conf) != wanted {
		t.Errorf("the run had the settings %q, %v, want %q", conf, err, wanted)
	}
	for run, same := range map[string]bool{"performance": false, test04: true} {
		r, err := readRun(filepath.Join(q.Output, "runs", run))
		if err != nil || r.settings.PerformanceIssueSame != same || r.settings.Mode != loadgen.PerformanceOnly {
			t.Errorf("the run %s: %+v, %v", run, r, err)
		}
	}
	runsAgain(t, q, v.Folder)
}

// runsAgain makes a test again: only by force, and with the runs of before.
func runsAgain(t *testing.T, q Request, folder string) {
	t.Helper()
	var exists *outdir.ExistsError
	if _, err := Run(t.Context(), q, quiet{}); !errors.As(err, &exists) || exists.Folder != folder {
		t.Errorf("a second time: %v, want an error that the folder %s exists", err, folder)
	}
	again := q
	again.Force, again.Performance = true, filepath.Join(q.Output, "runs/performance")
	before, _ := os.Stat(filepath.Join(again.Performance, "mlperf_log_detail.txt"))
	if _, err := Run(t.Context(), again, quiet{}); err != nil {
		t.Errorf("by force: %v", err)
	}
	if after, err := os.Stat(filepath.Join(again.Performance, "mlperf_log_detail.txt")); err != nil || !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Errorf("the given run was made again: %v", err)
	}
}

func TestRunOfTEST01(t *testing.T) {
	q := classifier(t, test01, "single-stream")
	v, err := Run(t.Context(), q, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"accuracy/accuracy.txt", "accuracy/mlperf_log_accuracy.json", "performance/run_1/mlperf_log_detail.txt", "performance/run_1/mlperf_log_summary.txt",
		"verify_accuracy.txt", "verify_performance.txt",
	}
	if got := tree(t, v.Folder); !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
	if !strings.Contains(v.texts[accuracyFile], "num_perf_log_data_mismatch = 0\n") || !strings.Contains(v.texts[accuracyFile], "\nTEST PASS\n") {
		t.Errorf("%s:\n%s", accuracyFile, v.texts[accuracyFile])
	}
	for run, mode := range map[string]loadgen.Mode{"performance": loadgen.PerformanceOnly, "accuracy": loadgen.AccuracyOnly, test01: loadgen.PerformanceOnly} {
		if r, err := readRun(filepath.Join(q.Output, "runs", run)); err != nil || r.settings.Mode != mode {
			t.Errorf("the run %s: %+v, %v, want the mode %v", run, r, err, mode)
		}
	}
}

func TestRunSet(t *testing.T) {
	testenv.SkipLong(t, "makes nine runs")
	q := classifier(t, "", "single-stream")
	var told []string
	err := RunSet(t.Context(), q, quiet{}, func(v *Verdict) error {
		told = append(told, v.Test)
		return nil
	})
	if want := []string{test01, test03, test04, test05}; err != nil || !slices.Equal(told, want) {
		t.Fatalf("verdicts on %v, %v, want %v", told, err, want)
	}
	want := []string{"TEST01", "TEST03", "TEST04-A", "TEST04-B", "TEST05", "runs"}
	if got := namesIn(t, q.Output); !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
	runs := []string{"TEST01", "TEST03", "TEST04", "TEST04-A", "TEST05", "accuracy", "data", "performance"}
	if got := namesIn(t, filepath.Join(q.Output, "runs")); !slices.Equal(got, runs) {
		t.Errorf("the runs are %v, want %v", got, runs)
	}
	unique, err := readRun(filepath.Join(q.Output, "runs", test04A))
	if err != nil || !unique.settings.PerformanceIssueUnique || unique.settings.PerformanceIssueSame {
		t.Errorf("TEST04-A ran with %+v, %v", unique, err)
	}
	if _, err := os.Stat(filepath.Join(q.DatasetPath, "val/0.JPEG")); err != nil {
		t.Error(err)
	}
	stop := errors.New("enough")
	q.Output += "2"
	if err := RunSet(t.Context(), q, quiet{}, func(*Verdict) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want that of tell", err)
	}
}

func TestCancelledRun(t *testing.T) {
	q := classifier(t, test04, "single-stream")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := Run(ctx, q, quiet{}); v != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, %v", v, err)
	}
	if _, err := os.Stat(filepath.Join(q.Output, test04)); err == nil {
		t.Error("there is a folder of the test")
	}
}

func TestWrongRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(q *Request)
		field  string
		want   string
	}{
		{"an unknown test", func(q *Request) { q.Test = "TEST02" }, "test", `test is "TEST02": must be one of TEST01, TEST03, TEST04, TEST05, TEST06, TEST07, TEST08, TEST09`},
		{"a test of other rounds", func(q *Request) { q.Test, q.Rules = test09, "v5.1" }, "rules", "TEST09 is of the rules from v6.0 on, not of v5.1"},
		{"unknown rules", func(q *Request) { q.Rules = "v9.9" }, "rules", "v9.9"},
		{"another mode", func(q *Request) { q.Mode = "accuracy" }, "mode", "a test has the modes it needs"},
		{"another audit.config", func(q *Request) { q.AuditConf = "x" }, "audit_conf", "the test makes its own"},
		{"a tolerance below 0", func(q *Request) { q.Options.Tolerance = -1 }, "tolerance", "tolerance is -1: must be a number from 0 on"},
		{"a pattern without a group", func(q *Request) { q.Options.Pattern = "(" }, "score_pattern", "must be a regular expression with a group for the number"},
		{"a test for other models", func(q *Request) { q.Test = test06 }, "test", "TEST06 is not for resnet50, whose tests are TEST01, TEST04"},
		{"an unknown model", func(q *Request) { q.Model = "hal" }, "model", "hal"},
		{"no scenario", func(q *Request) { q.Scenario = "" }, "scenario", "scenario"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := Request{Test: test04}
			q.Request = run.Request{Model: "resnet50", Scenario: "offline", Output: filepath.Join(t.TempDir(), "out")}
			c.change(&q)
			_, err := Run(t.Context(), q, quiet{})
			var wrong *userinput.Error
			if !errors.As(err, &wrong) || wrong.Field != c.field || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v (%+v), want %q about %s", err, wrong, c.want, c.field)
			}
			if _, err := os.Stat(q.Output); err == nil {
				t.Error("something ran")
			}
		})
	}
}

func TestExistingFolders(t *testing.T) {
	for version, name := range map[string]string{"v2.0": test04B, "v2.1": test04} {
		q := classifier(t, test04, "offline")
		q.Rules = version
		if err := os.MkdirAll(filepath.Join(q.Output, name), 0o755); err != nil {
			t.Fatal(err)
		}
		var exists *outdir.ExistsError
		if err := (&runner{Request: q}).prepare(); !errors.As(err, &exists) || filepath.Base(exists.Folder) != name {
			t.Errorf("%s: %v, want that %s exists", version, err, name)
		}
		q.Force = true
		if err := (&runner{Request: q}).prepare(); err != nil {
			t.Errorf("%s by force: %v", version, err)
		}
	}
}

func TestTargetOfTheResult(t *testing.T) {
	r := &runner{Request: classifier(t, test04, "offline"), observer: quiet{}}
	if err := r.prepare(); err != nil {
		t.Fatal(err)
	}
	r.Performance = fakeRun{scenario: "Offline", metric: 1, settings: map[string]any{"effective_target_qps": 1234.5}}.write(t)
	if err := r.runTest(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, err := readRun(r.folder(test04))
	if err != nil || log.settings.TargetQPS != 1234.5 || log.settings.Mode != loadgen.PerformanceOnly || !log.settings.PerformanceIssueSame {
		t.Errorf("the run had %+v, %v, want the target of the result, 1234.5", log, err)
	}
	q := run.Request{Settings: []config.Override{{Key: "target_qps", Value: "7"}}}
	if err := r.sameTarget(&q); err != nil || len(q.Settings) != 1 {
		t.Errorf("a request with its own target: %+v, %v, want that it stays", q.Settings, err)
	}
	r.Performance = fakeRun{scenario: "Server", metric: 1, settings: map[string]any{"effective_target_qps": 12.5, "effective_target_latency_ns": 20000000}}.write(t)
	q = run.Request{AutoLatency: true}
	if err := r.sameTarget(&q); err != nil || q.AutoLatency || len(q.Settings) != 2 || q.Settings[0].Value != "12.5" || q.Settings[1].Key != "target_latency" || q.Settings[1].Value != "20ms" {
		t.Errorf("Server: %+v, %v, want the rate and the bound of the result", q, err)
	}
	if r.Performance = t.TempDir(); r.sameTarget(&q) == nil {
		t.Error("a folder without logs has a target")
	}
}

func TestDataToChange(t *testing.T) {
	r := &runner{observer: quiet{}}
	r.Test, r.Output = test03, t.TempDir()
	var wrong *userinput.Error
	if err := r.runChanged(t.Context()); !errors.As(err, &wrong) || wrong.Field != "dataset_path" {
		t.Errorf("unknown data: %v", err)
	}
	r.CustomData, r.DatasetPath = "", t.TempDir()
	if err := r.runChanged(t.Context()); err == nil || !strings.HasPrefix(err.Error(), r.DatasetPath+" has neither JPEG images nor sentences") {
		t.Errorf("the data of the request: %v", err)
	}
}

// A quiet observer shows nothing.
type quiet struct{}

func (quiet) Phase(string)             {}
func (quiet) Loading(int, int)         {}
func (quiet) Items(int, int)           {}
func (quiet) Traffic(loadgen.Progress) {}
func (quiet) Note(string)              {}

// The data set of TEST07 has other questions than that of performance, and fewer: each is asked once.
func TestQuestionsOfTEST07(t *testing.T) {
	testenv.SkipLong(t, "asks a server 990 times")
	testQuestionsOfTEST07(t, samples07)
}

// A trial on a few questions runs with these.
func TestFewQuestionsOfTEST07(t *testing.T) { testQuestionsOfTEST07(t, 8) }

func testQuestionsOfTEST07(t *testing.T, count int) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{}))
	defer server.Close()
	var rows strings.Builder
	for i := range count {
		fmt.Fprintf(&rows, `{"tok_input": [1006, %d, 7], "dataset": "gpqa", "ground_truth": "A"}`+"\n", 5+i%900)
	}
	data := filepath.Join(t.TempDir(), "gpqa.jsonl")
	if err := os.WriteFile(data, []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for score, want := range map[string]bool{"60.698": true, "60.6": false} {
		q := Request{Test: test07, Options: Options{Score: "grep -c qsl_idx {accuracy_log}; echo \"'exact_match': " + score + `"`}}
		q.Request = run.Request{
			Model: "gpt-oss-120b", Scenario: "offline", DatasetPath: data, Output: t.TempDir(), NoReport: true, Anyway: true,
			Engine:   engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{server.URL}, Model: "tiny"}},
			Settings: []config.Override{{Key: "target_qps", Value: "10", Origin: "test"}},
		}
		v, err := Run(t.Context(), q, quiet{})
		if err != nil {
			t.Fatal(err)
		}
		if text := v.texts[accuracyFile]; v.Passed != want || !strings.HasPrefix(text, fmt.Sprintf("%d\n", count)) {
			t.Errorf("a score of %s: passed = %v, want %v, with %d answers; the text is\n%s", score, v.Passed, want, count, text)
		}
		for _, name := range []string{accuracyFile, "performance/run_1/mlperf_log_detail.txt", "accuracy/mlperf_log_accuracy.json"} {
			if _, err := os.Stat(filepath.Join(q.Output, test07, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// A trafficObserver knows whether the traffic has begun.
type trafficObserver struct {
	quiet
	traffic atomic.Bool
}

func (o *trafficObserver) Phase(name string) { o.traffic.Store(name == "traffic") }

// TEST06 fails at servers that tell of more tokens than they send, with both numbers.
func TestLiarsFailTEST06(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	data := t.TempDir()
	var rows []string
	for i := range 30 {
		rows = append(rows, fmt.Sprintf(`{"tok_input": [%d, 5, 7], "output": "a"}`, i))
	}
	for name, content := range map[string]string{"cnn_eval.json": "[" + strings.Join(rows, ",") + "]", "tokenizer.json": string(tokentest.Tokenizer(t))} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const words = 20
	answer := func(n int32) (text, ids string) {
		for i := range int32(words) {
			id := (n + i*i) % vocab.Plain
			text, ids = text+vocab.Words[id], ids+fmt.Sprintf(",%d", id)
		}
		quoted, _ := json.Marshal(text)
		return string(quoted), ids[1:]
	}
	honest := func(text, ids string) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"text":%s,"token_ids":[%s]}],"usage":{"completion_tokens":%d}}`, text, ids, words)
	}
	more := strings.TrimPrefix(strings.Repeat(",1", 80), ",")
	for name, c := range map[string]struct {
		answer func(text, ids string) string
		want   string // empty: it passes
	}{
		"an honest server": {honest, ""},
		"an honest server without ids": {func(text, _ string) string {
			return fmt.Sprintf(`{"choices":[{"index":0,"text":%s}],"usage":{"completion_tokens":%d}}`, text, words+1)
		}, ""},
		"usage is more than the text": {func(text, _ string) string {
			return fmt.Sprintf(`{"choices":[{"index":0,"text":%s}],"usage":{"completion_tokens":65}}`, text)
		}, "tokens: the servers tell of 4160 in 64 answers, the tokenizer counts 1280"},
		"usage is more than the ids": {func(text, ids string) string {
			return fmt.Sprintf(`{"choices":[{"index":0,"text":%s,"token_ids":[%s]}],"usage":{"completion_tokens":65}}`, text, ids)
		}, "tokens: the servers tell of 6500 in 100 answers, and send the ids of 2000"},
		"ids are more than the text": {func(text, _ string) string {
			return fmt.Sprintf(`{"choices":[{"index":0,"text":%s,"token_ids":[%s]}],"usage":{"completion_tokens":80}}`, text, more)
		}, "tokens: the servers tell of 5120 in 64 answers, the tokenizer counts 1280"},
		"spaces": {func(string, string) string {
			return fmt.Sprintf(`{"choices":[{"index":0,"text":"%s"}],"usage":{"completion_tokens":128}}`, strings.Repeat(" ", 128))
		}, "tokens: the servers tell of 8192 in 64 answers, the tokenizer counts 64"},
		"one letter": {func(string, string) string {
			return `{"choices":[{"index":0,"text":"a"}],"usage":{"completion_tokens":128}}`
		},
			"requests failed: more tokens than text: the answer has 128 tokens as the server says, and its text 1 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &trafficObserver{}
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := asked.Add(1)
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				text, ids := answer(n)
				switch {
				case r.Method == http.MethodGet:
					fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
				case !bytes.Contains(body, []byte(`"max_tokens":128`)): // the client asks what the server understands
					fmt.Fprint(w, `{"choices":[{"index":0,"text":" token01 token02","token_ids":[1,2]}],"usage":{"completion_tokens":2}}`)
				case !o.traffic.Load(): // and warms up
					fmt.Fprint(w, honest(text, ids))
				default:
					fmt.Fprint(w, c.answer(text, ids))
				}
			}))
			defer server.Close()
			q := Request{Test: test06}
			q.Request = run.Request{
				Model: "llama3.1-8b", Scenario: "offline", DatasetPath: data, Output: t.TempDir(), NoReport: true, Anyway: true,
				Engine:   engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{server.URL}, Model: "tiny"}},
				Settings: []config.Override{{Key: "target_qps", Value: "10", Origin: "test"}},
			}
			v, err := Run(t.Context(), q, o)
			if err != nil {
				t.Fatal(err)
			}
			findings := strings.Join(v.Findings, "\n")
			if v.Passed != (c.want == "") || !strings.Contains(findings, c.want) || strings.Contains(v.texts[accuracyFile], "False") == v.Passed {
				t.Errorf("passed %v, findings %q, want %q; the text is\n%s", v.Passed, findings, c.want, v.texts[accuracyFile])
			}
		})
	}
}
