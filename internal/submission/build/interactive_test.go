package build

import (
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/rounds"
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
