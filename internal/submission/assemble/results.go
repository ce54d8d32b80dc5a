package assemble

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
	"github.com/mlperf-go/mlperf/internal/submission/compliance"
)

// A result is made from runs and becomes the folder of a scenario.
type result struct {
	benchmark, scenario   string
	performance, accuracy *run
	tests                 []*run
	from                  *result            // of the scenario that it is inferred from; nil: measured
	summary               *endpoints.Summary // of a result with the files of mlcommons/endpoints; nil: it has LoadGen's logs
}

func (r *result) name() string { return r.benchmark + " " + r.scenario }

// results chooses a run for each part of each result, and adds those that are inferred.
func (b *builder) results(ctx context.Context) ([]*result, error) {
	if err := b.find(ctx); err != nil {
		return nil, err
	}
	list, parts := map[string]*result{}, map[string]map[string][]*run{} // by the name of the result
	add := func(part string, r *run) {
		one := &result{benchmark: r.benchmark, scenario: r.scenario}
		if name := one.name(); list[name] == nil {
			list[name], parts[name] = one, map[string][]*run{"performance": nil, "accuracy": nil} // which it needs
		}
		parts[one.name()][part] = append(parts[one.name()][part], r)
	}
	for _, r := range b.runs {
		if r.mode == loadgen.PerformanceOnly || r.mode == loadgen.SubmissionRun {
			add("performance", r)
		}
		if r.mode == loadgen.AccuracyOnly || r.mode == loadgen.SubmissionRun {
			add("accuracy", r)
		}
	}
	for _, r := range b.tests {
		add(r.test, r)
	}
	var err error
	if len(list) == 0 {
		err = fmt.Errorf("no runs in %s: expected folders with %s", strings.Join(b.Runs, ", "), mlperflog.DetailFile)
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		err = errors.Join(err, b.choose(list[name], parts[name]))
	}
	if err == nil {
		err = sameMachine(slices.SortedFunc(maps.Values(list), func(x, y *result) int { return cmp.Compare(x.name(), y.name()) }))
	}
	if err == nil && b.Infer {
		err = b.infer(list)
	}
	slices.Sort(b.built.LeftOut)
	if err != nil {
		var lines []error
		for _, run := range b.built.LeftOut { // which may be the missing ones
			lines = append(lines, errors.New("left out: "+run))
		}
		return nil, errors.Join(append(lines, err)...) // the error is the last that is read
	}
	return slices.SortedFunc(maps.Values(list), func(x, y *result) int { return cmp.Compare(x.name(), y.name()) }), nil
}

// sameMachine refuses results of machines that differ: they are of one system, perhaps of several nodes of it. Runs that asked
// servers do not know the system's.
func sameMachine(list []*result) error {
	first, has := "", ""
	for _, r := range list {
		for _, one := range append([]*run{r.performance, r.accuracy}, r.tests...) {
			if one.results == nil || one.results.Remote != nil || one.results.System == nil {
				continue
			}
			var m machine.Machine
			data, err := json.Marshal(one.results.System)
			if err != nil || json.Unmarshal(data, &m) != nil {
				continue
			}
			cards := map[string]int{}
			for _, g := range m.GPUs {
				cards[g.Name]++
			}
			is := fmt.Sprintf("%s with %d cores and accelerators %v", m.CPU.Model, m.CPU.Cores, cards)
			if first == "" {
				first, has = one.folder, is
			}
			if is != has {
				return fmt.Errorf("%s and %s are of different machines, which are two systems: %s, and %s", first, one.folder, has, is)
			}
		}
	}
	return nil
}

// choose gives a result a run for each part.
func (b *builder) choose(r *result, parts map[string][]*run) error {
	var errs []error
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		if len(parts[part]) == 0 {
			errs = append(errs, fmt.Errorf("%s has no %s run in %s: mlperf submission run makes what is missing", r.name(), part, strings.Join(b.Runs, ", ")))
			continue
		}
		run, err := b.chooseRun(part, parts[part])
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %s: %w", r.name(), part, err))
		case part == "performance":
			r.performance = run
		case part == "accuracy":
			r.accuracy = run
		default:
			r.tests = append(r.tests, run)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	// All must be of the same system and model, as far as they say.
	for _, other := range append([]*run{r.accuracy}, r.tests...) {
		x, y := r.performance.results, other.results
		if x == nil || y == nil {
			continue
		}
		for _, c := range []struct{ what, x, y string }{
			{"model file", x.Input.ModelSHA256, y.Input.ModelSHA256}, {"precision", x.Input.Precision, y.Input.Precision},
			{"engine", x.Backend.Engine, y.Backend.Engine}, {"data set", x.Input.DatasetPath, y.Input.DatasetPath},
			{"rules", x.Rules, y.Rules},
		} {
			if c.x != c.y {
				return fmt.Errorf("%s: %s and %s are of different tests: %s %q and %q", r.name(), r.performance.folder, other.folder, c.what, c.x, c.y)
			}
		}
	}
	return b.chooseFiles(r)
}

