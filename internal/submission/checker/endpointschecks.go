package checker

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// endpointsScenario is the scenario of a result that was measured without LoadGen, "" if
// neither its folder nor its type tells. What kind is no text cannot be read.
func endpointsScenario(kind python.Value, folder string) string {
	text, _ := kind.(string)
	switch {
	case strings.EqualFold(folder, "singlestream"):
		return "SingleStream"
	case strings.EqualFold(folder, "interactive"), strings.EqualFold(text, "interactive"):
		return "Interactive"
	case strings.EqualFold(text, "online"):
		return "Server"
	}
	return text
}

func (g *judgement) checkEndpointsAccuracy() {
	e, ok := g.accuracy.values["accuracy_score"]
	if !ok {
		g.fail("acc-missing", problem{path: g.accuracy.path, message: "there is no score", wanted: "accuracy_scores with a score"})
		return
	}
	g.score = e.value
	if g.division == "open" || g.model != "qwen3-vl-235b-a22b" {
		return // the official checker compares only this one
	}
	metrics := g.rule.AccuracyOf(g.scenarioFolder())
	score, err := scoreOf(e.value, metrics)
	if err != nil {
		g.fail("acc-number", problem{path: g.accuracy.path, message: err.Error(), found: str(e.value), wanted: "a number"})
	} else if score < metrics[0].Bound {
		g.fail("acc-target", problem{path: g.accuracy.path, message: metrics[0].Name + " is below its target", found: str(score), wanted: fmt.Sprintf("≥ %v", metrics[0].Bound)})
	}
}

// scoreOf returns a score that is a number, or has one under a name that fits.
func scoreOf(v python.Value, metrics []rounds.Metric) (float64, error) {
	d, isDict := v.(*python.Dict)
	if !isDict {
		return python.Float(v)
	}
	names := []string{}
	for _, m := range metrics {
		parts := strings.Split(m.Name, "_")
		names = append(names, m.Name, strings.ToLower(m.Name), strings.ToLower(parts[len(parts)-1]))
	}
	for _, name := range append(names, "f1", "score", "accuracy") {
		if member, ok := d.Get(name); ok {
			if f, err := python.Float(member); err == nil {
				return f, nil
			}
		}
	}
	return 0, errors.New("the score is not a number")
}

// checkEndpointsAudits judges the compliance tests of a result without LoadGen.
func (g *judgement) checkEndpointsAudits() {
	keys := rounds.EndpointKeys()
	for _, test := range g.rule.Tests {
		if name := keys.Audits[test]; name != "" {
			g.checkEndpointsAudit(g.folder+"/audit/audit_"+name+".json", test, name)
		}
	}
	if slices.Contains(g.rule.Tests, "TEST09") {
		least, most := keys.OutputTokens.Least, keys.OutputTokens.Most
		e := g.performance.values["mean_output_tokens"]
		if !python.IsNumber(e.value) || python.Less(e.value, least) || python.Less(most, e.value) {
			g.fail("audit-result", problem{path: g.performance.path, message: "TEST09 did not pass: the mean length of outputs", found: g.performance.show("mean_output_tokens"), wanted: fmt.Sprintf("%v to %v tokens", least, most)})
		}
	}
}

func (g *judgement) checkEndpointsAudit(path, test, name string) {
	if !g.tree.Exists(path) {
		if test == "TEST04" && g.rule.Endpoints {
			g.fail("audit-missing", problem{path: path, message: test + " is missing", wanted: "the result of the audit " + name})
		}
		return
	}
	v, err := readJSON(g.tree, path)
	if err != nil {
		g.fail("audit-files", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
		return
	}
	is, _ := at(v, "test")
	passed, _ := at(v, "passed")
	if is != name || !python.Truth(passed) {
		g.fail("audit-result", problem{path: path, message: test + " did not pass", found: fmt.Sprintf("test %s, passed %s", str(is), str(passed)), wanted: "test " + name + ", passed true"})
	}
}
