package run

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/engine"
)

// Forecast says before a run that its result cannot be VALID, or which limitations it will have; those of a quick run come with its
// result. Empty: nothing known before files are opened speaks against a compliant result.
func (r *Resolved) Forecast() string {
	if conflict := r.conflict(); conflict != "" {
		return "this run cannot be VALID: " + conflict
	}
	if r.Request.Quick || r.Request.ownModel() {
		return ""
	}
	limitations, _ := r.judge(r.Settings, r.made())
	list := append(limitations, r.limitations()...).Sentences()
	switch model, data := r.builtInModel(), r.builtInData(); {
	case model && data:
		list = append(list, "built-in model and data")
	case model:
		list = append(list, "built-in model")
	case data:
		list = append(list, "built-in data")
	}
	if n := r.Request.Count; n > 0 {
		list = append(list, fmt.Sprintf("the first %d samples", n))
	}
	if len(list) == 0 {
		return ""
	}
	return "not rule-compliant: " + strings.Join(list, "; ")
}

// otherVariant names the benchmark of 99 % or 99.9 % of the accuracy where the rules have only that one; empty: they do not.
func (r *Resolved) otherVariant() string {
	other := r.model.Rules
	other.Strict = !other.Strict
	if _, ok := r.Rules.Minima(other); !ok {
		return ""
	}
	if name, strict := strings.CutSuffix(r.model.Name, "-99.9"); strict {
		return name
	}
	return r.model.Name + "-99.9"
}

// conflict names settings that exclude each other; empty: none do.
func (r *Resolved) conflict() string {
	if r.Settings.Mode != loadgen.PerformanceOnly {
		return ""
	}
	n := uint64(r.model.PerformanceSampleCount)
	e := r.Settings.Effective(n, n)
	needed := uint64(0) // by early stopping
	switch p := e.TargetLatencyPercentile; {
	case e.WithoutEarlyStopping || e.FixedInterval:
	case e.Scenario == loadgen.SingleStream || e.Scenario == loadgen.MultiStream:
		needed = loadgen.NeededQueries(1, p)
	case e.Scenario == loadgen.Server:
		needed = loadgen.NeededQueries(0, p)
	}
	switch most := e.MaxQueryCount; {
	case most > 0 && most < e.MinQueryCount:
		return fmt.Sprintf("at most %d queries are issued, and min_query_count is %d", most, e.MinQueryCount)
	case most > 0 && most < needed:
		return fmt.Sprintf("at most %d queries are issued, and early stopping needs %d", most, needed)
	case e.MaxDuration > 0 && e.MaxDuration < e.MinDuration:
		return fmt.Sprintf("max_duration is %v, and min_duration %v", e.MaxDuration, e.MinDuration)
	}
	return ""
}

// serversModel is a limitation in the closed division, and a note in the open one, where any model is allowed, and in the Network
// division, whose systems are remote.
var serversModel = limitation.Limitation{ID: limitation.ServersModel}

// judge compares the settings of a test with the rules. Each that makes the test easier is
// a limitation, each that makes it harder, or that the division allows, a note. Made are those that differ from the defaults.
func (r *Resolved) judge(s loadgen.TestSettings, made []report.Setting) (limitations report.Limitations, notes []string) {
	if r.Request.ownModel() || openai.IsTask(r.Request.Prompts.Route) { // the rules have no settings for it
		return nil, r.source
	}
	list, err := r.Differences(s, r.division)
	if err != nil {
		return report.Limitations{{ID: limitation.NotCompared, Value: err.Error()}}, nil
	}
	if r.Request.Engine.IsRemote() && r.division != config.Closed {
		notes = append(notes, report.Sentence(serversModel))
	}
	notes = append(notes, r.source...)
	var quick report.Limitations
	for _, d := range list {
		from := report.MadeBy(made, d.Key) // measured since, perhaps
		d.Origin, d.Role = from.Origin, from.Role
		switch {
		case d.Role == limitation.Prompts: // a limitation of its own says that the prompts have no benchmark
		case d.Allowed:
			notes = append(notes, report.Remark(d.Limitation(), r.division.String()))
		case !d.Easier:
			notes = append(notes, report.Remark(d.Limitation(), ""))
		case d.Role == limitation.QuickRun:
			quick = append(quick, d.Limitation())
		default:
			limitations = append(limitations, d.Limitation())
		}
	}
	return append(limitations, quick...), notes
}