// chooseRun chooses the run for a part of a result.
func (b *builder) chooseRun(part string, list []*run) (*run, error) {
	var may []*run
	var refused []error
	var folders []string
	for _, r := range list {
		if why := b.refuse(r, part); why != "" {
			refused = append(refused, fmt.Errorf("%s may not enter the division %s: %s", r.folder, b.Division, why))
			continue
		}
		may, folders = append(may, r), append(folders, r.folder)
	}
	if len(may) == 0 {
		return nil, errors.Join(refused...)
	}
	for _, why := range refused {
		b.built.LeftOut = append(b.built.LeftOut, why.Error())
	}
	if len(may) > 1 && !b.Newest {
		return nil, fmt.Errorf("%d runs are possible, choose one or use --newest: %s", len(may), strings.Join(folders, ", "))
	}
	return slices.MaxFunc(may, func(x, y *run) int { return x.made.Compare(y.made) }), nil
}

// auditSettings are the settings that the audit.config of a compliance test changes (the reference's compliance folder). A
// limitation by one of them keeps a run out of a result, but not out of the test.
var auditSettings = map[string][]string{
	"TEST01": {"accuracy_log_rng_seed", "accuracy_log_sampling_target"},
	"TEST04": {"performance_issue_unique", "performance_issue_same", "performance_issue_same_index", "min_query_count"},
	// TEST04 on servers, which has a number of requests
	compliance.AuditFolder: {"performance_issue_unique", "performance_issue_same", "performance_issue_same_index", "min_query_count", "max_query_count",
		"min_duration", "performance_sample_count_override", "sample_concatenate_permutation"},
	"TEST05": {"test05"},
	"TEST06": {"accuracy_log_rng_seed", "accuracy_log_sampling_target", "min_query_count", "min_duration", "sample_concatenate_permutation"},
	"TEST07": {"performance_sample_count_override", "accuracy_log_rng_seed", "accuracy_log_sampling_target", "min_query_count", "min_duration", "sample_concatenate_permutation", "performance_issue_unique"},
	"TEST08": {"accuracy_log_rng_seed", "accuracy_log_sampling_target"},
	"TEST09": {"accuracy_log_rng_seed", "accuracy_log_sampling_target", "min_query_count", "min_duration", "sample_concatenate_permutation", "performance_issue_unique"},
}

// refuse says why a run may not enter a division as a part of a result; empty: it may.
func (b *builder) refuse(r *run, part string) string {
	audit := filepath.Base(r.folder) == compliance.AuditFolder // has its own verdict; the 20 requests of SingleStream are too few for early stopping
	if validity, err := r.log.Text("result_validity"); err == nil && validity != report.Valid && !audit {
		reason, _ := r.log.Text("result_invalid_reason")
		return strings.TrimSpace("the run is " + validity + " " + reason)
	}
	if errors := r.log.Errors(); len(errors) > 0 {
		return fmt.Sprintf("%s:%d: the log has %d errors, first %v", r.log.Name, errors[0].Line, len(errors), errors[0].Value)
	}
	if r.results == nil {
		if r.log.Ours() {
			return report.Sentence(limitation.Limitation{ID: limitation.NoRecord})
		}
		return ""
	}
	switch in := r.results.Input; {
	case r.results.Result != report.Valid && !audit, len(r.results.Doubts()) > 0:
		return "the run is " + r.results.Verdict()
	case r.results.Backend.Simulated:
		return "the engine is simulated"
	case in.BuiltInData:
		return report.Sentence(limitation.Limitation{ID: limitation.BuiltInData})
	case in.BuiltIn && b.Division != "open":
		return report.Sentence(limitation.Limitation{ID: limitation.BuiltInModel})
	}
	if audit {
		part = compliance.AuditFolder
	}
	for _, l := range r.results.Limitations { // they name each setting that is easier than the rules of the division
		switch {
		case l.ID == limitation.Unofficial, l.ID == limitation.BuiltInModel,
			sourceStated(l) && (b.Division == "open" || strings.TrimSpace(b.ModelSource) != ""),
			l.ID == limitation.SamplesInMemory && part == compliance.AuditFolder,
			l.ID == limitation.Setting && l.Role == limitation.AuditConf && slices.Contains(auditSettings[part], l.Key):
			continue
		case sourceStated(l):
			return "it has a limitation: " + report.Sentence(l) + ": state where the file comes from by --model-source"
		}
		return "it has a limitation: " + report.Sentence(l)
	}
	return ""
}

