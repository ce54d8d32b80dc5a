package checker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// Results of systems behind an endpoint, measured with MLCommons' own client and not with LoadGen, have three files:
// performance/result_summary.json, accuracy/accuracy_results.json and config.yaml.

// readEndpointFiles reads the files in place of LoadGen's logs, and reports whether there are any.
func (c *resultCheck) readEndpointFiles() bool {
	if _, ok := c.round.EndpointsMetric["offline"]; !ok {
		return false
	}
	load := func(name string, read func(string) (any, error)) (v any, ok bool) {
		path := c.folder + "/" + name
		if !c.exists(path) {
			return nil, false
		}
		c.endpoint = true
		v, err := read(path)
		if err != nil {
			c.note("log-format", problem{path: path, line: lineOf(err), message: "cannot be read: " + cause(err).Error()})
		}
		return v, err == nil
	}
	summary, _ := load("performance/result_summary.json", c.readJSON)
	results, hasResults := load("accuracy/accuracy_results.json", c.readJSON)
	config, ok := load("config.yaml", c.readYAML)
	if !ok {
		config, _ = load("config.yml", c.readYAML)
	}
	if !c.endpoint {
		return false
	}
	c.performance = endpointLog(c.folder+"/performance/result_summary.json", summary, config)
	c.addRate(c.performance)
	c.accuracy = endpointLog(c.folder+"/accuracy/accuracy_results.json", results, config)
	if hasResults {
		if err := c.addScores(c.accuracy); err != nil {
			c.fail("log-format", problem{path: c.accuracy.path, message: err.Error(), wanted: "accuracy_scores, a list of objects"})
		}
	}
	c.addRate(c.accuracy) // as the official checker does here too, which ends if it cannot
	return true
}

// endpointLog returns the keys of LoadGen's log that a file has, or else the configuration.
func endpointLog(path string, source, config any) *runLog {
	log := &runLog{path: path, entries: map[string]mlperflog.Entry{}}
	keys := rounds.EndpointKeys()
	for own, key := range keys.Keys {
		for _, place := range []struct {
			in   any
			path string
		}{{source, own}, {source, keys.Alternatives[own]}, {config, keys.YAML[own]}, {config, own}} {
			if v := nested(place.in, place.path); v != nil {
				log.entries[key] = mlperflog.Entry{Value: v}
				break
			}
		}
	}
	if v := log.value("num_errors"); truth(v) {
		log.errors = []mlperflog.Entry{{Value: str(v) + " queries failed"}}
	}
	return log
}

// nested returns the value at a path of names with points between them. Names may have points, and a number may be called
// 99 or 99.0. An empty list or object is nothing.
func nested(v any, path string) any {
	for rest := path; rest != ""; {
		d, isObject := v.(map[string]any)
		if !isObject {
			if _, isList := v.([]any); isList || rest != "0" {
				return nil
			}
			return v
		}
		name := rest // the longest that there is
		for {
			if _, ok := d[name]; ok {
				break
			}
			i := strings.LastIndexByte(name, '.')
			if i < 0 {
				return nil
			}
			name = name[:i]
		}
		v, rest = d[name], strings.TrimPrefix(rest[len(name):], ".")
	}
	if list, isList := v.([]any); path == "" || isList && len(list) == 0 {
		return nil
	}
	if d, isObject := v.(map[string]any); isObject && len(d) == 0 {
		return nil
	}
	return v
}

// addRate adds the rate where the files have only a count and a duration.
func (c *resultCheck) addRate(log *runLog) {
	count, duration := log.value("generated_query_count"), log.value("generated_query_duration")
	scenario := log.value("effective_scenario")
	if !truth(count) || !truth(duration) || !truth(scenario) {
		return
	}
	kind, isText := scenario.(string)
	if !isText {
		c.fail("log-format", problem{path: log.path, message: "the type in the configuration is not a text", found: str(scenario),
			wanted: "online, offline or interactive"})
		return
	}
	key := "result_completed_samples_per_sec"
	if strings.EqualFold(kind, "offline") {
		key = "result_samples_per_second"
	}
	if _, has := log.entries[key]; has {
		return
	}
	n, isCount := number(count)
	ns, isDuration := number(duration)
	if !isCount || !isDuration {
		c.fail("log-format", problem{path: log.path, message: "queries per second: the count and the duration are not both numbers",
			found: str(count) + " in " + str(duration) + " ns", wanted: "two numbers"})
		return
	}
	log.entries[key] = mlperflog.Entry{Value: n / (ns / 1e9)}
}

// A scoredSet is one data set of accuracy_results.json.
type scoredSet struct {
	score   any // nil: none
	samples int64
	repeats int64 // how often each question is asked; 0: not known
	inline  bool  // scored during the performance run, which is not the accuracy
	broken  bool  // not complete, or answers are missing
}

