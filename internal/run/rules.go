package run

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/engine"
)

// Forecast says before a run that its result cannot be VALID, or which caveats it will have; those of a quick run come with its
// result. Empty: nothing known before files are opened speaks against a compliant result.
func (r *Resolved) Forecast() string {
	if conflict := r.conflict(); conflict != "" {
		return "this run cannot be VALID: " + conflict
	}
	if r.Request.Quick || r.Request.ownModel() {
		return ""
	}
	caveats, _ := r.judge(r.Settings, r.Origin)
	caveats = append(caveats, r.caveats()...)
	switch model, data := r.builtInModel(), r.builtInData(); {
	case model && data:
		caveats = append(caveats, "built-in model and data")
	case model:
		caveats = append(caveats, "built-in model")
	case data:
		caveats = append(caveats, "built-in data")
	}
	if n := r.Request.Count; n > 0 {
		caveats = append(caveats, fmt.Sprintf("the first %d samples", n))
	}
	if len(caveats) == 0 {
		return ""
	}
	return "not rule-compliant: " + strings.Join(caveats, "; ")
}

// otherVariant names the benchmark of 99 % or 99.9 % of the accuracy where the rules have only that one.
func (r *Resolved) otherVariant() string {
	other := r.model.Rules
	other.Strict = !other.Strict
	if _, ok := r.Rules.Minima(other); !ok {
		return ""
	}
	if name, strict := strings.CutSuffix(r.model.Name, "-99.9"); strict {
		return " but " + name
	}
	return " but " + r.model.Name + "-99.9"
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

// serversModel is a caveat in the closed division, and a note in the open one, where any model is allowed, and in the Network
// division, whose systems are remote.
const serversModel = "the servers have the model: whether it is the official one cannot be checked"

// judge compares the settings of a test with the rules. Each that makes the test easier is
// a caveat, each that makes it harder, or that the division allows, a note. Origin says where a setting comes from.
func (r *Resolved) judge(s loadgen.TestSettings, origin func(key string) string) (caveats, notes []string) {
	if r.Request.ownModel() { // the rules have no settings for it
		return nil, r.source
	}
	list, err := r.Differences(s, r.division)
	if err != nil {
		return []string{fmt.Sprintf("the settings could not be compared with the rules: %v", err)}, nil
	}
	if r.Request.Engine.IsRemote() && r.division != config.Closed {
		notes = append(notes, serversModel)
	}
	notes = append(notes, r.source...)
	var quick []string
	for _, d := range list {
		from := origin(d.Key)
		text := fmt.Sprintf("%v (%s)", d, from)
		switch {
		case from == promptsOrigin: // a caveat of its own says that the prompts have no benchmark
		case !d.Easier || d.Allowed:
			notes = append(notes, d.Remark(r.division, text))
		case strings.HasPrefix(from, config.QuickOrigin):
			quick = append(quick, fmt.Sprintf("%s is %s instead of %s", d.Key, d.Value, d.Want))
		default:
			caveats = append(caveats, text)
		}
	}
	if len(quick) > 0 {
		caveats = append(caveats, config.QuickOrigin+": "+strings.Join(quick, ", "))
	}
	return caveats, notes
}

// judgeData compares the size of a data set with the official one: loaded samples are in memory at once, of all that it has. Those
// seen so far have distinct contents, but for a few: ImageNet has tens of copies among 50,000 images, KiTS19 one among 43 cases.
func (r *Resolved) judgeData(loaded, all, seen, distinct int) (caveats []string) {
	if r.Request.noBenchmark() {
		return nil
	}
	if least := r.model.OfficialSamples(r.Rules).PerformanceSamples; r.Settings.Mode != loadgen.AccuracyOnly && uint64(loaded) < least {
		caveats = append(caveats, fmt.Sprintf("%d samples are in memory at once instead of the official %d", loaded, least))
	}
	if r.Settings.Mode != loadgen.PerformanceOnly {
		caveats = append(caveats, r.model.OtherSamples(r.Rules, all)...)
	}
	if float64(distinct) < (1-mostCopies)*float64(seen)/float64(max(1, r.model.Repeats)) {
		caveats = append(caveats, fmt.Sprintf("%d of %d samples are copies of others by their content", seen-distinct, seen))
	}
	return caveats
}

// mostCopies is the part of a data set that may be copies of other samples.
const mostCopies = 0.05

// caveats are those that follow from the request and not from a setting.
func (r *Resolved) caveats() (list []string) {
	caveat := func(on bool, format string, args ...any) {
		if on {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	q, s, rules := &r.Request, r.Settings, r.Rules
	_, inRules := rules.Minima(r.model.Rules)
	caveat(!inRules && !q.noBenchmark(), "rules %s have no benchmark %s%s: settings are those of their mlperf.conf for any model, or of an earlier round", rules.Version, r.model.Name, r.otherVariant())
	caveat(!q.noBenchmark() && !r.interactive && !rules.HasScenario(r.model.Rules, s.Scenario), "rules %s have no %v of %s", rules.Version, s.Scenario, r.model.Name)
	caveat(s.Scenario == loadgen.Server && s.Mode != loadgen.AccuracyOnly && rules.ServerRuns > 1 && (r.runs() == 1 || q.Mode == FindPeak), "the logs of one Server run, where rules %s want the lowest of %d", rules.Version, rules.ServerRuns)
	caveat(q.Engine.Name == engine.Simulated, "the engine is simulated: it takes its time and computes nothing")
	caveat(r.division == config.Network && !q.Engine.IsRemote(), "not of the Network division: the system under test is on this machine")
	caveat(q.Engine.IsRemote() && r.division == config.Closed, "%s", serversModel)
	caveat(q.freePrompts(), "not a benchmark of the rules: model and prompts are the user's")
	caveat(q.ownModel(), report.CaveatOwnModel)
	return list
}
