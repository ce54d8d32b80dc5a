package checker

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// checkFallback judges TEST01 where responses differ between runs: the accuracy of the
// samples that the performance run kept must be that of the accuracy run.
func (g *judgement) checkFallback(folder string) {
	path := folder + "/accuracy"
	files, err := g.tree.Files(path)
	if err != nil {
		g.fail("audit-result", problem{path: folder + "/verify_accuracy.txt", message: "TEST01 did not pass, and has no folder accuracy to compare: " + err.Error(), wanted: testPass})
		return
	}
	want := []string{"mlperf_log_accuracy.json", "accuracy.txt", "baseline_accuracy.txt", "compliance_accuracy.txt"}
	if !g.sameFiles("audit-accuracy", path, files, want, nil) {
		g.note("audit-accuracy", problem{path: folder + "/verify_accuracy.txt", message: "responses in performance mode are not those of the accuracy run, so the scores of the same samples are compared", wanted: testPass + ", or the files of a comparison"})
		return
	}
	metrics := g.rule.AccuracyOf(g.scenarioFolder())
	baseline := g.lastValues(path+"/baseline_accuracy.txt", metrics)
	compliance := g.lastValues(path+"/compliance_accuracy.txt", metrics)
	for _, m := range metrics {
		g.compareAccuracy(path, m.Name, baseline[m.Name], compliance[m.Name])
	}
}

func (g *judgement) compareAccuracy(path, metric string, baseline, compliance float64) {
	most := g.round.Delta(g.model, metric)
	percent := math.Abs(1-baseline/compliance) * 100
	switch {
	case baseline == 0 || compliance == 0:
		g.fail("audit-accuracy", problem{path: path, message: metric + " is missing in baseline_accuracy.txt or compliance_accuracy.txt", wanted: metric + " in both"})
	case !(percent <= most): // nor may it be NaN
		g.fail("audit-accuracy", problem{
			path: path, message: fmt.Sprintf("%s differs by %.4g %% between baseline_accuracy.txt and compliance_accuracy.txt", metric, percent),
			found: fmt.Sprintf("%v and %v", baseline, compliance), wanted: fmt.Sprintf("at most %v %%", most),
		})
	}
}

// lastValues reads the last value of each metric in a text; 0 is none.
func (g *judgement) lastValues(path string, metrics []rounds.Metric) map[string]float64 {
	values := map[string]float64{}
	err := g.eachLine(path, func(n int, line string) bool {
		for _, m := range metrics {
			text, ok := rounds.Match(m.Name, line)
			if !ok {
				continue
			}
			v, err := python.ParseFloat(text)
			if err != nil {
				g.fail("audit-accuracy", problem{path: path, line: n, message: m.Name + " is not a number", found: text, wanted: "a number"})
			}
			values[m.Name] = v
		}
		return true
	})
	if err != nil {
		g.fail("audit-accuracy", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
	}
	return values
}
