package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// logged is a run whose detail log has some keys, written as "key value".
func logged(t *testing.T, lines ...string) *run {
	t.Helper()
	dir, text := t.TempDir(), ""
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " ")
		text += detailLine(key, value)
	}
	write(t, filepath.Join(dir, mlperflog.DetailFile), text)
	log, err := mlperflog.ReadDetail(filepath.Join(dir, mlperflog.DetailFile))
	ok(t, err)
	return &run{folder: dir, log: log}
}

func builderOf(t *testing.T, version string) *builder {
	t.Helper()
	round, err := rounds.Find(version)
	ok(t, err)
	return &builder{Request: Request{Rules: version, Division: "closed", Submitter: "Org", System: "box"}, round: round, built: &Built{}}
}

func TestScoresOfOtherProgramsAreTheMetricsOfTheBenchmark(t *testing.T) {
	for _, c := range []struct{ name, benchmark, text, want string }{
		{"a share", "resnet", "accuracy=76.0125%, good=38006, total=50000\n", "76.012"},
		{"the second of two numbers", "bert-99", "{\"exact_match\": 83.67, \"f1\": 90.87487}\n", "90.875"},
		{"a word error rate, by its accuracy", "whisper", "Word Error Rate: 2.5%, accuracy=97.5%\n", "97.500"},
		{"several metrics", "llama3.1-8b", "{'rouge1': '38.7792', 'rouge2': '15.9075', 'rougeL': '24.4957', 'rougeLsum': '35.793', 'gen_len': 8167644, 'gen_num': 13368}\n",
			"ROUGE1 38.779, ROUGE2 15.908, ROUGEL 24.496, ROUGELSUM 35.793, GEN_LEN 8167600"},
		{"one of several", "llama3.1-8b", "{'rouge1': 38.5}\n", "ROUGE1 38.500"},
		{"the last of two", "resnet", "accuracy=1%\r\naccuracy=76%\r\nhash=12ab\r\n", "76.000"},
		{"words of somebody", "resnet", "Top1: 76.5 of 100\n", "76.500"},
		{"of which a digit is part of a name", "resnet", "top5 0.93, top1 0.765\n", "0.93000"},
		{"no number", "resnet", "good\n", ""},
		{"a metric that is no number", "resnet", "accuracy=7.6.5%\n", "7.6000"},
		{"nothing", "resnet", "", ""},
	} {
		r := &result{benchmark: c.benchmark, scenario: "Offline", accuracy: &run{folder: t.TempDir()}}
		write(t, filepath.Join(r.accuracy.folder, scoreFile), c.text)
		if got := builderOf(t, "v6.1").score(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	r := &result{benchmark: "resnet", scenario: "Offline", accuracy: &run{folder: t.TempDir()}}
	if got := builderOf(t, "v6.1").score(r); got != "" {
		t.Errorf("without a text: %q", got)
	}
	r.accuracy.results = &report.Results{Accuracy: &report.Accuracy{Metric: "Top-1", Value: 76.0125, Unit: "%"}}
	if got := builderOf(t, "v6.1").score(r); got != "Top-1 76.012 %" {
		t.Errorf("of this program: %q", got)
	}
}

func TestResultsHaveTheValueOfTheirScenario(t *testing.T) {
	log := []string{
		"early_stopping_latency_ss 2500000", "early_stopping_latency_ms 9000000", "result_samples_per_second 100.5", "result_completed_samples_per_sec 80.25",
		"result_tokens_per_second 5000", "result_completed_tokens_per_second 4000", "result_qps_without_loadgen_overhead 401", "effective_samples_per_query 8",
		"result_mean_query_latency_ns 4000000", "result_90.00_percentile_latency_ns 1500000",
	}
	for _, c := range []struct {
		benchmark, scenario, from string
		value                     float64
		unit                      string
	}{
		{"resnet", "SingleStream", "", 2.5, "Latency (ms)"}, {"resnet", "MultiStream", "", 9, "Latency (ms)"}, {"resnet", "Server", "", 80.25, "Queries/s"},
		{"resnet", "Offline", "", 100.5, "Samples/s"}, {"llama3.1-8b", "Offline", "", 5000, "Tokens/s"}, {"llama3.1-8b", "Server", "", 4000, "Tokens/s"},
		{"llama3.1-8b", "Interactive", "", 4000, "Tokens/s"}, {"llama3.1-8b-edge", "SingleStream", "", 1.5, "Latency (ms)"}, {"wan-2.2-t2v-a14b", "SingleStream", "", 0.0025, "Latency (s)"},
		{"resnet", "MultiStream", "SingleStream", 72, "Latency (ms)"}, {"resnet", "Offline", "SingleStream", 401, "Samples/s"}, {"resnet", "Offline", "MultiStream", 2000, "Samples/s"},
	} {
		r := &result{benchmark: c.benchmark, scenario: c.scenario, performance: logged(t, log...)}
		if c.from != "" {
			r.from = &result{scenario: c.from}
		}
		value, unit, err := r.value(builderOf(t, "v6.1"))
		if err != nil || fmt.Sprintf("%.9g", value) != fmt.Sprintf("%.9g", c.value) || unit != c.unit {
			t.Errorf("%s %s from %q: %v %s, %v, want %v %s", c.benchmark, c.scenario, c.from, value, unit, err, c.value, c.unit)
		}
	}
}

func TestWhatCannotBeInferredIsNamed(t *testing.T) {
	for _, c := range []struct{ from, to, line, want string }{
		{"SingleStream", "MultiStream", "early_stopping_latency_ms 0", "resnet MultiStream cannot be inferred from SingleStream: "},
		{"SingleStream", "MultiStream", "other 1", "early_stopping_latency_ms"},
		{"SingleStream", "Offline", "other 1", "result_qps_without_loadgen_overhead"},
		{"MultiStream", "Offline", "effective_samples_per_query 8", "result_mean_query_latency_ns"},
		{"MultiStream", "Offline", "result_mean_query_latency_ns 0", "effective_samples_per_query"},
	} {
		r := &result{benchmark: "resnet", scenario: c.to, from: &result{scenario: c.from}, performance: logged(t, c.line)}
		if v, _, err := r.value(builderOf(t, "v6.1")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s from %s: %v, %v, want %q", c.to, c.from, v, err, c.want)
		}
	}
}

func TestWhatKeepsARunOut(t *testing.T) {
	caveat := func(setting, origin string) string {
		return "closed division: " + setting + " is 1 instead of the official 0 (" + origin + ")"
	}
	for _, c := range []struct {
		name, part, division string
		change               func(r *report.Results)
		want                 string
	}{
		{"nothing", "performance", "closed", func(*report.Results) {}, ""},
		{"what holds for every run", "performance", "closed", func(r *report.Results) { r.Caveats = []string{report.CaveatUnofficial} }, ""},
		{"INVALID", "performance", "closed", func(r *report.Results) { r.Result = report.Invalid }, "the run is INVALID"},
		{"a simulated engine", "accuracy", "open", func(r *report.Results) { r.Backend.Engine = "simulated 1ms" }, "the engine is simulated"},
		{"built-in data", "performance", "open", func(r *report.Results) { r.Input.BuiltInData = true }, report.CaveatBuiltInData},
		{"a built-in model in closed", "performance", "closed", func(r *report.Results) { r.Input.BuiltIn = true }, report.CaveatBuiltInModel},
		{"and in network", "performance", "network", func(r *report.Results) { r.Input.BuiltIn = true }, report.CaveatBuiltInModel},
		{"and in open", "performance", "open", func(r *report.Results) { r.Input.BuiltIn, r.Caveats = true, []string{report.CaveatBuiltInModel} }, ""},
		{"a test's own setting", "TEST01", "closed", func(r *report.Results) { r.Caveats = []string{caveat("accuracy_log_rng_seed", "audit.config:2")} }, ""},
		{"the same of a result", "performance", "closed", func(r *report.Results) { r.Caveats = []string{caveat("accuracy_log_rng_seed", "audit.config:2")} },
			"it has a caveat: " + caveat("accuracy_log_rng_seed", "audit.config:2")},
		{"another test's", "TEST04", "closed", func(r *report.Results) { r.Caveats = []string{caveat("accuracy_log_rng_seed", "audit.config:2")} },
			"it has a caveat: " + caveat("accuracy_log_rng_seed", "audit.config:2")},
		{"a test's own, by a flag", "TEST06", "closed", func(r *report.Results) { r.Caveats = []string{caveat("min_duration", "flag --min-duration")} },
			"it has a caveat: " + caveat("min_duration", "flag --min-duration")},
		{"one of several", "TEST01", "closed", func(r *report.Results) { r.Caveats = []string{report.CaveatUnofficial, "quick"} }, "it has a caveat: quick"},
	} {
		r := logged(t, `result_validity "VALID"`)
		r.results = &report.Results{Result: report.Valid, Backend: report.Backend{Engine: "onnxruntime 1.24"}}
		c.change(r.results)
		if got := refuse(r, c.part, c.division); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLogsOfOtherProgramsAreLookedThrough(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{`result_validity "VALID"`}, ""},
		{[]string{`other 1`}, ""}, // an accuracy run says nothing
		{[]string{`result_validity "INVALID"`, `result_invalid_reason "Min duration"`}, "the run is INVALID Min duration"},
		{[]string{`result_validity "INVALID"`}, "the run is INVALID"},
		{[]string{`loadgen_version "mlperf 1.2"`}, "this program made the logs, and results.json is gone, which says what speaks against them"},
		{[]string{`loadgen_version "5.0.19"`}, ""},
	} {
		if got := refuse(logged(t, c.lines...), "performance", "closed"); got != c.want {
			t.Errorf("%q: %q, want %q", c.lines, got, c.want)
		}
	}
}

func TestOneNameInOpenIsForOneModel(t *testing.T) {
	b := builderOf(t, "v6.1")
	b.Division, b.Name, b.root = "open", "mine", t.TempDir()
	list := []*result{{benchmark: "resnet"}, {benchmark: "bert-99"}}
	if err := b.mapping(t.Context(), list); err == nil || err.Error() != "the name mine is for resnet and bert-99, want one for each model" {
		t.Errorf("of two models: %v", err)
	}
	write(t, filepath.Join(b.root, "open/Org/model_mapping.json"), `{"theirs": "bert-99"}`)
	ok(t, b.mapping(t.Context(), list[:1]))
	if got, want := read(t, b.root, "open/Org/model_mapping.json"), "{\n  \"mine\": \"resnet\",\n  \"theirs\": \"bert-99\"\n}\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	write(t, filepath.Join(b.root, "open/Org/model_mapping.json"), `[]`)
	if err := b.mapping(t.Context(), list[:1]); err == nil || !strings.HasPrefix(err.Error(), "open/Org/model_mapping.json: ") {
		t.Errorf("of a list: %v", err)
	}
	b.Name = ""
	ok(t, b.mapping(t.Context(), list))
}

func TestATreeIsPublishedAtOnce(t *testing.T) {
	dir := t.TempDir()
	made, tree := filepath.Join(dir, "made"), filepath.Join(dir, "tree")
	write(t, filepath.Join(made, "closed/a"), "new")
	ok(t, publish(made, tree))
	if read(t, tree, "closed/a") != "new" || there(made) {
		t.Error("a new tree is not in its place")
	}
	write(t, filepath.Join(made, "closed/a"), "newer")
	ok(t, publish(made, tree))
	if read(t, tree, "closed/a") != "newer" {
		t.Error("an old tree was not replaced")
	}
	if err := publish(filepath.Join(dir, "gone"), filepath.Join(dir, "other")); err == nil {
		t.Error("nothing was published")
	}
	if err := publish(filepath.Join(dir, "gone"), tree); err == nil || read(t, tree, "closed/a") != "newer" {
		t.Errorf("nothing in the place of a tree: %v; the tree must stay", err)
	}
}

func TestCopiesKeepLinksAndRefuseWhatIsNoFile(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	write(t, filepath.Join(from, "a/b"), "text")
	ok(t, os.Symlink("a/b", filepath.Join(from, "link")))
	ok(t, copyTree(t.Context(), from, to))
	if target, err := os.Readlink(filepath.Join(to, "link")); err != nil || target != "a/b" || read(t, to, "a/b") != "text" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if err := copyTree(t.Context(), filepath.Join(from, "gone"), to); err == nil {
		t.Error("what is not there was copied")
	}
}
