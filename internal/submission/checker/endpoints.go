package checker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// endpointsOrMissing reads the files of a result without LoadGen's logs: those that a
// system behind an endpoint has, if there are any.
func (g *judgement) endpointsOrMissing(logs []string) {
	e := &endpointsFiles{judgement: g}
	if _, ok := g.round.EndpointsMetric["offline"]; !ok || !e.read() {
		for _, path := range logs {
			g.fail("log-missing", problem{path: path, message: "the log is missing", wanted: "the detail log of LoadGen"})
		}
		return
	}
	g.endpoints = true
	g.performance, g.accuracy = e.performance(), e.accuracy()
}

// endpointsFiles are what a result that was measured without LoadGen has.
type endpointsFiles struct {
	*judgement
	summary, results, config python.Value
}

// read reads the files, and reports whether there are any.
func (e *endpointsFiles) read() bool {
	found := false
	load := func(path string, read func(tree.Tree, string) (python.Value, error)) (v python.Value, ok bool) {
		path = e.folder + "/" + path
		if !e.tree.Exists(path) {
			return &python.Dict{}, false
		}
		found = true
		v, err := read(e.tree, path)
		if err != nil {
			e.note("log-format", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
			return &python.Dict{}, false
		}
		return v, true
	}
	e.summary, _ = load("performance/result_summary.json", readJSON)
	e.results, _ = load("accuracy/accuracy_results.json", readJSON)
	ok := false
	if e.config, ok = load("config.yaml", readYAML); !ok {
		e.config, _ = load("config.yml", readYAML)
	}
	return found
}

// log returns the keys of LoadGen's log that a file has, or else the configuration.
func (e *endpointsFiles) log(path string, source python.Value) *detailLog {
	log := &detailLog{path: path, values: map[string]entry{}}
	keys := rounds.EndpointKeys()
	for own, key := range keys.Keys {
		for _, place := range []struct {
			in   python.Value
			path string
		}{{source, own}, {source, keys.Alternatives[own]}, {e.config, keys.YAML[own]}, {e.config, own}} {
			if v := nested(place.in, place.path); v != nil {
				log.values[key] = entry{value: v, whole: true}
				break
			}
		}
	}
	if e := log.values["num_errors"]; python.Truth(e.value) {
		log.errors, log.first = 1, logError{0, str(e.value) + " queries failed"}
	}
	return log
}

// nested returns the value at a path of names with points between them. A name may
// have points itself, and a number may end in .0 in the path alone.
func nested(v python.Value, path string) python.Value {
	if path == "" {
		return nil
	}
	parts := strings.Split(path, ".")
	for n := 0; len(parts) > 0; parts = parts[n:] {
		d, isDict := v.(*python.Dict)
		if !isDict {
			return atZero(v, parts)
		}
		if v, n = longest(d, parts); n == 0 {
			return nil
		}
	}
	if holds(v) && !python.Truth(v) {
		return nil // an empty list or object is nothing
	}
	return v
}

// atZero returns a value that holds no others if what is left of its path is the .0 of a
// number.
func atZero(v python.Value, rest []string) python.Value {
	if holds(v) || len(rest) != 1 || rest[0] != "0" {
		return nil
	}
	return v
}

// holds reports whether a value is one that others are in.
func holds(v python.Value) bool {
	switch v.(type) {
	case *python.Dict, []python.Value:
		return true
	}
	return false
}

// longest returns the member whose name has the most of some parts, and how many.
func longest(d *python.Dict, parts []string) (member python.Value, n int) {
	for n = len(parts); n > 0; n-- {
		if member, ok := d.Get(strings.Join(parts[:n], ".")); ok {
			return member, n
		}
	}
	return nil, 0
}

func (e *endpointsFiles) performance() *detailLog {
	log := e.log(e.folder+"/performance/result_summary.json", e.summary)
	e.addRate(log)
	return log
}

// addRate adds the rate where the files have only a count and a duration.
func (e *endpointsFiles) addRate(log *detailLog) {
	count, duration := log.values["generated_query_count"].value, log.values["generated_query_duration"].value
	scenario := log.values["effective_scenario"].value
	if !python.Truth(count) || !python.Truth(duration) || !python.Truth(scenario) {
		return
	}
	kind, isText := scenario.(string)
	if !isText {
		e.fail("log-format", problem{path: log.path, message: "the type in the configuration is not a text", found: shorten(str(scenario)), wanted: "online, offline or interactive"})
		return
	}
	key := "result_completed_samples_per_sec"
	if strings.EqualFold(kind, "offline") {
		key = "result_samples_per_second"
	}
	if _, has := log.values[key]; has {
		return
	}
	rate, err := perSecond(count, duration)
	if err != nil {
		e.fail("log-format", problem{path: log.path, message: "queries per second: " + err.Error(), found: shorten(str(count) + " in " + str(duration) + " ns"), wanted: "two numbers"})
		return
	}
	log.values[key] = entry{value: rate, whole: true}
}

// perSecond divides a count by nanoseconds.
func perSecond(count, duration python.Value) (python.Value, error) {
	if !python.IsNumber(count) || !python.IsNumber(duration) {
		return nil, errors.New("count and duration are not both numbers")
	}
	seconds, err := python.Div(duration, 1e9)
	if err != nil {
		return nil, err
	}
	return python.Div(count, seconds)
}

func (e *endpointsFiles) accuracy() *detailLog {
	log := e.log(e.folder+"/accuracy/accuracy_results.json", e.results)
	if err := e.addScores(log); err != nil {
		e.fail("log-format", problem{path: log.path, message: err.Error(), wanted: "accuracy_scores, a list of objects"})
	}
	e.addRate(log) // as the official checker does here too, which ends if it cannot
	return log
}

// addScores adds the first score, and how many samples were judged: the sum of all
// data sets for accuracy.
func (e *endpointsFiles) addScores(log *detailLog) error {
	d, ok := e.results.(*python.Dict)
	if !ok {
		return errors.New("is not an object")
	}
	if _, there := d.Get("accuracy_scores"); !there {
		return nil
	}
	sets, err := listAt(d, "accuracy_scores")
	if err != nil {
		return err
	}
	counts := []python.Value{}
	for i, set := range sets {
		n, has, err := samplesOf(set)
		if err = errors.Join(addScore(log, set), err); err != nil {
			return fmt.Errorf("accuracy_scores %d: %w", i, err)
		}
		if has {
			counts = append(counts, n)
		}
	}
	if len(counts) > 0 {
		samples, err := sum(counts)
		log.values["effective_accuracy_sample_count"] = entry{value: samples, whole: true}
		return err
	}
	return nil
}

// addScore adds the score of a data set if there is none yet.
func addScore(log *detailLog, set python.Value) error {
	d, ok := set.(*python.Dict)
	if !ok {
		return fmt.Errorf("%s is not an object", shorten(str(set)))
	}
	score, _ := d.Get("score")
	if _, has := log.values["accuracy_score"]; !has && score != nil {
		log.values["accuracy_score"] = entry{value: score, whole: true}
	}
	return nil
}

// samplesOf returns how many samples of a data set were judged, if it is one for
// accuracy and says so.
func samplesOf(set python.Value) (n python.Value, has bool, err error) {
	if kind, _ := at(set, "dataset_type"); kind != nil && kind != "accuracy" {
		return nil, false, nil
	}
	count, _ := at(set, "total_samples")
	if count == nil {
		counts, err := at(set, "response_counts")
		if err != nil {
			return nil, false, nil
		}
		d, ok := counts.(*python.Dict)
		if !ok {
			return nil, false, fmt.Errorf("response_counts is %s, want an object", shorten(str(counts)))
		}
		if count, _ = d.Get("issued"); count == nil {
			return nil, false, nil
		}
	}
	whole, err := python.Int(count)
	return python.Whole(whole), err == nil, err
}