// addScores adds the first score, and how many samples were scored: the sum of all data sets for accuracy.
func (c *resultCheck) addScores(log *runLog) error {
	data, err := c.read(log.path, largestJSON)
	if err != nil {
		return err
	}
	var results struct {
		Scores *[]struct {
			Type    any                        `json:"dataset_type"`
			Samples json.RawMessage            `json:"total_samples"`
			Repeats json.RawMessage            `json:"num_repeats"`
			Counts  map[string]json.RawMessage `json:"response_counts"`
			Score   json.RawMessage            `json:"score"`
			Whole   any                        `json:"complete"`
		} `json:"accuracy_scores"`
	}
	if err := json.Unmarshal(data, &results); err != nil {
		return errors.New("accuracy_scores is not a list of objects")
	}
	if results.Scores == nil {
		return nil
	}
	samples, known := int64(0), false
	for i, set := range *results.Scores {
		scored := scoredSet{inline: set.Type != nil && set.Type != "accuracy", broken: set.Whole == false}
		if missing, err := parseJSON(set.Counts["missing"]); err == nil && truth(missing) {
			scored.broken = true
		}
		if score, err := parseJSON(set.Score); err == nil {
			scored.score = score
		}
		c.sets = append(c.sets, scored)
		if _, has := log.entries["accuracy_score"]; !has && set.Score != nil && string(set.Score) != "null" {
			v, err := parseJSON(set.Score)
			if err != nil {
				return err
			}
			log.entries["accuracy_score"] = mlperflog.Entry{Value: v}
			text := jsontext.Value(slices.Clone(set.Score)) // as Python writes it
			if err := text.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true), jsontext.Multiline(false)); err != nil {
				return err
			}
			c.score = text.String()
		}
		count := set.Samples
		if len(count) == 0 || string(count) == "null" {
			count = set.Counts["issued"]
		}
		if scored.inline || len(count) == 0 || string(count) == "null" {
			continue
		}
		v, err := parseJSON(count)
		if err != nil {
			return err
		}
		n, err := parseWhole(v)
		if err != nil {
			return fmt.Errorf("accuracy_scores %d: %w", i, err)
		}
		samples, known = samples+n, true
		c.sets[i].samples = n
		if v, err := parseJSON(set.Repeats); err == nil {
			c.sets[i].repeats, _ = v.(int64)
		}
	}
	if known {
		log.entries["effective_accuracy_sample_count"] = mlperflog.Entry{Value: samples}
	}
	return nil
}

// endpointScenario is the scenario of a result without LoadGen, "" if neither its folder nor its type says it.
func endpointScenario(kind, folder string) string {
	switch {
	case strings.EqualFold(folder, "singlestream"):
		return "SingleStream"
	case strings.EqualFold(folder, "interactive"), strings.EqualFold(kind, "interactive"):
		return "Interactive"
	case strings.EqualFold(kind, "online"):
		return "Server"
	}
	return kind
}

func (c *resultCheck) checkEndpointAccuracy() {
	e, ok := c.accuracy.entries["accuracy_score"]
	if !ok {
		c.fail("acc-missing", problem{path: c.accuracy.path, message: "the score is missing", wanted: "accuracy_scores with a score"})
		return
	}
	if c.division == "open" || c.model != "qwen3-vl-235b-a22b" {
		return // the official checker compares only this one
	}
	metrics := c.rule.AccuracyOf(c.scenarioFolder())
	score, err := scoreOf(e.Value, metrics)
	if err != nil {
		c.fail("acc-number", problem{path: c.accuracy.path, message: err.Error(), found: str(e.Value), wanted: "a number"})
	} else if score < metrics[0].Bound {
		c.fail("acc-target", problem{path: c.accuracy.path, message: metrics[0].Name + " is below its target", found: formatFloat(score),
			wanted: fmt.Sprintf("≥ %v", metrics[0].Bound)})
	}
}

// scoreOf returns a score that is a number, or has one under a name that fits.
func scoreOf(v any, metrics []rounds.Metric) (float64, error) {
	d, isObject := v.(map[string]any)
	if !isObject {
		return parseNumber(v)
	}
	names := []string{}
	for _, m := range metrics {
		parts := strings.Split(m.Name, "_")
		names = append(names, m.Name, strings.ToLower(m.Name), strings.ToLower(parts[len(parts)-1]))
	}
	for _, name := range append(names, "f1", "score", "accuracy") {
		if f, err := parseNumber(d[name]); err == nil {
			return f, nil
		}
	}
	return 0, errors.New("the score is not a number")
}

// checkEndpointAudits judges the compliance tests of a result without LoadGen.
func (c *resultCheck) checkEndpointAudits() {
	keys := rounds.EndpointKeys()
	for _, test := range c.rule.Tests {
		name := keys.Audits[test]
		if name == "" {
			continue
		}
		path := c.folder + "/audit/audit_" + name + ".json"
		if !c.exists(path) {
			if test == "TEST04" && c.rule.Endpoints {
				c.fail("audit-missing", problem{path: path, message: test + " is missing", wanted: "the result of the audit " + name})
			}
			continue
		}
		v, err := c.readJSON(path)
		if err != nil {
			c.unreadable("audit-files", path, err, "")
			continue
		}
		if is, passed := member(v, "test"), member(v, "passed"); is != name || !truth(passed) {
			c.fail("audit-result",
				problem{path: path, message: test + " did not pass", found: fmt.Sprintf("test %s, passed %s", str(is), str(passed)),
					wanted: "test " + name + ", passed true"})
		}
	}
	if slices.Contains(c.rule.Tests, "TEST09") {
		const key = "mean_output_tokens"
		least, most := keys.OutputTokens.Least, keys.OutputTokens.Most
		if v, ok := number(c.performance.value(key)); !ok || v < least || v > most {
			c.fail("audit-result", problem{path: c.performance.path, message: "TEST09 did not pass: the mean length of outputs",
				found: c.performance.show(key), wanted: fmt.Sprintf("%v to %v tokens", least, most)})
		}
	}
}
