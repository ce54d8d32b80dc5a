package compliance

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

// A fakeRun has the content of the logs of a run.
type fakeRun struct {
	scenario  string
	mode      string         // empty: PerformanceOnly
	metric    float64        // ns of streams, else samples/s
	invalid   bool           // the run is
	settings  map[string]any // effective ones; nil: the log does not have it
	responses []string       // "sample response", in hexadecimal digits
	extra     string         // the end of each response's record
}

// write makes the logs in a new folder.
func (f fakeRun) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	f.rewrite(t, dir)
	return dir
}

// rewrite makes the logs in a folder that may have others.
func (f fakeRun) rewrite(t *testing.T, dir string) {
	t.Helper()
	writeText(t, dir, "mlperf_log_detail.txt", f.detail())
	writeText(t, dir, "mlperf_log_summary.txt", f.summary())
	writeText(t, dir, "mlperf_log_accuracy.json", f.log())
}

// writeText replaces a file.
func writeText(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (f fakeRun) validity() string {
	if f.invalid {
		return "INVALID"
	}
	return "VALID"
}

func (f fakeRun) detail() string {
	mode := f.mode
	if mode == "" {
		mode = "PerformanceOnly"
	}
	values := map[string]any{
		"effective_scenario": f.scenario, "effective_test_mode": mode, "result_validity": f.validity(),
		"effective_qsl_rng_seed": 1, "effective_sample_index_rng_seed": 2, "effective_schedule_rng_seed": 3,
		"effective_accuracy_sample_count": 8, "effective_performance_sample_count": 8,
	}
	values[map[string]string{
		"SingleStream": "early_stopping_latency_ss", "MultiStream": "early_stopping_latency_ms",
		"Server": "result_completed_samples_per_sec", "Offline": "result_samples_per_second",
	}[f.scenario]] = f.metric
	maps.Copy(values, f.settings)
	var b strings.Builder
	maps.DeleteFunc(values, func(_ string, v any) bool { return v == nil })
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := fmt.Sprint(values[key])
		if _, ok := values[key].(string); ok {
			value = fmt.Sprintf("%q", value)
		}
		fmt.Fprintf(&b, ":::MLLOG {\"key\": %q, \"value\": %s, \"time_ms\": 1.0, \"namespace\": \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", "+
			"\"metadata\": {\"is_error\": false, \"is_warning\": false, \"file\": \"x.cc\", \"line_no\": 1, \"pid\": 1, \"tid\": 1}}\n", key, value)
	}
	return b.String()
}

func (f fakeRun) summary() string {
	line := "================================================\n"
	text := line + "MLPerf Results Summary\n" + line + "SUT name : fake\nScenario : " + f.scenario + "\nMode     : PerformanceOnly\n"
	result := "Result is : " + f.validity() + "\n"
	const end = "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n"
	switch f.scenario {
	case "Offline":
		return text + fmt.Sprintf("Samples per second: %v\n", f.metric) + result + end
	case "Server":
		return text + fmt.Sprintf("Completed samples per second    : %v\n", f.metric) + result + end
	}
	percentile := map[string]string{"SingleStream": "90.0th", "MultiStream": "99.0th"}[f.scenario]
	return text + result + fmt.Sprintf("Early Stopping Result:\n * Early stopping %s percentile estimate: %.0f\n", percentile, f.metric) + end
}

func (f fakeRun) log() string {
	var records []string
	for i, r := range f.responses {
		sample, data, _ := strings.Cut(r, " ")
		records = append(records, fmt.Sprintf("{ \"seq_id\" : %d, \"qsl_idx\" : %s, \"data\" : %q%s }", i, sample, data, f.extra))
	}
	return "[\n" + strings.Join(records, ",\n") + "\n]\n"
}

var (
	settings01 = map[string]any{"effective_accuracy_log_rng_seed": uint64(samplingSeed), "effective_accuracy_log_sampling_target": 4096}
	settings04 = map[string]any{"effective_performance_issue_same": true, "effective_performance_issue_same_index": 3}
	settings05 = map[string]any{"effective_qsl_rng_seed": 4, "effective_sample_index_rng_seed": 5, "effective_schedule_rng_seed": 6}
)

// settingsOf returns the settings of a run under a test, and some more.
func settingsOf(test string, more map[string]any) map[string]any {
	all := map[string]map[string]any{test01: settings01, test04: settings04, test05: settings05}[test]
	if all == nil {
		all = settings01
	}
	all = maps.Clone(all)
	maps.Copy(all, more)
	return all
}

// tokens writes the data of a response.
func tokens(list ...byte) string {
	var data []byte
	for _, token := range list {
		data = append(data, token, 0, 0, 0)
	}
	return hex.EncodeToString(data)
}

// pair01 makes the logs of TEST01 with these responses.
func pair01(t *testing.T, accuracy, run []string) Logs {
	f := fakeRun{scenario: "Offline", metric: 100}
	ref := f.write(t)
	f.responses, f.mode = accuracy, "AccuracyOnly"
	acc := f.write(t)
	f.responses, f.mode, f.settings = run, "", settings01
	return Logs{Performance: ref, Accuracy: acc, Audit: f.write(t)}
}

func namesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// numbers writes numbers as DLRM's logs have them.
func numbers(values ...float32) string {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return hex.EncodeToString(data)
}

// with writes results beside the logs of a run.
func with(t *testing.T, dir string, r report.Results) string {
	t.Helper()
	r.Schema, r.Result = report.Schema, "VALID"
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// answerOf is the data of an answer of some tokens.
func answerOf(tokens int) string {
	return hex.EncodeToString(binary.LittleEndian.AppendUint32(make([]byte, 0, 4*tokens), 7)) + strings.Repeat("08000000", tokens-1)
}

// scoresOf scores one log after the other.
func scoresOf(scores ...*report.Accuracy) scorer {
	return func(context.Context, string) (*report.Accuracy, error) {
		a := scores[0]
		scores = scores[1:]
		return a, nil
	}
}

// older gives a run the key of its scenario's result in a round.
func older(f fakeRun, version string) fakeRun {
	key := map[string]string{
		"SingleStream": "result_90.00_percentile_latency_ns", "Server": "result_scheduled_samples_per_sec", "Offline": "result_samples_per_second", "MultiStream": "effective_samples_per_query",
	}[f.scenario]
	if f.scenario == "MultiStream" && version >= "v2.0" {
		key = "result_99.00_percentile_per_query_latency_ns"
	}
	f.settings = maps.Clone(f.settings)
	if f.settings == nil {
		f.settings = map[string]any{}
	}
	f.settings[key] = f.metric
	return f
}

// auditOf makes the logs of a run in Offline with these responses, under the settings of TEST01 and 06 to 09.
func auditOf(t *testing.T, responses ...string) string {
	t.Helper()
	return fakeRun{scenario: "Offline", metric: 100, settings: settings01, responses: responses}.write(t)
}

func verified(t *testing.T, test string, l Logs, o Options) *Verdict {
	t.Helper()
	v, err := Verify(t.Context(), test, l, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
