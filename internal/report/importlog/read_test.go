package importlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// unpacked returns the content of a compressed file.
func unpacked(t testing.TB, elem ...string) string {
	t.Helper()
	return string(testenv.Read(t, filepath.Join(elem...)))
}

// published returns the two logs of a folder of testdata.
func published(t testing.TB, name string) (detail, summary string) {
	t.Helper()
	return unpacked(t, "testdata", name, mlperflog.DetailFile+".gz"), unpacked(t, "testdata", name, mlperflog.SummaryFile+".gz")
}

// folder writes logs into a new folder below a root; an empty one is left out.
func folder(t testing.TB, path, detail, summary string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), path)
	err := os.MkdirAll(dir, 0o755)
	for name, text := range map[string]string{mlperflog.DetailFile: detail, mlperflog.SummaryFile: summary} {
		if text != "" {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func explained(t testing.TB, r *report.Results) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Explain(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPublishedLogs(t *testing.T) {
	const run = "performance/run_1"
	for _, c := range []struct {
		name, path string
		about      About
		model      string
		rules      string
		result     string
		metric     report.Metric
		says       []string
	}{
		{"v0.7-server-negative-times", "inference_results_v0.7/closed/QCT/results/x/bert-99/Server/" + run, About{}, "bert", "v0.7", report.Valid,
			report.Metric{Name: "scheduled samples", Value: 5199.74, Unit: "samples/s"},
			[]string{"latency .*130 ms .*99.33 ms .*yes .*mlperf_log_detail.txt:106, requested settings", "311,986 queries", "rules v0.7, as the path says"}},
		{"v1.1-singlestream", "logs", About{}, report.NotKnown, "v1.1", report.Valid,
			report.Metric{Name: "90th percentile latency", Value: 1.620436, Unit: "ms"},
			[]string{"not in the logs", "the settings are not compared with rules: the model is not known", "rules v1.1, by its seeds"}},
		{"v2.0-multistream", "closed/Alibaba/results/x/ssd-resnet34/multistream/" + run, About{}, "ssd-resnet34", "v2.0", report.Valid,
			report.Metric{Name: "99th percentile query latency (early stopping estimate)", Value: 120.236881, Unit: "ms"},
			[]string{"closed division: min_query_count is 6,285 instead of the official 270,336 (mlperf_log_detail.txt:20, requested settings)", "11 min 44 s"}},
		{"v2.1-server-warning", "logs", About{Model: "resnet50"}, "resnet50", "v2.1", report.Valid,
			report.Metric{Name: "scheduled samples", Value: 200052, Unit: "samples/s"},
			[]string{"mlperf_log_detail.txt:68: warning of the test: warning_generic_message: Logging allocation detected", "51,120,175 queries"}},
		{"v4.1-offline", "logs", About{Model: "3d-unet-99", Rules: "v4.0"}, "3d-unet", "v4.0", report.Valid,
			report.Metric{Name: "samples", Value: 6.73664, Unit: "samples/s"}, []string{"4,488 samples"}},
		{"v5.1-server-tokens", "logs", About{}, report.NotKnown, "v5.1", report.Valid,
			report.Metric{Name: "completed tokens", Value: 22545.1, Unit: "tokens/s"},
			[]string{"time to first token", "1.21 s", "67.34 ms", "as many queries as the criterion wants"}},
		{"v5.1-offline-invalid", "open/x/results/y/resnet50/offline/" + run, About{}, "resnet50", "v5.1", report.Invalid,
			report.Metric{Name: "samples", Value: 58.8721, Unit: "samples/s"},
			[]string{"9 min 48 s", "duration: raise the target QPS", "the logs say: Increase expected QPS", "open division, as the path says"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			detail, summary := published(t, c.name)
			r, err := Read(folder(t, c.path, detail, summary), c.about)
			if err != nil {
				t.Fatal(err)
			}
			if r.Model != c.model || r.Rules != c.rules || r.Result != c.result || r.Backend.Engine != report.NotKnown {
				t.Errorf("%s, %s: %s on %s, want %s, %s: %s", r.Model, r.Rules, r.Result, r.Backend.Engine, c.model, c.rules, c.result)
			}
			if diff := cmp.Diff(&c.metric, r.Metric); diff != "" {
				t.Errorf("metric (-want +got):\n%s", diff)
			}
			has(t, explained(t, r), c.says...)
			if err := report.JSON(io.Discard, r); err != nil {
				t.Error(err)
			}
		})
	}
}

// Logs whose numbers nobody can read are not VALID, whatever they say.
func TestLogsWithoutNumbers(t *testing.T) {
	number := regexp.MustCompile(`"value": [0-9.]+`)
	for _, value := range []string{"1e999", "NaN", "-1", `"x"`} {
		detail, _ := published(t, "v4.1-offline")
		r, err := Read(folder(t, "logs", number.ReplaceAllString(detail, `"value": `+value), ""), About{})
		if err == nil && (r.Result != report.Invalid || !strings.Contains(strings.Join(r.Problems, ""), "no result that can be read")) {
			t.Errorf("%s: %s, problems %q", value, r.Result, r.Problems)
		}
	}
}

// has asserts texts, in which " .*" stands for anything on the same line.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		found := false
		for line := range strings.Lines(text) {
			rest, ok := line, true
			for _, piece := range strings.Split(part, " .*") {
				var after string
				if _, after, ok = strings.Cut(rest, piece); !ok {
					break
				}
				rest = after
			}
			found = found || ok
		}
		if !found {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func TestLogsOfAllVersions(t *testing.T) {
	old := filepath.Join("..", "..", "loadgen", "mlperflog", "testdata")
	details, err := filepath.Glob(filepath.Join(old, "*", "*.detail.txt.gz"))
	if err != nil || len(details) < 40 {
		t.Fatalf("%d logs, %v", len(details), err)
	}
	for _, path := range details {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(strings.Replace(path, ".detail.txt.gz", ".summary.txt", 1))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Read(folder(t, "logs", unpacked(t, path), string(text)), About{Model: "resnet50"})
			if err != nil {
				t.Fatal(err)
			}
			want := report.Valid
			if strings.Contains(string(text), "Result is : INVALID") {
				want = report.Invalid
			}
			if r.Result != want || strings.Contains(string(text), "Result is") != (len(r.Constraints) > 0) {
				t.Errorf("%s with %d constraints, want %s", r.Result, len(r.Constraints), want)
			}
			if (r.Result == report.Invalid) != (len(r.Problems) > 0) {
				t.Errorf("%s, but the problems are %q", r.Result, r.Problems)
			}
			explained(t, r)
		})
	}
}

// absent is how the system says that a file is not there.
func absent() string {
	_, err := os.Stat("none")
	return errors.Unwrap(err).Error()
}

func TestSpoiltLogs(t *testing.T) {
	good, summary := published(t, "v5.1-offline-invalid")
	lines := strings.SplitAfter(good, "\n")
	change := func(text, old, with string) string {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in the log", old)
		}
		return strings.Replace(text, old, with, 1)
	}
	for _, c := range []struct {
		name, detail, summary string
		result                string
		says                  string
	}{
		{"a detail log that ends in a line", strings.Join(lines[:60], "") + lines[60][:40], summary, report.Invalid, "mlperf_log_detail.txt:61: "},
		{"logs that both end early", strings.Join(lines[:60], ""), "", report.Interrupted, "neither log has a result"},
		{"no summary", good, "", report.Invalid, "mlperf_log_summary.txt: " + absent()},
		{"different verdicts", change(good, `"INVALID"`, `"VALID"`), summary, report.Invalid, "different verdicts"},
		{"a verdict of no kind", change(good, `"INVALID"`, `"MAYBE"`), summary, report.Invalid, "MAYBE: must be VALID or INVALID"},
		{"a negative latency", change(good, `"value": 588071478291`, `"value": -5`), summary, report.Invalid, "result_max_latency_ns (in the summary: Max latency (ns)) is -5: must be nanoseconds"},
		{"a huge latency", change(good, `"value": 588071478291`, `"value": 1e300`), summary, report.Invalid, "is 1e+300: must be nanoseconds"},
		{"a rate that is no number", change(good, `"value": 58.8721`, `"value": nan`), summary, report.Invalid, "is NaN: must be a number"},
		{"more samples than can be", change(change(good, `"result_query_count", "value": 1`, `"result_query_count", "value": 18446744073709551615`),
			`"generated_samples_per_query", "value": 34621`, `"generated_samples_per_query", "value": 18446744073709551615`), summary, report.Invalid, "are more than 64 bits hold"},
		{"a percentile above all", change(good, `"effective_target_latency_percentile", "value": 0.99`, `"effective_target_latency_percentile", "value": 7`),
			summary, report.Invalid, "effective_target_latency_percentile is 7: must be a fraction"},
		{"a setting that is a text", change(good, `"requested_min_duration_ms", "value": 600000`, `"requested_min_duration_ms", "value": "long"`),
			summary, report.Invalid, "mlperf_log_detail.txt:17: requested_min_duration_ms is long: must be a whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Read(folder(t, "logs", c.detail, c.summary), About{Model: "resnet50"})
			if err != nil {
				t.Fatal(err)
			}
			if r.Result != c.result {
				t.Errorf("%s, want %s", r.Result, c.result)
			}
			has(t, explained(t, r), c.says)
		})
	}
}