// judgeData compares the size of a data set with the official one: loaded samples are in memory at once, of all that it has. Those
// seen so far have distinct contents, but for a few: ImageNet has tens of copies among 50,000 images, KiTS19 one among 43 cases.
func (r *Resolved) judgeData(loaded, all, seen, distinct int) (list report.Limitations) {
	if r.Request.noBenchmark() {
		return nil
	}
	if least := r.model.OfficialSamples(r.Rules).PerformanceSamples; r.Settings.Mode != loadgen.AccuracyOnly && uint64(loaded) < least {
		list = append(list, limitation.Limitation{ID: limitation.SamplesInMemory, Value: fmt.Sprint(loaded), Want: fmt.Sprint(least)})
	}
	if r.Settings.Mode != loadgen.PerformanceOnly {
		list = append(list, r.model.OtherSamples(r.Rules, all)...)
	}
	if float64(distinct) < (1-mostCopies)*float64(seen)/float64(max(1, r.model.Repeats)) {
		list = append(list, limitation.Limitation{ID: limitation.Copies, Value: fmt.Sprint(seen - distinct), Of: fmt.Sprint(seen)})
	}
	return list
}

// mostCopies is the part of a data set that may be copies of other samples.
const mostCopies = 0.05

// limitations are those that follow from the request and not from a setting.
func (r *Resolved) limitations() (list report.Limitations) {
	limit := func(on bool, l limitation.Limitation) {
		if on {
			list = append(list, l)
		}
	}
	q, s, rules := &r.Request, r.Settings, r.Rules
	origin, benchmark := "rules "+rules.Version, !q.noBenchmark()
	_, inRules := rules.Minima(r.model.Rules)
	limit(!inRules && benchmark, limitation.Limitation{ID: limitation.NoBenchmark, Key: r.model.Name, Want: r.otherVariant(), Origin: origin,
		Role: limitation.RuleSet})
	limit(benchmark && !r.interactive && !rules.HasScenario(r.model.Rules, s.Scenario),
		limitation.Limitation{ID: limitation.NoScenario, Key: r.model.Name, Value: s.Scenario.String(), Origin: origin, Role: limitation.RuleSet})
	limit(s.Scenario == loadgen.Server && s.Mode != loadgen.AccuracyOnly && rules.ServerRuns > 1 && (r.runs() == 1 || q.Mode == FindPeak),
		limitation.Limitation{ID: limitation.OneServerRun, Value: "1", Want: fmt.Sprint(rules.ServerRuns), Origin: origin, Role: limitation.RuleSet})
	limit(q.Engine.Name == engine.Simulated, limitation.Limitation{ID: limitation.SimulatedEngine})
	limit(r.division == config.Network && !q.Engine.IsRemote(), limitation.Limitation{ID: limitation.NotRemote})
	limit(q.Engine.IsRemote() && r.division == config.Closed, serversModel)
	if s := q.Engine.Remote.Speculation; s.Algorithm != "" && benchmark && r.division != config.Open {
		ok, want := rounds.Allows(rules.Version, r.benchmark(), r.ScenarioName(), s)
		limit(!ok, limitation.Limitation{ID: limitation.Speculation, Value: s.String(), Key: r.model.Name + " " + r.ScenarioName(), Want: want,
			Origin: origin, Role: limitation.RuleSet})
	}
	limit(q.freePrompts(), limitation.Limitation{ID: limitation.UserPrompts})
	limit(q.TimedPreprocessing, limitation.Limitation{ID: limitation.TimedPreprocessing})
	limit(q.ownModel(), limitation.Limitation{ID: limitation.OwnModel})
	return list
}

// made are the settings that were made, for the results.
func (r *Resolved) made() (list []report.Setting) {
	for _, s := range r.Made {
		list = append(list, report.Setting{Key: s.Key, Value: strings.TrimSpace(s.Value + " " + s.Unit), Origin: s.Origin, Role: s.Role})
	}
	return append(list, r.fromProfile...)
}
