package config

import (
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// QuickOrigin is the origin of the settings of a quick run.
const QuickOrigin = "quick run"

// QuickRun returns the settings of a run of about ten seconds that can be VALID: early stopping needs 64 queries for the
// 90th percentile and 662 for the 99th.
func QuickRun(s loadgen.Scenario) []Override {
	queries := map[loadgen.Scenario]string{loadgen.Offline: "1", loadgen.SingleStream: "64", loadgen.MultiStream: "64", loadgen.Server: "100"}
	list := []Override{
		{Key: "min_duration", Value: "10s", Origin: QuickOrigin, Role: limitation.QuickRun},
		{Key: "min_query_count", Value: queries[s], Origin: QuickOrigin, Role: limitation.QuickRun},
	}
	if s != loadgen.Offline {
		list = append(list, Override{Key: "target_latency_percentile", Value: "90", Origin: QuickOrigin, Role: limitation.QuickRun})
	}
	return list
}