func TestReadErrors(t *testing.T) {
	detail, summary := published(t, "v5.1-offline-invalid")
	pipe := folder(t, "pipe", "", "")
	if err := exec.Command("mkfifo", filepath.Join(pipe, mlperflog.DetailFile)).Run(); err != nil {
		t.Skip(err)
	}
	ours := folder(t, "ours", "", "")
	if err := (&report.Results{Schema: report.Schema, Result: report.Valid}).Write(ours); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir string
		about     About
		want      string
		noRun     bool
	}{
		{"an empty folder", folder(t, "empty", "", ""), About{}, "it has no results.json, and no mlperf_log_detail.txt", true},
		{"a folder that is not there", filepath.Join(t.TempDir(), "none"), About{}, "none", true},
		{"a summary only", folder(t, "half", "", summary), About{}, "mlperf_log_detail.txt: " + absent(), false},
		{"a pipe", pipe, About{}, "mlperf_log_detail.txt: is a pipe", false},
		{"noise", folder(t, "noise", strings.Repeat("\x00\xff noise\n", 1000), summary), About{}, "mlperf_log_detail.txt:1: expected a line that begins", false},
		{"an unknown model", folder(t, "logs", detail, summary), About{Model: "alexnet"}, `unknown model "alexnet"`, false},
		{"unknown rules", folder(t, "logs", detail, summary), About{Rules: "v9"}, `unknown rules "v9"`, false},
		{"a run of ours that is given a model", ours, About{Model: "resnet50"}, "names its model and rules", false},
	} {
		_, err := Read(c.dir, c.about)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, report.ErrNoRun) != c.noRun {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if r, err := Read(ours, About{}); err != nil || r.Result != report.Valid {
		t.Errorf("our own run: %v, %v", r, err)
	}
}

