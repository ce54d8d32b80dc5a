package run

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// judge compares the settings of a test with the rules. Each that makes the test easier is
// a caveat, each that makes it harder, or that the division allows, a note. Origin says who
// made a setting.
func (r *Resolved) judge(s loadgen.TestSettings, origin func(key string) string) (caveats, notes []string) {
	list, err := r.resolved.Differences(s, r.division)
	if err != nil {
		return []string{fmt.Sprintf("the settings could not be compared with the rules: %v", err)}, nil
	}
	var quick []string
	for _, d := range list {
		from := origin(d.Key)
		if from == originFree {
			continue // a caveat of its own says that there is no benchmark
		}
		text := fmt.Sprintf("%v (%s)", d, from)
		switch {
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

// judgeData says what a data set lacks that somebody gave, and that the rules ask for: loaded samples are in memory
// at once, of all that it has.
func (r *Resolved) judgeData(loaded, all int) (caveats []string) {
	least, known := r.rules.Minima(r.model.Rules)
	if !known {
		return nil
	}
	if r.Settings.Mode != loadgen.AccuracyOnly && uint64(loaded) < least.PerformanceSamples {
		caveats = append(caveats, fmt.Sprintf("%d samples are in memory at once instead of the official %d", loaded, least.PerformanceSamples))
	}
	if r.Settings.Mode != loadgen.PerformanceOnly && least.AccuracySamples > 0 && uint64(all) != least.AccuracySamples {
		caveats = append(caveats, fmt.Sprintf("the data set has %d samples instead of the official %d", all, least.AccuracySamples))
	}
	return caveats
}

// caveats are those that do not follow from a setting.
func (r *Resolved) caveats() []string {
	var list []string
	caveat := func(on bool, format string, args ...any) {
		if on {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	q := &r.Request
	_, has := r.rules.Minima(r.model.Rules)
	caveat(!has && !q.free(), "rules %s have no benchmark %s: settings are those of their mlperf.conf for any model, or of an earlier round", r.rules.Version, r.model.Name)
	caveat(r.Settings.Scenario == loadgen.MultiStream && r.rules.MultiStream == config.NoMultiStream, "rules %s have no MultiStream scenario", r.rules.Version)
	caveat(r.tooFewRuns(), "one Server run, where rules %s want the lowest of %d", r.rules.Version, r.rules.ServerRuns)
	caveat(q.Engine.Name == Simulated, "the engine is simulated: it takes its time and computes nothing")
	caveat(r.division == config.Network && !q.remote(), "not of the Network division: the system under test is on this machine")
	caveat(q.remote(), "the model is the servers': nobody here knows whether it is the official one")
	caveat(q.free(), "no benchmark of the rules: a model and prompts of one's own")
	return list
}

// tooFewRuns reports whether speed is measured once where the rules want the lowest of several runs.
func (r *Resolved) tooFewRuns() bool {
	s := r.Settings
	return s.Scenario == loadgen.Server && s.Mode != loadgen.AccuracyOnly && r.runs() < r.rules.ServerRuns
}
