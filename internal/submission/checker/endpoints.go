package checker

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/rounds"
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
	load := func(path string, read func(string) (python.Value, error)) python.Value {
		path = e.folder + "/" + path
		if !e.tree.Exists(path) {
			return &python.Dict{}
		}
		found = true
		v, err := read(path)
		if err != nil {
			e.note("log-format", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
			return &python.Dict{}
		}
		return v
	}
	json := func(path string) (python.Value, error) { return readJSON(e.tree, path) }
	yaml := func(path string) (python.Value, error) {
		v, err := readYAML(e.tree, path)
		return fromYAML(v), err
	}
	e.summary = load("performance/result_summary.json", json)
	e.results = load("accuracy/accuracy_results.json", json)
	e.config = load("config.yaml", yaml)
	if !python.Truth(e.config) {
		e.config = load("config.yml", yaml)
	}
	return found
}

// fromYAML turns what the YAML reader returns into values of Python.
func fromYAML(v any) python.Value {
	switch v := v.(type) {
	case map[string]any:
		d := &python.Dict{}
		for k, member := range v {
			d.Set(k, fromYAML(member))
		}
		return d
	case []any:
		list := make([]python.Value, len(v))
		for i, member := range v {
			list[i] = fromYAML(member)
		}
		return list
	case int:
		return int64(v)
	case uint64:
		return unsigned(v)
	case nil, bool, float64, string:
		return v
	}
	return fmt.Sprint(v) // a time, which no check looks at
}

// log returns the keys of LoadGen's log that files have.
func (e *endpointsFiles) log(path string, sources ...python.Value) *detailLog {
	log := &detailLog{path: path, values: map[string]entry{}}
	keys := rounds.EndpointKeys()
	for own, key := range keys.Keys {
		for i, source := range append(sources, e.config) {
			v := nested(source, own)
			if other, ok := keys.Alternatives[own]; v == nil && ok && i < len(sources) {
				v = nested(source, other)
			}
			if other, ok := keys.YAML[own]; ok && i == len(sources) {
				if w := nested(source, other); w != nil {
					v = w
				}
			}
			if v != nil {
				log.values[key] = entry{value: v, whole: true}
				break
			}
		}
	}
	if e := log.values["num_errors"]; python.IsNumber(e.value) && python.Truth(e.value) {
		log.errors, log.first = 1, logError{0, str(e.value) + " queries failed"}
	}
	return log
}

// nested returns the value at a path of names with points between them. A name may
// have points itself, and a number may end in .0 in the path alone.
func nested(v python.Value, path string) python.Value {
	parts := strings.Split(path, ".")
	for len(parts) > 0 {
		d, ok := v.(*python.Dict)
		if !ok {
			if _, list := v.([]python.Value); !list && len(parts) == 1 && parts[0] == "0" {
				return v
			}
			return nil
		}
		n := len(parts)
		for ; n > 0; n-- {
			if member, ok := d.Get(strings.Join(parts[:n], ".")); ok {
				v, parts = member, parts[n:]
				break
			}
		}
		if n == 0 {
			return nil
		}
	}
	switch v.(type) {
	case *python.Dict, []python.Value:
		if !python.Truth(v) {
			return nil
		}
	}
	return v
}

func (e *endpointsFiles) performance() *detailLog {
	log := e.log(e.folder+"/performance/result_summary.json", e.summary)
	e.addRate(log)
	return log
}

// addRate adds the rate where the files have only a count and a duration.
func (e *endpointsFiles) addRate(log *detailLog) {
	scenario, _ := log.text("effective_scenario")
	key := "result_completed_samples_per_sec"
	if strings.EqualFold(scenario, "offline") {
		key = "result_samples_per_second"
	}
	if _, has := log.values[key]; has || scenario == "" {
		return
	}
	count, duration := log.values["generated_query_count"].value, log.values["generated_query_duration"].value
	if !python.IsNumber(count) || !python.IsNumber(duration) || !python.Truth(count) || !python.Truth(duration) {
		return
	}
	seconds, err := python.Div(duration, int64(1e9))
	if err != nil {
		return
	}
	if rate, err := python.Div(count, seconds); err == nil {
		log.values[key] = entry{value: rate, whole: true}
	}
}

func (e *endpointsFiles) accuracy() *detailLog {
	log := e.log(e.folder+"/accuracy/accuracy_results.json", &python.Dict{}, e.results)
	var samples int64
	counted := false
	scores, _ := listAt(e.results, "accuracy_scores")
	for _, one := range scores {
		score, _ := at(one, "score")
		if _, has := log.values["accuracy_score"]; !has && score != nil {
			log.values["accuracy_score"] = entry{value: score, whole: true}
		}
		if kind, _ := at(one, "dataset_type"); kind != nil && kind != "accuracy" {
			continue
		}
		total, _ := at(one, "total_samples")
		if total == nil {
			total, _ = at(one, "response_counts", "issued")
		}
		if n, err := python.Int(total); err == nil {
			samples, counted = samples+n.Int64(), true
		}
	}
	if counted {
		log.values["effective_accuracy_sample_count"] = entry{value: samples, whole: true}
	}
	return log
}