func TestCollect(t *testing.T) {
	detail, summary := published(t, "v5.1-offline-invalid")
	dir := folder(t, "a/resnet50/performance/run_1", detail, summary)
	root := strings.TrimSuffix(dir, "/resnet50/performance/run_1")
	runs, problems, err := report.Collect([]string{root}, func(dir string) (*report.Results, error) { return Read(dir, About{}) })
	if err != nil || len(problems) > 0 || len(runs) != 1 {
		t.Fatalf("%d runs, %v, %v", len(runs), problems, err)
	}
	l := report.Lines(runs, nil, 0)[0]
	if l.Engine != report.NotKnown || l.Device != report.NotKnown || l.Model != "resnet50" || l.SamplesPerSecond != 58.8721 {
		t.Errorf("line is %+v", l)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"v0.7-server-negative-times", "v1.1-singlestream", "v5.1-server-tokens", "v2.0-multistream"} {
		detail, summary := published(f, name)
		f.Add(detail, summary)
	}
	f.Fuzz(func(t *testing.T, detail, summary string) {
		r, err := Read(folder(t, "logs", detail, summary), About{Model: "resnet50"})
		if err != nil {
			return
		}
		explained(t, r)
		if err := report.JSON(io.Discard, r); err != nil {
			t.Error(err)
		}
	})
}

