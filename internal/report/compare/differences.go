package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Difference is a fact beside the measurements that is not the same on both sides.
type Difference struct {
	Key  string `json:"key"`
	Base string `json:"base"`
	New  string `json:"new"`
	// Unlike says that the sides are different tests, or on different machines.
	Unlike bool `json:"unlike,omitempty"`
}

// A fact of a run is compared.
type fact struct {
	key    string
	unlike bool
	of     func(*report.Results) string
}

var facts = []fact{
	{"result", true, func(r *report.Results) string { return r.Verdict() }},
	{"host", true, func(r *report.Results) string { return r.Host }},
	{"processor", true, func(r *report.Results) string { return systemText(r.System, "cpu", "model") }},
	{"cores", true, func(r *report.Results) string { return systemText(r.System, "cpu", "cores") }},
	{"rules", true, func(r *report.Results) string { return r.Rules }},
	{"limitations", true, func(r *report.Results) string {
		return strings.Join(slices.Sorted(slices.Values(r.Limitations.Sentences())), "; ")
	}},
	{"data", true, func(r *report.Results) string {
		return fmt.Sprintf("%s, %s", r.Input.DatasetPath, units.Count(r.Input.Samples, "sample"))
	}},
	{"latency bound", true, func(r *report.Results) string {
		t := r.Test
		if t == nil {
			return ""
		}
		text := units.ExactDuration(t.TargetLatency)
		if t.ServerTTFTLatency != 0 || t.ServerTPOTLatency != 0 {
			text = fmt.Sprintf("%s to the first token, %s per token", units.ExactDuration(t.ServerTTFTLatency), units.ExactDuration(t.ServerTPOTLatency))
		}
		return fmt.Sprintf("%s, %s", text, units.Percentile(t.TargetLatencyPercentile))
	}},
	{"model", false, func(r *report.Results) string { return r.Model }},
	{"model file", false, func(r *report.Results) string { return r.Input.ModelSHA256[:min(16, len(r.Input.ModelSHA256))] }},
	{"precision", false, func(r *report.Results) string { return r.Input.Precision }},
	{"engine", false, func(r *report.Results) string { return r.Backend.Engine }},
	{"device", false, func(r *report.Results) string { return strings.Join(slices.Sorted(maps.Keys(r.Backend.Devices)), "+") }},
	{"workers", false, func(r *report.Results) string {
		return fmt.Sprintf("%d × %s", r.Backend.Instances, units.Count(r.Backend.Threads, "thread"))
	}},
	{"largest batch", false, func(r *report.Results) string { return fmt.Sprint(r.Backend.MaxBatch) }},
	{"batch delay", false, func(r *report.Results) string { return r.Backend.Delay() }},
	{"program", false, func(r *report.Results) string { return r.Program }},
	{"kernel", false, func(r *report.Results) string { return systemText(r.System, "kernel") }},
}

func systemText(system any, path ...string) string {
	for _, name := range path {
		m, _ := system.(map[string]any)
		system = m[name]
	}
	if system == nil {
		return ""
	}
	return fmt.Sprint(system)
}

// differences are the facts and settings in which the sides differ, or in which one is not
// uniform.
func differences(base, new []Run) []Difference {
	list := []Difference{}
	for _, f := range facts {
		if a, b, differ := sidesOf(base, new, f.of); differ {
			list = append(list, Difference{f.key, a, b, f.unlike})
		}
	}
	keys := map[string]bool{}
	for _, r := range slices.Concat(base, new) {
		for _, s := range r.Results.Settings {
			keys[s.Key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		of := func(r *report.Results) string { return setting(r, key) }
		if a, b, differ := sidesOf(base, new, of); differ {
			list = append(list, Difference{Key: key, Base: a, New: b})
		}
	}
	return list
}

// sidesOf are the values of a fact on both sides, and whether they differ: from one side to the other, or within one.
func sidesOf(base, new []Run, of func(*report.Results) string) (a, b string, differ bool) {
	inBase, inNew := values(base, of), values(new, of)
	a, b = strings.Join(inBase, alternative), strings.Join(inNew, alternative)
	return a, b, a != b || len(inBase) > 1 || len(inNew) > 1
}

// alternative separates the values of a side that is not uniform.
const alternative = " | "

// values are the different ones of a side.
func values(runs []Run, of func(*report.Results) string) []string {
	var list []string
	for _, r := range runs {
		if v := cmp.Or(of(r.Results), "not known"); !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

func setting(r *report.Results, key string) string {
	value := ""
	for _, s := range r.Settings {
		if s.Key != key {
			continue
		}
		value = s.Value // of several the last counts
		if key == "target_latency" && s.Role == limitation.Calibration {
			value = "calibrated" // an expected latency bounds nothing, and is never the same
		}
	}
	return cmp.Or(value, "default")
}
