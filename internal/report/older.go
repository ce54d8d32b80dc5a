package report

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// The schemas of older records. Both have limitations as sentences, and no roles of origins; the first has no seal and only the sum
// of the accuracy log.
const (
	schema2 = schemas + "2"
	schema3 = schemas + "3"
)

// takeOlder fills in what a record of an older schema has in another form.
func (r *Results) takeOlder(data []byte) error {
	var old struct {
		Caveats []string `json:"caveats"`
		Log     string   `json:"accuracy_log_sha256"`
	}
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	if old.Log != "" && r.Files == nil {
		r.Files = map[string]string{mlperflog.AccuracyFile: old.Log}
	}
	r.Limitations = Limitations{}
	for _, sentence := range old.Caveats {
		r.Limitations = append(r.Limitations, olderLimitations(sentence)...)
	}
	for i, s := range r.Settings {
		r.Settings[i].Role = olderRole(s.Origin)
	}
	r.Backend.Simulated = strings.HasPrefix(r.Backend.Engine, "simulated")
	return nil
}

// takeNotScored makes a field of the warning that says why there is no score, as records of older versions have it.
func (r *Results) takeNotScored() {
	r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool {
		why, ok := strings.CutPrefix(w, notScored)
		if ok {
			r.NotScored = why
		}
		return ok
	})
}

// olderSentences are sentences of older records that decide what a result may be used for. The fields of limitations are groups of
// these names; the other sentences are only shown.
var olderSentences = []struct {
	id      limitation.ID
	pattern *regexp.Regexp
}{
	{limitation.Setting, regexp.MustCompile(`^closed division: (?P<key>.+?) is (?P<value>.*) instead of the official (?P<want>.*?) \((?P<origin>.*)\)$`)},
	{limitation.Setting, regexp.MustCompile(`^not of the rules: queries arrive by (?P<value>.*) instead of (?P<want>.*?) \((?P<origin>.*)\)$`)},
	{limitation.UnknownModel, regexp.MustCompile(`^model file of unknown source: (?P<key>.*) \(SHA-256 (?P<value>[0-9a-f]*)\) is no official file(?:; it says that it was (?P<origin>.*))?$`)},
	{limitation.SmallerModel, regexp.MustCompile(`^the built-in model is smaller than the real one: (?P<value>.*)$`)},
	{limitation.OwnModel, regexp.MustCompile(`^own model: not a benchmark of the rules, `)},
	{limitation.BuiltInModel, regexp.MustCompile(`^the built-in model: the official architecture with random weights, `)},
	{limitation.BuiltInData, regexp.MustCompile(`^the built-in data: synthetic, `)},
	{limitation.SimulatedEngine, regexp.MustCompile(`^the engine is simulated: `)},
	{limitation.Unofficial, regexp.MustCompile(`^not an official MLPerf result: `)},
	{limitation.RecordChanged, regexp.MustCompile(`^results\.json was changed after the run: `)},
	{limitation.Unsealed, regexp.MustCompile(`^results\.json of an older version without a seal: `)},
	{limitation.FileChanged, regexp.MustCompile(`^(?P<key>.+) was changed after the run: `)},
	{limitation.FileMissing, regexp.MustCompile(`^(?P<key>.+) is missing or cannot be read: `)},
}

var olderQuickSetting = regexp.MustCompile(`^(?P<key>\w+) is (?P<value>.*) instead of (?P<want>.*)$`)

// olderLimitations are the limitations that a sentence of an older record is about.
func olderLimitations(sentence string) (list Limitations) {
	if settings, ok := strings.CutPrefix(sentence, quickRun); ok {
		for text := range strings.SplitSeq(settings, ", ") {
			l, ok := olderLimitation(limitation.Setting, olderQuickSetting, text)
			if !ok {
				return Limitations{{ID: limitation.Older, Value: sentence}}
			}
			l.Origin, l.Role = strings.TrimSuffix(quickRun, ": "), limitation.QuickRun
			list = append(list, l)
		}
		return list
	}
	for _, s := range olderSentences {
		if l, ok := olderLimitation(s.id, s.pattern, sentence); ok {
			return Limitations{l}
		}
	}
	return Limitations{{ID: limitation.Older, Value: sentence}}
}

func olderLimitation(id limitation.ID, pattern *regexp.Regexp, sentence string) (l limitation.Limitation, ok bool) {
	m := pattern.FindStringSubmatch(sentence)
	if m == nil {
		return l, false
	}
	field := func(name string) string {
		if i := pattern.SubexpIndex(name); i >= 0 {
			return m[i]
		}
		return ""
	}
	l = limitation.Limitation{ID: id, Key: field("key"), Value: field("value"), Want: field("want"), Origin: field("origin")}
	switch {
	case id != limitation.Setting:
		return l, true
	case l.Key == "":
		l.Key = arrivals
	case l.Key == named(limitation.Limitation{ID: id, Key: "target_latency"}).Key:
		l.Key = "target_latency"
	}
	l.Role = olderRole(l.Origin)
	return l, true
}

// olderRoles are those of origins in older records, where every audit.config has this name.
var olderRoles = []struct {
	role    limitation.Role
	pattern *regexp.Regexp
}{
	{limitation.RuleSet, regexp.MustCompile(`^rules v`)},
	{limitation.QuickRun, regexp.MustCompile(`^quick run\b`)},
	{limitation.Flag, regexp.MustCompile(`^flag --`)},
	{limitation.Environment, regexp.MustCompile(`^environment `)},
	{limitation.Calibration, regexp.MustCompile(`^calibration$`)},
	{limitation.AuditConf, regexp.MustCompile(`\baudit\.config:( the data set of TEST07$|\d+$)`)},
	{limitation.UserConf, regexp.MustCompile(`\buser\.conf:\d+$`)},
	{limitation.MLPerfConf, regexp.MustCompile(`\bmlperf\.conf:\d+$`)},
}

func olderRole(origin string) limitation.Role {
	for _, r := range olderRoles {
		if r.pattern.MatchString(origin) {
			return r.role
		}
	}
	return ""
}