// changed replaces texts that have to be there.
func changed(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%q is not in the log", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// without leaves out the lines of a key.
func without(detail, key string) string {
	var kept strings.Builder
	for line := range strings.Lines(detail) {
		if !strings.Contains(line, `"key": "`+key+`"`) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func TestCreated(t *testing.T) {
	detail, summary := published(t, "v5.1-offline-invalid")
	for text, want := range map[string]time.Time{
		"2025-08-04T02:28:17Z":      time.Date(2025, 8, 4, 2, 28, 17, 0, time.UTC),
		"2025-08-04T02:28:17+02:00": time.Date(2025, 8, 4, 0, 28, 17, 0, time.UTC),
		"2020-09-25T02:04:57.51636": time.Date(2020, 9, 25, 2, 4, 57, 516360000, time.UTC),
		"yesterday":                 {},
	} {
		r, err := Read(folder(t, "logs", changed(t, detail, "2025-08-04T02:28:17Z", text), summary), About{})
		if err != nil {
			t.Fatal(err)
		}
		noted := slices.Contains(r.Notes, "the logs do not say when the test was run")
		if !r.Created.Equal(want) || noted != want.IsZero() {
			t.Errorf("%s: %v, noted that it is not known: %v, want %v", text, r.Created, noted, want)
		}
	}
}

func TestRunsWithoutAVerdict(t *testing.T) {
	detail, _ := published(t, "v5.1-offline-invalid")
	for _, line := range strings.Split(detail, "\n") {
		if _, key, ok := strings.Cut(line, `"key": "result_`); ok {
			key, _, _ = strings.Cut(key, `"`)
			detail = without(detail, "result_"+key)
		}
	}
	accuracy := changed(t, detail, `_test_mode", "value": "PerformanceOnly"`, `_test_mode", "value": "AccuracyOnly"`)
	r, err := Read(folder(t, "logs", accuracy, ""), About{})
	if err != nil || r.Result != report.Valid || r.Metric != nil || !slices.Contains(r.Notes, "LoadGen gives an accuracy run no verdict: VALID says that its logs could be read") {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = Read(folder(t, "logs", detail, ""), About{}); err != nil || r.Result != report.Interrupted || len(r.Problems) != 1 {
		t.Errorf("a performance run without a verdict is %s: %q, %v", r.Result, r.Problems, err)
	}
}

// TestMessagesAreCutShort has a test warn again and again, at length.
func TestMessagesAreCutShort(t *testing.T) {
	detail, summary := published(t, "v5.1-offline-invalid")
	line := strings.SplitAfter(detail, "\n")[20]
	_, rest, _ := strings.Cut(line, `"value"`)
	_, rest, _ = strings.Cut(rest, ", ")
	warning := `:::MLLOG {"key": "warning_generic_message", "value": "` + strings.Repeat("ä", 400) + `", ` + changed(t, rest, `"is_warning": false`, `"is_warning": true`)
	r, err := Read(folder(t, "logs", detail+changed(t, warning, `"is_error": false`, `"is_error": true`, `"is_warning": true`, `"is_warning": false`)+strings.Repeat(warning, 24), summary), About{})
	if err != nil {
		t.Fatal(err)
	}
	var told int
	for _, w := range r.Warnings {
		if strings.Contains(w, ": warning of the test: ") || told == 0 && strings.Contains(w, ": error of the test: ") {
			told++
			if len(w) > 400 || !strings.HasSuffix(w, "ä…") {
				t.Errorf("a warning of %d bytes: %q", len(w), w)
			}
		}
	}
	if last := r.Warnings[len(r.Warnings)-1]; told != mostMessages || last != "mlperf_log_detail.txt has 15 more errors and warnings of the test" {
		t.Errorf("%d warnings are told, and then %q", told, last)
	}
}

// Texts of the logs are printable lines, of the detail log and of the summary.
func TestLogsForgeNoLines(t *testing.T) {
	detail, summary := published(t, "v5.1-offline-invalid")
	const evil = "x\\nmobilenet Server: VALID\\u001b[2J\\u202e\\u2028"
	line := strings.SplitAfter(detail, "\n")[20]
	_, rest, _ := strings.Cut(line, `"value"`)
	_, rest, _ = strings.Cut(rest, ", ")
	warning := `:::MLLOG {"key": "warning_generic_message", "value": "` + evil + `", ` + changed(t, rest, `"is_warning": false`, `"is_warning": true`)
	sut := regexp.MustCompile(`("key": "[a-z_]*(?:sut_name|qsl_name|version|git_revision|build_date)[a-z_]*", "value": ")[^"]*"`)
	if n := len(sut.FindAllString(detail, -1)); n < 3 {
		t.Fatalf("the log has %d names", n)
	}
	detail = sut.ReplaceAllString(detail, "${1}"+strings.ReplaceAll(evil, "$", "$$")+`"`)
	summary = regexp.MustCompile(`(?m)^(SUT name : ).*`).ReplaceAllString(summary, "${1}x\x1b[2J\u202e\u2028VALID\r")
	r, err := Read(folder(t, "logs", detail+warning, summary), About{})
	if err != nil {
		t.Fatal(err)
	}
	document := fmt.Sprintf("%+v %+v", *r, r.Backend)
	if i := strings.IndexFunc(document, func(c rune) bool { return !unicode.IsPrint(c) }); i >= 0 {
		t.Errorf("the results have %q", document[max(0, i-40):min(len(document), i+40)])
	}
	if !strings.Contains(document, `x\x0amobilenet Server: VALID\x1b[2J\u202e`) {
		t.Errorf("the results do not have the text: %s", document)
	}
}