// sourceStated reports whether a limitation is about where the model comes from, which the submitter may state.
func sourceStated(l limitation.Limitation) bool {
	return l.ID == limitation.UnknownModel || l.ID == limitation.ServersModel
}

// infer adds the results of scenarios that an edge system needs and that have no runs, from those that the rules allow:
// MultiStream from SingleStream, Offline from MultiStream or else from SingleStream
// (tools/submission/preprocess_submission.py). The whole result is copied.
func (b *builder) infer(list map[string]*result) error {
	if !strings.Contains(b.Description["system_type"], "edge") {
		return fmt.Errorf("results are inferred for edge systems only, this one's system_type is %q", b.Description["system_type"])
	}
	measured := maps.Clone(list)
	for _, r := range measured {
		of := func(scenario string) *result { return measured[r.benchmark+" "+scenario] }
		from := map[string]*result{"MultiStream": of("SingleStream"), "Offline": cmp.Or(of("MultiStream"), of("SingleStream"))}
		for _, scenario := range b.round.Model(r.benchmark).Required["edge"] {
			if of(scenario) != nil || from[scenario] == nil {
				continue
			}
			one := *from[scenario]
			one.scenario, one.from = scenario, from[scenario]
			if _, _, err := one.value(b); err != nil {
				return err
			}
			list[one.name()] = &one
		}
	}
	return nil
}

// inferred are the rules' formulas (checks/performance_check.py), by the measured and the inferred scenario.
var inferred = map[[2]string]func(log *mlperflog.Detail) (float64, error){
	{"SingleStream", "MultiStream"}: func(log *mlperflog.Detail) (float64, error) {
		ns, err := log.Float("early_stopping_latency_ms")
		return ns * 8 / 1e6, err // a query of MultiStream has 8 samples
	},
	{"SingleStream", "Offline"}: func(log *mlperflog.Detail) (float64, error) {
		return log.Float("result_qps_without_loadgen_overhead")
	},
	{"MultiStream", "Offline"}: func(log *mlperflog.Detail) (float64, error) {
		samples, err := log.Float("effective_samples_per_query")
		ns, errMean := log.Float("result_mean_query_latency_ns")
		if err = errors.Join(err, errMean); err != nil || ns == 0 {
			return 0, err
		}
		return samples * 1000 / (ns / 1e6), nil
	},
}

// value returns the result as the checker reports it, and its unit.
func (r *result) value(b *builder) (value float64, unit string, err error) {
	model, log := b.round.Model(r.benchmark), r.performance.log
	unit = model.UnitOf(r.scenario)
	if r.from != nil {
		value, err = inferred[[2]string{r.from.scenario, r.scenario}](log)
		if err == nil && value <= 0 {
			err = fmt.Errorf("%s cannot be inferred from %s: %s has too few queries", r.name(), r.from.scenario, log.Name)
		}
		return value, unit, err
	}
	if r.summary != nil {
		value, unit = r.endpointValue(unit)
		return value, unit, nil
	}
	scenario := r.logged()
	value, err = log.Float(cmp.Or(model.Metric[scenario], b.round.Metric[scenario]))
	if strings.HasPrefix(unit, "Latency (ms") {
		value /= 1e6
	} else if unit == "Latency (s)" {
		value /= 1e9
	}
	return value, unit, err
}

// logged returns the scenario as LoadGen calls it: Interactive is Server.
func (r *result) logged() string {
	if r.scenario == "Interactive" {
		return "Server"
	}
	return r.scenario
}
