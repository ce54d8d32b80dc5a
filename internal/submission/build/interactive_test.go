package build

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestInteractiveIsKnownByTheResultsOrTheBounds(t *testing.T) {
	round, err := rounds.Find("v6.1")
	ok(t, err)
	limits := round.Model("llama3.1-8b").TokenLimitsNS
	if len(limits) < 2 || limits["Interactive"].TTFT >= limits["Server"].TTFT {
		t.Fatalf("llama3.1-8b has the bounds %v", limits)
	}
	for _, c := range []struct {
		name, folder, ttft, tpot string
		results                  *report.Results
		limits                   map[string]rounds.TokenLimits
		want                     bool
	}{
		{"our results say so", "server", "2000000000", "100000000", &report.Results{Interactive: true}, limits, true},
		{"our results say no, whatever the folder's name", "interactive", "500000000", "30000000", &report.Results{}, limits, false},
		{"others' logs with the bounds of Interactive", "run_1", "500000000", "30000000", nil, limits, true},
		{"others' logs with harder ones", "run_1", "400000000", "20000000", nil, limits, true},
		{"others' logs with the bounds of Server", "run_1", "2000000000", "100000000", nil, limits, false},
		{"one bound of Interactive is not enough", "run_1", "500000000", "100000000", nil, limits, false},
		{"others' logs without bounds", "run_1", "", "", nil, limits, false},
		{"others' logs in a folder of that name", "Interactive", "", "", nil, limits, true},
		{"a model that has no Interactive", "run_1", "500000000", "30000000", nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), mlperflog.DetailFile)
			text := detailLine("effective_scenario", `"Server"`)
			if c.ttft != "" {
				text += detailLine("requested_server_ttft_latency", c.ttft) + detailLine("requested_server_tpot_latency", c.tpot)
			}
			write(t, path, text)
			log, err := mlperflog.ReadDetail(path)
			ok(t, err)
			r := &run{folder: c.folder, log: log, results: c.results}
			if got := r.interactive(c.limits); got != c.want {
				t.Errorf("interactive = %v, want %v", got, c.want)
			}
		})
	}
}

// detailLine is a line of a detail log.
func detailLine(key, value string) string {
	return `:::MLLOG {"key": "` + key + `", "value": ` + value + `, "time_ms": 1.0, "metadata": {"is_error": false, "is_warning": false}}` + "\n"
}

// setKeys gives keys of a detail log values, and adds those that it has not.
func setKeys(log string, values map[string]string) string {
	for key, value := range values {
		line := regexp.MustCompile(`(?m)^.*"key": "` + regexp.QuoteMeta(key) + `".*\n`)
		log = line.ReplaceAllString(log, "") + detailLine(key, value)
	}
	return log
}

// The official checker takes the result of Interactive from the keys of Server: LoadGen calls it
// that.
func TestAResultOfInteractiveIsThatOfTheLogsServer(t *testing.T) {
	for _, version := range []string{"v5.1", "v6.0", "v6.1"} {
		round, err := rounds.Find(version)
		ok(t, err)
		q := foreign(t, "v6.1")
		from := filepath.Join(q.Runs[0], home, "results/board1/resnet50/SingleStream")
		runs := t.TempDir()
		values := map[string]string{
			"effective_scenario": `"Server"`, "requested_server_ttft_latency": "500000000", "requested_server_tpot_latency": "30000000", "requested_server_target_qps": "12.5",
			"result_completed_samples_per_sec": "10.5", "result_completed_tokens_per_second": "1234.5", "requested_use_token_latencies": "true", "effective_target_latency_ns": "0",
			"result_first_token_99.00_percentile_latency_ns": "400000000", "result_time_per_output_token_99.00_percentile_ns": "25000000",
			"effective_performance_sample_count": "13368", "effective_accuracy_sample_count": "13368",
			"effective_qsl_rng_seed": fmt.Sprint(round.Seeds.QSL), "effective_sample_index_rng_seed": fmt.Sprint(round.Seeds.SampleIndex), "effective_schedule_rng_seed": fmt.Sprint(round.Seeds.Schedule),
		}
		for _, part := range []string{"performance/run_1", "accuracy"} {
			for _, name := range []string{"mlperf_log_summary.txt", "mlperf_log_accuracy.json", "accuracy.txt"} {
				if text, err := os.ReadFile(filepath.Join(from, part, name)); err == nil {
					write(t, filepath.Join(runs, part, name), string(text))
				}
			}
			write(t, filepath.Join(runs, part, mlperflog.DetailFile), setKeys(read(t, from, part, mlperflog.DetailFile), values))
		}
		q.Runs, q.Model, q.Rules, q.Division, q.Description, q.Bandwidth = []string{runs}, "llama3.1-8b", version, "open", whole(t, "open", "datacenter"), "one cable"
		built, err := Build(t.Context(), q)
		ok(t, err)
		if len(built.Results) != 1 || built.Results[0].Scenario != "Interactive" || built.Results[0].Value != 1234.5 || built.Results[0].Unit != "Tokens/s" {
			t.Errorf("%s: built %+v, want Interactive with 1234.5 Tokens/s", version, built.Results)
		}
		if row := checkRows(t, q)["Interactive"]; row == nil || row.Result != "1234.5" {
			t.Errorf("%s: the official summary has %+v, want 1234.5; %s", version, row, rulesOf(built.Check))
		}
		if text := read(t, q.Tree, "open/ExampleOrg/documentation/bandwidth.md"); !strings.Contains(text, "llama3.1-8b Interactive: 10.5 samples/s") {
			t.Errorf("%s: bandwidth.md does not have the rate in samples:\n%s", version, text)
		}
	}
}
